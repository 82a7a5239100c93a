"""Costs alone: E must exceed T_verify in decode steps, whatever drafts, and nothing is said of acceptance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_builder import SURVEYS

from specview.profilers.judge.acceptance import tokens_from_alpha
from specview.profilers.judge.costs_alone import CostsAlone, costs_alone, in_full
from specview.profilers.judge.spans import Pipelined, Span, Synchronous
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of


def costs(two: float, decode: float | None = None) -> CostsAlone:
    passes = {1: Span(10.0, Synchronous, 0.1, 5), 2: Span(two, Synchronous, 0.1, 5)}
    steps = None if decode is None else Span(decode, Pipelined, 0.1, 5)
    return CostsAlone(context=128, passes=passes, decode=steps)


def test_steps_are_pipelined_where_those_were_timed() -> None:
    assert costs(15.0, 9.0).steps(2) == pytest.approx(15 / 9)
    assert costs(15.0).steps(2) == pytest.approx(1.5)
    assert "pipelined" in costs(15.0, 9.0).in_steps_of and "pipelined" not in costs(15.0).in_steps_of


def test_a_pass_dearer_than_what_it_can_yield_cannot_win() -> None:
    assert costs(21.0).crossing(1) is None
    assert costs(10.0).crossing(1) == 0.0
    assert costs(15.0).crossing(1) == pytest.approx(0.5)


@given(st.floats(10.01, 19.9), st.floats(5.0, 12.0))
def test_at_the_crossing_drafts_that_cost_nothing_break_even(two: float, decode: float) -> None:
    found = costs(two, decode)
    crossing = found.crossing(1)
    if crossing:
        assert found.most_speedup(crossing, 1) == pytest.approx(1.0)
        assert found.limit_ms(crossing, 1) == pytest.approx(two)


def test_the_limit_is_tokens_times_decode() -> None:
    assert costs(15.0, 9.0).limit_ms(0.6, 1) == pytest.approx(1.6 * 9)
    assert costs(15.0).limit_ms(0.6, 3) == pytest.approx(tokens_from_alpha(0.6, 3) * 10)


def test_a_survey_gives_its_costs_at_the_first_context() -> None:
    found = costs_alone(session_of(SURVEYS["survey-moe"]))
    assert found is not None and found.context == 128 and found.widths == (1, 2, 3, 4, 5, 6, 7, 8)
    assert found.decode is not None and found.ratio(2).low < found.ratio(2).estimate


def test_no_two_widths_are_no_costs() -> None:
    records = tuple(x for x in SURVEYS["survey"] if not (isinstance(x, r.Probe) and x.width > 1))
    assert costs_alone(session_of(records)) is None


def test_the_whole_architecture_is_extrapolated_only_where_layers_were_left_out() -> None:
    few, all_layers = session_of(SURVEYS["survey-moe"]), session_of(SURVEYS["survey"])
    found = costs_alone(few)
    assert found is not None
    scaled = in_full(few, found, 1)
    assert scaled is not None and scaled.extrapolated and scaled.low_ms < scaled.high_ms
    assert scaled.low_ms > found.passes[1].ms
    assert in_full(few, found, 3) is None
    other = costs_alone(all_layers)
    assert other is not None and in_full(all_layers, other, 1) is None
