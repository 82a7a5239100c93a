"""Replays heavy primitives alone by the queued ruler: what one call costs at each width, widths in random order."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx

from .queued import Copy, chain, links
from .replay_jobs import ReplayCall, ReplayError, ReplayJob
from .slope import LEAST_WORK, Chain, Design, Slope, design, fit
from .timings import Category

Clock = Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTiming:
    """One heavy primitive at one width: a slope a call in ns with its 95% interval, the link to the next taken off.

    A pass makes `count` such calls, each of which reads `bytes_read` at least. `cached`: all that the copies read
    fits the last-level cache, None if its size is unknown.
    """

    primitive: str
    weight: str
    category: Category
    detail: str | None
    shape: str
    dtype: str
    width: int
    count: int
    bytes_read: int
    slope_ns: float
    slope_low_ns: float
    slope_high_ns: float
    cached: bool | None


def measure_replays(
    jobs: Sequence[ReplayJob],
    widths: Sequence[int],
    clock: Clock,
    budget_ns: int,
    random_source: random.Random,
    cache_bytes: int | None = None,
) -> Iterator[ReplayTiming]:
    """Time each job at each width that it was heard at, in about `budget_ns` for all, job after job.

    The repeats of a job go through its widths and lengths of graph in random order, so that drift hits all widths
    alike. Copies go round the layers, a long cycle thinned to evenly spaced ones, but never into the cache of
    `cache_bytes` that it would not fit whole. The smallest design is made even if the budget is less. Raises
    ReplayError for a width that no job was heard at.
    """
    for width in widths:
        if jobs and not any(width in job.calls_by_width for job in jobs):
            raise ReplayError(f"No pass of width {width} was listened to: give that width to replays_of too.")
    cells = sum(width in job.calls_by_width for job in jobs for width in widths)
    for job in jobs:
        yield from _replayed(job, sorted(set(widths)), clock, budget_ns / cells, random_source, cache_bytes)


def _replayed(
    job: ReplayJob,
    widths: Sequence[int],
    clock: Clock,
    budget_ns: float,
    random_source: random.Random,
    cache_bytes: int | None,
) -> Iterator[ReplayTiming]:
    heard = {width: job.calls_by_width[width] for width in widths if width in job.calls_by_width}
    if not heard:
        return
    kept = _layers_kept(heard, clock, budget_ns, cache_bytes)
    calls = {width: [all_calls[i] for i in kept if i < len(all_calls)] for width, all_calls in heard.items()}
    cycles = {width: [_copy(call) for call in chosen] for width, chosen in calls.items()}
    plans = {width: _plan(cycle, clock, budget_ns) for width, cycle in cycles.items()}
    slopes = timed_together(
        {width: partial(chain, cycle) for width, cycle in cycles.items()},
        {width: partial(links, cycle) for width, cycle in cycles.items()},
        plans,
        clock,
        mx.eval,
        random_source,
    )
    for width, slope in slopes.items():
        n, read = len(calls[width]), sum(call.bytes_read for call in calls[width])
        yield ReplayTiming(
            primitive=job.primitive,
            weight=job.weight,
            category=job.category,
            detail=job.detail,
            shape=job.shape,
            dtype=job.dtype,
            width=width,
            count=len(heard[width]),
            bytes_read=read // n,
            slope_ns=slope.ns / n,
            slope_low_ns=slope.low_ns / n,
            slope_high_ns=slope.high_ns / n,
            cached=None if cache_bytes is None else read <= cache_bytes,
        )


def timed_together(
    chains: Mapping[int, Chain],
    bare: Mapping[int, Chain],
    plans: Mapping[int, Design],
    clock: Clock,
    wait: Callable[[Any], object],
    random_source: random.Random,
) -> dict[int, Slope]:
    """The slope of each width's chain less that of its links: `timed_slope` for several widths at once.

    Each repeat takes the graphs of all widths and lengths in random order.
    """
    timed: dict[int, list[list[tuple[int, float]]]] = {width: [] for width in chains}
    linked: dict[int, list[list[tuple[int, float]]]] = {width: [] for width in chains}
    for repeat in range(max(plan.repeats for plan in plans.values())):
        taking = [width for width, plan in plans.items() if repeat < plan.repeats]
        for width in taking:
            timed[width].append([])
            linked[width].append([])
        graphs = [(width, r) for width in taking for r in plans[width].counts]
        for width, r in random_source.sample(graphs, len(graphs)):
            more = r * plans[width].link_factor
            timed[width][-1].append((r, _evaluated(chains[width], r, clock, wait)))
            linked[width][-1].append((more, _evaluated(bare[width], more, clock, wait)))
    return {width: _less(fit(timed[width]), fit(linked[width])) for width in chains}


def _evaluated(build: Chain, r: int, clock: Clock, wait: Callable[[Any], object]) -> float:
    graph = build(r)
    began = clock()
    wait(graph)
    return float(clock() - began)


def _less(whole: Slope, link: Slope) -> Slope:
    """The difference of two independent slopes."""
    half = math.hypot(whole.high_ns - whole.ns, link.high_ns - link.ns)
    net = whole.ns - link.ns
    return Slope(net, net - half, net + half)


def _plan(cycle: Sequence[Copy], clock: Clock, budget_ns: float) -> Design:
    """The design for one width after an evaluation that only warms up."""
    mx.eval(chain(cycle, 1))
    began = clock()
    mx.eval(chain(cycle, 1))
    chained = clock()
    mx.eval(links(cycle, 1))
    return design(chained - began, clock() - chained, budget_ns)


def _layers_kept(
    heard: dict[int, tuple[ReplayCall, ...]], clock: Clock, budget_ns: float, cache_bytes: int | None
) -> list[int]:
    """Which calls of a pass to go round: evenly spaced, as many as the widest width affords, more against the cache."""
    widest = heard[max(heard)]
    narrow = [call.bytes_read for call in heard[min(heard)]]
    first = [_copy(widest[0])]
    mx.eval(chain(first, 1))
    began = clock()
    mx.eval(chain(first, 1))
    count = min(len(narrow), max(2, int(budget_ns / max((clock() - began) * LEAST_WORK, 1))))
    room = None if cache_bytes is None or sum(narrow) <= 2 * cache_bytes else 2 * cache_bytes
    while True:
        kept = [i * len(narrow) // count for i in range(count)]
        if count == len(narrow) or room is None or sum(narrow[i] for i in kept) > room:
            return kept
        count += 1


def _copy(call: ReplayCall) -> Copy:
    gate = mx.ones(call.x.shape, dtype=mx.bool_)
    mx.eval(gate)
    return Copy(call.run, lambda: None, (call.x,), gate)
