"""The verdict in words, at the top of everything; its kind is a word and a colour."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.events import Resize
from textual.style import Style
from textual.widgets import Static

from ..view_models import HeadlineView

ROOMY = 30  # rows of a screen that has room for everything
MOST_ROWS = 4


class Headline(Static):
    """Three lines: the verdict, why, and what would break even."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"headline--word"}
    KINDS = ("wins", "loses", "cannot_win", "too_close", "refused", "measuring", "problem")

    def __init__(self, view: HeadlineView, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._view: HeadlineView | None = None
        self._first = view
        self._rows = 0

    @property
    def view(self) -> HeadlineView:
        """What it shows."""
        return self._view or self._first

    def on_mount(self) -> None:
        """Show what it was made with."""
        self.show(self._first)

    def show(self, view: HeadlineView) -> None:
        """Show another verdict; an equal one costs nothing."""
        if view == self._view:
            return
        self._view = view
        for kind in self.KINDS:
            self.set_class(kind == view.kind, f"-{kind.replace('_', '-')}")
        self._draw(view)

    def notify_style_update(self) -> None:
        """A style of its own in the text has to be taken from the new theme."""
        super().notify_style_update()
        if self._view is not None and self.is_mounted:
            self._draw(self._view)

    def on_resize(self, event: Resize) -> None:
        """What fits depends on the size."""
        if self._view is not None:
            self._draw(self._view)

    def _draw(self, view: HeadlineView) -> None:
        content = self._content(view)
        rows = sum(len(spans.wrap(self._width())) for spans in content.split())
        self.update(content, layout=rows != self._rows)
        self._rows = rows

    def _width(self) -> int:
        return max(20, self.content_size.width or self.app.size.width - 3)

    def _content(self, view: HeadlineView) -> Content:
        """The lines; on a short screen the last one, which a panel says too, only where it leaves room."""
        word = self.get_visual_style("headline--word")
        if self.app.native_ansi_color:  # Textual leaves this one out of the styles of parts
            word += Style(reverse=True)
        first = Content.assemble((f" {view.word} ", word), " ", Content.styled(view.first, "bold"))
        lines = [first, *([Content(view.second)] if view.second else [])]
        third = [Content.styled(view.third, "$quiet")] if view.third else []
        rows = sum(len(spans.wrap(self._width())) for spans in (*lines, *third))
        if self.app.size.height >= ROOMY or rows <= MOST_ROWS:
            lines += third
        return Content("\n").join(lines)
