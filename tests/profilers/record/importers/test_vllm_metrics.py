"""vLLM's metrics page, seen once, twice, restarted, damaged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.vllm_metrics import IMPORTERS, likely, read

LOOK = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{{engine="0",model_name="org/tiny"}} {drafts}
# TYPE vllm:spec_decode_num_drafts_created gauge
vllm:spec_decode_num_drafts_created{{engine="0",model_name="org/tiny"}} 1.76e+09
vllm:spec_decode_num_draft_tokens_total{{engine="0",model_name="org/tiny"}} {drafted}
vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="org/tiny"}} {accepted}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="org/tiny",position="0"}} {first}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="org/tiny",position="1"}} {second}
vllm:generation_tokens_total{{engine="0",model_name="org/tiny"}} {generated}
python_info{{version="3.12"}} 1.0
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="0.3",model_name="org/tiny"}} 0.0
"""
TIMES = """\
vllm:request_decode_time_seconds_sum{{engine="0",model_name="org/tiny"}} {seconds}
vllm:request_generation_tokens_sum{{engine="0",model_name="org/tiny"}} {tokens}
vllm:request_generation_tokens_count{{engine="0",model_name="org/tiny"}} {requests}
"""
FIRST = LOOK.format(drafts=100, drafted=200, accepted=90, first=60, second=30, generated=200)
SECOND = LOOK.format(drafts=300, drafted=600, accepted=350, first=220, second=130, generated=700)


def test_one_look_gives_totals_and_says_that_warm_up_is_inside() -> None:
    imported = read(FIRST.splitlines(keepends=True))
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.drafted, counters.accepted) == (100, 200, 90)
    assert counters.accepted_by_position == (60, 30)
    assert (counters.k, counters.tokens_per_round, counters.tokens) == (2, 1.9, 200)
    assert counters.tokens_per_second is None
    assert "tokens_per_round" in counters.derived
    assert notes(imported, "warm_up")
    assert (imported.model, imported.k, imported.engine) == ("org/tiny", 2, "vllm")


def test_two_looks_give_what_was_counted_in_between() -> None:
    imported = read((FIRST + SECOND).splitlines(keepends=True))
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.drafted, counters.accepted) == (200, 400, 260)
    assert counters.accepted_by_position == (160, 100)
    assert counters.tokens_per_round == 1 + 260 / 200
    assert not notes(imported, "warm_up")


def test_dates_between_looks_give_the_time_by_the_clock() -> None:
    text = f"2026-01-01 10:00:00\n{FIRST}2026-01-01 10:00:50\n{SECOND}"
    imported = read(text.splitlines())
    (counters,) = stretches(imported)
    assert (counters.tokens, counters.elapsed_ns, counters.tokens_per_second) == (500, 50_000_000_000, 10)
    assert counters.t_ns == 50_000_000_000
    assert notes(imported, "wall_time")


def test_decode_times_of_requests_give_a_speed_without_prompts() -> None:
    before = FIRST + TIMES.format(seconds=1, tokens=105, requests=5)
    after = SECOND + TIMES.format(seconds=5, tokens=505, requests=9)
    (counters,) = stretches(read((before + after).splitlines()))
    # 400 tokens less the first of each of 4 requests, in 4 seconds
    assert (counters.tokens, counters.elapsed_ns) == (396, 4_000_000_000)
    assert counters.tokens_per_second == 99


def test_a_restart_gives_the_later_look_from_its_start() -> None:
    imported = read((SECOND + FIRST).splitlines())
    (counters,) = stretches(imported)
    assert counters.rounds == 100
    assert notes(imported, "restart")


def test_looks_without_progress_are_idle() -> None:
    imported = read((FIRST + FIRST).splitlines())
    assert not stretches(imported)
    assert notes(imported, "idle")


def test_a_server_without_drafts_is_plain() -> None:
    text = 'vllm:generation_tokens_total{engine="0"} 50\n' + TIMES.format(seconds=2, tokens=51, requests=1)
    (counters,) = stretches(read(text.splitlines()))
    assert (counters.arm, counters.tokens_per_second, counters.rounds) == ("plain", 25, None)


def test_positions_that_do_not_add_up_are_a_contradiction() -> None:
    imported = read(FIRST.replace('position="1"} 30', 'position="1"} 31').splitlines())
    assert "91" in notes(imported, "contradiction")[0]
    assert "90" in notes(imported, "contradiction")[0]


def test_drafts_of_differing_width_are_noted() -> None:
    assert notes(
        read(
            FIRST.replace(
                "} 200\nvllm:spec_decode_num_accepted_tokens_total", "} 150\nvllm:spec_decode_num_accepted_tokens_total"
            ).splitlines()
        ),
        "width",
    )


def test_two_engines_are_added_up_and_it_is_said() -> None:
    lines = [line for line in FIRST.splitlines() if not line.startswith("#")]
    imported = read(lines + [line.replace('engine="0"', 'engine="1"') for line in lines])
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.accepted_by_position) == (200, (120, 60))
    assert notes(imported, "added_up")


def test_old_counters_of_vllm_keep_only_what_can_be_trusted() -> None:
    text = (
        "vllm:spec_decode_num_accepted_tokens_total 8547\nvllm:spec_decode_num_draft_tokens_total 13311\n"
        "vllm:spec_decode_num_emitted_tokens_total 10616\n"
    )
    imported = read(text.splitlines())
    (counters,) = stretches(imported)
    assert (counters.drafted, counters.accepted) == (13311, None)
    assert notes(imported, "old_version")


def test_damaged_and_unknown_lines_of_drafting_are_counted() -> None:
    extra = [
        "vllm:spec_decode_num_drafts_total NaN",
        'vllm:spec_decode_new_thing_total{engine="0"} 4',
        'vllm:generation_tokens_total{engine="0',
        "vllm:generation_tokens_total " + "1" * 70_000,
    ]
    tally = read(FIRST.splitlines() + extra).tally
    assert tally.not_understood == 4
    assert tally.understood == 6
    assert any("new_thing" in example for example in tally.examples)


def test_colours_line_ends_and_other_programs_do_not_matter() -> None:
    text = "\r\n".join(["curl: (7) nothing", *(f"\x1b[32m{line}\x1b[0m" for line in FIRST.splitlines())]) + "\r\n"
    (counters,) = stretches(read(text.splitlines(keepends=True)))
    assert counters.rounds == 100


def test_a_look_that_was_cut_off_is_remarked() -> None:
    cut = "\n".join(SECOND.splitlines()[:4])
    imported = read((FIRST + cut).splitlines())
    assert notes(imported, "cut_off")
    assert stretches(imported)[0].rounds == 200


def test_a_text_without_counters_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="save the server's /metrics"):
        read(["python_info 1", "sglang:gen_throughput 3"])


def test_it_is_recognised() -> None:
    assert likely(FIRST) > 0.9
    assert 0.5 < likely('vllm:generation_tokens_total{engine="0"} 5\n') < 0.9
    assert likely("sglang:spec_accept_length 2\n") == 0
    assert IMPORTERS[0].engine == "vllm"


@settings(max_examples=60, deadline=None)
@given(damaged(FIRST + SECOND))
def test_damage_never_breaks_it(text: str) -> None:
    try:
        imported = read(text.splitlines(keepends=True))
    except ImportFailed:
        return
    stretches(imported)


def test_a_huge_number_of_looks_stays_bounded() -> None:
    lines = (f"vllm:generation_tokens_total {n}\n" for n in range(10_000))
    imported = read(lines)
    assert len(imported.records) < 5000
    assert notes(imported, "merged")
    assert survives(read, FIRST) is None
