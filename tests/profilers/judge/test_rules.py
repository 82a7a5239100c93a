"""What each rule of acceptance accepts, and that numbers of two rules are not compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_costs import no_deadline

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import AcceptanceRule
from specview.profilers.judge.division import Conditional, PerDraft
from specview.profilers.judge.rules import agreement, difference

GREEDY, EXACT, REJECTION = AcceptanceRule.GREEDY, AcceptanceRule.EXACT_MATCH, AcceptanceRule.REJECTION


@st.composite
def two_distributions(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    size = draw(st.integers(1, 6))
    weights = st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size)
    return tuple([w / sum(ws) for w in ws] for ws in (draw(weights), draw(weights)))


@no_deadline
@given(two_distributions())
def test_rejection_accepts_at_least_what_an_exact_match_does(pair: tuple[list[float], list[float]]) -> None:
    assert 0 < agreement(EXACT, *pair) <= agreement(REJECTION, *pair) + 1e-12 <= 1 + 1e-9


def test_rejection_is_one_less_half_the_distance_and_greedy_is_all_or_nothing() -> None:
    p, q = [0.7, 0.2, 0.1], [0.4, 0.5, 0.1]
    assert agreement(REJECTION, p, q) == pytest.approx(1 - 0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True)))
    assert agreement(EXACT, p, q) == pytest.approx(0.39)
    assert agreement(GREEDY, p, q) == 0 and agreement(GREEDY, p, p) == 1


def test_a_drafter_that_equals_the_target_is_always_accepted_by_rejection_only() -> None:
    p = [0.5, 0.5]
    assert agreement(REJECTION, p, p) == 1 and agreement(EXACT, p, p) == pytest.approx(0.5)


def test_distributions_over_different_tokens_are_refused() -> None:
    with pytest.raises(SpecviewError, match="same tokens"):
        agreement(REJECTION, [1.0], [0.5, 0.5])


def test_article_as_peer_guesses_better_by_a_quarter() -> None:
    assert difference(Conditional(alpha=0.51), PerDraft(value=0.38, k=7)) == pytest.approx(0.246, abs=1e-3)


@pytest.mark.parametrize("other", [REJECTION, None])
def test_acceptance_under_unlike_rules_is_not_compared(other: AcceptanceRule | None) -> None:
    with pytest.raises(SpecviewError, match="not comparable"):
        difference(Conditional(alpha=0.5, rule=GREEDY), Conditional(alpha=0.6, rule=other))
