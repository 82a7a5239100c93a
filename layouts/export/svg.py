"""A small writer of SVG for the inside of a page: elements, axes with round ticks, and nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .document import CONTROLS

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 42


def tag(name: str, content: str = "", **attributes: str | float) -> str:
    """One element; `content` is markup already, attribute values are escaped. `class_` and `_` in names are undone."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items() if value != ""
    )
    return f"<{name}{written}/>" if not content else f"<{name}{written}>{content}</{name}>"


def words(text: str) -> str:
    """Text for between two tags, without controls."""
    return escape(CONTROLS.sub("", text), quote=True)


def label(text: str, x: float, y: float, class_: str = "label", anchor: str = "start") -> str:
    """A text on a picture."""
    return tag("text", words(text), x=x, y=y, class_=class_, text_anchor="" if anchor == "start" else anchor)


def hint(text: str) -> str:
    """What a pointer that rests on an element is told."""
    return f"<title>{words(text)}</title>"


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return words(value)
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


def picture(title: str, content: Sequence[str], width: float = WIDTH, height: float = HEIGHT) -> str:
    """The pieces as one picture that is read aloud as `title`."""
    return tag(
        "svg", hint(title) + "".join(content), class_="plot", viewBox=f"0 0 {width:g} {height:g}", role="img",
        aria_label=title,
    )  # fmt: skip


def ticks(low: float, high: float, about: int = 5) -> tuple[float, ...]:
    """Round numbers from `low` to `high`, about so many."""
    reach = high - low
    if reach <= 0 or not math.isfinite(reach):
        return (low,)
    raw = reach / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return tuple(round((first + i) * step, 12) for i in range(int((high - first * step) / step + 1e-9) + 1))


def tick_text(value: float) -> str:
    """A round number, as short as it goes."""
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Axes:
    """From values to places on a picture of the usual size."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: float = WIDTH
    height: float = HEIGHT

    def x(self, value: float) -> float:
        """Where a value is across."""
        share = (value - self.x_low) / ((self.x_high - self.x_low) or 1.0)
        return LEFT + min(max(share, -0.02), 1.02) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Where a value is up and down."""
        share = (value - self.y_low) / ((self.y_high - self.y_low) or 1.0)
        return self.height - BOTTOM - min(max(share, -0.02), 1.02) * (self.height - TOP - BOTTOM)

    def drawn(self, x_title: str, y_title: str, x_ticks: Sequence[float] | None = None) -> list[str]:
        """Grid, ticks and titles."""
        bottom, right = self.height - BOTTOM, self.width - RIGHT
        parts = []
        for value in ticks(self.y_low, self.y_high):
            y = self.y(value)
            parts.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
            parts.append(label(tick_text(value), LEFT - 7, y + 4, "tick", "end"))
        for value in ticks(self.x_low, self.x_high) if x_ticks is None else _apart(x_ticks, self):
            x = self.x(value)
            parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
            parts.append(label(tick_text(value), x, bottom + 17, "tick", "middle"))
        parts.append(tag("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"))
        parts.append(label(x_title, (LEFT + right) / 2, self.height - 6, "axis-title", "middle"))
        middle = (TOP + bottom) / 2
        parts.append(
            tag("text", words(y_title), x=12, y=middle, class_="axis-title", text_anchor="middle",
                transform=f"rotate(-90 12 {middle:g})")
        )  # fmt: skip
        return parts


def _apart(values: Sequence[float], axes: Axes) -> list[float]:
    """Those of the values whose labels do not run into each other, the last one always."""
    kept: list[float] = []
    for value in sorted(values, reverse=True):
        if not kept or axes.x(kept[-1]) - axes.x(value) >= 22:
            kept.append(value)
    return kept


def path(points: Sequence[tuple[float, float]], class_: str) -> str:
    """A line through places."""
    drawn = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
    return tag("path", d=drawn, class_=class_, fill="none")
