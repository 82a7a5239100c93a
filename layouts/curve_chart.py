"""Values over a number of positions as braille: points, lines between neighbours, and none across a cliff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from . import figures
from .charts import LEAST_SPREAD, Canvas, axis_ticks, row_of
from .lines import Line, Span, line, right

Scale = Callable[[float], float]

LEAST_WIDTH, LEAST_HEIGHT = 16, 5


@dataclass(frozen=True, slots=True)
class Point:
    """One measured or computed value at `x` (a whole number), with the ends of its interval where there is one."""

    x: int
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points in order of x. `glyph` marks each; lines join neighbours but for those pairs named in `gaps`."""

    points: tuple[Point, ...]
    glyph: str
    tone: str
    gaps: tuple[tuple[int, int], ...] = ()
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """Several series over the same whole numbers, `level` a line across, `from_zero` whether y begins there.

    `ends` are the least and the most that y shows, where they are fixed.
    """

    series: tuple[Series, ...]
    level: float | None = None
    from_zero: bool = True
    ends: tuple[float, float] | None = None

    @property
    def xs(self) -> list[int]:
        """Every x that has a point, in order."""
        return sorted({point.x for series in self.series for point in series.points})


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart's values lie on a canvas of `width` cells, left of it `labels` cells and the axis."""

    low: float
    high: float
    labels: int
    width: int
    first: int
    last: int

    def x_of(self, x: float) -> float:
        """The cell of an x, from the left end of the canvas."""
        return 1 + (x - self.first) / max(1, self.last - self.first) * (self.width - 3)


def _frame_of(chart: Chart, width: int) -> Frame:
    points = [point for series in chart.series for point in series.points]
    values = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    values += [] if chart.level is None else [chart.level]
    low, high = (0.0 if chart.from_zero else min(values)), max(values)
    if high == low:
        low, high = low - (abs(low) or 1.0) * LEAST_SPREAD, high + (abs(high) or 1.0) * LEAST_SPREAD
    low, high = chart.ends or (low, high)
    labels = max(len(text) for text in figures.ticks((low, high))) + 1
    return Frame(low, high, labels, max(1, width - labels - 1), min(p.x for p in points), max(p.x for p in points))


def nearest_x(chart: Chart, width: int, cell: int) -> int | None:
    """The x whose point is nearest to a cell of a chart so wide; None without points or left of the axis."""
    xs = chart.xs
    if not xs or width < LEAST_WIDTH:
        return None
    frame = _frame_of(chart, width)
    at = cell - frame.labels - 1
    return None if at < 0 else min(xs, key=lambda x: abs(frame.x_of(x) - at))


def chart_lines(chart: Chart, width: int, height: int, cursor: int | None = None) -> list[Line]:
    """The chart with its axes, exactly `width` by `height` cells; an empty list without points.

    `cursor` is an x to mark by a vertical.
    """
    points = [point for series in chart.series for point in series.points]
    if not points or width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return []
    frame = _frame_of(chart, width)
    low, high, x_of = frame.low, frame.high, frame.x_of
    canvas = Canvas(frame.width, max(1, height - 2))

    def y_of(value: float) -> float:
        return row_of(value, low, high, canvas.height)

    if cursor is not None:
        for y in range(canvas.height):
            canvas.put(round(x_of(cursor)), y, "┊", "strong")
    if chart.level is not None:
        for x in range(canvas.width):
            canvas.put(x, int(y_of(chart.level)), "─", "quiet")
    for series in chart.series:
        _draw(canvas, series, x_of, y_of)
    return _framed(canvas, (low, high), frame.labels, {x: x_of(x) for x in chart.xs})


def _draw(canvas: Canvas, series: Series, x_of: Scale, y_of: Scale) -> None:
    for a, b in pairwise(series.points):
        if (a.x, b.x) in series.gaps or not series.joined:
            continue
        steps = max(2, round((x_of(b.x) - x_of(a.x)) * 2))
        for i in range(steps + 1):
            part = i / steps
            canvas.dot(x_of(a.x + part * (b.x - a.x)) + 0.5, y_of(a.y + part * (b.y - a.y)), series.tone)
    canvas.flush_dots()
    for point in series.points:
        x = round(x_of(point.x))
        if point.low is not None and point.high is not None and y_of(point.low) - y_of(point.high) >= 1.0:
            for y in range(max(0, int(y_of(point.high))), int(y_of(point.low)) + 1):
                canvas.put(x, y, "│", series.tone)
        canvas.put(x, int(y_of(point.y)), series.glyph, series.tone)
    for _, above in series.gaps:
        found = next((p for p in series.points if p.x == above), None)
        if found is not None:
            canvas.put(round(x_of(above)), int(y_of(found.y)), "▲", "warn")


def _framed(canvas: Canvas, ends: tuple[float, float], labels: int, places: dict[int, float]) -> list[Line]:
    ticks = axis_ticks(canvas.height, *ends)
    lines: list[Line] = []
    for y, row in enumerate(canvas.rows()):
        label = right(ticks.get(y, ""), labels)
        lines.append((Span(label, "quiet"), Span("┤" if y in ticks else "│", "axis"), *row))
    lines.append(line((" " * labels + "└" + "─" * canvas.width, "axis")))
    lines.append(line((" " * (labels + 1) + _x_labels(places, canvas.width), "quiet")))
    return lines


def _x_labels(places: dict[int, float], width: int) -> str:
    """The numbers under their points, as many as do not run into each other; the last one always."""
    cells = [" "] * width
    taken = width
    order: Sequence[int] = sorted(places, reverse=True)
    for x in order:
        text = figures.grouped(x)
        at = min(width - len(text), max(0, round(places[x]) - len(text) // 2))
        if at + len(text) < taken or x == order[0]:
            cells[at : at + len(text)] = list(text)
            taken = at
    return "".join(cells)
