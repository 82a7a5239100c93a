"""The first line of the screen: what runs and how far it is; and the line for what is wrong."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from .. import figures
from ..charts import bar
from ..lines import left, shortened
from ..view_models import StatusView


class StatusLine(Static):
    """Title at the left; state, progress and time at the right."""

    def __init__(self, view: StatusView, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._view = view

    def show(self, view: StatusView) -> None:
        """Show another state; an equal one costs nothing."""
        if view != self._view:
            self._view = view
            self.refresh()

    def render(self) -> Content:
        """One line; the title gives way to the state, in whole words."""
        view = self._view
        right = f" {view.word}"
        if view.progress is not None and view.state in ("recording", "paused"):
            done, planned = view.progress
            drawn = bar(done, planned, 8).ljust(8, "·")
            right += f" {drawn} {min(int(done) + 1, planned)}/{planned}"
        if view.seconds is not None:
            right += f" {figures.clock(view.seconds)}"
        width = self.content_size.width
        end = Content.styled(right, "bold")
        room = max(0, width - end.cell_length)
        return Content(left(shortened(view.title, room), room)) + end


class TroubleLine(Static):
    """One sentence about what is wrong; not there when nothing is."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.text = ""
        self.display = False

    def show(self, text: str) -> None:
        """Show a sentence, or nothing."""
        if text != self.text:
            self.text = text
            self.display = bool(text)
            self.update(Content(f"▲ {text}"))
