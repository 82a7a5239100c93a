"""Counters between two looks: growth, restarts, and what is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specview.profilers.record.importers.counter_differences import Reset, differences


def test_the_growth_of_each_counter_is_its_difference() -> None:
    assert differences({"a": 3, "b": 10.5}, {"a": 8, "b": 10.5}) == {"a": 5, "b": 0}


def test_a_new_counter_began_at_zero() -> None:
    assert differences({}, {"position 3": 7}) == {"position 3": 7}


def test_a_missing_counter_is_left_out() -> None:
    assert differences({"a": 1, "cut off": 4}, {"a": 2}) == {"a": 1}


def test_a_counter_that_fell_is_a_reset_that_names_it() -> None:
    assert differences({"a": 5, "b": 5}, {"a": 6, "b": 1}) == Reset(keys=("b",))


def test_values_that_are_no_counts_are_taken_as_missing() -> None:
    bad = {"a": float("nan"), "b": float("inf"), "c": -1.0}
    assert differences({}, bad) == {}
    assert differences(bad, {"a": 1, "b": 1, "c": 1}) == {}


@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats()),
    st.dictionaries(st.sampled_from("abcd"), st.floats()),
)
def test_no_growth_is_negative(before: dict[str, float], after: dict[str, float]) -> None:
    grown = differences(before, after)
    if not isinstance(grown, Reset):
        assert all(value >= 0 for value in grown.values())
