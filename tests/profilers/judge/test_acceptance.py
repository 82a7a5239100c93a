"""Kinds of acceptance, converted where the facts allow and refused where not."""

from __future__ import annotations

import numpy as np
import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import (
    Acceptance,
    AcceptanceKind,
    AcceptanceRule,
    alpha_from_tokens,
    convert,
    count_rounds,
    tokens_from_alpha,
    tokens_per_round,
)

K = AcceptanceKind


def test_038_per_draft_at_seven_drafts_equals_a_conditional_acceptance_of_0756() -> None:
    peer = Acceptance(K.PER_DRAFT, 0.38, drafted=7)
    assert tokens_per_round(peer) == pytest.approx(3.66)
    assert convert(peer, K.CONDITIONAL).value == pytest.approx(0.7559, abs=1e-4)


def test_one_draft_makes_conditional_and_per_draft_the_same() -> None:
    own = Acceptance(K.CONDITIONAL, 0.51, drafted=1)
    assert convert(own, K.PER_DRAFT).value == pytest.approx(0.51)
    assert tokens_per_round(own) == pytest.approx(1.51)


def test_cumulative_by_position_converts_to_conditional_and_back() -> None:
    spark = Acceptance(K.CUMULATIVE, positions=(0.844, 0.599, 0.385, 0.271), drafted=4)
    assert tokens_per_round(spark) == pytest.approx(3.099)
    conditional = convert(spark, K.CONDITIONAL)
    assert conditional.positions == pytest.approx((0.844, 0.7097, 0.6427, 0.7039), abs=1e-4)
    assert convert(conditional, K.CUMULATIVE).positions == pytest.approx(spark.positions)
    assert convert(spark, K.PER_DRAFT).value == pytest.approx(0.5247, abs=1e-4)


@pytest.mark.parametrize("kind", list(K))
def test_every_kind_keeps_the_tokens_per_round_and_the_rule(kind: AcceptanceKind) -> None:
    start = Acceptance(K.CONDITIONAL, 0.7, drafted=4, rule=AcceptanceRule.GREEDY)
    there = convert(start, kind)
    assert there.kind is kind and there.rule is AcceptanceRule.GREEDY
    assert tokens_per_round(there) == pytest.approx(tokens_from_alpha(0.7, 4))
    back = convert(there, K.CONDITIONAL)
    assert (back.value or back.positions[0]) == pytest.approx(0.7)


def test_mean_accepted_and_accepted_per_generated_need_no_draft_length_for_e() -> None:
    assert tokens_per_round(Acceptance(K.MEAN_ACCEPTED, 0.56)) == pytest.approx(1.56)
    assert tokens_per_round(Acceptance(K.ACCEPTED_PER_GENERATED, 0.5)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("acceptance", "kind", "match"),
    [
        (Acceptance(K.PER_DRAFT, 0.38), K.CONDITIONAL, "how many tokens a round drafts"),
        (Acceptance(K.CONDITIONAL, 0.7), K.PER_DRAFT, "how many tokens a round drafts"),
        (Acceptance(K.PER_DRAFT, 0.38, drafted=2.4), K.CONDITIONAL, "different draft lengths"),
        (Acceptance(K.PER_DRAFT, 1.4, drafted=2), K.CONDITIONAL, "between 0 and 1"),
        (Acceptance(K.CUMULATIVE, 0.5), K.CONDITIONAL, "each position"),
        (Acceptance(K.CUMULATIVE, positions=(0.5, 0.6)), K.CONDITIONAL, "cannot rise"),
        (Acceptance(K.PER_DRAFT, positions=(0.5, 0.6)), K.CONDITIONAL, "one number"),
        (Acceptance(K.MEAN_ACCEPTED), K.CONDITIONAL, "needs a value"),
        (Acceptance(K.MEAN_ACCEPTED, 3.0, drafted=2), K.CONDITIONAL, "between 1 and 3 tokens"),
        (Acceptance(K.MEAN_ACCEPTED, 3.0, drafted=2), K.PER_DRAFT, "More drafts were accepted"),
        (Acceptance(K.ACCEPTED_PER_GENERATED, 1.0), K.MEAN_ACCEPTED, "stays below 1"),
    ],
)
def test_a_conversion_the_facts_do_not_allow_says_why(acceptance: Acceptance, kind: AcceptanceKind, match: str) -> None:
    with pytest.raises(SpecviewError, match=match):
        convert(acceptance, kind)


