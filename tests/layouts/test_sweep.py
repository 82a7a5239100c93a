"""The Sweep views: cliffs, no line across one, measured points that a what-if never moves, and costs alone."""

from __future__ import annotations

import pytest
from session_builder import CASES, Made, built
from survey_builder import SURVEYS

from specview.layouts.curve_chart import Chart, Point, Series, chart_lines
from specview.layouts.lines import width_of
from specview.layouts.sweep import NO_WIDTHS, sweep_facts, sweep_view
from specview.layouts.views import reckon
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of


def facts_of(records):
    reckoning = reckon(session_of(records))
    return sweep_facts(reckoning.session, reckoning.ledger, reckoning.share_by_drafted)


def joined(*sessions):
    """Several recordings as one session: runs are numbered on."""
    from dataclasses import replace

    out, runs, late = list(sessions[0][:-1]), 100, max(x.t_ns for x in sessions[0] if isinstance(x, r.Round))
    for records in sessions[1:]:
        for x in records[2:-1]:
            moved = {"t_ns": x.t_ns + late} if hasattr(x, "t_ns") else {"started_ns": x.started_ns + late}
            if isinstance(getattr(x, "run", None), int):
                moved["run"] = x.run + runs
            out.append(replace(x, **moved))
    return (*out, sessions[0][-1])


def test_a_cliff_is_a_mark_a_sentence_and_a_gap_in_the_line() -> None:
    view = sweep_view(facts_of(SURVEYS["survey"]), None)
    assert view.curve.series[0].gaps == ((4, 5),)
    assert any("Cliff between 4 and 5" in text for text in view.sentences)
    assert [row.cells[0] for row in view.widths.rows if "▲" in row.cells] == ["5"]


def test_every_context_is_a_curve() -> None:
    view = sweep_view(facts_of(SURVEYS["survey-moe"]), None)
    assert len(view.curve.series) == 2 and view.widths.columns[0].title == "cache"


def test_measured_points_stand_beside_the_formula_and_a_what_if_moves_the_formula_only() -> None:
    facts = facts_of(CASES["wins"])
    view, asked = sweep_view(facts, None), sweep_view(facts, 0.2)
    formula, measured = view.speed.series
    assert [p.x for p in measured.points] == [3] and [p.x for p in formula.points] == [1, 2, 3, 4, 5, 6, 7]
    assert measured.points[0].y == pytest.approx(next(p.y for p in formula.points if p.x == 3), rel=0.03)
    assert asked.speed.series[1] == measured and asked.speed.series[0] != formula
    assert "WHAT IF" in asked.speed_title and "WHAT IF" not in view.speed_title
    assert len(view.rulers) == 2 and "pipelined" in view.rulers[1]


def test_several_k_of_one_drafter_are_several_points() -> None:
    widths = {1: 11.3, 2: 12.4, 3: 13.6, 4: 14.9, 5: 16.2}
    sessions = [built(Made(k=k, p=0.85, verify=widths, draft=k * 1.1)) for k in (1, 3)]
    view = sweep_view(facts_of(joined(*sessions)), None)
    assert [p.x for p in view.speed.series[1].points] == [1, 3]


def test_a_refused_verdict_gives_no_point_and_its_reason() -> None:
    view = sweep_view(facts_of(CASES["one-round"]), None)
    assert view.speed.series[1].points == ()
    assert view.widths.message == NO_WIDTHS or view.widths.rows


def test_costs_alone_are_bounds_and_no_measured_point() -> None:
    view = sweep_view(facts_of(SURVEYS["curve-only"]), None)
    best, asked = view.speed.series
    assert best.points and not asked.points and "Nothing was generated" in view.rulers[0]
    assert sweep_view(facts_of(SURVEYS["curve-only"]), 0.5).speed.series[1].points


def test_without_widths_it_says_what_brings_them() -> None:
    view = sweep_view(facts_of(SURVEYS["experiments"]), None)
    assert view.widths.message == NO_WIDTHS and "y surveys" in NO_WIDTHS


def test_the_chart_is_as_large_as_asked_and_draws_no_line_across_a_gap() -> None:
    points = tuple(Point(n, float(n)) for n in (1, 2, 3, 4))
    for gaps, least in (((), 1), (((2, 3),), 0)):
        lines = chart_lines(Chart((Series(points, "●", "measured", gaps),)), 60, 14)
        assert len(lines) == 14 and {width_of(spans) for spans in lines} == {60}
        middle = {c for spans in lines[:-2] for c in "".join(s.text for s in spans)[28:34]}
        assert (len({c for c in middle if 0x2800 < ord(c) < 0x2900}) > 0) == bool(least)


def test_a_chart_without_room_or_points_is_nothing() -> None:
    assert chart_lines(Chart(()), 60, 14) == []
    assert chart_lines(Chart((Series((Point(1, 1.0),), "●", "measured"),)), 10, 3) == []
    assert chart_lines(Chart((Series((Point(1, 0.0),), "●", "measured"),)), 40, 8)
