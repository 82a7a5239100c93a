"""A decode step by three rulers, the gap between them, and what it is made of."""

from __future__ import annotations

from typing import ClassVar

from .. import figures
from ..charts import bar, stacked
from ..lines import EMPTY, Line, line, right, wrapped
from ..view_models import DecodeView
from .panel import CATEGORY_TONES, LABEL, SHORT_NAMES, Panel, label_cells

VALUE = 7
LEAST_FOR_HOT = 10  # rows beside the categories


class DecodePanel(Panel[DecodeView]):
    """Whole graph, sums of blocks, gap; then each op category."""

    NAME: ClassVar[str] = "Decode step · three rulers"

    def titles(self, view: DecodeView) -> tuple[str, str]:
        """The subtitle names unit and ruler."""
        return self.NAME, f"ms, {view.ruler or 'whole graph'}"

    def draw(self, view: DecodeView, width: int, height: int) -> list[Line]:
        """Bars on one scale, values at the right."""
        if view.whole_ms is None and view.sum_ms is None:
            return wrapped(view.message or "Not measured yet: probes run between segments.", width, "quiet")
        full = max(view.whole_ms or 0.0, view.sum_ms or 0.0, view.pipelined_ms or 0.0)
        room = max(4, width - LABEL - VALUE - 1)
        lines = _whole(view, full, room, height)
        if view.sum_ms is None:
            return [*lines, EMPTY, *wrapped(view.message, width, "quiet"), EMPTY, *_build(view, width)]
        if view.pipelined_ms is not None:
            lines.append(
                _row("pipelined", "quiet", line((bar(view.pipelined_ms, full, room), "quiet")), view.pipelined_ms, room)
            )
        lines.append(EMPTY)
        for category in view.categories:
            tone = CATEGORY_TONES.get(category.category, "cat-misc")
            name = SHORT_NAMES.get(category.category, category.category)
            lines.append(_row(name, "", line((bar(category.ms, full, room), tone)), category.ms, room))
        return [*lines, EMPTY, *_gap_parts(view, width)]


def _row(label: str, tone: str, drawn: Line, value: float | None, room: int, value_tone: str = "") -> Line:
    used = sum(len(span.text) for span in drawn)
    return line(
        (label_cells(label), tone),
        *drawn,
        " " * max(0, room - used),
        (right(figures.bare_ms(value), VALUE), value_tone),
    )


def _whole(view: DecodeView, full: float, room: int, height: int) -> list[Line]:
    """The rulers; those that explain rather than compare only where there is room for them."""
    lines = []
    if view.whole_ms is not None:
        lines.append(
            _row("whole graph", "strong", line((bar(view.whole_ms, full, room), "whole")), view.whole_ms, room)
        )
    if view.sum_ms is None:
        if view.pipelined_ms is not None:
            drawn = line((bar(view.pipelined_ms, full, room), "quiet"))
            lines.append(_row("pipelined", "", drawn, view.pipelined_ms, room))
        return lines
    parts = [(CATEGORY_TONES.get(c.category, "cat-misc"), c.ms) for c in view.categories]
    lines.append(
        _row(
            "Σ queued" if view.ruler == "queued" else "Σ fenced",
            "strong",
            stacked(parts, full, room),
            view.sum_ms,
            room,
        )
    )
    if view.gap_ms is not None:
        lines += _gap(view, full, room)
    if view.fenced_ms is not None:
        drawn = line((bar(view.fenced_ms, full, room), "quiet"))
        lines.append(_row("Σ fenced", "quiet", drawn, view.fenced_ms, room, "quiet"))
    if view.hot_ms is not None and height >= len(view.categories) + LEAST_FOR_HOT:
        drawn = line((bar(view.hot_ms, full, room), "quiet"))
        lines.append(_row("Σ one layer", "quiet", drawn, view.hot_ms, room, "quiet"))
    return lines


def _gap(view: DecodeView, full: float, room: int) -> list[Line]:
    assert view.gap_ms is not None and view.sum_ms is not None and view.whole_ms is not None
    start, end = (round(ms / full * room) for ms in sorted((view.sum_ms, view.whole_ms)))
    drawn = line(" " * start, ("▒" * max(1, end - start), "gap"))
    shares = f"{figures.percent(view.gap_of_sum)} of sum, {figures.percent(view.gap_of_wall)} of wall"
    return [
        _row("gap", "gap", drawn, view.gap_ms, room, "gap"),
        line(" " * (LABEL if room + VALUE >= len(shares) else 2), (shares, "quiet")),
    ]


def _gap_parts(view: DecodeView, width: int) -> list[Line]:
    """What the gap is made of: graph build is in the wall and in no block, and so is the last wait."""
    if view.gap_ms is None:
        return wrapped(view.waiting, width, "quiet")
    if view.gap_ms < 0:
        return wrapped("The blocks take longer alone than inside the graph: there is no gap to split.", width, "quiet")
    if view.gap_parts:
        known = " · ".join(f"{part.name} {figures.bare_ms(part.ms)}" for part in view.gap_parts)
        return wrapped(f"gap is {known}", width, "quiet", indent=7)
    parts, left_over = [], view.gap_ms
    for name, value in (("build", view.build_ms), ("sync", view.fence_ms)):
        if value is not None:
            parts.append(f"{name} {figures.bare_ms(value)}")
            left_over -= value
    parts.append(f"unattributed {figures.bare_ms(left_over)}")
    return wrapped(f"gap is {' · '.join(parts)}", width, "quiet", indent=7)


def _build(view: DecodeView, width: int) -> list[Line]:
    if view.build_ms is None or view.eval_ms is None:
        return []
    return wrapped(
        f"The whole graph is build {figures.bare_ms(view.build_ms)} + eval {figures.bare_ms(view.eval_ms)}.",
        width,
        "quiet",
    )
