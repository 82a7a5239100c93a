"""The Ledger screen: the division above a long table of every number, and what is said of the chosen one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget
from textual.widgets import Static

from ..explanations import Explanation
from ..ledger import SIGNS, LedgerView, division_text, head_lines, ruler_text, table_for
from ..lines import Line
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..tables import TableView
from ..view_models import StatusView
from .told import FRAME, ToldScreen

CHROME = 5  # status, footer, remark, and a line to spare


class LedgerScreen(ToldScreen):
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

    def show_view(self, view: LedgerView) -> None:
        """Show other numbers; equal ones cost nothing."""
        if view != self._view:
            self._view = view
            self.draw()

    def draw(self) -> None:
        """Division, numbers, and what is said of one."""
        view = self._view
        width, height = self.size

        def drawing(columns: int, rows: int) -> list[Line]:
            return head_lines(view, columns)

        facts = (view.sentences, view.divisions, view.two_rulers, view.notes)
        most = (height - CHROME) // 2 - FRAME
        self.draw_head(self.query_one("#division", TextPanel), drawing, facts, view.title, most)
        self.query_one("#numbers", TablePanel).show(table_for(view, width), "Numbers", view.legend)
        self.say(self.query_one(Rows).selected)

    def said_of(self, key: str | None) -> str:
        """What is said of a number."""
        return self._view.remark(key)

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
