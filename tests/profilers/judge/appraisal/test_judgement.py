"""What follows from facts, over every way to know acceptance, round and verify."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.judge.acceptance import tokens_from_alpha
from specview.profilers.judge.appraisal.judgement import judge_facts

# The same acceptance at k = 4, α = 0.7, in each kind.
ALPHA, K = 0.7, 4
E = tokens_from_alpha(ALPHA, K)
KINDS = {
    "conditional": {"acceptance": {"value": ALPHA, "kind": "conditional"}},
    "conditional by position": {"acceptance": {"positions": [ALPHA] * K, "kind": "conditional"}},
    "cumulative": {"acceptance": {"positions": [ALPHA**i for i in range(1, K + 1)], "kind": "cumulative"}},
    "per_draft": {"acceptance": {"value": (E - 1) / K, "kind": "per_draft"}},
    "percent": {"acceptance": {"value": 100 * (E - 1) / K, "kind": "per_draft"}},
    "accepted_per_generated": {"acceptance": {"value": 1 - 1 / E, "kind": "accepted_per_generated"}},
    "mean_accepted": {"acceptance": {"mean_accepted": E - 1}},
    "mean_accepted as a kind": {"acceptance": {"value": E - 1, "kind": "mean_accepted"}},
    "counts": {"acceptance": {"accepted": round((E - 1) * 1e6), "drafted": 4 * 10**6, "rounds": 10**6}},
    "counts without rounds": {"acceptance": {"accepted": round((E - 1) * 1e6), "drafted": 4 * 10**6}},
    "conditional counts": {"acceptance": {"accepted": 700_000, "drafted": 10**6, "kind": "conditional"}},
    "tokens_per_round": {"tokens_per_round": E},
    "mean_acceptance_length": {"mean_acceptance_length": E},
    "draft_acceptance_rate": {"draft_acceptance_rate": (E - 1) / K},
    "spec_decode_acceptance_rate": {"spec_decode_acceptance_rate": 100 * (E - 1) / K},
    "histogram": {
        "acceptance_histogram": [round(1e6 * (ALPHA**i - (ALPHA ** (i + 1) if i < K else 0))) for i in range(K + 1)]
    },
}
ROUNDS = {
    "given": {"round_ms": 25.0},
    "draft": {"verify_ms": {"5": 16.0}, "draft_ms": 8.0, "overhead_ms": 1.0},
    "draft steps": {"verify_ms": {"1": 9.5, "5": 16.0, "9": 30}, "draft_step_ms": 2.0, "overhead_ms": 1},
    "flat": {"verify_ms": "flat", "draft_step_ms": 3.75},
    "passes": {"verify_passes": 2, "draft_ms": 5.0},
    "speed": {"speculative_tps": E * 1000 / 25.0},
    "ms per token": {"speculative_ms_per_token": 25.0 / E},
}


@pytest.mark.parametrize("around", ROUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_acceptance_meets_every_way_to_know_the_round(kind, around):
    answer = judge_facts({"decode_tps": 100, "k": K, **KINDS[kind], **ROUNDS[around]}).to_object()
    assert answer["verdict"] == "wins"
    for name, value in (
        ("tokens_per_round", E),
        ("round_ms", 25.0),
        ("round_steps", 2.5),
        ("speedup", E / 2.5),
        ("tokens_per_second", E * 40),
        ("conditional_acceptance", ALPHA),
        ("per_draft", (E - 1) / K),
    ):
        assert answer[name] == pytest.approx(value, rel=2e-3), name
    assert answer["cumulative"] == pytest.approx([ALPHA**i for i in range(1, K + 1)], rel=2e-3)
    assert tokens_from_alpha(answer["break_even_acceptance"], K) == pytest.approx(2.5)


@pytest.mark.parametrize("kind", ["conditional", "conditional by position", "cumulative", "counts", "histogram"])
def test_acceptance_that_holds_at_any_k_is_used_over_a_list(kind):
    facts = {"decode_ms": 10, "verify_ms": "flat", "draft_step_ms": 1, "k": [1, 2, 4], **KINDS[kind]}
    answer = judge_facts(facts).to_object()
    for k in (1, 2, 4):
        assert answer["speedup_by_k"][str(k)] == pytest.approx(tokens_from_alpha(ALPHA, k) / (1 + k / 10), rel=2e-3)
    assert answer["best_k"] == 4
    assert answer["speedup"] == answer["speedup_by_k"]["4"]


@pytest.mark.parametrize("kind", ["per_draft", "accepted_per_generated", "mean_accepted", "tokens_per_round"])
def test_acceptance_of_one_k_is_not_spread_over_a_list(kind):
    facts = {"decode_ms": 10, "verify_ms": "flat", "draft_step_ms": 1, "k": [1, 2, 4], **KINDS[kind]}
    answer = judge_facts(facts).to_object()
    assert "speedup_by_k" not in answer
    assert answer["round_steps_by_k"] == pytest.approx({"1": 1.1, "2": 1.2, "4": 1.4})
    assert "facts_of_one_k" in [warned["code"] for warned in answer["warnings"]]


def test_a_list_of_one_is_judged_as_one_and_listed():
    facts = {"decode_ms": 10, "round_ms": 25, "acceptance": {"value": 0.6, "kind": "per_draft"}}
    one, listed = (judge_facts({**facts, "k": k}).to_object() for k in (4, [4]))
    assert listed["speedup_by_k"] == {"4": one["speedup"]}
    assert {name: listed[name] for name in one} == one


def test_a_width_that_was_not_measured_is_left_out():
    facts = {
        "verify_ms": {"1": 10, "2": 12, "5": 15},
        "draft_step_ms": 1,
        "k": [1, 2, 4],
        "acceptance": {"value": 0.7, "kind": "conditional"},
    }
    answer = judge_facts(facts).to_object()
    assert list(answer["speedup_by_k"]) == ["1", "4"]


def test_no_drafts_yield_one_token_whatever_the_acceptance():
    answer = judge_facts({"decode_ms": 10, "round_ms": 11, "k": 0, "acceptance": {"value": 0.8}}).to_object()
    assert answer["tokens_per_round"] == 1
    assert answer["overhead_of_decode"] == pytest.approx(0.1)


def test_without_a_baseline_only_what_needs_none_is_answered():
    answer = judge_facts({"round_ms": 25, "k": 2, "tokens_per_round": 2}).to_object()
    assert answer["tokens_per_second"] == 80
    assert "verdict" not in answer
    assert "speedup" not in answer


def test_exactly_k_plus_one_steps_is_not_unwinnable():
    for round_ms, verdict in ((30.0, "loses"), (30.001, "unwinnable")):
        answer = judge_facts({"decode_ms": 10, "round_ms": round_ms, "k": 2, "tokens_per_round": 2})
        assert answer.verdict == verdict


def test_a_round_beyond_k_plus_one_steps_needs_no_acceptance():
    assert judge_facts({"decode_ms": 10, "round_ms": 31, "k": 2}).verdict == "unwinnable"
    assert judge_facts({"decode_ms": 10, "round_ms": 29, "k": 2}).verdict is None


def test_counts_give_an_interval_that_can_hold_one():
    facts = {"decode_ms": 10, "round_ms": 14.9, "k": 1}
    few = judge_facts({**facts, "acceptance": {"accepted": 25, "drafted": 47}})
    many = judge_facts({**facts, "acceptance": {"accepted": 25_000, "drafted": 47_000}})
    assert (few.verdict, many.verdict) == ("too_close", "wins")
    low, high = few.numbers["speedup_95"]
    assert (low * 1.49 - 1, high * 1.49 - 1) == pytest.approx((0.3923, 0.6667), abs=1e-3)


def test_repeated_runs_give_a_t_interval_on_the_log_ratio():
    plain, drafting = [50.0, 52.0, 51.0], [51.0, 50.0, 53.0]
    answer = judge_facts({"decode_tps": plain, "speculative_tps": drafting, "k": 1})
    logs = [math.log(d / p) for p, d in zip(plain, drafting, strict=True)]
    mean = sum(logs) / 3
    half = 4.302653 * math.sqrt(sum((x - mean) ** 2 for x in logs) / 2 / 3)
    assert answer.numbers["speedup"] == pytest.approx(math.exp(mean))
    assert answer.numbers["speedup_95"] == pytest.approx([math.exp(mean - half), math.exp(mean + half)])
    assert answer.verdict == "too_close"
    assert judge_facts({"decode_tps": 51, "speculative_tps": drafting, "k": 1}).numbers["basis"] == "interval"
    assert judge_facts({"decode_tps": 51, "speculative_tps": 52, "k": 1}).numbers["basis"] == "point"


def test_two_rulers_show_the_wrong_and_the_right_result_and_no_headline():
    facts = {"decode_tps": 91.4, "block_sum_ms": 8.128, "wall_ms": 10.941, "draft_ms": 0.643, "k": 1}
    facts |= {"verify_ruler": "block_sum", "acceptance": {"value": 0.6457}}
    for verify in ({"verify_passes": 2}, {"verify_ms": {"2": 16.256}}):
        numbers = judge_facts({**facts, **verify}).numbers
        assert numbers["wrong_speedup"] == pytest.approx(1.0655, rel=1e-3)
        assert numbers["right_speedup"] == pytest.approx(0.7994, rel=1e-3)
        assert "speedup" not in numbers


@pytest.mark.parametrize(
    ("curve", "cliff"),
    [
        ({"1": 10, "2": 11, "4": 13, "8": 17, "9": 40}, [8, 9]),
        ({"1": 10, "8": 17, "12": 60, "16": 64}, [8, 12]),
        ({"1": 10, "2": 10.02, "3": 10.01, "4": 10.05}, None),
        ({"1": 10, "2": 20, "3": 30, "4": 40}, None),
        ({"1": 10, "2": 40}, None),
    ],
)
def test_a_cliff_is_a_step_far_beyond_the_others(curve, cliff):
    numbers = judge_facts({"verify_ms": curve}).numbers
    assert numbers.get("cliff_between") == cliff
    assert numbers.get("largest_safe_k") == (None if cliff is None else cliff[0] - 1)


def test_the_questions_tell_known_unknown_and_contradictory_apart():
    facts = {"decode_ms": 10, "verify_ms": {"2": 12}, "draft_ms": 1, "k": 1, "tokens_per_round": 1.6}
    said = {q.code: q.state for q in judge_facts(facts).questions}
    assert said == {
        "verify_cost": "known",
        "sampling": "unknown",
        "length": "unknown",
        "content": "unknown",
        "end_to_end": "known",
    }
    facts |= {"rule": "greedy", "temperature": 1, "content": "code", "speculative_tps": 60, "num_spec_steps": 500}
    said = {q.code: q.state for q in judge_facts(facts).questions}
    assert said == {
        "verify_cost": "known",
        "sampling": "contradictory",
        "length": "known",
        "content": "known",
        "end_to_end": "contradictory",
    }


def test_what_both_kinds_agree_on_is_answered():
    answer = judge_facts({"decode_ms": 281, "round_ms": 817, "k": 5, "acceptance": {"value": 0.613}}).to_object()
    assert answer["round_steps"] == pytest.approx(2.9075, rel=1e-3)
    assert "tokens_per_round" not in answer
    assert answer["by_kind"]["per_draft"]["speedup"] == pytest.approx(1.398, rel=1e-3)


TIMES = st.floats(0.5, 500)


@settings(max_examples=150, deadline=None)
@given(
    decode=TIMES,
    verify=st.dictionaries(st.integers(1, 9), TIMES, min_size=1),
    draft=st.none() | st.floats(0, 50),
    speed=st.none() | TIMES,
    k=st.integers(0, 8),
    alpha=st.floats(0, 1),
    kind=st.sampled_from(["conditional", "per_draft", None]),
)
def test_numbers_of_one_answer_fit_each_other(decode, verify, draft, speed, k, alpha, kind):
    facts = {
        "decode_ms": decode,
        "verify_ms": {str(n): ms for n, ms in verify.items()},
        "draft_step_ms": draft,
        "speculative_tps": speed,
        "k": k,
        "acceptance": {"value": alpha, "kind": kind},
    }
    numbers = judge_facts(facts).numbers
    same = pytest.approx
    if "speedup" in numbers and "round_steps" in numbers and "tokens_per_round" in numbers:
        assert numbers["speedup"] == same(numbers["tokens_per_round"] / numbers["round_steps"])
        assert numbers["tokens_per_second"] == same(numbers["speedup"] * 1000 / decode)
        assert numbers["break_even_tokens_per_round"] == numbers["round_steps"]
    if "prediction_error" in numbers:
        assert numbers["speedup"] / numbers["measured_speedup"] - 1 == same(numbers["prediction_error"], abs=1e-9)
    if numbers.get("break_even_acceptance") is not None and "round_steps" in numbers:
        assert tokens_from_alpha(numbers["break_even_acceptance"], k) == same(numbers["round_steps"], rel=1e-5)
    assert all(math.isfinite(v) for v in numbers.values() if isinstance(v, float))


def test_a_published_share_over_known_rounds_has_its_interval():
    facts = {"k": 1, "acceptance": {"value": 0.532, "kind": "conditional", "rounds": 47}}
    answer = judge_facts(facts).to_object()
    assert answer["half_width_95"] == pytest.approx(0.1427, abs=1e-3)
    assert "too_few_rounds" in [warned["code"] for warned in answer["warnings"]]


def test_none_accepted_bounds_the_acceptance():
    answer = judge_facts({"k": 3, "acceptance": {"accepted": 0, "drafted": 60}})
    assert answer.numbers["acceptance_upper_95"] == pytest.approx(1 - 0.05 ** (1 / 60))


def test_experts_are_counted_for_the_positions_asked():
    found = judge_facts({"moe": {"experts": 256, "active": 8, "positions": [1, 2]}}).numbers["moe_distinct"]
    assert found == pytest.approx([8.0, 15.75])
    assert len(judge_facts({"k": 3, "moe": {"experts": 8, "active": 2}}).numbers["moe_distinct"]) == 2
