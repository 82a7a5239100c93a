"""The Ledger screen: the division above a long table of every number, and what is said of the chosen one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.content import Content
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from ..explanations import Explanation
from ..ledger import SIGNS, LedgerView, division_text, head_lines, ruler_text, table_for
from ..lines import Line
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..tables import TableView
from ..view_models import StatusView
from .page import PageScreen

FRAME = 2
CHROME = 5  # status, footer, remark, and a line to spare


class LedgerScreen(PageScreen):
    """Shows one `LedgerView`."""

    NAME: ClassVar[str] = "ledger"
    AUTO_FOCUS = "#numbers Rows"

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = LedgerView(table=TableView(message="Reckoning …"))

    @property
    def view(self) -> LedgerView:
        """What it shows."""
        return self._view

    def panels(self) -> Iterable[Widget]:
        """The division, the numbers, what is said of one."""
        yield TextPanel(id="division")
        yield TablePanel(id="numbers")
        yield Static(id="remark", markup=False)

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """How much room the division has depends on the size."""
        super().on_resize(event)
        self._draw()

    def show_view(self, view: LedgerView) -> None:
        """Show other numbers; equal ones cost nothing."""
        if view != self._view:
            self._view = view
            self._draw()

    def _draw(self) -> None:
        view = self._view
        division = self.query_one("#division", TextPanel)
        width, height = self.size
        needed = len(head_lines(view, max(20, width - 4)))
        division.display = needed > 0
        division.styles.height = FRAME + max(1, min(needed, (height - CHROME) // 2 - FRAME))

        def drawing(columns: int, rows: int) -> list[Line]:
            return head_lines(view, columns)

        division.draw_with(drawing, (view.sentences, view.divisions, view.two_rulers, view.notes), view.title)
        self.query_one("#numbers", TablePanel).show(table_for(view, width), "Numbers", view.legend)
        self._say(self.query_one(Rows).selected)

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Say what is known of the chosen row."""
        self._say(message.key)

    def _say(self, key: str | None) -> None:
        self.query_one("#remark", Static).update(Content(self._view.remark(key)))

    def explanation(self) -> Explanation:
        """What a ledger is, with its divisions."""
        view = self._view
        rulers = [
            f"{word}: {ruler_text(each, wrong=word == 'wrong')}"
            for each in view.two_rulers
            for word in ("wrong", "right")
        ]
        return Explanation(
            "Ledger",
            (
                "Every number of the session with its 95% interval, its median ± MAD, how many values it rests on, the "
                "ruler it was timed with, which kind of acceptance it is, and where it comes from: "
                + ", ".join(f"{sign} {source}" for source, sign in SIGNS.items())
                + ".",
                "Where blocks were timed one by one beside the whole graph, the division is shown by both rulers. A "
                "block sum leaves out what lies between blocks, so dividing it into a whole-graph baseline is wrong, "
                "in article A by enough to turn a loss into a win. Means are divided; medians are for reading.",
            ),
            ("S = E · T_decode ÷ T_round", "gap = whole graph − sum of blocks"),
            (*view.sentences, *(division_text(each) for each in view.divisions), *rulers)
            or (view.table.message or "Nothing is measured yet.",),
        )
