"""The plots of a report made of bars: verify ÷ decode with floors, and a decode step beside the sum of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import figures
from ..view_models import DecodeView, RatioBar
from .svg import WIDTH, hint, label, picture, tag, tick_text, ticks

CLASS_BY_CATEGORY = {
    "embedding": "c-embedding",
    "linear attention": "c-linear",
    "full attention": "c-full",
    "MoE": "c-moe",
    "MLP": "c-mlp",
    "norms and residuals": "c-norms",
    "output head": "c-head",
    "sampling": "c-sampling",
}
ROW, BAR, NAMES, VALUES, HEAD = 24, 15, 142, 78, 20


def ratios_plot(title: str, bars: Sequence[RatioBar], floor_by_label: Mapping[str, float], about: str = "") -> str:
    """Ratios as bars, plain up to 1 and hatched beyond; a mark where the floor is. Nothing without bars.

    `about` goes before a label, as `n = ` does before widths.
    """
    if not bars:
        return ""
    full = max(1.0, *(bar.ratio for bar in bars), *floor_by_label.values()) * 1.02
    reach = WIDTH - NAMES - VALUES

    def x_of(value: float) -> float:
        return NAMES + max(0.0, value) / full * reach

    bottom = HEAD + len(bars) * ROW
    parts = []
    for value in ticks(0.0, full, 4):
        x = x_of(value)
        parts.append(tag("line", x1=x, x2=x, y1=HEAD - 4, y2=bottom, class_="grid" if value != 1 else "level"))
        parts.append(label(f"{tick_text(value)}x", x, HEAD - 8, "tick", "middle"))
    for i, bar in enumerate(bars):
        y = HEAD + i * ROW + (ROW - BAR) / 2
        floor = floor_by_label.get(bar.label)
        told = f"{about}{bar.label}: {bar.ratio:.2f}x" + ("" if floor is None else f", floor {floor:.2f}x")
        parts.append(
            label(f"{about}{bar.label}", NAMES - 8, y + BAR - 3, "label here" if bar.marked else "label", "end")
        )
        one = min(bar.ratio, 1.0)
        parts.append(tag("rect", hint(told), x=NAMES, y=y, width=x_of(one) - NAMES, height=BAR, class_="ratio"))
        if bar.ratio > 1:
            wide = x_of(bar.ratio) - x_of(1.0)
            parts.append(tag("rect", hint(told), x=x_of(1.0), y=y, width=wide, height=BAR, class_="extra"))
        if floor is not None:
            parts.append(
                tag("line", hint(told), x1=x_of(floor), x2=x_of(floor), y1=y - 3, y2=y + BAR + 3, class_="floor")
            )
        said = f"{bar.ratio:.2f}" + ("" if floor is None else f" · {floor:.2f}")
        parts.append(label(said, WIDTH - 4, y + BAR - 3, "label", "end"))
    if floor_by_label:
        parts.append(label("now · floor", WIDTH - 4, HEAD - 8, "tick", "end"))
    return picture(title, parts, WIDTH, bottom + 6)


def decode_plot(view: DecodeView) -> str:
    """The whole graph, the sum of its blocks with the gap, and each category of blocks, in ms; else nothing."""
    if view.sum_ms is None or not view.categories:
        return ""
    gap = view.gap_ms if view.gap_ms is not None and view.gap_ms > 0 else 0.0
    full = max(view.whole_ms or 0.0, view.sum_ms + gap, view.pipelined_ms or 0.0)
    reach = WIDTH - NAMES - VALUES
    parts: list[str] = []
    rows: list[tuple[str, list[tuple[float, str, str]], float]] = []
    if view.whole_ms is not None:
        rows.append(("whole graph", [(view.whole_ms, "whole", "one synchronous pass")], view.whole_ms))
    stacked = [(each.ms, CLASS_BY_CATEGORY.get(each.category, "c-misc"), each.category) for each in view.categories]
    rows.append((f"Σ blocks, {view.ruler}", [*stacked, *([(gap, "gap", "gap")] if gap else [])], view.sum_ms))
    rows += [(name, [(ms, class_, name)], ms) for ms, class_, name in stacked]
    for i, (name, pieces, value) in enumerate(rows):
        y, x = i * ROW + (ROW - BAR) / 2, float(NAMES)
        parts.append(label(name, NAMES - 8, y + BAR - 3, "label", "end"))
        for ms, class_, told in pieces:
            wide = max(0.0, ms) / full * reach
            parts.append(
                tag("rect", hint(f"{told}: {figures.ms(ms)}"), x=x, y=y, width=wide, height=BAR, class_=class_)
            )
            x += wide
        parts.append(label(figures.ms(value), WIDTH - 4, y + BAR - 3, "label", "end"))
    told = "A decode step: the whole graph, the sum of its blocks, and each category of blocks."
    return picture(told, parts, WIDTH, len(rows) * ROW + 4)
