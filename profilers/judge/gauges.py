"""What a session says of the machine meanwhile: canary, drift of the baseline, other load, swapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from ..record.session import Session
from .event_rows import means_of
from .parts import part_from
from .statistics import LEVEL, Interval, t_quantile
from .visits import Visit

LEAST_SPANS = 6
INSEPARABLE = 0.98  # context and time that correlate so much cannot be told apart


def canary(session: Session) -> Interval | None:
    """Later canary readings ÷ the first, which is itself a median of several."""
    readings = [c.value for c in session.calibrations if c.what == "canary" and c.value > 0]
    if len(readings) < 4:
        return None
    late = readings[1 + (len(readings) - 1) // 2 :]
    return part_from([value / readings[0] for value in late]).interval()


def drift(visits: Sequence[Visit]) -> Interval | None:
    """How much plain decode changed from the first to the last segment, at equal context.

    A line through log step time over context and over time, one point a
    segment; None where the two cannot be told apart, as within one text.
    """
    spans = [s.steps for v in visits for s in v.pairs()]
    if len(spans) < LEAST_SPANS:
        return None
    context, time, level = (means_of(spans, name) for name in ("context", "t_ns", "step_ns"))
    level = np.log(level)
    if np.ptp(time) == 0:
        return None
    time = (time - time.min()) / np.ptp(time)
    columns = [np.ones_like(time), time]
    if np.ptp(context) > 0:
        if abs(float(np.corrcoef(context, time)[0, 1])) > INSEPARABLE:
            return None
        columns.append((context - context.mean()) / np.ptp(context))
    design = np.stack(columns, axis=1)
    solution, _, rank, _ = np.linalg.lstsq(design, level, rcond=None)
    freedom = len(spans) - int(rank)
    if rank < len(columns) or freedom < 2:
        return None
    residual = level - design @ solution
    variance = float(residual @ residual) / freedom * float(np.linalg.inv(design.T @ design)[1, 1])
    half = t_quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(variance)
    change = float(solution[1])
    return Interval(math.exp(change), math.exp(change - half), math.exp(change + half), LEVEL, len(spans))


def other_busy(session: Session) -> float | None:
    """Share of all cores that other processes kept busy, mean over the session."""
    shares = [m.others_cpu_fraction for m in session.memory if m.others_cpu_fraction is not None]
    return fmean(shares) if shares else None


def swapped_bytes(session: Session) -> int | None:
    """How much more was swapped out at worst than at the first reading."""
    used = [m.swap_used_bytes for m in session.memory if m.swap_used_bytes is not None]
    return max(0, max(used) - used[0]) if used else None
