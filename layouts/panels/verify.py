"""Verify ÷ decode: by op category, and of the whole graph by positions; cliffs stay visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .. import figures
from ..charts import bar
from ..lines import EMPTY, Line, left, line, right, wrapped
from ..view_models import RatioBar, VerifyView
from .panel import LABEL, SHORT_NAMES, Panel, label_cells

VALUE = 6
FIRST_WIDTHS = ("1", "2", "4", "8", "16", "3", "6", "12")


class VerifyPanel(Panel[VerifyView]):
    """Bars of ratios; one is what decode costs."""

    NAME: ClassVar[str] = "Verify ÷ decode"

    def titles(self, view: VerifyView) -> tuple[str, str]:
        """The title names the width, the subtitle the ruler and the signs."""
        title = f"Verify({view.width}) ÷ decode by op category" if view.categories else self.NAME
        return title, f"█ one decode  ▓ more · {view.ruler}" if view.categories else "synchronous passes"

    def draw(self, view: VerifyView, width: int, height: int) -> list[Line]:
        """Categories first, then as many widths as fit, the telling ones before the others."""
        room = max(4, width - LABEL - VALUE)
        lines: list[Line] = []
        if view.categories:
            lines += _categories(view.categories, room)
        elif view.message and view.widths:
            lines += wrapped(view.message, width, "quiet")
        if not view.widths:
            return [*lines, *wrapped(view.no_widths, width, "quiet")]
        if lines:
            lines.append(EMPTY)
        lines.append(line((label_cells("positions n"), "quiet"), ("verify(n) ÷ decode", "quiet")))
        shown = _chosen(view, height - len(lines))
        full = max(b.ratio for b in view.widths)
        for b in shown:
            word = " cliff" if b.label in view.cliffs else " this run" if b.marked else ""
            if b.asked is not None or b.asked_about:
                lines.append(_asked_line(b, full, room))
                continue
            drawn = bar(b.ratio, full, room)
            lines.append(
                line(
                    (label_cells(f"{b.label:<2}{word}"), "warn" if word == " cliff" else "here" if b.marked else ""),
                    (drawn, "width"),
                    " " * (room - len(drawn)),
                    right(figures.ratio(b.ratio), VALUE),
                )
            )
        return lines


def _categories(categories: Sequence[RatioBar], room: int) -> list[Line]:
    full = max(2.0, *(c.ratio for c in categories))
    one = round(room / full)
    scale = left("1x", one) + left("2x", room - one) if full < 2.5 else left("1x", room)
    lines = [line(" " * LABEL, (" " * max(0, one - 2) + scale.strip(), "quiet"))]
    if full < 2.5:
        at_two = min(room - 2, round(room * 2 / full) - 2)
        lines = [line(" " * (LABEL + one - 2), ("1x", "quiet"), " " * max(1, at_two - one), ("2x", "quiet"))]
    for c in categories:
        solid = "█" * max(1, round(min(c.ratio, 1.0) / full * room))
        cells = max(0, round(c.ratio / full * room) - len(solid))
        lines.append(
            line(
                label_cells(SHORT_NAMES.get(c.label, c.label)),
                (solid, "ratio"),
                ("▓" * cells, "extra"),
                " " * (room - len(solid) - cells),
                right(figures.ratio(c.ratio), VALUE),
            )
        )
    return lines


def _asked_line(each: RatioBar, full: float, room: int) -> Line:
    """A width that a what-if moves, or is about: the ratio as asked, and the measured one where it differs."""
    ratio, was = (each.ratio, "") if each.asked is None else (each.asked, f" was {figures.ratio(each.ratio)}")
    drawn = bar(min(ratio, full), full, max(4, room - len(was)))
    pad = " " * max(0, room - len(drawn) - len(was))
    word = label_cells(f"{each.label:<2} what if")
    return line((word, "what-if"), (drawn, "what-if"), pad, (was, "quiet"), right(figures.ratio(ratio), VALUE))


def _chosen(view: VerifyView, room: int) -> list[RatioBar]:
    """All widths where they fit; else this run's, both sides of cliffs, then powers of two."""
    if len(view.widths) <= max(room, 4):
        return list(view.widths)
    cliffs = {label for cliff in view.cliffs for label in (cliff, str(int(cliff) - 1))}
    first = [b.label for b in view.widths if b.marked] + sorted(cliffs, key=int) + list(FIRST_WIDTHS)
    keep = list(dict.fromkeys(label for label in first if any(b.label == label for b in view.widths)))[: max(room, 4)]
    return [b for b in view.widths if b.label in keep]
