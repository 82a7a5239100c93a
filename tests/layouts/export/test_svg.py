"""The small SVG writer."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from specview.layouts.curve_chart import Chart, Point, Series
from specview.layouts.export.bars import ratios_plot
from specview.layouts.export.plots import break_even_plot, curve_plot, lengths_plot
from specview.layouts.export.svg import tag, ticks
from specview.layouts.view_models import BreakEvenView, Curve, RatioBar


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.0, 12.4), (-3.5, 2.0), (0, 1e9), (0.001, 0.0023)])
def test_ticks_are_round_and_inside(low, high) -> None:
    made = ticks(low, high)
    assert 3 <= len(made) <= 7 and made[0] >= low - 1e-9 and made[-1] <= high + 1e-9


@pytest.mark.parametrize("bad", [(1, 1), (0, float("nan")), (0, float("inf"))])
def test_no_reach_is_one_tick(bad) -> None:
    assert len(ticks(*bad)) == 1


def test_attributes_and_numbers_are_written_safely() -> None:
    assert tag("a", class_='x"><b>', x1=1.0, y=0.123456, z=float("nan")) == (
        '<a class="x&quot;&gt;&lt;b&gt;" x1="1" y="0.12" z="0"/>'
    )


def test_plots_are_well_formed_and_nothing_is_nothing() -> None:
    curve = Curve(1, tuple(5 + i / 20 for i in range(101)), 11.6, None)
    line = BreakEvenView(curve=curve, p=0.9, p_low=0.8, p_high=1.0, limit_ms=9.5)
    series = Series((Point(1, 1.0, 0.9, 1.1), Point(2, 2.0), Point(4, 9.0)), "●", "measured", gaps=((2, 4),))
    drawn = (
        break_even_plot(line),
        curve_plot(Chart((series,), 1.0), "t", "n", "ms", ("<name>",)),
        ratios_plot("t", (RatioBar("MoE", 1.9), RatioBar("<b>", 0.4, True)), {"MoE": 1.2}),
        lengths_plot((10, 5, 1)),
    )
    for text in drawn:
        assert ElementTree.fromstring(text).tag == "svg"
        assert "nan" not in text
    assert drawn[1].count('class="cliff"') == 1 and "&lt;name&gt;" in drawn[1]
    assert [break_even_plot(BreakEvenView()), curve_plot(Chart(()), "t", "n", "ms"), ratios_plot("t", (), {}),
            lengths_plot((0, 0))] == ["", "", "", ""]  # fmt: skip
