"""llama.cpp's logs of old and new builds, whatever stands around the messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.importers.imported import Imported, ImportFailed
from specview.profilers.record.importers.llamacpp_log import likely, read
from specview.profilers.record.records import Counters, Note, to_line

PRESENT = """\
build: 7301 (0123abc) with cc for x86_64
llama_model_loader: - kv   3:                  general.name str              = Some Model 8B
load_tensors: using device CUDA0 (NVIDIA H200) - 141000 MiB free
srv  load_model: adding speculative implementation 'draft-mtp'
slot print_timing: id  0 | task 0 | prompt eval time =     100.00 ms /    45 tokens (    2.22 ms per token)
slot print_timing: id  0 | task 0 |        eval time =    3000.00 ms /   150 tokens (   20.00 ms per token)
slot print_timing: id  0 | task 0 |       total time =    3100.00 ms /   195 tokens
slot print_timing: id  0 | task 0 |    graphs reused =         49
slot print_timing: id  0 | task 0 | draft acceptance = 0.50000 (   50 accepted /   100 generated), mean len =  1.50
slot print_timing: id  0 | task 0 |      acc per pos = (0.400, 0.100)
statistics draft-mtp: #calls(b,g,a) = 1 100 50, #gen drafts = 50, #acc drafts = 40, #gen tokens = 100, \
#acc tokens = 50, dur(b,g,a) = 0.006, 400.500, 0.010 ms
slot      release: id  0 | task 0 | stop processing: n_tokens = 195, truncated = 0
"""
OLD = """\
slot print_timing: id  0 | task 12 |\x20
prompt eval time =     113.83 ms /    45 tokens (    2.53 ms per token,   395.33 tokens per second)
       eval time =    2000.00 ms /   100 tokens (   20.00 ms per token,    50.00 tokens per second)
      total time =    2113.83 ms /   145 tokens
slot print_timing: id  0 | task 12 |\x20
draft acceptance rate = 0.60000 (   60 accepted /   100 generated)
"""
PLAIN = "llama_perf_context_print:        eval time =    4000.00 ms /   100 runs   (   40.00 ms per token)\n"
SPECULATIVE = """\
encoded   10 tokens in    0.100 seconds, speed:  100.000 t/s
decoded  128 tokens in    4.000 seconds, speed:   32.000 t/s

n_draft   = 16
n_predict = 128
n_drafted = 160
n_accept  = 80
accept    = 50.000%

draft:

