"""Numbers as text: one place decides digits, units and how an interval looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..profilers.judge.counted import counted

if TYPE_CHECKING:  # numpy takes longer to load than the first frame may
    from ..profilers.judge.statistics import Interval

NONE = "—"


def rate(tokens_per_second: float | None) -> str:
    """Tokens per second, three significant digits or the whole number."""
    return NONE if tokens_per_second is None else f"{significant(tokens_per_second)} tok/s"


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, never in scientific notation below a million."""
    if value == 0:
        return "0"
    magnitude = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    decimals = max(0, digits - magnitude) if magnitude else digits
    return f"{value:.{decimals}f}"


def times(value: float | None) -> str:
    """A speedup, e.g. 0.80x."""
    return NONE if value is None else f"{value:.2f}x"


def ms(value: float | None) -> str:
    """Milliseconds: two decimals, three below a tenth."""
    if value is None:
        return NONE
    return f"{value:.2f} ms" if abs(value) >= 0.1 else f"{value:.3f} ms"


def span(interval: Interval | None, digits: int = 2) -> str:
    """The ends of an interval, e.g. [0.56, 0.73]."""
    return "" if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def with_span(interval: Interval | None, digits: int = 2) -> str:
    """An estimate and the ends of its interval."""
    return NONE if interval is None else f"{interval.estimate:.{digits}f} {span(interval, digits)}"


def percent(fraction: float | None, signed: bool = False) -> str:
    """A share or a relative error in percent with one decimal."""
    if fraction is None:
        return NONE
    return f"{fraction * 100:+.1f}%" if signed else f"{fraction * 100:.1f}%"


def plus_minus(interval: Interval | None) -> str:
    """Half the interval relative to the estimate, e.g. ± 0.4%."""
    if interval is None or interval.estimate == 0:
        return ""
    return f"± {abs(interval.high - interval.low) / 2 / abs(interval.estimate) * 100:.1f}%"


def size(size_bytes: int | None) -> str:
    """Bytes in MB or GB (powers of ten)."""
    if size_bytes is None:
        return NONE
    return f"{size_bytes / 1e9:.2f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1 prompt, 2 prompts, 1,200 prompts."""
    return counted(number, noun, plural)


def grouped(number: int | None) -> str:
    """A count in groups of three digits."""
    return NONE if number is None else f"{number:,}"


def bare_ms(value: float | None) -> str:
    """Milliseconds without the unit, for columns that name it: two decimals, one from 100 on."""
    if value is None:
        return NONE
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}"


def short_ms(value: float) -> str:
    """Milliseconds beside a drawing: no more digits than needed below three."""
    return f"{value:.2f}" if abs(value) < 1 else f"{value:.1f}" if abs(value) < 10 else f"{value:.0f}"


def ticks(values: Sequence[float]) -> tuple[str, ...]:
    """The numbers of an axis with both its ends, all with as many decimals, which depend on the ends alone."""
    third = (max(values) - min(values)) / 3
    decimals = max(0, 1 - math.floor(math.log10(third))) if third > 0 else 2
    return tuple(f"{round(value, decimals) + 0.0:.{decimals}f}" for value in values)


def ratio(value: float | None) -> str:
    """How many times as much, two decimals."""
    return NONE if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    """An acceptance or another share of one, two decimals."""
    return NONE if value is None else f"{value:.2f}"


def steps(value: float | None) -> str:
    """A time in decode steps."""
    return NONE if value is None else f"{value:.2f} steps"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours from one hour on, e.g. 00:42."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    text = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{text}" if hours else text


def logits(value: float | None) -> str:
    """A margin between two logits."""
    return NONE if value is None else f"{value:.3g} logits"


def flops(count: float) -> str:
    """Floating-point operations, in the unit that gives a readable number."""
    for scale, unit in ((1e12, "Tflop"), (1e9, "Gflop"), (1e6, "Mflop"), (1e3, "kflop")):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} flop"