def test_varying_drafts_still_give_tokens_per_round_from_their_mean() -> None:
    assert tokens_per_round(Acceptance(K.PER_DRAFT, 0.5, drafted=2.4)) == pytest.approx(2.2)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, 1.0])
def test_alpha_is_found_again_from_tokens_per_round(alpha: float) -> None:
    assert alpha_from_tokens(tokens_from_alpha(alpha, 5), 5) == pytest.approx(alpha, abs=1e-9)


def test_rounds_are_counted_by_position() -> None:
    counts = count_rounds([(2, 2), (2, 1), (2, 0), (1, 1), (0, 0), (2, 2)])
    assert (counts.rounds, counts.drafted, counts.accepted) == (6, 9, 6)
    assert counts.reached == (5, 3) and counts.accepted_at == (4, 2)
    first, second = counts.conditional
    assert first is not None and first.estimate == pytest.approx(4 / 5)
    assert second is not None and second.estimate == pytest.approx(2 / 3)
    assert [r.estimate for r in counts.cumulative] == pytest.approx([4 / 6, 2 / 6])
    assert counts.per_draft is not None and counts.per_draft.estimate == pytest.approx(6 / 9)
    assert counts.mean_accepted.estimate == pytest.approx(1.0)
    assert counts.tokens_per_round.estimate == pytest.approx(2.0)


def test_every_estimate_lies_in_its_interval_and_e_is_one_plus_the_cumulative() -> None:
    rng = np.random.default_rng(6)
    rounds = [(4, int(min(4, rng.geometric(0.35) - 1))) for _ in range(200)]
    counts = count_rounds(rounds)
    for interval in (*counts.conditional, *counts.cumulative, counts.per_draft, counts.mean_accepted):
        assert interval is not None and interval.low <= interval.estimate <= interval.high
    assert counts.tokens_per_round.estimate == pytest.approx(1 + sum(r.estimate for r in counts.cumulative))


def test_a_vllm_histogram_gives_its_cumulative_acceptance() -> None:
    counts = count_rounds([(3, 0)] * 39 + [(3, 1)] + [(3, 3)] * 3)
    assert [r.estimate for r in counts.cumulative] == pytest.approx([0.093, 0.0698, 0.0698], abs=1e-3)


def test_drafts_of_one_round_stand_together_so_their_interval_is_wider_than_plain_wilson() -> None:
    from specview.profilers.judge.statistics import wilson

    rng = np.random.default_rng(7)
    rounds = [(8, 8 if rng.random() < 0.5 else 0) for _ in range(100)]
    counts = count_rounds(rounds)
    plain = wilson(counts.accepted, counts.drafted)
    assert counts.per_draft is not None
    assert counts.per_draft.high - counts.per_draft.low > 2 * (plain.high - plain.low)


def test_rounds_without_drafts_have_no_acceptance_per_draft() -> None:
    counts = count_rounds([(0, 0), (0, 0)])
    assert counts.per_draft is None and counts.conditional == ()
    assert counts.tokens_per_round.estimate == 1.0


@pytest.mark.parametrize("rounds", [[(1, 1)], [], [(1, 2), (1, 0)], [(1, -1), (1, 0)]])
def test_broken_or_missing_rounds_are_refused(rounds: list[tuple[int, int]]) -> None:
    with pytest.raises(SpecviewError):
        count_rounds(rounds)
