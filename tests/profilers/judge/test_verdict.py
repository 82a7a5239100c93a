"""Every kind of verdict, every guard with its remedy, and the words they use."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from specview.profilers.judge.spans import Ruler
from specview.profilers.judge.statistics import Interval
from specview.profilers.judge.verdict import Verdict, VerdictFacts, guards, judge


def near(value: float, off: float = 0.01) -> Interval:
    return Interval(value, value * (1 - off), value * (1 + off), 0.95, 50)


def around(s: float, prompts: int = 6, off: float = 0.01) -> tuple[float, ...]:
    wobble = [(-1) ** i * off * (1 + i // 2) / 3 for i in range(prompts)]
    return tuple(math.log(s) + w for w in wobble)


JULY = VerdictFacts(
    log_ratios=around(0.80),
    segment_log_ratios=around(0.80, 8),
    rounds=400,
    segments=24,
    drafted=400,
    accepted=260,
    budget_spent=True,
    tokens_per_round=near(1.65),
    round_steps=near(2.07),
    round_steps_full=near(1.95),
    most_tokens=2.0,
    verify_steps=near(1.98),
    canary=near(1.01),
    drift=near(1.0),
    other_busy=0.02,
    swapped_bytes=0,
    rules=("greedy",),
)
WINNING = replace(
    JULY,
    log_ratios=around(1.42),
    segment_log_ratios=around(1.42, 8),
    tokens_per_round=near(1.85),
    round_steps=near(1.30),
    round_steps_full=near(1.32),
    verify_steps=near(1.2),
)


def the_only_finding(facts: VerdictFacts, code: str) -> Verdict:
    verdict = judge(facts)
    assert [f.code for f in verdict.findings] == [code]
    assert verdict.kind == "refused" and verdict.speedup is None
    assert verdict.reason and verdict.remedy
    assert verdict.sentence == f"No verdict: {verdict.reason} {verdict.remedy}"
    return verdict


def test_a_loss_says_what_a_round_costs_and_yields() -> None:
    verdict = judge(JULY)
    assert verdict.kind == "loses" and verdict.scope == "prompts" and verdict.still_needed == 0
    assert verdict.sentence.startswith("Loses: drafting runs at 0.80x of plain decode (95% interval 0.79 to 0.8")
    assert verdict.sentence.endswith("A round costs 2.07 decode steps and yields 1.65 tokens.")
    assert verdict.speedup is not None and verdict.speedup.low != round(verdict.speedup.low, 2)


def test_a_win_is_told_with_its_interval() -> None:
    verdict = judge(WINNING)
    assert verdict.kind == "wins"
    assert verdict.sentence.startswith("Wins: drafting runs at 1.42x of plain decode (95% interval")


def test_a_round_dearer_than_its_full_yield_cannot_win() -> None:
    verdict = judge(replace(JULY, round_steps_full=near(2.07)))
    assert verdict.kind == "cannot_win"
    assert verdict.sentence.startswith(
        "Cannot win: even if every draft were accepted a round would cost 2.07 decode steps and yield 2 tokens."
    )


def test_cannot_win_needs_its_evidence_beyond_noise() -> None:
    assert judge(replace(JULY, round_steps_full=near(2.07, off=0.05))).kind == "loses"


def test_an_interval_that_holds_one_is_too_close_and_says_how_many_more_prompts() -> None:
    facts = replace(WINNING, log_ratios=(0.03, -0.01, 0.04, 0.02, -0.03, 0.03), round_steps=near(1.82), most_tokens=2.0)
    verdict = judge(facts)
    assert verdict.kind == "too_close" and verdict.speedup is not None and verdict.speedup.holds(1.0)
    assert verdict.still_needed is not None and verdict.still_needed > 0
    assert f"About {verdict.still_needed} more prompts may settle it." in verdict.sentence


def test_cannot_win_also_needs_the_measured_speedup_below_one() -> None:
    facts = replace(
        JULY,
        log_ratios=(0.02, -0.03, 0.01, -0.02, 0.01, -0.01),
        round_steps=near(1.66),
        round_steps_full=near(2.07),
    )
    assert judge(facts).kind == "too_close"


def test_one_prompt_is_judged_over_its_segments_and_says_so() -> None:
    verdict = judge(replace(JULY, log_ratios=(math.log(0.8),)))
    assert verdict.kind == "loses" and verdict.scope == "this prompt only"
    assert verdict.speedup is not None and verdict.speedup.n == 8
    assert verdict.sentence.endswith("This holds for this prompt only.")


def test_a_live_verdict_waits_for_the_next_declared_look() -> None:
    live = replace(WINNING, budget_spent=False)
    five, six = judge(replace(live, log_ratios=around(1.42, 5))), judge(live)
    assert five.speedup is not None and five.speedup.n == 3
    assert six.speedup is not None and six.speedup.n == 6


def test_without_round_costs_the_sentence_leaves_them_out() -> None:
    bare = replace(
        JULY,
        tokens_per_round=None,
        round_steps=None,
        round_steps_full=None,
        most_tokens=None,
        verify_steps=None,
    )
    verdict = judge(bare)
    assert verdict.kind == "loses" and "A round costs" not in verdict.sentence


def test_the_same_facts_give_the_same_verdict() -> None:
    assert judge(JULY) == judge(replace(JULY))


def test_a_slowed_canary_refuses_and_says_cool_down() -> None:
    verdict = the_only_finding(replace(JULY, canary=near(1.2, 0.03)), "canary_slowed")
    assert "20% slower" in verdict.reason and "cool" in verdict.remedy


def test_a_canary_within_its_own_noise_is_no_reason() -> None:
    assert guards(replace(JULY, canary=near(1.12, 0.15))) == ()


def test_a_drifting_baseline_refuses_in_both_directions() -> None:
    assert "+8%" in the_only_finding(replace(JULY, drift=near(1.08)), "baseline_drift").reason
    assert "-8%" in the_only_finding(replace(JULY, drift=near(0.92)), "baseline_drift").reason


def test_drift_within_its_own_noise_is_no_reason() -> None:
    assert guards(replace(JULY, drift=near(1.08, 0.1))) == ()


def test_a_loaded_machine_refuses() -> None:
    verdict = the_only_finding(replace(JULY, other_busy=0.5), "machine_loaded")
    assert "50%" in verdict.reason and "Stop them" in verdict.remedy


def test_a_swapping_machine_refuses() -> None:
    assert "512 MiB" in the_only_finding(replace(JULY, swapped_bytes=2**29), "swapping").reason


def test_no_acceptance_in_a_hundred_drafts_is_called_a_bug() -> None:
    facts = replace(
        JULY,
        drafted=387,
        accepted=0,
        tokens_per_round=near(1.0),
        log_ratios=around(0.48),
        round_steps=near(2.08),
    )
    verdict = the_only_finding(facts, "zero_acceptance")
    assert "0.8%" in verdict.reason and "bug" in verdict.reason and "tokenizer" in verdict.remedy
    assert guards(replace(facts, drafted=99)) == ()


def test_too_few_rounds_or_segments_refuse_with_how_many_are_needed() -> None:
    assert "30 rounds" in the_only_finding(replace(JULY, rounds=29), "too_few_rounds").remedy
    the_only_finding(replace(JULY, segments=2), "too_few_rounds")


def test_what_is_recorded_is_counted_in_good_english() -> None:
    one = judge(replace(JULY, rounds=1, segments=1, log_ratios=around(0.8, 1)))
    assert one.reason == "Too little is recorded: 1 round in 1 pair of segments over 1 prompt."
    two = judge(replace(JULY, rounds=2, segments=2, log_ratios=around(0.8, 2)))
    assert two.reason == "Too little is recorded: 2 rounds in 2 pairs of segments over 2 prompts."


def test_text_that_drafts_changed_refuses_before_everything_about_speed() -> None:
    verdict = the_only_finding(replace(WINNING, output_bugs=1), "output_differs")
    assert verdict.reason == "With drafts the text differs from plain greedy at 1 place by more than a tie."
    assert "Find the fault" in verdict.remedy
    both = judge(replace(WINNING, output_bugs=3, canary=near(1.3)))
    assert [f.code for f in both.findings] == ["output_differs", "canary_slowed"]
    assert "at 3 places" in both.sentence


def test_one_more_prompt_is_one_prompt() -> None:
    # 59 of 60 prompts: the last look, at 36, was still undecided and the next is one prompt away
    wobble = tuple(0.0095 + 0.02 * (-1) ** i for i in range(59))
    verdict = judge(replace(JULY, log_ratios=wobble, round_steps=near(1.65), round_steps_full=None, budget_spent=False))
    assert (verdict.kind, verdict.still_needed) == ("too_close", 1)
    assert "About 1 more prompt may settle it." in verdict.sentence


def test_nothing_recorded_yet_is_too_few_rounds() -> None:
    verdict = the_only_finding(VerdictFacts((), (), 0, 0, 0, 0), "too_few_rounds")
    assert verdict.still_needed is None


def test_two_prompts_and_few_segments_are_too_few() -> None:
    facts = replace(JULY, log_ratios=around(0.8, 2), segment_log_ratios=around(0.8, 2))
    the_only_finding(facts, "too_few_rounds")


def test_a_wide_interval_refuses_only_after_the_budget_is_spent() -> None:
    wide = replace(WINNING, log_ratios=(0.1, 0.5, 0.3, 0.2, 0.4, 0.6))
    verdict = the_only_finding(wide, "wide_interval")
    assert "over 6 prompts" in verdict.reason and "add prompts" in verdict.remedy
    assert guards(replace(wide, budget_spent=False)) == ()


def test_a_speedup_above_the_tokens_of_a_round_is_impossible() -> None:
    facts = replace(WINNING, log_ratios=around(2.2), tokens_per_round=near(1.85))
    assert "1.85 tokens" in the_only_finding(facts, "impossible_win").reason


def test_a_speedup_above_what_the_round_costs_allow_is_impossible() -> None:
    facts = replace(WINNING, log_ratios=around(1.7))
    assert "do not allow" in the_only_finding(facts, "impossible_win").reason


def test_a_win_while_full_acceptance_cannot_pay_is_impossible() -> None:
    facts = replace(WINNING, round_steps_full=near(2.2), round_steps=None)
    assert "at full acceptance" in the_only_finding(facts, "impossible_win").reason


def test_verifying_cheaper_than_decoding_is_impossible_beyond_noise() -> None:
    the_only_finding(replace(JULY, verify_steps=near(0.8)), "impossible_win")
    assert guards(replace(JULY, verify_steps=near(0.98, 0.05))) == ()


def test_two_rulers_in_one_quotient_refuse() -> None:
    verdict = the_only_finding(replace(JULY, round_ruler=Ruler.FENCED), "mixed_rulers")
    assert "two rulers" in verdict.reason and "1000 ÷" in verdict.remedy
    the_only_finding(replace(JULY, decode_ruler=Ruler.SYNCHRONOUS), "mixed_rulers")


def test_two_acceptance_rules_refuse() -> None:
    verdict = the_only_finding(replace(JULY, rules=("greedy", "rejection", "greedy")), "mixed_rules")
    assert "greedy, rejection" in verdict.reason


def test_unlike_runs_refuse_and_name_what_differs() -> None:
    assert "k, temperature" in the_only_finding(replace(JULY, unlike=("k", "temperature")), "unlike_runs").reason


def test_several_findings_are_all_kept_and_the_most_basic_speaks() -> None:
    verdict = judge(replace(JULY, canary=near(1.3), other_busy=0.6, unlike=("k",)))
    assert [f.code for f in verdict.findings] == ["unlike_runs", "canary_slowed", "machine_loaded"]
    assert "differ in k" in verdict.sentence


def test_the_noise_of_a_shared_machine_alone_is_no_reason() -> None:
    # IQR ÷ median of 15% in every segment pair, averaged over 8 pairs a prompt.
    rng = np.random.default_rng(0)
    prompts = tuple((math.log(0.7) + rng.normal(0, 0.15 / 1.35 / math.sqrt(8), 18)).tolist())
    assert judge(replace(JULY, log_ratios=prompts, round_steps=near(2.36))).kind == "loses"


def test_no_refusal_prints_a_speedup() -> None:
    for facts in (
        replace(JULY, canary=near(1.3)),
        replace(WINNING, log_ratios=(0.1, 0.5, 0.3, 0.2, 0.4, 0.6)),
        replace(WINNING, log_ratios=around(2.2)),
    ):
        verdict = judge(facts)
        assert verdict.speedup is None and "x of plain decode" not in verdict.sentence
