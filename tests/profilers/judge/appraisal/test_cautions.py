"""Every warning: facts that call for it, and facts that nearly do."""

from __future__ import annotations

import pytest

from specview.profilers.judge.appraisal.cautions import CAUTIONS
from specview.profilers.judge.appraisal.judgement import judge_facts

CURVE = {"1": 10, "2": 11, "3": 12, "4": 30}
PARTS = {"decode_ms": 10, "verify_ms": {"2": 14}, "draft_ms": 2, "k": 1}
HALF = {"value": 0.5, "kind": "conditional"}

# code: (facts with it, facts nearly with it)
PAIRS = {
    "mixed_rulers": (
        {**PARTS, "verify_ruler": "block_sum", "acceptance": HALF},
        {**PARTS, "verify_ruler": "block_sum", "acceptance": HALF, "round_ms": 20},
    ),
    "acceptance_kind_unknown": (
        {"decode_ms": 281, "round_ms": 817, "k": 5, "acceptance": {"value": 0.613}},
        {"decode_ms": 281, "round_ms": 817, "k": 5, "acceptance": {"value": 0.95}},
    ),
    "impossible_win": (
        {"decode_tps": 50, "speculative_tps": 51, "k": 1, "tokens_per_round": 1.0},
        {"decode_tps": 50, "speculative_tps": 51, "k": 1, "tokens_per_round": 1.03},
    ),
    "impossible_facts": ({"k": 1, "tokens_per_round": 2.1}, {"k": 1, "tokens_per_round": 2.0}),
    "zero_acceptance": (
        {"k": 1, "acceptance": {"accepted": 0, "drafted": 100}},
        {"k": 1, "acceptance": {"accepted": 0, "drafted": 99}},
    ),
    "overhead_without_drafts": (
        {"decode_ms": 10, "round_ms": 10.51, "k": 0},
        {"decode_ms": 10, "round_ms": 10.5, "k": 0},
    ),
    "unaccounted_time": (
        {**PARTS, "round_ms": 17.9, "tokens_per_round": 1.5},
        {**PARTS, "round_ms": 17.7, "tokens_per_round": 1.5},
    ),
    "parts_exceed_round": (
        {**PARTS, "round_ms": 14.5, "tokens_per_round": 1.5},
        {**PARTS, "round_ms": 14.6, "tokens_per_round": 1.5},
    ),
    "too_few_rounds": (
        {"k": 1, "acceptance": {"accepted": 60, "drafted": 127}},
        {"k": 1, "acceptance": {"accepted": 60, "drafted": 128}},
    ),
    "few_runs": (
        {"decode_tps": [50, 51], "speculative_tps": [40, 41], "k": 1},
        {"decode_tps": [50, 51, 50], "speculative_tps": [40, 41, 40], "k": 1},
    ),
    "baseline_drift": ({"decode_tps": 94.9, "decode_tps_first": 100}, {"decode_tps": 95, "decode_tps_first": 100}),
    "slow_baseline": (
        {"decode_ms": 11.1, "verify_ms": {"1": 10}},
        {"decode_ms": 11.0, "verify_ms": {"1": 10}},
    ),
    "block_sum_baseline": (
        {"verify_ms": {"1": 8, "2": 16}, "verify_ruler": "block_sum", "k": 1},
        {"verify_ms": {"1": 8, "2": 16}, "verify_ruler": "block_sum", "k": 1, "wall_ms": 11},
    ),
    "negative_gap": ({"block_sum_ms": 10.1, "wall_ms": 10}, {"block_sum_ms": 10, "wall_ms": 10}),
    "k0_baseline": ({"k": 0, "speculative_tps": 20}, {"k": 0, "speculative_tps": 20, "decode_tps": 20}),
    "contradictory_facts": (
        {"decode_ms": 10, "decode_tps": 94},
        {"decode_ms": 10, "decode_tps": 97},
    ),
    "prediction_disagrees": (
        {**PARTS, "tokens_per_round": 1.7, "speculative_tps": 99},
        {**PARTS, "tokens_per_round": 1.7, "speculative_tps": 101},
    ),
    "kind_unsaid": ({"k": 2, "acceptance": {"value": 0.6}}, {"k": 1, "acceptance": {"value": 0.6}}),
    "percent_rate": (
        {"k": 1, "acceptance": {"value": 62, "kind": "conditional"}},
        {"k": 1, "acceptance": {"value": 1, "kind": "conditional"}},
    ),
    "k_counts_positions": (
        {"k": 2, "verify_ms": {"1": 10, "2": 14}, "acceptance": HALF},
        {"k": 2, "verify_ms": {"1": 10, "2": 14, "4": 20}, "acceptance": HALF},
    ),
    "width_missing": ({"k": 4, "verify_ms": CURVE}, {"k": 3, "verify_ms": CURVE}),
    "facts_of_one_k": (
        {"k": [1, 2], "verify_ms": CURVE, "tokens_per_round": 1.5},
        {"k": [1], "verify_ms": CURVE, "tokens_per_round": 1.5},
    ),
    "drafts_vary": (
        {"k": 4, "acceptance": {"accepted": 300, "drafted": 750, "rounds": 200}},
        {"k": 4, "acceptance": {"accepted": 300, "drafted": 770, "rounds": 200}},
    ),
    "past_cliff": (
        {"k": 3, "verify_ms": CURVE, "draft_ms": 0, "acceptance": HALF},
        {"k": 2, "verify_ms": CURVE, "draft_ms": 0, "acceptance": HALF},
    ),
    "batched_speed": (
        {"mean_tpot_ms": 20, "max_concurrency": 8, "k": 2},
        {"mean_tpot_ms": 20, "max_concurrency": 1, "k": 2},
    ),
    "random_prompts": ({"k": 1, "content": "Random tokens"}, {"k": 1, "content": "code"}),
    "unknown_fact": ({"k": 1, "colour": 3}, {"k": 1, "prompt_n": 3, "colour": None}),
}


