"""Results of vLLM's serving benchmark, with drafts and without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.vllm_bench import likely, read

PLAIN: dict[str, Any] = {
    "date": "20260302-100000",
    "backend": "openai",
    "model_id": "org/tiny",
    "num_prompts": 20,
    "request_rate": "inf",
    "max_concurrency": 4,
    "duration": 50.0,
    "completed": 20,
    "total_input_tokens": 1000,
    "total_output_tokens": 2000,
    "output_throughput": 40.0,
    "mean_ttft_ms": 200.0,
    "mean_tpot_ms": 80.0,
}
# 500 rounds of 2: 350 and 150 kept the first and the second
DRAFTING = PLAIN | {
    "duration": 40.0,
    "output_throughput": 50.0,
    "mean_tpot_ms": 50.0,
    "spec_decode_acceptance_rate": 50.0,
    "spec_decode_acceptance_length": 2.0,
    "spec_decode_num_drafts": 500,
    "spec_decode_draft_tokens": 1000,
    "spec_decode_accepted_tokens": 500,
    "spec_decode_per_position_acceptance_rates": [0.7, 0.3],
}


def text(*runs: dict[str, Any]) -> list[str]:
    return [json.dumps(run) + "\n" for run in runs]


def test_a_run_has_its_rounds_and_the_speed_without_prompts() -> None:
    imported = read(text(DRAFTING))
    (counters,) = stretches(imported)
    assert (counters.arm, counters.rounds, counters.drafted, counters.accepted) == ("drafting", 500, 1000, 500)
    assert (counters.k, counters.accepted_by_position, counters.tokens_per_round) == (2, (350, 150), 2.0)
    # four sequences, 50 ms a token each
    assert (counters.batch, counters.tokens_per_second) == (4, 80.0)
    assert "tokens_per_second" in counters.derived
    assert (imported.model, imported.k) == ("org/tiny", 2)
    assert notes(imported, "prompt_time")
    assert notes(imported, "no_baseline")
    assert not notes(imported, "contradiction")


def test_runs_with_and_without_drafts_give_a_baseline() -> None:
    imported = read(text(PLAIN, DRAFTING))
    assert [(one.arm, one.tokens_per_second) for one in stretches(imported)] == [("plain", 50.0), ("drafting", 80.0)]
    assert not notes(imported, "no_baseline")


def test_a_result_over_many_lines_and_a_list_read_the_same() -> None:
    expected = stretches(read(text(PLAIN, DRAFTING)))
    assert stretches(read(json.dumps([PLAIN, DRAFTING], indent=2).splitlines(keepends=True))) == expected
    assert stretches(read([json.dumps([PLAIN, DRAFTING])])) == expected


def test_without_concurrency_the_speed_has_prompts_inside() -> None:
    imported = read(text(PLAIN | {"max_concurrency": None}))
    (counters,) = stretches(imported)
    assert (counters.batch, counters.tokens_per_second, counters.tokens) == (None, 40.0, 2000)
    assert counters.elapsed_ns == 50_000_000_000
    assert "towards 1" in notes(imported, "prompt_time")[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spec_decode_acceptance_length": 2.2}, "acceptance length"),
        ({"spec_decode_acceptance_rate": 61.0}, "acceptance rate"),
        ({"spec_decode_per_position_acceptance_rates": [0.9, 0.3]}, "add up"),
        ({"spec_decode_per_position_acceptance_rates": [70.0, 30.0]}, "above 1"),
        ({"output_throughput": 75.0}, "output_throughput"),
    ],
)
def test_each_contradiction_is_named(changes: dict[str, Any], said: str) -> None:
    told = notes(read(text(DRAFTING | changes)), "contradiction")
    assert any(said in one for one in told), told


def test_a_rate_as_a_fraction_is_noted() -> None:
    imported = read(text(DRAFTING | {"spec_decode_acceptance_rate": 0.5}))
    assert notes(imported, "percent")
    assert not notes(imported, "contradiction")


def test_random_prompts_are_remarked() -> None:
    assert notes(read(text(DRAFTING | {"dataset_name": "random"})), "random_prompts")


def test_fields_of_no_use_and_unknown_ones_are_puzzles() -> None:
    imported = read(
        text(DRAFTING | {"spec_decode_num_drafts": "many", "spec_decode_new": 3, "mean_tpot_ms": float("nan")})
    )
    assert imported.tally.not_understood == 3
    assert stretches(imported)[0].rounds is None


def test_a_cut_result_is_a_puzzle_beside_a_whole_one() -> None:
    cut = text(PLAIN)[0][:200]
    imported = read([*text(DRAFTING), cut])
    assert len(stretches(imported)) == 1
    assert imported.tally.not_understood == 1


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="--save-result"):
        read(['{"a": 1}'])


def test_it_is_recognised() -> None:
    assert likely(text(DRAFTING)[0]) > 0.9
    assert 0.8 < likely(text(PLAIN)[0]) < 0.9
    assert likely('{"backend": "sglang", "output_throughput": 5, "accept_length": 2}') == 0


@settings(max_examples=60, deadline=None)
@given(damaged("".join(text(PLAIN, DRAFTING))))
def test_damage_never_breaks_it(damage: str) -> None:
    survives(read, damage)