llama_perf_context_print:        eval time =   10000.00 ms /   200 runs   (   50.00 ms per token)
target:
common_perf_print:        eval time =      90.00 ms /     3 runs   (   30.00 ms per token)
"""


def imported(text: str) -> Imported:
    return read(text.splitlines(keepends=True))


def counters(text: str) -> tuple[Counters, ...]:
    return tuple(record for record in imported(text).records if isinstance(record, Counters))


def notes(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(record.tags, record.text) for record in imported(text).records if isinstance(record, Note)]


def test_a_request_of_a_present_build_gives_all_its_figures() -> None:
    (one,) = counters(PRESENT)
    assert one.arm == "drafting"
    assert (one.tokens, one.elapsed_ns) == (150, 3_000_000_000)
    assert (one.drafted, one.accepted, one.rounds) == (100, 50, 100)
    assert one.tokens_per_round == 1.5
    assert one.accepted_by_position == (40, 10)
    assert one.k == 2
    assert one.drafter == "draft-mtp"
    assert one.draft_ns == 400_500_000
    assert one.derived == ("rounds", "accepted_by_position")


def test_what_is_known_of_model_and_device_is_kept_and_every_line_is_counted() -> None:
    found = imported(PRESENT)
    assert (found.engine, found.model, found.device) == ("llama.cpp", "Some Model 8B", "CUDA0 (NVIDIA H200)")
    assert (found.k, found.drafter) == (2, "draft-mtp")
    tally = found.tally
    assert (tally.understood, tally.not_understood) == (4, 0)
    assert tally.lines == tally.understood + tally.ignored == len(PRESENT.splitlines())


def test_lines_of_old_builds_belong_to_the_request_named_before_them() -> None:
    (one,) = counters(OLD)
    assert (one.tokens, one.elapsed_ns, one.drafted, one.accepted) == (100, 2_000_000_000, 100, 60)
    assert one.rounds == 40
    assert one.tokens_per_round == 2.5
    assert one.accepted_by_position is None
    assert set(one.derived) == {"rounds", "tokens_per_round"}


def test_a_single_line_that_somebody_quoted_is_enough() -> None:
    (one,) = counters("draft acceptance = 0.63158 (   24 accepted /    38 generated), mean len =  2.85\n")
    assert (one.rounds, one.tokens_per_round, one.tokens, one.elapsed_ns) == (13, 2.85, None, None)


def test_prompt_time_never_counts_as_decoding() -> None:
    with pytest.raises(ImportFailed, match="log a whole generation"):
        imported("prompt eval time =     113.83 ms /    45 tokens (    2.53 ms per token)\n")


def test_a_run_without_a_drafter_is_plain() -> None:
    (one,) = counters(PLAIN)
    assert (one.arm, one.tokens, one.elapsed_ns, one.drafted) == ("plain", 100, 4_000_000_000, None)


def test_the_drafting_loop_without_drafts_is_not_plain() -> None:
    (one,) = counters("common_speculative_init: adding speculative implementation 'ngram-mod'\n" + PLAIN)
    assert (one.arm, one.drafted, one.accepted, one.rounds) == ("drafting", 0, 0, 100)


def test_a_program_started_later_without_a_drafter_is_plain_again() -> None:
    text = PRESENT + "system_info: n_threads = 8\n" + PLAIN
    assert [one.arm for one in counters(text)] == ["drafting", "plain"]


def test_llama_speculative_tells_its_sums_and_not_its_two_models_on_their_own() -> None:
    (one,) = counters(SPECULATIVE)
    assert (one.tokens, one.elapsed_ns, one.k) == (128, 4_000_000_000, 16)
    assert (one.drafted, one.accepted, one.rounds) == (160, 80, 48)
    assert notes(SPECULATIVE) == []


def test_two_runs_of_llama_speculative_are_two_stretches() -> None:
    assert [
        one.accepted for one in counters(SPECULATIVE + SPECULATIVE.replace("n_accept  = 80", "n_accept  = 70"))
    ] == [
        80,
        70,
    ]


def test_sums_without_their_speed_still_give_rounds() -> None:
    (one,) = counters("n_draft = 16\nn_predict = 128\nn_drafted = 297\nn_accept = 71\naccept = 23.906%\n")
    assert (one.k, one.rounds, one.tokens, one.elapsed_ns) == (16, 57, None, None)


def test_the_time_of_a_draft_is_the_drafting_time_by_its_calls() -> None:
    (one,) = counters(
        "statistics draft-mtp: #calls(b,g,a) = 1 4 4, #gen drafts = 4, #acc drafts = 2, #gen tokens = 8, "
        "#acc tokens = 3, dur(b,g,a) = 0.006, 21.272, 0.010 ms\n"
    )
    assert one.draft_ns is not None and one.rounds is not None
    assert one.draft_ns / one.rounds == 5_318_000
    assert (one.drafted, one.accepted, one.tokens_per_round) == (8, 3, 1.75)


def test_statistics_of_older_builds_count_calls_in_one_number() -> None:
    (one,) = counters(
        "statistics ngram_mod: #calls = 810, #gen drafts = 15, #acc drafts = 15, #gen tokens = 960, "
        "#acc tokens = 730, dur(b,g,a) = 0.149, 0.347, 0.005 ms\n"
    )
    assert (one.rounds, one.drafted, one.accepted, one.draft_ns) == (810, 960, 730, 347_000)


def test_statistics_grow_over_requests_so_each_gets_what_came_on_top() -> None:
    second = (
        PRESENT[PRESENT.index("slot print_timing") :]
        .replace("task 0", "task 9")
        .replace("= 1 100 50, #gen drafts = 50", "= 2 200 100, #gen drafts = 100")
        .replace(
            "#acc drafts = 40, #gen tokens = 100, #acc tokens = 50",
            "#acc drafts = 80, #gen tokens = 200, #acc tokens = 100",
        )
        .replace("400.500", "900.500")
    )
    first, later = counters(PRESENT + second)
    assert (first.draft_ns, later.draft_ns) == (400_500_000, 500_000_000)
    assert "draft_ns" not in first.derived
    assert "draft_ns" in later.derived


def test_two_drafters_of_one_run_share_its_rounds() -> None:
    (one,) = counters(
        "statistics ngram-mod: #calls(b,g,a) = 1 102 2, #gen drafts = 2, #acc drafts = 2, #gen tokens = 20, "
        "#acc tokens = 10, dur(b,g,a) = 0.1, 1.5, 0.1 ms\n"
        "statistics draft-mtp: #calls(b,g,a) = 1 100 100, #gen drafts = 100, #acc drafts = 50, #gen tokens = 100, "
        "#acc tokens = 50, dur(b,g,a) = 0.1, 98.5, 0.1 ms\n"
    )
    assert (one.rounds, one.drafted, one.accepted, one.draft_ns) == (102, 120, 60, 100_000_000)
    assert one.drafter == "ngram-mod+draft-mtp"


def test_drafts_that_the_server_leaves_out_are_told_as_a_contradiction() -> None:
    text = PRESENT.replace("#gen tokens = 100", "#gen tokens = 214")
    ((tags, told),) = notes(text)
    assert tags == ("import", "contradiction")
    assert "50 of 100" in told and "50 of 214" in told
    assert counters(text)[0].draft_ns == 400_500_000


def test_drafting_time_of_other_requests_is_not_taken() -> None:
    text = PRESENT.replace("#gen tokens = 100, #acc tokens = 50", "#gen tokens = 300, #acc tokens = 150")
    assert counters(text)[0].draft_ns is None
    assert "other requests ran meanwhile" in notes(text)[0][1]


def test_a_mean_length_of_rounds_with_drafts_only_gives_way_to_all_passes() -> None:
    text = PRESENT.replace("mean len =  1.50", "mean len =  3.00").replace("acc per pos = (0.400, 0.100)", "")
    (one,) = counters(text)
    assert (one.rounds, one.tokens_per_round) == (100, 1.5)
    assert notes(text)[0][0] == ("import", "rounds_without_drafts")


def test_a_request_without_drafts_is_of_the_drafter_and_k_of_its_server() -> None:
    second = "slot print_timing: id  0 | task 5 |        eval time =    1000.00 ms /    25 tokens (   40.00 ms)\n"
    first, without = counters(PRESENT + second)
    assert (without.k, without.drafter, without.drafted) == (first.k, first.drafter, 0)
    assert {"k", "drafter"} <= set(without.derived)


def test_the_first_token_of_a_short_request_is_no_contradiction() -> None:
    text = "eval time = 1000.00 ms / 38 tokens\n"
    text += "draft acceptance = 0.63158 ( 24 accepted / 38 generated), mean len = 2.85\n"
    (one,) = counters(text)
    assert (one.tokens_per_round, one.rounds) == (2.85, 14)
    assert notes(text) == []


def test_a_share_that_its_counts_deny_is_a_contradiction() -> None:
    assert notes(OLD.replace("0.60000", "0.90000"))[0][0] == ("import", "contradiction")
    assert notes(OLD.replace("0.60000", "60.000%")) == []


def test_shares_by_position_that_rise_are_no_cumulative_ones() -> None:
    text = PRESENT.replace("(0.400, 0.100)", "(0.100, 0.400)")
    assert counters(text)[0].accepted_by_position is None
    assert any("rises" in told for _, told in notes(text))


def test_rounds_told_one_by_one_give_positions() -> None:
    told = "".join(f"slot update_slots: id  0 | task 3 | accepted  {n}/ 3 draft tokens, new\n" for n in (3, 0, 1, 3))
    (one,) = counters(told)
    assert (one.rounds, one.accepted, one.accepted_by_position) == (4, 7, (3, 2, 2))


def test_interleaved_slots_stay_apart_and_their_shared_time_is_told() -> None:
    a, b = (f"slot print_timing: id  {slot} | task {task} | " for slot, task in ((0, 5), (1, 6)))
    text = (
        f"{a}       eval time =    1000.00 ms /    50 tokens ( 20 ms)\n"
        f"{b}       eval time =    2000.00 ms /    40 tokens ( 50 ms)\n"
        f"{a}draft acceptance = 0.50000 (   10 accepted /    20 generated)\n"
        f"{b}draft acceptance = 0.25000 (    5 accepted /    20 generated)\n"
    )
    first, second = counters(text)
    assert (first.tokens, first.accepted, second.tokens, second.accepted) == (50, 10, 40, 5)
    assert notes(text)[0][0] == ("import", "batch")


@pytest.mark.parametrize(
    "text",
    [
        PRESENT.replace("\n", "\r\n"),
        "".join(f"\x1b[32m2026-05-16 22:30:44.722 |\x1b[0m {line}" for line in PRESENT.splitlines(keepends=True)),
        "".join(f"[44195] 4.26.848.523 I {line}" for line in PRESENT.splitlines(keepends=True)),
        PRESENT.replace("3000.00 ms", "3000,00 ms")
        .replace("400.500", "400,500")
        .replace("0.400, 0.100", "0,400, 0,100"),
        PRESENT.replace("3000.00 ms /   150", "3.000,00 ms /   ١٥٠"),
        PRESENT.replace("3000.00 ms", "3\u202f000,00 ms"),
        "GET /v1/models 200\nnot ours\n" + PRESENT.replace("\nslot", '\n{"other": 1}\nslot'),
    ],
)
def test_line_ends_colours_prefixes_locales_and_strangers_change_nothing(text: str) -> None:
    assert counters(text) == counters(PRESENT)


@pytest.mark.parametrize(
    "line",
    [
        "draft acceptance rate = nan (    0 accepted /     0 generated)",
        "draft acceptance = 0.5 (   -5 accepted /    10 generated)",
        "draft acceptance = inf (    5 accepted /    10 generated)",
        "draft acceptance = 0.5 ( 1000000000000000000 accepted / 2000000000000000000 generated)",
        "       eval time =        nan ms /   100 tokens",
        "acc per pos = (0.9, x)",
        "acc per pos = (90, 70)",
        "statistics draft-mtp: #calls(b,g,a) = 1 4 4, #gen drafts = 4",
        "draft acceptance = 0.63158 (   24 acc",
        "accepted 7/3 draft tokens",
    ],
)
def test_lines_that_look_like_figures_and_are_none_are_counted_and_shown(line: str) -> None:
    tally = imported(PLAIN + line + "\n").tally
    assert (tally.understood, tally.not_understood) == (1, 1)
    assert tally.examples == [line.strip()]
    assert counters(PLAIN + line + "\n") == counters(PLAIN)


def test_a_huge_line_is_cut_and_counted() -> None:
    tally = imported(PLAIN + "draft acceptance " * 10_000 + "\n").tally
    assert tally.not_understood == 1
    assert len(tally.examples[0]) <= 200


def test_a_text_without_figures_is_refused_with_what_to_do() -> None:
    with pytest.raises(ImportFailed, match="-lv 4"):
        imported("hello\nworld\n")


def test_its_own_signs_are_likely_and_others_are_not() -> None:
    assert likely(PRESENT) > likely(PLAIN) > 0.5
    assert likely("SpecDecoding metrics: Mean acceptance length: 2.87") == 0
    assert likely('{"timings": {"predicted_n": 1}}') == 0


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_logs_never_end_in_anything_but_a_sentence(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([PRESENT, OLD, PLAIN, SPECULATIVE]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 12))
        new = data.draw(st.text(max_size=6) | st.sampled_from(["-", "9" * 25, "nan", "1e400", "\x1b[3", "٣", ",", "%"]))
        text = text[:at] + new + text[at + gone :]
    try:
        found = imported(text)
    except ImportFailed:
        return
    assert found.tally.lines == found.tally.understood + found.tally.ignored + found.tally.not_understood
    for record in found.records:
        to_line(record)
