"""A panel of lines that a screen made for it, in the width there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..lines import Line
from .panel import Panel

Drawing: TypeAlias = Callable[[int, int], list[Line]]


class TextPanel(Panel[tuple[object, ...]]):
    """Lines drawn by a function of width and height; equal `facts`, what they are made from, cost nothing."""

    def __init__(self, *, id: str) -> None:
        super().__init__((), id=id)
        self._drawing: Drawing | None = None
        self._named = ("", "")

    def draw_with(self, drawing: Drawing, facts: tuple[object, ...], title: str, subtitle: str = "") -> None:
        """Show other lines."""
        self._drawing = drawing
        self._named = (title, subtitle)
        self.show((title, subtitle, *facts))

    def titles(self, view: tuple[object, ...]) -> tuple[str, str]:
        """As told."""
        return self._named

    def draw(self, view: tuple[object, ...], width: int, height: int) -> list[Line]:
        """The lines."""
        return [] if self._drawing is None else self._drawing(width, height)
