"""Recorded routes against independent routing and against reading each position's experts anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_builder import CASES

from specview.profilers.judge.routes import experts_touched, route_rows
from specview.profilers.record.records import Routes
from specview.profilers.record.session import session_of

SESSION = session_of(CASES["interrupted"])


def routes(width: int, *distinct: int, block: str = "layers.*.mlp", experts: int = 256, active: int = 8) -> Routes:
    return Routes(t_ns=0, block=block, width=width, experts=experts, active=active, distinct=distinct)


def test_a_session_without_routes_has_no_rows() -> None:
    assert route_rows(SESSION) == ()


def test_two_positions_of_8_in_256_touch_15_75_by_chance_and_16_without_sharing() -> None:
    records = (routes(2, 12, 14), routes(2, 13), routes(1, 8, 8, 8))
    single, double = route_rows(replace(SESSION, routes=records))
    assert (single.width, single.mean, single.deviation) == (1, 8.0, 0.0)
    assert (double.counts, double.mean, double.least, double.most) == (3, 13.0, 12, 14)
    assert double.deviation == pytest.approx(1.0) and double.quartiles == pytest.approx((12.5, 13.5))
    assert double.independent == pytest.approx(15.75) and double.without_sharing == 16
    assert double.from_independent == pytest.approx(13 / 15.75)
    assert double.from_without_sharing == pytest.approx(13 / 16)


def test_one_count_has_no_spread() -> None:
    (row,) = route_rows(replace(SESSION, routes=(routes(4, 25),)))
    assert row.deviation is None and row.quartiles is None


def test_counts_that_no_routing_can_give_are_left_out() -> None:
    records = (routes(2, 17, 7, 16), routes(2, 3, experts=2, active=4), routes(2, 0, experts=0, active=0))
    (row,) = route_rows(replace(SESSION, routes=records))
    assert row.counts == 1 and row.mean == 16.0


def test_recorded_routes_count_and_independent_ones_stand_in() -> None:
    recorded = (routes(2, 12, 13),)
    assert experts_touched(recorded, "layers.*.mlp", 256, 8, 2).distinct == 12.5
    assert experts_touched(recorded, "layers.*.mlp", 256, 8, 2).recorded
    assert experts_touched((), "layers.*.mlp", 256, 8, 2).distinct == pytest.approx(15.75)
    assert not experts_touched((), "layers.*.mlp", 256, 8, 2).recorded
    assert experts_touched((), "layers.*.mlp", 256, 8, 1).distinct == 8.0


def test_a_place_without_routes_borrows_those_of_the_same_experts_only() -> None:
    other = (routes(2, 12, block="elsewhere"), routes(2, 3, block="elsewhere", experts=64, active=2))
    assert experts_touched(other, "layers.*.mlp", 256, 8, 2).distinct == 12.0


def test_a_width_without_routes_stays_between_those_on_either_side() -> None:
    recorded = (routes(2, 12), routes(8, 20))
    assert experts_touched(recorded, "layers.*.mlp", 256, 8, 4).distinct == 20.0
    assert experts_touched((routes(2, 4, experts=4, active=2),), "layers.*.mlp", 4, 2, 3).distinct == 4.0


@given(
    st.integers(1, 64).flatmap(
        lambda experts: st.tuples(
            st.just(experts),
            st.integers(1, experts),
            st.lists(st.tuples(st.integers(1, 12), st.lists(st.integers(1, 64), max_size=4)), max_size=6),
        )
    )
)
def test_more_positions_never_touch_fewer_experts(case: tuple[int, int, list[tuple[int, list[int]]]]) -> None:
    experts, active, found = case
    records = [routes(width, *distinct, experts=experts, active=active) for width, distinct in found]
    touched = [experts_touched(records, "layers.*.mlp", experts, active, n).distinct for n in range(1, 16)]
    assert touched == sorted(touched)
    assert touched[0] == active and touched[-1] <= experts
