"""The verdict over a benchmark: from a point or from an interval, and the interval of the speedup itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from ..statistics import LEVEL, Interval, ratio_of_intervals, t_interval, t_quantile
from .cautions import SAME

Ruling = Literal["wins", "loses", "unwinnable", "too_close", "refused"]


def ruling(
    speedup: float | None,
    interval: Interval | None,
    round_steps: float | None,
    tokens: float | None,
    most: float | None,
    *,
    measured: bool,
) -> Ruling | None:
    """Wins or loses by S, unwinnable where R is above what full acceptance yields; None where the facts say neither.

    `measured`: S is an end-to-end speed, so R = E ÷ S has its noise, and is above only where its low end is. Without
    E, R is at least 1 ÷ S, since every round yields a token.
    """
    steps = round_steps
    if steps is None and speedup is not None:
        steps = 1 / speedup
    if steps is not None and interval is not None and measured:
        steps = (tokens or 1.0) / interval.high
    hopeless = steps is not None and most is not None and steps > most * (1 + SAME)
    if speedup is None:
        return "unwinnable" if hopeless else None
    if interval is not None and interval.holds(1.0):
        return "too_close"
    if speedup > 1 + SAME:
        return "wins"
    return "unwinnable" if hopeless else "loses"


def impossible(
    speedup: float | None, interval: Interval | None, tokens: float | None, most: float | None, *, measured: bool
) -> float | None:
    """The speed in decode steps that even a free draft could not exceed, if S does; None where S is possible."""
    limit = tokens if tokens is not None else most
    if speedup is None or limit is None:
        return None
    s = interval.low if interval is not None and measured else speedup
    return limit if s > max(limit, 1.0) * (1 + SAME) else None


def run_ratio_interval(top_logs: Sequence[float], bottom_logs: Sequence[float]) -> Interval | None:
    """S with a 95% t interval from the logs of repeated times: plain over drafting; None without repetition.

    Equally many runs of both count as pairs in order; else the runs are independent (Welch), and a single number is
    taken as exact.
    """
    n, m = len(top_logs), len(bottom_logs)
    if max(n, m) < 2:
        return None
    if n == m:
        inside = t_interval([a - b for a, b in zip(top_logs, bottom_logs, strict=True)])
    else:
        centre = math.fsum(top_logs) / n - math.fsum(bottom_logs) / m
        parts = [(_variance(logs) / len(logs), len(logs) - 1) for logs in (top_logs, bottom_logs) if len(logs) > 1]
        total = sum(part for part, _ in parts)
        freedom = total**2 / sum(p**2 / f for p, f in parts) if total > 0 else float(min(f for _, f in parts))
        half = t_quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(total)
        inside = Interval(centre, centre - half, centre + half, LEVEL, min(f + 1 for _, f in parts))
    low, estimate, high = (math.exp(v) for v in (inside.low, inside.estimate, inside.high))
    return Interval(estimate, low, high, LEVEL, inside.n)


def predicted_interval(
    speedup: float, decode_logs: Sequence[float], tokens: Interval | None, round_steps: float
) -> Interval | None:
    """S = E ÷ R with the spread of E and of repeated baselines, R's parts taken as exact; None without a spread."""
    yields = (
        Interval(speedup, tokens.low / round_steps, tokens.high / round_steps, LEVEL, tokens.n)
        if tokens is not None
        else None
    )
    if len(decode_logs) < 2:
        return yields
    base = run_ratio_interval(decode_logs, (0.0,))
    if base is None or yields is None:
        scale = speedup / base.estimate if base is not None else 1.0
        return None if base is None else Interval(speedup, base.low * scale, base.high * scale, LEVEL, base.n)
    exact = Interval(1.0, base.estimate / base.high, base.estimate / base.low, LEVEL, base.n)
    return ratio_of_intervals(yields, exact)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
