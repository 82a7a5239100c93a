"""The Sweep screen: T_verify over positions with its cliffs, and speedup by k, measured points against the formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from ..curve_chart import Chart, chart_lines, nearest_x
from ..explanations import Explanation
from ..heat import heat_lines
from ..lines import Line, whole_items
from ..panels.pointed import PointedPanel
from ..panels.table import Rows, TablePanel
from ..sweep import SweepView, notes_lines
from ..tables import TableView
from ..view_models import StatusView
from .page import PageScreen, key

LEAST_CHART = 6


class SweepScreen(PageScreen):
    """Shows one `SweepView`."""

    NAME: ClassVar[str] = "sweep"
    AUTO_FOCUS = "#widths Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "v",
            "map",
            "Speedup by k, or the map k × p",
            "speedup by k, or over k and every acceptance with its line S = 1",
        )
    ]

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._map = False
        self._view = SweepView(widths=TableView(message="Reckoning …"))

    @property
    def view(self) -> SweepView:
        """What it shows."""
        return self._view

    def panels(self) -> Iterable[Widget]:
        """Two charts, two tables."""
        yield PointedPanel(id="curve")
        yield PointedPanel(id="speed")
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
        self.query_one("#widths", TablePanel).show(view.widths, "Widths", "↑ ↓ · ms")
        self.query_one("#lengths", TablePanel).show(view.lengths, "Draft lengths k", "tab · ms")
        self._draw_charts()

    def _draw_charts(self) -> None:
        """The charts, with the selected rows as their cursors."""
        view, width, k = self._view, self._selected("#widths"), self._selected("#lengths")
        curve, speed = self.query_one("#curve", PointedPanel), self.query_one("#speed", PointedPanel)
        curve.draw_with(
            lambda cells, rows: _charted(view.curve, view.curve_legend, view.sentences, cells, rows, width),
            (view.curve, view.curve_legend, view.sentences, width),
            view.curve_title,
            "whole graph, synchronous",
        )
        if self._map:
            asked = " · WHAT IF" if view.heat.what_if else ""
            speed.draw_with(
                lambda cells, rows: heat_lines(view.heat, cells, rows, k),
                (view.heat, k),
                f"Speedup over α and k{asked}",
                "v by k · ← → what if p",
            )
        else:
            speed.draw_with(
                lambda cells, rows: _charted(view.speed, view.speed_legend, view.rulers, cells, rows, k),
                (view.speed, view.speed_legend, view.rulers, k),
                view.speed_title,
                "v map · ← → what if p",
            )

    def _selected(self, table: str) -> int | None:
        """The number that the selected row of a table stands for: n of widths, k of draft lengths."""
        found = self.query_one(table, TablePanel).rows.selected
        return None if found is None else int(found.split()[-1])

    def action_map(self) -> None:
        """The other picture of the speedup."""
        self._map = not self._map
        self._draw_charts()

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """The cursor moved."""
        message.stop()
        self._draw_charts()

    def on_pointed_panel_pointed(self, message: PointedPanel.Pointed) -> None:
        """The mouse moves the cursor too."""
        message.stop()
        if message.panel.id == "curve":
            self._point("#widths", nearest_x(self._view.curve, message.width, message.cell))
        elif not self._map:
            self._point("#lengths", nearest_x(self._view.speed, message.width, message.cell))

    def _point(self, table: str, x: int | None) -> None:
        rows = self.query_one(table, TablePanel).rows
        found = next((row.key for row in rows.view.rows if row.key.split()[-1] == str(x)), None)
        if found is not None:
            rows.select(found)

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
                "change; that moves the line and no point. Esc goes back. v shows the same as a map over k and every "
                "α: the heavy line is S = 1, ◆ the acceptance that was measured.",
            ),
            ("÷ T(1) = T_verify(n) ÷ T_verify(1)", "S = E · T_decode ÷ (T_verify(k+1) + T_draft + T_rest)"),
            (*view.sentences, *view.rulers) or (view.widths.message or "Nothing was swept yet.",),
        )


def _charted(
    chart: Chart, legend: Line, texts: tuple[str, ...], width: int, height: int, cursor: int | None
) -> list[Line]:
    """Legend, chart, and sentences under it where there is room."""
    below = notes_lines(texts, width)
    rows = height - 1 - len(below)
    if rows < LEAST_CHART + 2:
        rows, below = height - 1, [] if height > LEAST_CHART else below
    drawn = chart_lines(chart, width, rows, cursor if cursor in chart.xs else None)
    shown = whole_items(legend, width)
    return [shown, *drawn, *below] if drawn else below or [shown]
