"""Speedup over acceptance and draft length as a map of shades with the line S = 1, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..profilers.judge.break_even import BreakEvenLine
from . import figures
from .charts import p_labels
from .lines import Line, Span, line, right, wrapped

STEPS = 100
SHADES = ((0.8, "·", "bad"), (1.0, "░", "bad"), (1.25, "▒", "good"), (1.6, "▓", "good"))
MOST = ("█", "good")
LEAST_WIDTH = 24


@dataclass(frozen=True, slots=True)
class HeatRow:
    """S at one k over α from 0 to 1 in equal steps, the α where it is 1 (None where it never is), and S `now`."""

    k: int
    speedups: tuple[float, ...]
    crossing: float | None
    now: float


@dataclass(frozen=True, slots=True)
class HeatView:
    """Rows for every k whose verify width was measured, `here` the k that ran at `alpha`; both may be asked ones."""

    rows: tuple[HeatRow, ...] = ()
    alpha: float | None = None
    here: int | None = None
    what_if: bool = False
    message: str = ""


def heat_view(lines: Sequence[BreakEvenLine], here: int | None, what_if_p: float | None) -> HeatView:
    """The map of one drafter's lines."""
    if not lines:
        return HeatView(message="The map needs rounds, their parts, and verify passes of several widths.")
    alpha = lines[0].alpha.estimate if what_if_p is None else what_if_p
    rows = tuple(
        HeatRow(each.k, tuple(each.speedup(i / STEPS) for i in range(STEPS + 1)), each.crossing(), each.speedup(alpha))
        for each in sorted(lines, key=lambda each: each.k)
    )
    return HeatView(rows, alpha, here, what_if_p is not None)


def heat_lines(view: HeatView, width: int, height: int, cursor: int | None = None) -> list[Line]:
    """The map with its legend and axis; ▸ marks the row of `cursor`, S at the present α stands at the right."""
    if not view.rows or width < LEAST_WIDTH:
        return [line((view.message, "quiet"))]
    tail = 8
    room = width - 5 - tail
    tone = "what-if" if view.what_if else "quiet"
    chosen = next((row for row in view.rows if row.k == (cursor or view.here)), None)
    told = [] if chosen is None else wrapped(_words(chosen, view), width, tone)
    rows = _in_sight(view.rows, chosen, max(1, height - 3 - len(told)))
    tall = max(1, min(3, (height - 3 - len(told)) // len(rows)))
    lines = [_legend(width)]
    for row in rows:
        cells = _cells(row, room, view)
        mark = "▸" if row.k == cursor else "●" if row.k == view.here else " "
        for again in range(tall):
            named, said = ("    ", "") if again else (f"{mark}{row.k:>2} ", right(figures.times(row.now), tail))
            lines.append((Span(named, "strong"), Span("│", "axis"), *cells, Span(said)))
    lines.append(line(("    └" + "─" * room, "axis")))
    lines.append(line(("k α  " + p_labels(room), "quiet"), (right("S at ◆", tail), tone)))
    return [*lines, *told]


def _in_sight(rows: tuple[HeatRow, ...], chosen: HeatRow | None, most: int) -> tuple[HeatRow, ...]:
    """As many rows as fit, the chosen one among them."""
    at = 0 if chosen is None else rows.index(chosen)
    first = max(0, min(len(rows) - most, at - most // 2))
    return rows[first : first + most]


def _legend(width: int) -> Line:
    if width < 58:
        return line(("·░", "bad"), " loses  ", ("▒▓█", "good"), " wins  ", ("┃", "strong"), " S = 1  ", "◆ here")
    shades = [
        (shade, tone, name)
        for (_, shade, tone), name in zip(SHADES, ("< 0.8x", "< 1x", "≥ 1x", "≥ 1.25x"), strict=True)
    ]
    parts = [part for shade, tone, name in (*shades, (*MOST, "≥ 1.6x")) for part in ((shade, tone), f" {name}  ")]
    return line(*parts, ("┃", "strong"), " S = 1  ", "◆ here")


def _words(row: HeatRow, view: HeatView) -> str:
    if row.crossing is None:
        return f"k = {row.k} loses at every α."
    if row.crossing <= 0:
        return f"k = {row.k} wins at every α."
    asked = " WHAT IF" if view.what_if else ""
    at = "" if view.alpha is None else f"; α is {figures.share(view.alpha)}{asked}"
    return f"k = {row.k} breaks even at α {figures.share(row.crossing)}{at}."


def _step(alpha: float) -> int:
    return round(min(1.0, max(0.0, alpha)) * STEPS)


def _cells(row: HeatRow, room: int, view: HeatView) -> list[Span]:
    cells: list[Span] = []
    contour = None if not row.crossing else round(row.crossing * (room - 1))
    here = None if view.alpha is None else round(min(1.0, view.alpha) * (room - 1))
    for x in range(room):
        speedup = row.speedups[_step(x / (room - 1))]
        shade, tone = next(((glyph, tone) for end, glyph, tone in SHADES if speedup < end), MOST)
        if x == contour:
            shade, tone = "┃", "strong"
        if x == here:
            shade, tone = "◆", "what-if-point" if view.what_if else "measured-point"
        if cells and cells[-1].tone == tone:
            cells[-1] = Span(cells[-1].text + shade, tone)
        else:
            cells.append(Span(shade, tone))
    return cells
