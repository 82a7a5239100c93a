"""Drafting for many sequences at once: where it begins to lose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, costs, no_deadline, plain

from specview.engine.errors import SpecviewError
from specview.profilers.judge.batch import (
    BatchCosts,
    batched_cumulative,
    divide_batch,
    divide_batches,
    loses_from,
)
from specview.profilers.judge.division import Conditional
from specview.profilers.judge.economics import speedup_at

HALF = Conditional(alpha=0.5)


def batches(decode: dict[int, float], verify: dict[int, float], width: int = 2) -> dict[int, BatchCosts]:
    return {b: BatchCosts(decode=plain(ms), round=costs({width: verify[b]})) for b, ms in decode.items()}


@no_deadline
@given(any_costs(), alphas, st.integers(1, 8))
def test_a_batch_of_one_is_the_division(made, alpha: float, k: int) -> None:
    row = divide_batch(BatchCosts(decode=DECODE, round=made), Conditional(alpha=alpha), k, 1)
    assert row.speedup == pytest.approx(speedup_at(made, alpha, k, DECODE))


@no_deadline
@given(st.lists(alphas, min_size=1, max_size=6), st.integers(1, 32))
def test_a_larger_batch_catches_up_more_often(shares: list[float], batch: int) -> None:
    cumulative = sorted(shares, reverse=True)
    one, many = batched_cumulative(cumulative, batch), batched_cumulative(cumulative, batch + 1)
    assert all(a <= b + 1e-12 for a, b in zip(one, many, strict=True))
    assert all(0 <= share <= 1 for share in many)


def test_the_whole_batch_waits_for_the_sequence_that_catches_up() -> None:
    made = BatchCosts(decode=DECODE, round=costs({2: 1.0}, {1: 0.1, 2: 0.3}))
    assert divide_batch(made, HALF, 1, 1).round_ms == pytest.approx(1.1 + 0.5 * 0.2)
    assert divide_batch(made, HALF, 1, 3).round_ms == pytest.approx(1.1 + 0.875 * 0.2)
    assert divide_batch(made, HALF, 1, 3).tokens_per_second == pytest.approx(3 * 1.5 * 1000 / 1.275)


def test_the_crossing_is_read_off_the_line_where_nothing_jumps() -> None:
    sizes = (1, 2, 3, 4, 6)
    made = batches({b: 1.0 + 0.1 * b for b in sizes}, {b: 1.0 + 0.3 * b for b in sizes})
    found = loses_from(made, HALF, 1)
    assert found is not None and (found.wins_at, found.batch, found.reason) == (3, 4, "")
    # E · (1 + 0.1 B) = 1 + 0.3 B at B = 10 ÷ 3
    assert found.crossing == pytest.approx(10 / 3)


def test_nothing_is_read_off_across_a_cliff() -> None:
    sizes = (1, 2, 4, 8, 16, 32)
    verify = {1: 1.0, 2: 1.01, 4: 1.02, 8: 1.04, 16: 2.2, 32: 2.24}
    found = loses_from(batches(dict.fromkeys(sizes, 1.0), verify), HALF, 1)
    assert found is not None and (found.wins_at, found.batch, found.crossing) == (8, 16, None)
    assert "verify jumps between 8 and 16" in found.reason


def test_too_few_batches_cannot_tell_whether_something_jumps() -> None:
    found = loses_from(batches({1: 1.0, 8: 1.0}, {1: 1.0, 8: 2.0}), HALF, 1)
    assert found is not None and found.crossing is None and "2 batches cannot tell" in found.reason


def test_drafts_that_lose_everywhere_nowhere_or_win_again_are_told_apart() -> None:
    assert loses_from(batches({1: 1.0, 8: 1.0}, {1: 1.0, 8: 1.2}), HALF, 1) is None
    everywhere = loses_from(batches({2: 1.0, 8: 1.0}, {2: 3.0, 8: 3.0}), HALF, 1)
    assert everywhere is not None and everywhere.batch == 2 and everywhere.wins_at is None
    again = loses_from(batches({1: 1.0, 8: 1.0, 16: 2.0}, {1: 1.0, 8: 2.0, 16: 2.1}), HALF, 1)
    assert again is not None and again.batch == 8 and again.wins_again == (16,)


def test_a_batch_without_the_width_is_left_out_and_none_at_all_is_refused() -> None:
    made = {1: BatchCosts(decode=DECODE, round=costs({2: 1.0})), 4: BatchCosts(decode=DECODE, round=costs({3: 1.0}))}
    assert [row.batch for row in divide_batches(made, HALF, 1)] == [1]
    with pytest.raises(SpecviewError, match="No verify pass 6 wide"):
        divide_batches(made, HALF, 5)
    with pytest.raises(SpecviewError, match="No batch was measured"):
        divide_batches({}, HALF, 1)
