"""Bars, stacked bars and the break-even chart, as text."""

from __future__ import annotations

import pytest

from specview.layouts.charts import Mark, Plot, axis_ticks, bar, plot_lines, row_of, stacked
from specview.layouts.lines import clipped, left, line, right, width_of, wrapped
from specview.layouts.panels.decode import DecodePanel
from specview.layouts.panels.panel import CATEGORY_TONES, LABEL, SHORT_NAMES, label_cells
from specview.layouts.panels.verify import VerifyPanel
from specview.layouts.view_models import CategoryTime, DecodeView, RatioBar, VerifyView


def text(spans):
    return "".join(span.text for span in spans)


def test_a_bar_fills_its_room_in_eighths() -> None:
    assert bar(1.0, 1.0, 4) == "████"
    assert bar(0.5, 1.0, 4) == "██"
    assert bar(0.28, 1.0, 4) == "█▏"
    assert bar(9.0, 1.0, 4) == "████"


def test_something_small_still_shows_and_nothing_does_not() -> None:
    assert bar(1e-9, 1.0, 4) == "▏"
    assert bar(0.0, 1.0, 4) == bar(-1.0, 1.0, 4) == bar(1.0, 0.0, 4) == bar(1.0, 1.0, 0) == ""


def test_stacked_parts_fill_their_sum_and_end_in_a_narrow_cell() -> None:
    spans = stacked([("a", 2.0), ("b", 1.0), ("c", 0.001)], 4.0, 8)
    assert [(s.tone, s.text) for s in spans] == [("a", "███▉"), ("b", "█▉")]


def test_a_chart_has_the_size_asked_for_and_its_point() -> None:
    plot = Plot(
        ((tuple(10 + i / 10 for i in range(101)), "limit"),),
        ((21.9, "─", "measured"),),
        (0.55, 0.75),
        (Mark(0.65, 21.9, "●", "│", "measured"),),
    )
    for width, height in ((20, 6), (36, 14), (100, 40)):
        lines = plot_lines(plot, width, height)
        assert len(lines) == height and all(width_of(spans) <= width for spans in lines)
        drawn = "\n".join(text(spans) for spans in lines)
        assert drawn.count("●") == 1 and "░" in drawn and "─" in drawn and "0.50" in drawn
        assert any("⠀" < character <= "⣿" for character in drawn)


def test_a_flat_chart_does_not_divide_by_zero() -> None:
    plot = Plot((((0.0, 0.0), "limit"),), ((0.0, "─", "measured"),), None, ())
    assert len(plot_lines(plot, 10, 5)) == 5


def test_texts_are_cut_padded_and_wrapped_by_cells() -> None:
    assert left("abc", 5) == "abc  " and left("abcdef", 4) == "abc…"
    assert right("1.0", 5) == "  1.0"
    assert [text(spans) for spans in wrapped("one two three", 7, indent=1)] == ["one two", " three"]
    assert text(clipped(line("以以", "以"), 5)) == "以以…"
    assert text(clipped(line("ab", "cd"), 4)) == "abcd"


def test_an_axis_has_both_its_ends_with_as_many_decimals() -> None:
    for height in (3, 6, 9, 20):
        ticks = axis_ticks(height, 0.0, 1.0)
        assert ticks[0] == "1.00" and ticks[height - 1] == "0.00"
        assert int(row_of(1.0, 0.0, 1.0, height)) == 0 and int(row_of(0.0, 0.0, 1.0, height)) == height - 1
    assert list(axis_ticks(9, 0.0, 50.0).values()) == ["50", "31", "19", "0"]
    assert list(axis_ticks(9, -1e-9, 5.0).values())[-1] == "0.0"


@pytest.mark.parametrize("category", CATEGORY_TONES)
def test_a_space_stands_between_every_category_and_its_bar(category: str) -> None:
    label = label_cells(SHORT_NAMES.get(category, category))
    assert len(label) == LABEL and label.endswith(" ") and "…" not in label
    decode = DecodeView(ruler="queued", whole_ms=2.0, sum_ms=2.0, categories=(CategoryTime(category, 2.0),))
    ratios = VerifyView(categories=(RatioBar(category, 2.0),), widths=(RatioBar("1", 1.0), RatioBar("2", 2.0, True)))
    for panel, view in ((DecodePanel(decode, id="a"), decode), (VerifyPanel(ratios, id="b"), ratios)):
        lines = [text(spans) for spans in panel.draw(view, 40, 20)]  # type: ignore[arg-type]
        assert all(each[LABEL - 1] == " " for each in lines if "█" in each)
