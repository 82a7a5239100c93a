"""The Compare screen: sessions against a base, in words, as a table, and the change in speed taken apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.message import Message
from textual.widget import Widget

from ..compare import READING, CompareFacts, CompareView, compare_view
from ..compare_bars import bars_lines, split_table, split_title
from ..compare_words import explained
from ..explanations import Explanation
from ..lines import Line, folded, wrapped
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..tables import TableView
from ..view_models import StatusView
from .page import LEAST, ROOMY, PageScreen, key

FRAME = 2
LEAST_SENTENCES = 3
OTHERS = 3  # header and frame of the list of sessions
BROAD = 150  # numbers with intervals fit beside the bars
SPLIT_ROWS = "20"


class CompareScreen(PageScreen):
    """Shows what came of comparing some sessions with a base; posts what is wanted of them."""

    NAME: ClassVar[str] = "compare"
    AUTO_FOCUS = "#changes Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("v", "swap", "Swap", "make the session beside it the base: every difference turns its sign"),
        key("A", "anyway", "Compare anyway", "compare sessions that were not measured alike, and say what differs"),
    ]

    class Swapped(Message):
        """A session, by its place among all, is wanted as the base."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class AnywayWanted(Message):
        """Unlike sessions are to be compared all the same."""

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._facts = CompareFacts(message=READING)
        self._place = 1

    @property
    def view(self) -> CompareView:
        """What it shows."""
        return compare_view(self._facts, self._place - 1)

    def panels(self) -> Iterable[Widget]:
        """What is said, the sessions where they are many, the numbers, the split, what differs."""
        yield TextPanel(id="said")
        yield TablePanel(id="compared")
        yield TextPanel(id="split")
        yield TablePanel(id="changes")
        yield TablePanel(id="environments")

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """How much room the sentences have depends on the size."""
        super().on_resize(event)
        self._draw()

    def show_facts(self, facts: CompareFacts) -> None:
        """Show another comparison; equal ones cost nothing."""
        if facts != self._facts:
            self._facts = facts
            self._place = min(self._place, max(1, len(facts.others)))
            self._draw()

    def _draw(self) -> None:
        view, (width, height) = self.view, self.size
        said = self.query_one("#said", TextPanel)
        needed = len(_sentences(view, max(LEAST[0], width) - 4))
        most = max(LEAST_SENTENCES, height // 3 - FRAME - 1)
        self.set_class(width >= BROAD and height >= ROOMY[1], "-broad")
        self.set_class(view.refused, "-refused")
        self.set_class(bool(view.sessions.rows), "-several")
        self.set_class(not self._facts.others, "-empty")
        said.styles.height = FRAME + max(1, min(needed, most))
        keys = "c others · v swaps · A anyway" if view.refused else "c others · v swaps"
        said.draw_with(lambda columns, rows: _sentences(view, columns), (view.sentences,), view.title, keys)
        compared = self.query_one("#compared", TablePanel)
        compared.display = bool(view.sessions.rows)
        compared.styles.height = OTHERS + min(len(view.sessions.rows), max(2, height // 8))
        tall = [said.styles.height, *([compared.styles.height] if compared.display else [])]
        self.query_one("#page").styles.grid_rows = " ".join([*(str(each) for each in tall), SPLIT_ROWS, "1fr"])
        compared.show(view.sessions, "Sessions", "↑ ↓ shows · enter makes it the base")
        self.query_one("#changes", TablePanel).show(view.table, f"{view.letter} against A", view.intervals)
        split = self.query_one("#split", TextPanel)
        split.draw_with(
            lambda columns, rows: _split(view, columns, rows),
            (view.split, view.split_message, view.letter),
            split_title(view.split, view.letter),
            "█ real · ░ noise",
        )
        environments = self.query_one("#environments", TablePanel)
        environments.show(view.environments, "What differs", "machine, model, drafts, software")
        if self.is_current and self.focused is None and self._facts.others:
            self.query_one("#environments Rows" if view.refused else "#changes Rows").focus()

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Show the session that is gone to."""
        if message.rows is self.query_one("#compared", TablePanel).rows and message.key not in (None, "0"):
            place = int(message.key or 1)
            if place != self._place:
                self._place = place
                self._draw()

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """A session of the list becomes the base."""
        if message.rows is self.query_one("#compared", TablePanel).rows and message.key != "0":
            self.post_message(self.Swapped(int(message.key)))

    def action_swap(self) -> None:
        """The session beside the base becomes the base."""
        if self._facts.others:
            self.post_message(self.Swapped(self._place))

    def action_anyway(self) -> None:
        """Compare what is unlike."""
        if self.view.refused:
            self.post_message(self.AnywayWanted())

    def tables(self) -> tuple[tuple[str, TableView], ...]:
        """The bars as a table, for who exports the page."""
        view = self.view
        return ((split_title(view.split, view.letter), split_table(view.split, view.letter)),) if view.split else ()

    def explanation(self) -> Explanation:
        """What is compared, and how sure it is."""
        return explained(["".join(span.text for span in each) for each in self.view.sentences])


def _sentences(view: CompareView, width: int) -> list[Line]:
    """The sentences in the width there is: toned ones folded, plain ones wrapped at words."""
    found: list[Line] = []
    for each in view.sentences:
        if len(each) == 1:
            found += wrapped(each[0].text, width, each[0].tone, indent=2)
        else:
            found += folded(each, width)
    return found


def _split(view: CompareView, width: int, height: int) -> list[Line]:
    if view.split is None:
        return wrapped(view.split_message or READING, width, "quiet")
    return bars_lines(view.split, width, view.letter, height)
