"""The tables of Leviathan et al. (2023) and the times of Chen et al. (2023), from their formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_costs import DECODE, alphas, flat, lengths, no_deadline, plain, whole

from specview.profilers.judge.division import Conditional, PerRound, convert, divide, divide_round
from specview.profilers.judge.leviathan import best_draft_length, more_operations, walltime_improvement


@pytest.mark.parametrize(
    ("alpha", "k", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_table_1_of_free_drafts(alpha: float, k: int, operations: float, speed: float) -> None:
    assert walltime_improvement(alpha, k, 0.0) == pytest.approx(speed, abs=0.006)
    assert more_operations(alpha, k, 0.0) == pytest.approx(operations, abs=0.006)


@pytest.mark.parametrize(
    ("alpha", "k", "c", "printed"),
    [
        (0.75, 7, 0.02, 3.2),
        (0.82, 7, 0.11, 2.5),
        (0.68, 5, 0.04, 2.4),
        (0.73, 5, 0.04, 2.6),
        (0.53, 5, 0.02, 1.9),
    ],
)
def test_table_4_of_expected_improvements(alpha: float, k: int, c: float, printed: float) -> None:
    assert walltime_improvement(alpha, k, c) == pytest.approx(printed, abs=0.06)


def test_a_third_of_a_step_for_a_draft_pays_only_above_that_acceptance() -> None:
    assert best_draft_length(0.3, 0.34) == 0
    assert best_draft_length(0.4, 0.34) >= 1


@no_deadline
@given(alphas, alphas, st.floats(0.01, 0.99))
def test_better_guesses_never_want_shorter_drafts(first: float, second: float, c: float) -> None:
    low, high = sorted((first, second))
    assert best_draft_length(low, c, 32) <= best_draft_length(high, c, 32)


@no_deadline
@given(st.floats(0.0, 0.999), st.floats(0.001, 0.999))
def test_some_draft_pays_exactly_where_acceptance_is_above_its_cost(alpha: float, c: float) -> None:
    # corollary 3.9, and the improvement it promises: at least (1 + α) ÷ (1 + c)
    assert (walltime_improvement(alpha, 1, c) > 1) == (alpha > c)
    if alpha > c:
        best = walltime_improvement(alpha, best_draft_length(alpha, c), c)
        assert best >= (1 + alpha) / (1 + c) * (1 - 1e-12)
    else:
        assert best_draft_length(alpha, c) == 0


@no_deadline
@given(alphas, lengths, st.floats(0.0, 1.0))
def test_the_division_over_a_flat_verify_is_the_closed_form(alpha: float, k: int, c: float) -> None:
    found = divide(flat(k, c), Conditional(alpha=alpha), k, DECODE)
    assert found.speedup == pytest.approx(walltime_improvement(alpha, k, c))


@pytest.mark.parametrize(("token_ms", "printed"), [(7.00, 2.01), (5.73, 2.46)])
def test_chens_speedups_are_his_times_divided_and_his_loop_allows_them(token_ms: float, printed: float) -> None:
    # Table 1 at K = 4: 14.1 ms a token, a draft of 1.8 ms a token. The 1.92 of the third row is not 14.1 ÷ 7.52.
    loop = whole(14.1 + 4 * 1.8)
    tokens = loop.ms / token_ms
    found = divide_round(loop, PerRound(mean_accepted=tokens - 1, k=4), 4, plain(14.1))
    assert found.speedup == pytest.approx(printed, abs=0.006)
    assert not found.cannot_win and found.break_even_acceptance is not None
    assert found.break_even_acceptance < convert(PerRound(mean_accepted=tokens - 1, k=4), Conditional).alpha < 1
