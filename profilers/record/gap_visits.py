"""The records that come of timing a whole pass in stretches, pipelined and queued, for the parts of the gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..measure.fence import FenceCost
from ..measure.gap import GapTurns, QueuedPass
from ..measure.slope import Slope
from . import records


def turn_records(turns: GapTurns, now: Callable[[], int], run: int | None = None) -> Iterator[records.Probe]:
    """One record for each width, and one for the pipelined steps if there are any."""
    for width in sorted({p.width for p in turns.passes}):
        passes = turns.of(width)
        yield records.Probe(
            t_ns=now(),
            ruler="whole",
            part="verify",
            width=width,
            context=turns.context,
            samples_ns=tuple(p.total_ns for p in passes),
            build_ns=tuple(p.build_ns for p in passes),
            eval_ns=tuple(p.eval_ns for p in passes),
            submit_ns=tuple(p.submit_ns for p in passes),
            pipelined=False,
            run=run,
        )
    if turns.pipelined_ns:
        yield records.Probe(
            t_ns=now(),
            ruler="whole",
            part="decode",
            width=1,
            context=turns.context,
            samples_ns=turns.pipelined_ns,
            pipelined=True,
            run=run,
        )


def queued_pass_record(queued: QueuedPass, t_ns: int) -> records.Probe:
    """A whole pass by the queued ruler: a probe without block and category."""
    return records.Probe(
        t_ns=t_ns,
        ruler="queued",
        part="decode" if queued.width == 1 else "verify",
        width=queued.width,
        context=queued.context,
        slope_ns=queued.slope.ns,
        slope_low_ns=queued.slope.low_ns,
        slope_high_ns=queued.slope.high_ns,
        layers=1,
        pipelined=False,
    )


def fence_record(fence: FenceCost, t_ns: int) -> records.Calibration:
    """What one fence costs."""
    return records.Calibration(
        what="fence", value=fence.median_ns, unit="ns", low=fence.low_ns, high=fence.high_ns, t_ns=t_ns
    )


def boundary_record(cost: Slope, t_ns: int) -> records.Calibration:
    """What one more dispatched primitive costs."""
    return records.Calibration(what="boundary", value=cost.ns, unit="ns", low=cost.low_ns, high=cost.high_ns, t_ns=t_ns)
