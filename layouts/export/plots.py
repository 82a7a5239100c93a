"""The plots of a report over axes: the break-even line, verify over positions, speedup by k, accepted lengths."""

from __future__ import annotations

from collections.abc import Sequence

from .. import figures
from ..curve_chart import Chart, Point, Series
from ..view_models import BreakEvenView, Curve
from .svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, hint, label, path, picture, tag

CLASS_BY_TONE = {"limit": "limit", "measured": "measured", "what-if": "what-if"}
OTHERS = ("other-1", "other-2", "other-3")
LEGEND = 26


def break_even_plot(view: BreakEvenView) -> str:
    """The dearest T_verify over p that breaks even, the measured one, and the point with its interval; else nothing."""
    curve = view.curve
    if curve is None:
        return ""
    values = (*curve.limits_ms, curve.verify_ms)
    low, high = min(0.0, *values), max(values)
    axes = Axes(0.0, 1.0, low, high + (high - low) * 0.08)
    places = _limits(curve, axes)
    floor = axes.y(axes.y_low)
    area = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*places, (places[-1][0], floor), (places[0][0], floor)))
    parts = [tag("polygon", points=area, class_="wins-area")]
    if view.p_low is not None and view.p_high is not None:
        left, right = axes.x(view.p_low), axes.x(view.p_high)
        words = hint(f"95% interval of {view.symbol}: {view.p_low:.2f} to {view.p_high:.2f}")
        parts.append(tag("rect", words, x=left, y=TOP, width=max(1.0, right - left), height=floor - TOP, class_="band"))
    symbol = "acceptance p, conditional" if view.symbol != "p" else "acceptance p"
    parts += axes.drawn(symbol, "ms")
    parts.append(path(places, "limit line"))
    level = axes.y(curve.verify_ms)
    name = view.level or f"verify({curve.k + 1})"
    parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=level, y2=level, class_="measured line"))
    parts += _level_label(f"{name} {figures.ms(curve.verify_ms)}", level)
    if view.p is not None:
        parts += _point(view, curve, axes)
    return picture(_told(view, curve, name), parts)


def _limits(curve: Curve, axes: Axes) -> list[tuple[float, float]]:
    last = max(1, len(curve.limits_ms) - 1)
    return [(axes.x(i / last), axes.y(ms)) for i, ms in enumerate(curve.limits_ms)]


def _level_label(text: str, level: float) -> list[str]:
    """Over the line, under it where there is no room."""
    return [label(text, LEFT + 6, level - 6 if level > TOP + 18 else level + 16, "label measured-text")]


def _point(view: BreakEvenView, curve: Curve, axes: Axes) -> list[str]:
    assert view.p is not None
    x, y = axes.x(view.p), axes.y(curve.verify_ms)
    parts = [tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="upright")]
    if view.limit_ms is not None:
        words = hint(f"breaks even at {figures.ms(view.limit_ms)}")
        parts.append(tag("circle", words, cx=x, cy=axes.y(view.limit_ms), r=3.5, class_="limit-dot"))
    words = hint(f"here: {view.symbol} {view.p:.2f}, {figures.ms(curve.verify_ms)}")
    parts.append(tag("circle", words, cx=x, cy=y, r=5, class_="measured-dot"))
    return parts


def _told(view: BreakEvenView, curve: Curve, name: str) -> str:
    told = f"Break-even line at k = {curve.k}: {name} takes {figures.ms(curve.verify_ms)}"
    if view.p is not None and view.limit_ms is not None:
        told += f", and may take {figures.ms(view.limit_ms)} at the measured {view.symbol} of {view.p:.2f}"
    return f"{told}."


