"""Break-even surfaces over acceptance and k, verify and batch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, costs, no_deadline, plain, whole

from specview.engine.errors import SpecviewError
from specview.profilers.judge.batch import BatchCosts
from specview.profilers.judge.division import Conditional, divide
from specview.profilers.judge.economics import DrafterKind, RoundCosts, speedup_at
from specview.profilers.judge.surfaces import over_acceptance_and_k, over_batch, over_verify

GRID = tuple(i / 10 for i in range(11))


@settings(deadline=None, max_examples=25)
@given(any_costs(most=4))
def test_every_point_is_the_division_and_the_contour_lies_at_one(made) -> None:
    found = over_acceptance_and_k(made, DECODE, alphas=GRID)
    assert found.lengths == (1, 2, 3, 4) and found.left_out == ()
    for k, row, least, never in zip(found.lengths, found.speedup, found.break_even, found.cannot_win, strict=True):
        assert row[3] == pytest.approx(divide(made, Conditional(alpha=GRID[3]), k, DECODE).speedup)
        assert not (never and row[-1] > 1)
        if least:
            assert speedup_at(made, least, k, DECODE) == pytest.approx(1.0, abs=1e-6)
            assert all(s < 1 for alpha, s in zip(GRID, row, strict=True) if alpha < least - 0.005)
        assert (least == 0.0) == (row[0] >= 1)


@no_deadline
@given(any_costs(catch_up=False), alphas, alphas)
def test_speedup_rises_with_acceptance_where_catch_up_is_free(made, first: float, second: float) -> None:
    found = over_acceptance_and_k(made, DECODE, alphas=sorted((first, second)))
    assert all(low <= high * (1 + 1e-12) for low, high in found.speedup)


def test_a_k_whose_width_was_not_measured_is_left_out() -> None:
    found = over_acceptance_and_k(costs({2: 1.0, 4: 1.0}), DECODE, [1, 2, 3])
    assert found.lengths == (1, 3) and found.left_out == (2,)
    assert len(found.speedup) == 2 and found.low == found.high == ()
    with pytest.raises(SpecviewError, match="No verify pass 3 wide"):
        over_acceptance_and_k(costs({2: 1.0}), DECODE, [2])


def test_intervals_come_with_times_whose_errors_are_known() -> None:
    made = RoundCosts(
        DrafterKind.MODEL, {2: whole(1.5, 0.05, 30)}, {n: whole(0.1, 0.01, 30) for n in (1, 2)}, whole(0.0, 0.0, 2)
    )
    found = over_acceptance_and_k(made, plain(1.0, 0.02, 30), alphas=(0.2, 0.8))
    for low, middle, high in zip(found.low[0], found.speedup[0], found.high[0], strict=True):
        assert low < middle < high and high / low < 1.3
    curve = over_verify(made, Conditional(alpha=0.8), 1, plain(1.0, 0.02, 30), [1.0, 2.0])
    assert all(a < b < c for a, b, c in zip(curve.low, curve.speedup, curve.high, strict=True))


@no_deadline
@given(any_costs(), alphas, st.integers(1, 8))
def test_over_verify_the_line_is_crossed_at_the_break_even(made, alpha: float, k: int) -> None:
    found = over_verify(made, Conditional(alpha=alpha), k, DECODE, [0.5, 1.0, 2.0])
    assert list(found.speedup) == sorted(found.speedup, reverse=True)
    here = divide(made, Conditional(alpha=alpha), k, DECODE)
    if found.break_even_ms is None:
        assert here.break_even_verify_ms is not None and here.break_even_verify_ms <= 0
        assert max(found.speedup) < 1
    else:
        at = over_verify(made, Conditional(alpha=alpha), k, DECODE, [found.break_even_ms, found.measured_ms])
        assert at.speedup == pytest.approx((1.0, here.speedup), abs=1e-6)


def test_over_verify_asks_for_the_width_it_compares_with() -> None:
    with pytest.raises(SpecviewError, match="No verify pass 3 wide"):
        over_verify(costs({2: 1.0}), Conditional(alpha=0.5), 2, DECODE, [1.0])


def test_over_batch_holds_the_measured_batches_and_where_they_lose() -> None:
    made = {b: BatchCosts(decode=DECODE, round=costs({2: ms})) for b, ms in ((1, 1.0), (8, 1.4), (32, 2.0))}
    found = over_batch(made, Conditional(alpha=0.5), 1)
    assert found.batches == (1, 8, 32) and found.speedup == pytest.approx((1.5, 1.5 / 1.4, 0.75))
    assert found.loses_from is not None and found.loses_from.batch == 32
