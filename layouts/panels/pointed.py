"""A panel of lines that also says where the mouse points at, so that a screen can show that value."""

from __future__ import annotations

from textual.events import Click, MouseMove
from textual.message import Message

from .text import TextPanel


class PointedPanel(TextPanel):
    """A drawing under the mouse; the screen knows what stands in a cell."""

    class Pointed(Message):
        """The mouse moved to another column; `cell` counts from the left end of a drawing `width` cells wide."""

        def __init__(self, panel: PointedPanel, cell: int, width: int) -> None:
            super().__init__()
            self.panel, self.cell, self.width = panel, cell, width

        @property
        def control(self) -> PointedPanel:
            """The panel."""
            return self.panel

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._cell: int | None = None

    def on_mouse_move(self, event: MouseMove) -> None:
        """Say so when the column changed."""
        self._point(event.screen_x)

    def on_click(self, event: Click) -> None:
        """For terminals that report clicks only."""
        self._point(event.screen_x)

    def _point(self, screen_x: int) -> None:
        region = self.scrollable_content_region
        cell = screen_x - self.content_region.x
        if cell != self._cell and 0 <= cell < region.width:
            self._cell = cell
            self.post_message(self.Pointed(self, cell, region.width))
