"""The Sweep screen: T_verify over positions with its cliffs, and speedup by k, measured points against the formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget

from ..curve_chart import Chart, chart_lines
from ..explanations import Explanation
from ..lines import Line
from ..panels.table import TablePanel
from ..panels.text import TextPanel
from ..sweep import SweepView, notes_lines
from ..tables import TableView
from ..view_models import StatusView
from .page import PageScreen

LEAST_CHART = 6


class SweepScreen(PageScreen):
    """Shows one `SweepView`."""

    NAME: ClassVar[str] = "sweep"
    AUTO_FOCUS = "#widths Rows"

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = SweepView(widths=TableView(message="Reckoning …"))

    @property
    def view(self) -> SweepView:
        """What it shows."""
        return self._view

    def panels(self) -> Iterable[Widget]:
        """Two charts, two tables."""
        yield TextPanel(id="curve")
        yield TextPanel(id="speed")
        yield TablePanel(id="widths")
        yield TablePanel(id="lengths")

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def show_view(self, view: SweepView) -> None:
        """Show another view; equal parts cost nothing."""
        if view != self._view:
            self._view = view
            self._draw()

    def _draw(self) -> None:
        view = self._view
        curve, speed = self.query_one("#curve", TextPanel), self.query_one("#speed", TextPanel)
        curve.draw_with(
            lambda width, height: _charted(view.curve, view.curve_legend, view.sentences, width, height),
            (view.curve, view.curve_legend, view.sentences),
            view.curve_title,
            "whole graph, synchronous",
        )
        speed.draw_with(
            lambda width, height: _charted(view.speed, view.speed_legend, view.rulers, width, height),
            (view.speed, view.speed_legend, view.rulers),
            view.speed_title,
            "← → what if p · esc back",
        )
        self.query_one("#widths", TablePanel).show(view.widths, "Widths", "↑ ↓ · ms")
        self.query_one("#lengths", TablePanel).show(view.lengths, "Draft lengths k", "tab · ms")

    def explanation(self) -> Explanation:
        """What the curves mean, with what was found."""
        view = self._view
        return Explanation(
            "Sweep",
            (
                "T_verify(n) is one synchronous whole-graph pass over n positions. Lines join measured neighbours; "
                "across a cliff, a step far above the usual cost of a further position, there is none, and nothing "
                "between measured widths is guessed.",
                "Speedup by k: points are settings that were run, with their intervals; the line is the formula at "
                "the measured acceptance, for every k whose verify width was measured. ← → ask what another p would "
                "change; that moves the line and no point. Esc goes back.",
            ),
            ("÷ T(1) = T_verify(n) ÷ T_verify(1)", "S = E · T_decode ÷ (T_verify(k+1) + T_draft + T_rest)"),
            (*view.sentences, *view.rulers) or (view.widths.message or "Nothing was swept yet.",),
        )


def _charted(chart: Chart, legend: Line, texts: tuple[str, ...], width: int, height: int) -> list[Line]:
    """Legend, chart, and sentences under it where there is room."""
    below = notes_lines(texts, width)
    rows = height - 1 - len(below)
    if rows < LEAST_CHART + 2:
        rows, below = height - 1, [] if height > LEAST_CHART else below
    drawn = chart_lines(chart, width, rows)
    return [legend, *drawn, *below] if drawn else below or [legend]
