"""The advice screen: the verdict, the changes that would turn it, and draft lengths; Enter asks what if."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from ..advice import AdviceView, said_lines
from ..advice_lengths import length_question
from ..explanations import Explanation
from ..lines import Line
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..view_models import StatusView, WhatIf
from .page import key
from .told import ToldScreen


class AdviceScreen(ToldScreen):
    """Shows one `AdviceView`; posts what a chosen row asks."""

    NAME: ClassVar[str] = "advice"
    AUTO_FOCUS = "#changes Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "enter", "choose", "Ask what if it were so", "show every screen as if this change were made; esc goes back"
        ),
    ]

    class Wanted(Message):
        """A change is to be asked on all screens."""

        def __init__(self, what_if: WhatIf) -> None:
            super().__init__()
            self.what_if = what_if

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = AdviceView()
        self._k = 0

    @property
    def view(self) -> AdviceView:
        """What it shows."""
        return self._view

    def panels(self) -> Iterable[Widget]:
        """Sentences, changes, lengths, and what is said of the chosen row."""
        yield TextPanel(id="said")
        yield TablePanel(id="changes")
        yield TablePanel(id="lengths")
        yield Static(id="remark", markup=False)

    def show_view(self, view: AdviceView, k: int = 0) -> None:
        """Show another view; `k` is the measured draft length. Equal parts cost nothing."""
        if (view, k) != (self._view, self._k):
            self._view, self._k = view, k
            self.draw()

    def draw(self) -> None:
        """Sentences, changes, lengths, and what is said of the chosen row."""
        view = self._view

        def drawing(columns: int, rows: int) -> list[Line]:
            return said_lines(view, columns)

        facts = (view.sentences, view.changes)
        self.draw_head(self.query_one("#said", TextPanel), drawing, facts, view.title, self.size.height // 4)
        changes, lengths = self.query_one("#changes", TablePanel), self.query_one("#lengths", TablePanel)
        changes.show(view.changes, view.table_title, "↑ ↓ · enter asks what if")
        lengths.show(view.lengths, "Draft length k at this acceptance", "tab · enter asks what if")
        self.say(self._focused().selected)

    def _focused(self) -> Rows:
        lengths = self.query_one("#lengths", TablePanel).rows
        return lengths if lengths.has_focus else self.query_one("#changes", TablePanel).rows

    def on_descendant_focus(self) -> None:
        """The other table: say its row."""
        self.say(self._focused().selected)

    def said_of(self, key: str | None) -> str:
        """What is said of a change or a length."""
        return self._view.remark(key)

    def action_choose(self) -> None:
        """Ask the selected row."""
        selected = self._focused().selected
        if selected is not None:
            self._choose(selected)

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Enter on a row."""
        message.stop()
        self._choose(message.key)

    def _choose(self, key: str) -> None:
        asked = self._view.what_if(key) if not key.startswith("k ") else length_question(key, self._k)
        if asked is not None:
            self.post_message(self.Wanted(asked))

    def explanation(self) -> Explanation:
        """How changes are found, with the numbers now."""
        view = self._view
        return Explanation(
            "What would win",
            (
                "Each row changes one thing (or two) and leaves all else as measured, up to the point where a round "
                "yields exactly the tokens that it costs in decode steps: S = 1. Nearest first, by how far it has to "
                "go. Where drafting wins already the same rows are its margin: how far each may go before it loses.",
                "Possible? yes: verify stays above its floor (the bytes and flops that must move and be computed, "
                "at this machine's measured rates), or the acceptance lies in what this drafter showed. NO: below the "
                "floor, no kernel gets there. not shown: a better drafter would be needed. ?: the floor was not "
                "measured; y surveys it.",
                "At the other k acceptance is taken as the same conditional α; only measured verify widths are asked "
                "about, because the next one may lie behind a cliff. Enter shows every screen under that change, "
                "marked what if; esc goes back to what was measured.",
            ),
            (
                "verify ≤ E · T_decode − T_draft − T_rest      S = E · T_decode ÷ (T_verify + T_draft + T_rest)",
                "best k = the measured k with the largest S, off where none is above 1",
            ),
            view.numbers or (view.changes.message,),
        )
