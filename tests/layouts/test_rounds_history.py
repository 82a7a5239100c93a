"""The Rounds screen's lines: bars, columns, where the cursor stands, and what no session can break."""

import pytest
from session_builder import CASES, Made, built, lines_of

from specview.layouts.curve_chart import Chart, Point, Series, chart_lines, nearest_x
from specview.layouts.lines import width_of
from specview.layouts.rounds_history import (
    NOTHING,
    history_view,
    length_lines,
    round_at,
    session_history,
    timeline_lines,
    window_of,
    window_words,
)
from specview.profilers.record.session import SessionReader


def view_of(records):
    reader = SessionReader("made")
    reader.feed(lines_of(records))
    return session_history(reader.session())


@pytest.fixture(scope="module")
def view():
    return view_of(built(Made(prompts=6, segments=2, k=3, p=0.6)))


def text_of(lines):
    return ["".join(span.text for span in spans) for spans in lines]


@pytest.mark.parametrize("width", [34, 38, 57, 98])
def test_bars_fit_every_width_and_name_every_length(view, width):
    lines = length_lines(view, width, 12)
    assert all(width_of(spans) <= width for spans in lines[1:])
    assert [text.split()[0] for text in text_of(lines)[1:5]] == ["0", "1", "2", "3"]
    assert sum("%" in text for text in text_of(lines)) == 4


def test_a_timeline_has_a_column_for_each_round_and_marks_the_cursor(view):
    selected = view.rounds[5].number
    lines = text_of(timeline_lines(view.rounds, selected, 60, 14))
    kept = lines[-2].split("kept ")[1]
    assert len(kept) == min(54, len(view.rounds))
    at = lines[-1].index("▲")
    assert round_at(view.rounds, selected, 60, at) == selected
    assert round_at(view.rounds, selected, 60, 2) is None


def test_a_cursor_far_back_is_brought_into_sight(view):
    first = view.rounds[-1].number
    assert "▲" in text_of(timeline_lines(view.rounds, first, 40, 12))[-1]


def test_the_cursor_names_the_window_with_its_unit(view):
    window = window_of(view, view.rounds[0].number)
    assert window == view.windows[-1]
    assert " ms a round" in window_words(window) and "α" in window_words(window)
    assert window_of(view, None) is None


def test_the_mouse_finds_the_nearest_point(view):
    xs = view.over_time.xs
    assert nearest_x(view.over_time, 60, 59) == xs[-1]
    assert nearest_x(view.over_time, 60, 0) is None
    drawn = text_of(chart_lines(view.over_time, 60, 12, xs[0]))
    assert any("┊" in text for text in drawn)


def test_a_single_round_can_be_shown():
    view = view_of(CASES["one-round"])
    assert length_lines(view, 40, 8) and timeline_lines(view.rounds, None, 40, 8)


def test_without_rounds_a_sentence_stands_there():
    assert history_view(None).message == NOTHING
    assert " ".join(text_of(timeline_lines((), None, 40, 10))) == NOTHING


def test_a_window_of_one_round_is_one_round_and_its_alpha_lies_on_the_axis():
    view = view_of(CASES["one-round"])
    assert window_words(view.windows[0]).startswith("round 1: α 1.00")
    drawn = text_of(chart_lines(view.over_time, 40, 8))
    assert drawn[0].lstrip().startswith("1.00┤") and "●" in drawn[0]
    assert any(each.lstrip().startswith("0.00┤") for each in drawn)


@pytest.mark.parametrize("width", [36, 57])
def test_legends_are_whole_at_every_width(view, width):
    shown = length_lines(view, width, 12)[0], timeline_lines(view.rounds, None, width, 12)[0]
    assert all(width_of(each) <= width for each in shown)
    assert "α" in text_of(shown)[0] and "free" in text_of(shown)[1]


def test_counts_under_an_axis_stand_in_groups_of_digits():
    points = tuple(Point(x, 0.5) for x in (8214, 131408))
    assert "8,214" in text_of(chart_lines(Chart((Series(points, "●", ""),)), 60, 8))[-1]
    assert "131,408" in text_of(chart_lines(Chart((Series(points, "●", ""),)), 60, 8))[-1]
