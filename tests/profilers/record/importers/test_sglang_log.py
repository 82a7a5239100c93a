"""SGLang's log: decode lines with and without drafts, two meanings of the rate, ranks, damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.sglang_log import likely, read

ARGUMENTS = (
    "[2026-03-02 10:00:00] server_args=ServerArgs(model_path='/srv/big', tokenizer_path='/srv/big', "
    "speculative_algorithm='EAGLE', speculative_draft_model_path='org/head', speculative_num_steps=3, "
    "speculative_eagle_topk=1, speculative_num_draft_tokens=4, decode_log_interval=40)\n"
)
PLAIN_ARGUMENTS = "[2026-03-02 09:00:00] server_args=ServerArgs(model_path='/srv/big', speculative_algorithm=None)\n"
PREFILL = "[2026-03-02 10:00:05 TP0] Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 0, #running-req: 0, \n"


def decode(
    second: int, drafts: str = "accept len: 2.40, accept rate: 0.60, ", speed: object = 120.0, ranks: str = " TP0"
) -> str:
    return (
        f"[2026-03-02 10:00:{second:02d}{ranks}] Decode batch, #running-req: 2, #token: 193, token usage: 0.00, "
        f"{drafts}cuda graph: True, gen throughput (token/s): {speed}, #queue-req: 0, \n"
    )


LOG = ARGUMENTS + PREFILL + decode(10, speed=30.0) + decode(12) + decode(14, speed="124.50")


def test_a_line_gives_tokens_per_round_and_speed_of_all_sequences() -> None:
    imported = read(LOG.splitlines(keepends=True))
    windows = stretches(imported)
    assert [(one.arm, one.tokens_per_round, one.tokens_per_second) for one in windows] == [
        ("drafting", 2.4, None),
        ("drafting", 2.4, 120.0),
        ("drafting", 2.4, 124.5),
    ]
    assert (windows[1].k, windows[1].batch, windows[1].t_ns) == (3, 2, 12_000_000_000)
    assert (imported.model, imported.drafter, imported.k) == ("big", "EAGLE org/head", 3)


def test_the_line_after_a_prompt_keeps_no_speed_while_others_have_one() -> None:
    imported = read(LOG.splitlines())
    assert stretches(imported)[0].tokens_per_second is None
    assert notes(imported, "prompt_time")
    assert stretches(read((PREFILL + decode(10)).splitlines()))[0].tokens_per_second == 120.0


def test_a_rate_that_counts_positions_is_told_from_one_of_drafts() -> None:
    # 2.40 of 4 positions is 0.60; 1.40 of 3 drafts is 0.47
    assert notes(read(LOG.splitlines()), "kind")
    newer = LOG.replace("rate: 0.60", "rate: 0.47")
    assert not notes(read(newer.splitlines()), "kind")
    assert not notes(read(newer.splitlines()), "contradiction")
    assert notes(read(LOG.replace("rate: 0.60", "rate: 0.90").splitlines()), "contradiction")


def test_k_is_found_from_lines_that_only_one_number_fits() -> None:
    # 2.40 / 0.60 and 3.10 / 0.78 fit 4 positions; as drafts they would be 2.3 and 2.7
    imported = read([decode(10), decode(12, "accept len: 3.10, accept rate: 0.78, ")])
    assert [one.k for one in stretches(imported)] == [3, 3]
    assert "k" in stretches(imported)[0].derived


def test_k_that_two_numbers_fit_stays_unknown() -> None:
    # 2.03 / 0.51 is 4 positions, 1.03 / 0.51 is 2 drafts
    imported = read([decode(10, "accept len: 2.03, accept rate: 0.51, ")])
    assert stretches(imported)[0].k is None
    assert notes(imported, "kind")


def test_trees_have_no_k() -> None:
    imported = read([ARGUMENTS.replace("draft_tokens=4", "draft_tokens=16"), decode(10)])
    assert stretches(imported)[0].k is None
    assert notes(imported, "tree")


def test_a_server_without_drafts_is_plain_and_two_lives_give_a_baseline() -> None:
    imported = read((PLAIN_ARGUMENTS + decode(1, "") + LOG).splitlines())
    assert [one.arm for one in stretches(imported)] == ["plain", "drafting", "drafting", "drafting"]
    assert stretches(imported)[0].drafter is None


def test_ranks_that_repeat_a_batch_count_once_and_schedulers_apart() -> None:
    both = decode(10, ranks=" TP0") + decode(10, ranks=" TP1")
    assert len(stretches(read(both.splitlines()))) == 1
    apart = decode(10, ranks=" DP0 TP0") + decode(10, ranks=" DP1 TP1")
    assert [one.label for one in stretches(read(apart.splitlines()))] == ["DP0", "DP1"]


def test_other_locales_colours_and_line_ends_read_the_same() -> None:
    expected = stretches(read(LOG.splitlines()))
    commas = LOG.replace("2.40", "2,40").replace("0.60", "0,60").replace("124.50", "124,50")
    assert stretches(read(commas.splitlines())) == expected
    coloured = LOG.replace("Decode", "\x1b[1mDecode").replace("\n", "\r\n")
    assert stretches(read(coloured.splitlines(keepends=True))) == expected


def test_cut_hostile_and_huge_lines_are_puzzles() -> None:
    lines = [
        *LOG.splitlines(),
        decode(20)[:90],
        decode(20, speed="NaN"),
        decode(20, speed="-5"),
        "Decode batch " + "x" * 70_000,
        "gen throughput (token/s): 5.00",
    ]
    assert read(lines).tally.not_understood == 5


def test_a_length_below_one_is_a_contradiction() -> None:
    assert notes(read([decode(10, "accept len: 0.40, accept rate: 0.10, ")]), "contradiction")


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="Decode batch"):
        read([PREFILL, ARGUMENTS])


def test_a_long_log_gives_a_bounded_number_of_records() -> None:
    imported = read(decode(n % 60) for n in range(6000))
    windows = stretches(imported)
    assert len(windows) <= 4096
    assert windows[0].tokens_per_second == pytest.approx(120.0)
    assert windows[0].tokens_per_round == pytest.approx(2.4)


def test_it_is_recognised() -> None:
    assert likely(LOG) > 0.9
    assert likely("SpecDecoding metrics") == 0


@settings(max_examples=60, deadline=None)
@given(damaged(LOG))
def test_damage_never_breaks_it(text: str) -> None:
    survives(read, text)
