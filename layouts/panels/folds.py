"""The names of the panels with their keys, where not all of them fit on the screen at once."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget


class Folds(Widget):
    """One line of names; posts which one was clicked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"fold--shown", "fold--key"}

    class Chosen(Message):
        """A name was clicked; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, names: tuple[str, ...], *, id: str) -> None:
        super().__init__(id=id)
        self._names = names
        self._shown: frozenset[int] = frozenset()

    def show(self, shown: frozenset[int]) -> None:
        """Mark the panels that are on the screen."""
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def _texts(self) -> list[str]:
        return [f" {number} {name} " for number, name in enumerate(self._names, 1)]

    def render(self) -> Content:
        """The names, shown ones marked by brackets and colour."""
        shown = self.get_visual_style("fold--shown")
        parts = [
            Content.styled(text if i not in self._shown else f"[{text[1:-1]}]", shown if i in self._shown else "")
            for i, text in enumerate(self._texts())
        ]
        return Content("").join(parts)

    def on_click(self, event: Click) -> None:
        """Find the name under the pointer."""
        x = 0
        for index, text in enumerate(self._texts()):
            x += len(text)
            if event.x < x:
                self.post_message(self.Chosen(index))
                return
