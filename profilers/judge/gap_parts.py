"""The gap taken apart: what of the synchronous wall is in no block, part by part, and what no part explains.

Every time is a mean with its standard error, and every part a sum of such times with weights, so that parts and rest
add up to the gap by construction and a time that wall and part share does not count as noise twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..record.session import Session
from .economics import Gap, gap
from .gap_times import GapTimes, Weights, gap_times
from .parts import Part, weighted_sum
from .spans import Queued, Span, Synchronous
from .statistics import Interval

BUILD = "graph build"
SUBMIT = "submission with nothing running yet"
FENCE = "fence and sync"
BOUNDARIES = "dispatches outside the blocks"
UNQUEUED = "blocks that cannot be queued"
REST = "unattributed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPart:
    """A part of the gap in ms, negative where it shortens the wall; None where it was not measured or is nothing.

    `note` is a sentence on where the number comes from, or why there is none. `count` counts what the part is made
    of (dispatches, fences), where that is known.
    """

    name: str
    ms: float | None
    interval: Interval | None
    of_wall: float | None
    note: str
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapParts:
    """The gap at one width with its parts; Σ parts + rest is the gap exactly. Times in ms, intervals 95%.

    `hidden` is what pipelining takes off a synchronous step (one position only): it is no part of the gap and stands
    beside it. `submit` is the time until `async_eval` gave back, most of which the work itself runs. The wall is the
    mean of `passes`; `interrupted` more were far off the others and left out, of the parts' samples likewise.
    """

    width: int
    passes: int
    interrupted: int
    wall: Interval
    build: Interval | None
    evaluation: Interval
    submit: Interval | None
    queued: Interval
    gap: Gap
    interval: Interval
    parts: tuple[GapPart, ...]
    rest: GapPart
    hidden: Interval | None

    @property
    def sentence(self) -> str:
        """What the gap is, and how to read its sign."""
        size = f"{self.gap.ms:+.2f} ms, {self.gap.of_sum:+.1%} of the sum, {self.gap.of_wall:+.1%} of the wall"
        if self.interval.holds(0.0):
            return f"The gap is {size}: not told apart from none."
        if self.gap.ms > 0:
            return f"The gap is {size}: time of a pass that is in no block."
        return (
            f"The gap is {size}: the whole graph takes less than its blocks one by one, because blocks overlap or are "
            "fused across their borders, or find in the cache what the block before left there."
        )


def gap_parts(session: Session, width: int = 1, context: int | None = None) -> GapParts | None:
    """The gap at one width and its parts; None before the wall and every place that can be queued were timed there.

    Of one context, or of all that blocks were timed at: a session that generates passes through many, a survey has one.
    """
    times = gap_times(session, width, context)
    if times is None:
        return None
    wall: Weights = {"build": 1.0, "evaluation": 1.0} if "build" in times.parts else {"evaluation": 1.0}
    whole = _plus(wall, {"queued": -1.0})
    whole_wall, queued = times.sum(wall), times.parts["queued"]
    found = gap(
        Span(whole_wall.mean, Synchronous, whole_wall.se, whole_wall.n), Span(queued.mean, Queued, queued.se, queued.n)
    )
    wall_ms = whole_wall.mean
    left, parts = whole, []
    for name, weights, note, count in _candidates(times):
        part = None if weights is None else times.sum(weights)
        if weights is not None:
            left = _plus(left, {key: -w for key, w in weights.items()})
        parts.append(_part(name, part, wall_ms, note, count))
    rest = times.sum(left)
    rest_ms = found.ms - math.fsum(p.ms for p in parts if p.ms is not None)
    return GapParts(
        width=width,
        passes=times.passes,
        interrupted=times.interrupted,
        wall=whole_wall.interval(),
        build=times.parts["build"].interval() if "build" in times.parts else None,
        evaluation=times.parts["evaluation"].interval(),
        submit=None if times.submit is None else times.submit.interval(),
        queued=queued.interval(),
        gap=found,
        interval=times.sum(whole).interval(),
        parts=tuple(parts),
        rest=GapPart(
            name=REST,
            ms=rest_ms,
            interval=rest.interval(),
            of_wall=rest_ms / wall_ms,
            note=_rest_note(rest.interval()),
        ),
        hidden=_hidden(times, wall),
    )


def _part(name: str, part: Part | None, wall_ms: float, note: str, count: int | None) -> GapPart:
    return GapPart(
        name=name,
        ms=None if part is None else part.mean,
        interval=None if part is None else part.interval(),
        of_wall=None if part is None else part.mean / wall_ms,
        note=note,
        count=count,
    )


def _plus(one: Weights, other: Weights) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _candidates(times: GapTimes) -> Iterable[tuple[str, Weights | None, str, int | None]]:
    """Each part with its weights over the measured times (None: nothing to attribute), its sentence and its count."""
    known = times.parts
    if "build" in known:
        yield (
            BUILD,
            {"build": 1.0},
            "The queued ruler's clock runs on evaluation only; the wall's on the build too.",
            None,
        )
    else:
        yield BUILD, None, "Not timed apart from the evaluation here.", None
    yield SUBMIT, *_submission(times), None
    if "fence" in known:
        yield FENCE, {"fence": 1.0}, "One lone pass waits once; a slope has no fence in it.", 1
    else:
        yield FENCE, None, "Not calibrated here.", None
    yield BOUNDARIES, *_boundaries(times), times.dispatches_outside if times.dispatches else None
    yield UNQUEUED, *_unqueued(times), times.unqueued_fences or None


def _submission(times: GapTimes) -> tuple[Weights | None, str]:
    """Only the part in which nothing runs yet: what a lone evaluation takes beyond one among others, and its fence.

    Queued copies are walked and encoded too, so what each primitive costs the host is in the blocks already.
    """
    about = ""
    if times.submit is not None:
        whole = times.parts["evaluation"].mean
        about = (
            f"async_eval gave back after {times.submit.mean:.2f} ms of {whole:.2f} ms, and the work ran meanwhile: "
            "that time is in the blocks. "
        )
    if "queued pass" not in times.parts:
        return None, about + "What comes before anything runs was not told apart: no whole pass was queued."
    weights = {"evaluation": 1.0, "queued pass": -1.0}
    if "fence" in times.parts:
        weights["fence"] = -1.0
    serial = times.sum(weights).interval()
    if serial.low > 0:
        return weights, about + "A pass alone takes so much longer than one among others, its fence taken off."
    told = "not told apart from none" if serial.holds(0.0) else "less, so nothing is lost before anything runs"
    return None, (
        f"{about}A pass alone against one among others: {serial.estimate:+.2f} ms ({serial.low:+.2f} to "
        f"{serial.high:+.2f}), {told}."
    )


def _boundaries(times: GapTimes) -> tuple[Weights | None, str]:
    if not times.dispatches:
        return None, "No census at this width, so dispatches were not counted."
    count = f"{times.dispatches:,} dispatches lie in blocks and cost the same when queued"
    if not times.dispatches_outside:
        return None, f"{count}; none lies outside."
    if "boundary" not in times.parts:
        return None, f"{count}; {times.dispatches_outside:,} lie outside, and what one costs is not calibrated."
    return (
        {"boundary": float(times.dispatches_outside)},
        f"{count}; {times.dispatches_outside:,} lie outside, at {times.parts['boundary'].mean * 1e3:.2f} µs each.",
    )


def _unqueued(times: GapTimes) -> tuple[Weights | None, str]:
    if "unqueued" not in times.parts:
        return None, "Every block that the fenced ruler saw was queued too."
    weights = {"unqueued": 1.0}
    if "fence" in times.parts:
        weights["fence"] = -float(times.unqueued_fences)
    if times.sum(weights).mean > 0:
        return (
            weights,
            "Not queued: what containers do between their blocks, evaluation by fences, the fences taken off.",
        )
    return None, "Not queued: what containers do between their blocks takes no longer than its fences."


def _rest_note(rest: Interval) -> str:
    if rest.holds(0.0):
        return "Not told apart from none: noise explains it."
    if rest.estimate > 0:
        return "No part explains it: waits between blocks, allocation, or weights that the queued copies found cached."
    return "Blocks cost less together than one by one: overlap, fusion across borders, or inputs still in the cache."


def _hidden(times: GapTimes, wall: Weights) -> Interval | None:
    if times.pipelined is None:
        return None
    return weighted_sum([(1.0, times.sum(wall)), (-1.0, times.pipelined)]).interval()
