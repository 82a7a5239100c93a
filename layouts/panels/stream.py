"""The generated text; accepted, own and rejected tokens differ in weight and strike, not only in colour."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content

from ..lines import Line, Span, folded, wrapped
from ..view_models import StreamView
from .panel import Panel


class StreamPanel(Panel[StreamView]):
    """Text as it comes. At its end only the last rows are laid out, so that new text moves no other panel.

    Page up shows all of it, and coming back to the end follows the text again.
    """

    NAME: ClassVar[str] = "Stream"

    def __init__(self, view: StreamView, *, id: str) -> None:
        super().__init__(view, id=id)
        self._whole = False

    def titles(self, view: StreamView) -> tuple[str, str]:
        """The title names the prompt, the subtitle is the legend."""
        return f"{self.NAME} · {view.where}" if view.where else self.NAME, "accepted · own · rejected · plain"

    def subtitle(self, text: str) -> Content:
        """The legend, each word as the text it stands for."""
        styles = {"own": "bold", "rejected": "strike"}
        words = text.split(" · ")
        return Content(" · ").join(Content.styled(word, styles.get(word, "")) for word in words)

    def draw(self, view: StreamView, width: int, height: int) -> list[Line]:
        """All rows, or the last `height` of them."""
        if not view.pieces:
            return wrapped(view.message, width, "quiet")
        lines: list[list[Span]] = [[]]
        for piece in view.pieces:
            first, *others = piece.text.split("\n")
            lines[-1].append(Span(first, piece.kind))
            lines.extend([Span(other, piece.kind)] for other in others)
        if self._whole:
            return [row for spans in lines for row in folded(tuple(spans), width)]
        rows: list[Line] = []
        for spans in reversed(lines):
            rows[:0] = folded(tuple(spans), width)
            if len(rows) >= height:
                break
        return rows[-height:] if height > 0 else []

    def action_page_up(self) -> None:
        """Show everything, and go up from the end."""
        if not self._whole:
            self._set_whole(True)
            self.call_after_refresh(self._up_from_end)
        else:
            super().action_page_up()

    def action_scroll_home(self) -> None:
        """Show everything, from its start."""
        self._set_whole(True)
        self.call_after_refresh(self.scroll_home, animate=False)

    def action_scroll_end(self) -> None:
        """Follow the text again."""
        self._set_whole(False)

    def action_page_down(self) -> None:
        """Go down; at the end follow the text again."""
        if self.scroll_offset.y + self.size.height >= self.max_scroll_y:
            self._set_whole(False)
        else:
            super().action_page_down()

    def on_mouse_scroll_up(self) -> None:
        """The wheel goes up too."""
        if not self._whole:
            self.action_page_up()

    def _up_from_end(self) -> None:
        self.scroll_to(y=self.max_scroll_y - self.size.height, animate=False)

    def _set_whole(self, whole: bool) -> None:
        if whole != self._whole:
            self._whole = whole
            self.redraw()
