"""The Workloads screen: prompt classes with p, S and best k or off, the prompts of one, and batches where timed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from ..batches import BatchesView
from ..curve_chart import chart_lines
from ..explanations import Explanation
from ..lines import EMPTY, Line, wrapped
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..tables import TableView
from ..view_models import StatusView
from ..workloads import SORTS, WorkloadsView
from .page import PageScreen, key


class WorkloadsScreen(PageScreen):
    """Shows one `WorkloadsView`; posts how its rows are to be sorted."""

    NAME: ClassVar[str] = "workloads"
    AUTO_FOCUS = "#loads Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("v", "sort", "Sort the workloads", "by class, worst S, lowest p, fewest tokens a round, most rounds"),
    ]

    class Sorted(Message):
        """The rows are to be in another order."""

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = WorkloadsView()
        self._sort = 0

    @property
    def view(self) -> WorkloadsView:
        """What it shows."""
        return self._view

    @property
    def sort(self) -> str:
        """The column that rows are sorted by."""
        return SORTS[self._sort]

    def panels(self) -> Iterable[Widget]:
        """Workloads, the prompts of one, batches, and what is said of a row."""
        yield TablePanel(id="loads")
        yield TablePanel(id="prompts")
        yield TablePanel(id="batches")
        yield TextPanel(id="batch-chart")
        yield Static(id="remark", markup=False)

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def show_view(self, view: WorkloadsView) -> None:
        """Show another view; equal parts cost nothing."""
        if view != self._view:
            self._view = view
            self._draw()

    def action_sort(self) -> None:
        """The next order."""
        self._sort = (self._sort + 1) % len(SORTS)
        self.post_message(self.Sorted())
        self.query_one("#loads", TablePanel).rows.select_first()

    def _draw(self) -> None:
        view = self._view
        loads, batches = self.query_one("#loads", TablePanel), self.query_one("#batches", TablePanel)
        chart = self.query_one("#batch-chart", TextPanel)
        only_batches = view.batches is not None and not view.loads.rows
        self.set_class(view.batches is not None, "-batches")
        self.set_class(only_batches, "-only-batches")
        self.query_one("#prompts", TablePanel).display = bool(view.loads.rows)
        batches.display = chart.display = view.batches is not None
        loads.show(view.loads, view.title, view.subtitle if view.loads.rows else "")
        if view.batches is not None:
            found = view.batches
            batches.show(found.table, found.title, "ms of all sequences")
            chart.draw_with(lambda width, height: _charted(found, width, height), (found,), "S by batch")
        self._select(loads.rows.selected)

    def _select(self, chosen: str | None) -> None:
        view = self._view
        name = next((row.cells[0] for row in view.loads.rows if row.key == chosen), "")
        table = view.prompts(chosen) if view.loads.rows else TableView()
        self.query_one("#prompts", TablePanel).show(table, f"Prompts of {name}, worst first" if name else "Prompts")
        self.query_one("#remark", Static).update(Content(view.remark(chosen)))

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Another workload: its prompts."""
        if message.rows is self.query_one("#loads", TablePanel).rows:
            self._select(message.key)

    def explanation(self) -> Explanation:
        """How rows are made, with the numbers now."""
        return Explanation(
            "Workloads",
            (
                "One row pools like rounds only: one kind of prompt, one drafter and k, one way of sampling, one range "
                "of positions in the cache. S pairs segments of the same text with and without drafts; its interval is "
                "over prompts, so with fewer than three there is no verdict.",
                "p is conditional: the chance that a draft is kept given that all before it in the round were; at k > "
                "1 the one α that yields the measured tokens per round. Its interval is over prompts from three on, "
                "else Wilson's with as many rounds as their correlation leaves.",
                "best k is the measured draft length with the largest S at the row's own p, off where none is above 1; "
                "in brackets what it would be at the ends of the interval of p. Verify and draft times are those of "
                "the whole session. The lower table shows which prompts should run without drafts.",
                "Batches: R and S come from passes of several sequences with drafts for nothing, so S is the most "
                "there could be. S measured is of texts that were generated at once with drafts and without: each "
                "accepts its own prefix, and drafts by itself.",
            ),
            ("S = E · T_decode ÷ T_round, geometric mean over prompts", "E = 1 + α + … + α^k"),
            self._view.numbers or (self._view.loads.message or "Nothing is measured yet.",),
        )


def _charted(found: BatchesView, width: int, height: int) -> list[Line]:
    below = [each for text in found.sentences for each in wrapped(text, width, "quiet", indent=2)]
    room = height - 1 - len(below)
    drawn = chart_lines(found.chart, width, room) if room >= 6 else []
    return [found.legend, *drawn, *below] if drawn else [*below, EMPTY, found.legend]
