"""Kinds of acceptance as types, converted where the facts allow, and the division of public reports."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, costs, flat, lengths, no_deadline, plain, whole

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import AcceptanceRule
from specview.profilers.judge.division import (
    AnyAcceptance,
    ByPosition,
    Conditional,
    Cumulative,
    PerDraft,
    PerGenerated,
    PerRound,
    convert,
    cumulative_at,
    divide,
    divide_round,
    tokens_of,
)
from specview.profilers.judge.economics import decode_from, speedup_at

KINDS = (Conditional, ByPosition, Cumulative, PerDraft, PerRound, PerGenerated)
SPARK = Cumulative(shares=(0.844, 0.599, 0.385, 0.271))
GREEDY = AcceptanceRule.GREEDY


def test_038_per_draft_at_seven_drafts_guesses_better_than_051_at_one() -> None:
    peer = convert(PerDraft(value=0.38, k=7), Conditional)
    assert peer.alpha == pytest.approx(0.7559, abs=1e-4)
    assert tokens_of(PerDraft(value=0.38, k=7)) == pytest.approx(3.66)


def test_positions_of_a_public_thread_convert_to_conditional_and_per_draft() -> None:
    assert convert(SPARK, ByPosition).conditional == pytest.approx((0.844, 0.7097, 0.6427, 0.7039), abs=1e-4)
    assert convert(SPARK, PerDraft).value == pytest.approx(0.5247, abs=1e-4)
    assert tokens_of(SPARK) == pytest.approx(3.099)


def test_positions_beyond_k_are_left_out_and_missing_ones_are_refused() -> None:
    assert convert(SPARK, Cumulative, k=2).shares == SPARK.shares[:2]
    with pytest.raises(SpecviewError, match="known for 4 positions, not for 5"):
        convert(SPARK, Cumulative, k=5)


@no_deadline
@given(alphas, lengths, st.sampled_from(KINDS))
def test_from_one_alpha_every_kind_has_the_same_tokens_and_leads_back(alpha: float, k: int, kind: type) -> None:
    start = Conditional(alpha=alpha, rule=GREEDY)
    there: AnyAcceptance = convert(start, kind, k)
    assert there.rule is GREEDY
    own_k = k if isinstance(there, Conditional | PerGenerated) else None
    assert tokens_of(there, own_k) == pytest.approx(tokens_of(start, k), abs=1e-9)
    assert convert(there, Conditional, own_k).alpha == pytest.approx(alpha, abs=1e-6)


@no_deadline
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=10))
def test_by_position_and_cumulative_lead_back_to_each_other(conditional: list[float]) -> None:
    start = ByPosition(conditional=tuple(conditional))
    back = convert(convert(start, Cumulative), ByPosition)
    assert back.conditional == pytest.approx(start.conditional, rel=1e-9)


@no_deadline
@given(st.floats(0.0, 1.0), lengths)
def test_means_lead_back_to_each_other(value: float, k: int) -> None:
    start = PerDraft(value=value, k=k)
    around = convert(convert(convert(start, PerRound), PerGenerated), PerDraft, k)
    assert around.value == pytest.approx(value, abs=1e-9)


@no_deadline
@given(alphas, alphas, lengths)
def test_tokens_lie_between_one_and_k_plus_one_and_rise_with_acceptance(first: float, second: float, k: int) -> None:
    low, high = sorted((first, second))
    below, above = (tokens_of(Conditional(alpha=a), k) for a in (low, high))
    assert 1.0 <= below <= above <= k + 1.0
    assert tokens_of(Conditional(alpha=low), k + 1) >= below


@pytest.mark.parametrize("to", [ByPosition, Cumulative])
@pytest.mark.parametrize("mean", [PerDraft(value=0.4, k=3), PerRound(mean_accepted=1.2, k=3), PerGenerated(value=0.5)])
def test_a_mean_over_rounds_has_no_positions(mean: AnyAcceptance, to: type) -> None:
    with pytest.raises(SpecviewError, match="at which position"):
        convert(mean, to, 3)


def test_at_one_draft_all_kinds_are_one_number() -> None:
    one = PerDraft(value=0.51, k=1)
    assert convert(one, Cumulative).shares == pytest.approx((0.51,))
    assert convert(one, Conditional).alpha == pytest.approx(0.51)


@pytest.mark.parametrize(
    ("start", "to", "k", "missing"),
    [
        (Conditional(alpha=0.7), PerDraft, None, "how many tokens a round drafts"),
        (Conditional(alpha=0.7), Cumulative, None, "how many tokens a round drafts"),
        (PerGenerated(value=0.5), Conditional, None, "how many tokens a round drafts"),
        (PerRound(mean_accepted=0.5), PerDraft, None, "how many tokens a round drafts"),
        (PerDraft(value=0.5, k=2.5), Conditional, None, "different draft lengths"),
        (PerDraft(value=0.5, k=7), PerRound, 3, "counted at 7 drafts a round, not 3"),
        (PerGenerated(value=0.9), PerDraft, 2, "More drafts would be accepted"),
    ],
)
def test_a_conversion_without_its_fact_says_which(start: AnyAcceptance, to: type, k: int | None, missing: str) -> None:
    with pytest.raises(SpecviewError, match=missing):
        convert(start, to, k)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Conditional, {"alpha": 1.1}),
        (Conditional, {"alpha": math.nan}),
        (ByPosition, {"conditional": ()}),
        (Cumulative, {"shares": (0.5, 0.6)}),
        (PerDraft, {"value": 0.5, "k": 0}),
        (PerRound, {"mean_accepted": 3.0, "k": 2}),
        (PerRound, {"mean_accepted": math.nan}),
        (PerGenerated, {"value": 1.0}),
    ],
)
def test_an_acceptance_that_cannot_be_is_refused_where_it_is_made(kind: type, fields: dict[str, object]) -> None:
    with pytest.raises(SpecviewError):
        kind(**fields)


def test_another_k_is_asked_for_through_one_alpha_only_where_the_own_k_is_known() -> None:
    alpha = convert(PerDraft(value=0.38, k=7), Conditional).alpha
    assert cumulative_at(PerDraft(value=0.38, k=7), 2) == pytest.approx((alpha, alpha**2))
    with pytest.raises(SpecviewError, match="does not say how many tokens its rounds drafted"):
        cumulative_at(PerGenerated(value=0.5), 2)


def test_article_a_in_october_could_not_win() -> None:
    found = divide_round(whole(23.6), Conditional(alpha=0.51), 1, decode_from(92.0), verify=whole(21.0))
    assert found.cannot_win and found.break_even_acceptance is None
    assert found.speedup == pytest.approx(0.6955, abs=1e-4)
    assert found.break_even_tokens_per_round == pytest.approx(2.1712, abs=1e-4)
    assert found.tokens_per_second == pytest.approx(63.98, abs=0.01)
    assert found.break_even_verify_ms == pytest.approx(13.81, abs=0.01)


def test_the_same_value_wins_as_one_kind_and_loses_as_another() -> None:
    per_draft = divide_round(whole(817), PerDraft(value=0.613, k=5), 5, plain(281))
    conditional = divide_round(whole(817), Conditional(alpha=0.613), 5, plain(281))
    assert per_draft.speedup == pytest.approx(1.3981, abs=1e-4)
    assert conditional.speedup == pytest.approx(0.8416, abs=1e-4)
    assert per_draft.break_even_acceptance == pytest.approx(0.6947, abs=1e-4)


@no_deadline
@given(any_costs(), alphas, st.integers(1, 8))
def test_at_each_break_even_the_speedup_is_one(made, alpha: float, k: int) -> None:
    found = divide(made, Conditional(alpha=alpha), k, DECODE)
    least = found.break_even_acceptance
    if least:
        assert speedup_at(made, least, k, DECODE) == pytest.approx(1.0, abs=1e-6)
    limit = found.break_even_verify_ms
    assert limit is not None
    assume(limit > 1e-6)
    moved = costs({k + 1: limit}, {w: s.ms for w, s in made.draft_by_width.items()}, made.rest.ms)
    assert divide(moved, Conditional(alpha=alpha), k, DECODE).speedup == pytest.approx(1.0, abs=1e-6)
    assert found.speedup == pytest.approx(found.tokens_per_round / found.break_even_tokens_per_round)


@no_deadline
@given(any_costs(catch_up=False), st.integers(1, 8))
def test_what_cannot_win_has_no_break_even_acceptance(made, k: int) -> None:
    found = divide(made, Conditional(alpha=0.5), k, DECODE)
    assert not (found.cannot_win and found.break_even_acceptance is not None)


def test_by_position_and_its_own_alpha_divide_alike_without_catch_up() -> None:
    positions = divide(flat(4, 0.1), SPARK, 4, DECODE)
    alpha = divide(flat(4, 0.1), convert(SPARK, Conditional), 4, DECODE)
    assert positions.speedup == pytest.approx(alpha.speedup)
