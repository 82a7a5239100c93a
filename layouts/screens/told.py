"""What the Ledger and the advice share: sentences as high as they need above tables, and what is said of a row."""

from __future__ import annotations

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from ..lines import Line
from ..panels.table import Rows
from ..panels.text import Drawing, TextPanel
from .page import PageScreen

FRAME = 2
SIDES = 4  # frame and space at both sides of a panel
LEAST_COLUMNS = 20


class ToldScreen(PageScreen):
    """A page with a line, `#remark`, that says what is known of the selected row."""

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self.draw()

    def on_resize(self, event: Resize) -> None:
        """How much room the sentences have depends on the size."""
        super().on_resize(event)
        self.draw()

    def draw(self) -> None:
        """Show everything in the size there is."""
        raise NotImplementedError

    def said_of(self, key: str | None) -> str:
        """What is known of the row of that key."""
        raise NotImplementedError

    def draw_head(self, panel: TextPanel, drawing: Drawing, facts: tuple[object, ...], title: str, most: int) -> None:
        """Draw the sentences into a panel as high as they need, of `most` rows at most; hidden without any."""
        lines: list[Line] = drawing(max(LEAST_COLUMNS, self.size.width - SIDES), most)
        panel.display = bool(lines)
        panel.styles.height = FRAME + max(1, min(len(lines), most))
        panel.draw_with(drawing, facts, title)

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Say what is known of the chosen row."""
        self.say(message.key)

    def say(self, key: str | None) -> None:
        """Say what is known of a row."""
        self.query_one("#remark", Static).update(Content(self.said_of(key)))
