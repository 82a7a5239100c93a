"""Bars and the break-even chart as lines of text: block elements and braille, shape before colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import figures
from .lines import Line, Span, line, right

EIGHTHS = " ▏▎▍▌▋▊▉█"
LEAST_SPREAD = 0.05  # of a value that stands alone on its axis
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille bits by row and column


def bar(value: float, full: float, width: int) -> str:
    """A bar of `value` where `full` fills `width` cells, in eighths of a cell; a value above 0 shows something."""
    if full <= 0 or value <= 0 or width <= 0:
        return ""
    eighths = max(1, min(width * 8, round(value / full * width * 8)))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def stacked(parts: Sequence[tuple[str, float]], full: float, width: int) -> Line:
    """Parts (tone, value) side by side; the last cell of each is narrower, so that they part without colour too."""
    spans, drawn, total = [], 0, 0.0
    for tone, value in parts:
        total += value
        end = min(width, round(total / full * width)) if full > 0 else 0
        cells = end - drawn
        if cells > 0:
            spans.append(Span("█" * (cells - 1) + "▉", tone))
            drawn = end
    return tuple(spans)


@dataclass
class Canvas:
    """A grid of cells; whatever is drawn later covers what was drawn before. Braille dots of one tone add up."""

    width: int
    height: int
    cells: dict[tuple[int, int], Span] = field(default_factory=dict)
    dots: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)

    def put(self, x: int, y: int, glyph: str, tone: str) -> None:
        """One glyph into a cell, if it is on the canvas."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self.cells[x, y] = Span(glyph, tone)

    def dot(self, x: float, y: float, tone: str) -> None:
        """One braille dot; x and y in cells, fractions allowed."""
        column, row = int(x), int(y)
        if not (0 <= column < self.width and 0 <= row < self.height):
            return
        bits = self.dots.get((column, row), (0, tone))[0]
        self.dots[column, row] = (bits | DOTS[int((y - row) * 4)][int((x - column) * 2)], tone)

    def flush_dots(self) -> None:
        """Lay the dots drawn so far over the cells."""
        for (x, y), (bits, tone) in self.dots.items():
            self.put(x, y, chr(0x2800 + bits), tone)
        self.dots.clear()

    def rows(self) -> list[Line]:
        """The cells, row by row, runs of one tone joined."""
        lines = []
        for y in range(self.height):
            spans: list[Span] = []
            for x in range(self.width):
                cell = self.cells.get((x, y), Span(" "))
                if spans and spans[-1].tone == cell.tone:
                    spans[-1] = Span(spans[-1].text + cell.text, cell.tone)
                else:
                    spans.append(cell)
            lines.append(tuple(spans))
        return lines


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on the chart, with a vertical through it."""

    p: float
    ms: float
    glyph: str
    upright: str
    tone: str


@dataclass(frozen=True, slots=True)
class Plot:
    """What the break-even chart shows: a curve over p, levels, a band of p, points, and a cloud of lesser ones."""

    curves: tuple[tuple[tuple[float, ...], str], ...]
    levels: tuple[tuple[float, str, str], ...]  # ms, glyph, tone
    band: tuple[float, float] | None
    marks: tuple[Mark, ...]
    cloud: tuple[tuple[float, float], ...] = ()


def plot_lines(plot: Plot, width: int, height: int) -> list[Line]:
    """The chart with its axes, exactly `width` by `height` cells; p runs from 0 to 1, y in ms."""
    values = [v for curve, _ in plot.curves for v in curve] + [ms for ms, _, _ in plot.levels]
    low, high = min(values), max(values)
    if high == low:
        low, high = low - (abs(low) or 1.0) * LEAST_SPREAD, high + (abs(high) or 1.0) * LEAST_SPREAD
    labels = max(len(text) for text in figures.ticks((low, high))) + 1
    canvas = Canvas(max(1, width - labels - 2), max(1, height - 2))

    def x_of(p: float) -> float:
        return min(p, 1.0) * (canvas.width - 1)

    def y_of(ms: float) -> float:
        return row_of(ms, low, high, canvas.height)

    _draw(canvas, plot, x_of, y_of)
    ticks = axis_ticks(canvas.height, low, high)
    lines = []
    for y, row in enumerate(canvas.rows()):
        label = right(ticks.get(y, ""), labels)
        lines.append((Span(label, "quiet"), Span("┤" if y in ticks else "│", "axis"), *row))
    lines.append(line((" " * labels + "└" + "─" * canvas.width, "axis")))
    lines.append(line((" " * (labels + 1) + p_labels(canvas.width), "quiet")))
    return lines


def _draw(canvas: Canvas, plot: Plot, x_of: Callable[[float], float], y_of: Callable[[float], float]) -> None:
    if plot.band is not None:
        first, last = (round(x_of(p)) for p in plot.band)
        for x in range(first, last + 1):
            for y in range(canvas.height):
                canvas.put(x, y, "░", "band")
    for mark in plot.marks:
        for y in range(canvas.height):
            canvas.put(round(x_of(mark.p)), y, mark.upright, mark.tone)
    for p, ms in plot.cloud:
        canvas.put(round(x_of(p)), math.floor(y_of(ms)), "∘", "plain")
    for ms, glyph, tone in plot.levels:
        for x in range(canvas.width):
            canvas.put(x, int(y_of(ms)), glyph, tone)
    for curve, tone in plot.curves:
        _draw_curve(canvas, curve, tone, y_of)
    for mark in plot.marks:
        canvas.put(round(x_of(mark.p)), int(y_of(mark.ms)), mark.glyph, f"{mark.tone}-point")


def _draw_curve(canvas: Canvas, curve: Sequence[float], tone: str, y_of: Callable[[float], float]) -> None:
    for step in range(canvas.width * 2):
        at = step / (canvas.width * 2 - 1) * (len(curve) - 1)
        index = min(int(at), len(curve) - 2)
        value = curve[index] + (curve[index + 1] - curve[index]) * (at - index)
        canvas.dot(step / 2, y_of(value), tone)
    canvas.flush_dots()


def row_of(value: float, low: float, high: float, height: int) -> float:
    """How far below the top of so many rows a value lies; both ends lie in the middle of their rows."""
    return 0.5 + (high - value) / (high - low) * (height - 1)


def axis_ticks(height: int, low: float, high: float) -> dict[int, str]:
    """The numbers beside some of the rows, by row: both ends, and what lies between."""
    count = 2 if height < 6 else 4 if height < 16 else 6
    rows = [round(i * (height - 1) / max(1, count - 1)) for i in range(count)]
    values = [high - y * (high - low) / max(1, height - 1) for y in rows]
    return dict(zip(rows, figures.ticks(values), strict=True))


def p_labels(width: int) -> str:
    """The numbers under an axis from 0 to 1 of so many cells."""
    marks = (0.0, 0.5, 1.0) if width < 28 else (0.0, 0.25, 0.5, 0.75, 1.0)
    cells = [" "] * width
    for p in marks:
        text = figures.share(p)
        at = min(width - len(text), max(0, round(p * (width - 1)) - len(text) // 2))
        cells[at : at + len(text)] = list(text)
    return "".join(cells[:width])