def curve_plot(chart: Chart, title: str, x_title: str, y_title: str, names: Sequence[str] = ()) -> str:
    """Points with their intervals over whole numbers, joined but across cliffs; nothing without points.

    `names` are those of the series, for a legend.
    """
    series = [each for each in chart.series if each.points]
    points = [point for each in series for point in each.points]
    if not points:
        return ""
    values = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    values += [] if chart.level is None else [chart.level]
    low, high = min(0.0, *values) if chart.from_zero else min(values), max(values)
    first, last = min(p.x for p in points), max(p.x for p in points)
    aside = max(0.4, (last - first) * 0.03)
    axes = Axes(first - aside, last + aside, low, high + (high - low or 1.0) * 0.14)
    parts = axes.drawn(x_title, y_title, sorted({p.x for p in points}))
    if chart.level is not None:
        y = axes.y(chart.level)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="level"))
    classes = [CLASS_BY_TONE.get(each.tone) or OTHERS[i % len(OTHERS)] for i, each in enumerate(series)]
    for each, class_ in zip(series, classes, strict=True):
        parts += _series(each, class_, axes, y_title)
    if len(series) > 1 or (names and series):
        held = [name for name, each in zip(names, chart.series, strict=False) if each.points]
        parts += _legend(held, classes)
    return picture(title, parts)


def _series(series: Series, class_: str, axes: Axes, unit: str) -> list[str]:
    parts, stretch = [], [series.points[0]]
    stretches = [stretch]
    for before, point in zip(series.points, series.points[1:], strict=False):
        if not series.joined or (before.x, point.x) in series.gaps:
            stretch = []
            stretches.append(stretch)
        stretch.append(point)
    parts += [path([(axes.x(p.x), axes.y(p.y)) for p in each], f"{class_} line") for each in stretches if len(each) > 1]
    above = {high for _, high in series.gaps}
    return [*parts, *(piece for p in series.points for piece in _marked(p, class_, axes, unit, p.x in above))]


def _marked(point: Point, class_: str, axes: Axes, unit: str, after_cliff: bool) -> list[str]:
    x, y = axes.x(point.x), axes.y(point.y)
    parts = []
    told = f"{point.x}: {point.y:.3g} {unit}".strip()
    if point.low is not None and point.high is not None:
        top, bottom = axes.y(point.high), axes.y(point.low)
        told += f" [{point.low:.3g}, {point.high:.3g}]"
        parts += [
            tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=f"{class_} whisker"),
            tag("line", x1=x - 4, x2=x + 4, y1=top, y2=top, class_=f"{class_} whisker"),
            tag("line", x1=x - 4, x2=x + 4, y1=bottom, y2=bottom, class_=f"{class_} whisker"),
        ]
    parts.append(tag("circle", hint(told), cx=x, cy=y, r=4 if point.low is not None else 3, class_=f"{class_}-dot"))
    if after_cliff:
        parts.append(tag("path", hint("after a cliff"), d=f"M{x - 6:.1f} {y - 9:.1f}h12l-6 -10z", class_="cliff"))
    return parts


def _legend(names: Sequence[str], classes: Sequence[str]) -> list[str]:
    parts, x = [], LEFT + 8.0
    for name, class_ in zip(names, classes, strict=False):
        parts.append(tag("circle", cx=x, cy=TOP + 6, r=4, class_=f"{class_}-dot"))
        parts.append(label(name, x + 9, TOP + 10))
        x += LEGEND + 7.0 * len(name)
    return parts


def lengths_plot(rounds_by_accepted: Sequence[int]) -> str:
    """How many rounds kept 0, 1, … drafts, as columns with their shares; nothing without rounds."""
    total = sum(rounds_by_accepted)
    if total <= 0:
        return ""
    longest = len(rounds_by_accepted) - 1
    top = max(rounds_by_accepted) / total
    axes = Axes(-0.6, longest + 0.6, 0.0, min(1.0, top) * 1.12 * 100)
    parts = axes.drawn("drafts accepted in a round", "% of rounds", range(longest + 1))
    wide = min(64.0, (axes.x(1) - axes.x(0)) * 0.7)
    for length, count in enumerate(rounds_by_accepted):
        share = count / total * 100
        x, y = axes.x(length), axes.y(share)
        told = hint(f"{length} accepted: {count:,} of {figures.count(total, 'round')} ({share:.1f}%)")
        height = max(0.0, HEIGHT - BOTTOM - y)
        parts.append(tag("rect", told, x=x - wide / 2, y=y, width=wide, height=height, class_="accepted"))
        if longest <= 10:
            parts.append(label(f"{share:.0f}%", x, y - 5, "label", "middle"))
    return picture(f"Accepted drafts of {figures.count(total, 'round')}.", parts)