def codes(facts):
    return {warned.code for warned in judge_facts(facts).warnings}


def test_every_code_has_its_pair():
    assert set(PAIRS) == set(CAUTIONS)


@pytest.mark.parametrize("code", PAIRS)
def test_a_warning_is_given(code):
    assert code in codes(PAIRS[code][0])


@pytest.mark.parametrize("code", PAIRS)
def test_a_near_miss_is_not_warned_of(code):
    assert code not in codes(PAIRS[code][1])


@pytest.mark.parametrize("code", PAIRS)
def test_exactly_the_refusing_codes_refuse(code):
    assert (judge_facts(PAIRS[code][0]).verdict == "refused") is CAUTIONS[code].refuses


@pytest.mark.parametrize(
    "facts",
    [
        {"temperature": 0.8, "rule": "greedy", "k": 1},
        {"k": 2, "num_spec_tokens": 3},
        {"k": 3, "tokens_per_round": 3.0, "acceptance": {"value": 0.3, "kind": "per_draft"}},
        {"acceptance_histogram": [3, 4], "num_accepted_draft_tokens": 6},
        {"num_draft_tokens": 100, "num_accepted_draft_tokens": 50, "draft_acceptance_rate": 0.6},
        {"speculative_tps": 50, "speculative_ms_per_token": 25, "k": 1},
        {"k": 2, "acceptance": {"kind": "cumulative", "positions": [0.5, 0.7]}},
        {"k": 2, "acceptance": {"kind": "cumulative", "positions": [0.8, 0.6, 0.4]}},
    ],
)
def test_facts_that_contradict_each_other_are_named(facts):
    assert "contradictory_facts" in codes(facts)


@pytest.mark.parametrize(
    "facts",
    [
        {"acceptance": {"accepted": 10, "drafted": 9}},
        {"predicted_n": 10, "draft_n": 20, "draft_n_accepted": 10},
        {"k": 2, "tokens_per_round": 0.8},
        {"k": 4, "acceptance": {"value": 0.9, "kind": "accepted_per_generated"}},
        {"k": 1, "round_ms": 50, "speculative_tps": 60},
    ],
)
def test_facts_that_cannot_be_are_refused(facts):
    answer = judge_facts(facts)
    assert answer.verdict == "refused"
    assert "impossible_facts" in {warned.code for warned in answer.warnings}


def test_positions_that_fit_one_draft_less_point_at_the_meaning_of_k():
    assert "k_counts_positions" in codes({"k": 3, "acceptance": {"kind": "cumulative", "positions": [0.8, 0.6]}})
    assert "k_counts_positions" in codes({"k": 4, "spec_num_draft_tokens": 4, "spec_accept_length": 2.5})
