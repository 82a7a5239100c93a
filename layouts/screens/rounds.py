"""The Rounds screen: accepted lengths, acceptance over time, and the rounds one by one, with their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget

from ..curve_chart import chart_lines, nearest_x
from ..explanations import Explanation
from ..lines import Line, whole_items, wrapped
from ..panels.pointed import PointedPanel
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..rounds_history import HistoryView, length_lines, round_at, timeline_lines, window_of, window_words
from ..view_models import StatusView
from .page import PageScreen


class RoundsScreen(PageScreen):
    """Shows one `HistoryView`; the selected row of the table is the cursor of the plots."""

    NAME: ClassVar[str] = "rounds"
    AUTO_FOCUS = "#single Rows"

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = HistoryView()

    @property
    def view(self) -> HistoryView:
        """What it shows."""
        return self._view

    @property
    def cursor(self) -> int | None:
        """The number of the selected round, from 0."""
        key = self.query_one("#single", TablePanel).rows.selected
        return None if key is None else int(key)

    def panels(self) -> Iterable[Widget]:
        """Three plots and the table."""
        yield TextPanel(id="lengths")
        yield PointedPanel(id="over-time")
        yield PointedPanel(id="timeline")
        yield TablePanel(id="single")

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def show_view(self, view: HistoryView) -> None:
        """Show another view; equal parts cost nothing."""
        if view != self._view:
            self._view = view
            self._draw()

    def _draw(self) -> None:
        self.query_one("#single", TablePanel).show(self._view.table, self._view.title, "↑ ↓ · ms, newest first")
        self._draw_plots()

    def _draw_plots(self) -> None:
        view, cursor = self._view, self.cursor
        self.query_one("#lengths", TextPanel).draw_with(
            lambda width, height: length_lines(view, width, height),
            (view.lengths, view.message, view.summary),
            "Accepted lengths",
        )
        self.query_one("#over-time", PointedPanel).draw_with(
            lambda width, height: _over_time(view, cursor, width, height),
            (view.over_time, view.windows, view.message, cursor),
            "α over time",
            "│ 95% by Wilson",
        )
        self.query_one("#timeline", PointedPanel).draw_with(
            lambda width, height: timeline_lines(view.rounds, cursor, width, height),
            (view.rounds, cursor),
            "Round by round",
            "ms",
        )

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """The cursor moved."""
        message.stop()
        self._draw_plots()

    def on_pointed_panel_pointed(self, message: PointedPanel.Pointed) -> None:
        """The mouse moves the cursor too."""
        message.stop()
        view = self._view
        if message.panel.id == "timeline":
            number = round_at(view.rounds, self.cursor, message.width, message.cell)
        else:
            last = nearest_x(view.over_time, message.width, message.cell)
            number = None if last is None else self._shown_near(last - 1)
        if number is not None:
            self.query_one("#single", TablePanel).rows.select(str(number))

    def _shown_near(self, counted: int) -> int | None:
        """The number of a shown round at or after the so many-th counted one."""
        return next((r.number for r in reversed(self._view.rounds) if r.counted >= counted), None)

    def explanation(self) -> Explanation:
        """What the plots mean, with what was found."""
        view = self._view
        return Explanation(
            "Rounds",
            (
                "Accepted lengths: how many rounds kept exactly 0, 1, … drafts. │ stands where the counts would be if "
                "every position were accepted with the same chance, given that all before it were. Counts beyond it "
                "at both ends mean that some text is easy and some hard: those prompts want unlike k.",
                "α over time: conditional acceptance in windows of rounds with their 95% intervals; neighbouring "
                "rounds read the same text, so an interval counts fewer rounds than there are.",
                "Round by round: one column a round. Split rounds show draft, verify and rest; free rounds, which "
                "give the speed, are one block, because nothing waits inside them. ↑ ↓ or the mouse move the cursor.",
            ),
            ("α = kept ÷ reached, over all positions", "share of j = α^j · (1 − α), and α^k at j = k"),
            (view.summary or view.message,),
        )


def _over_time(view: HistoryView, cursor: int | None, width: int, height: int) -> list[Line]:
    if view.message:
        return wrapped(view.message, width, "quiet")
    window = window_of(view, cursor)
    below = [] if window is None else wrapped(window_words(window), width, "strong")
    at = None if window is None else window.last + 1
    drawn = chart_lines(view.over_time, width, height - 1 - len(below), at)
    return (
        [whole_items(view.over_time_legend, width), *drawn, *below]
        if drawn
        else [*below, *wrapped(view.summary, width, "quiet")]
    )
