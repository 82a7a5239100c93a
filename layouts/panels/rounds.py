"""The numbers of the rounds as a table."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len

from ..lines import Line, left, line, wrapped
from ..view_models import RoundsView
from .panel import Panel

LABEL = 14


class RoundsPanel(Panel[RoundsView]):
    """Name, value, and a remark where there is room."""

    NAME: ClassVar[str] = "Rounds"

    def draw(self, view: RoundsView, width: int, height: int) -> list[Line]:
        """A row each; a value that does not fit goes on in the next line."""
        if not view.rows:
            return wrapped("Nothing is measured yet.", width, "quiet")
        lines: list[Line] = wrapped(view.message, width, "quiet") if view.message else []
        for row in view.rows:
            room = width - LABEL
            if cell_len(row.value) > room:
                first, *others = wrapped(row.value, max(8, room), row.tone)
                lines.append((*line((left(row.label, LABEL), "quiet")), *first))
                lines.extend((*line(" " * LABEL), *other) for other in others)
                continue
            fits = row.remark and cell_len(row.value) + 2 + cell_len(row.remark) <= room
            remark = f"  {row.remark}" if fits else ""
            lines.append(line((left(row.label, LABEL), "quiet"), (row.value, row.tone), (remark, "quiet")))
        return lines
