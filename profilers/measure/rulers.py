"""Times the blocks of a pass by both rulers, a little at a time, on the warm cache of a running generation."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mlx.core as mx

from ...engine.decode import Generation
from ...engine.models import Target
from .blocks import Block, split_into_blocks
from .fenced import fenced_pass
from .queued import Seen, alone, capture, chain, copy_of, does_nothing, links
from .slope import LEAST_WORK, design, timed_slope
from .timings import Arrangement, BlockTiming
from .touched import fits, last_level_cache_bytes

Clock = Callable[[], int]
ROUTES_KEPT = 4  # inputs of earlier visits to go through, so that copies of an expert block do not repeat their routes
JOB_SHARE = 0.25  # of a visit's budget that one place may take, if it is enough for three repeats


@dataclass(frozen=True, slots=True)
class _Job:
    """The blocks of one place to time by the queued ruler: all layers in turn, or one that stays hot."""

    place: str
    cycle: tuple[Block, ...]
    layers: int
    arrangement: Arrangement | None


class BlockProbe:
    """Splits a model once and times its blocks in visits.

    Each visit makes one untimed pass, one fenced pass (every block), and as many queued timings as its budget allows,
    going on where the visit before stopped: first every place with its layers in turn, then each with one layer hot.
    Widths have their own turns. `cache_bytes` is the size of the last-level cache, asked of the system if None.
    """

    def __init__(
        self, target: Target, random_source: random.Random | None = None, cache_bytes: int | None = None
    ) -> None:
        self.blocks = split_into_blocks(target)
        self._random = random_source or random.Random(0)
        self._cache_bytes = last_level_cache_bytes() if cache_bytes is None else cache_bytes
        self._turn_by_width: dict[int, int] = {}
        self._cost_ns: dict[tuple[int, _Job], float] = {}
        self._routed: dict[tuple[int, Block], deque[mx.array]] = {}
        self._jobs: tuple[_Job, ...] | None = None

    def measure(
        self, generation: Generation, tokens: Sequence[int], clock: Clock, budget_ns: int
    ) -> Iterator[BlockTiming]:
        """Time blocks over `tokens` (those that follow; as many as the width), for about `budget_ns`.

        Yields timings as they are made; the generation's caches are as before whenever it does, so a caller may
        stop at any time. The two passes and one queued timing are made even if the budget is less.
        """
        began = clock()
        seen = capture(generation, self.blocks, tokens)
        self._remember_routes(len(tokens), seen)
        yield from fenced_pass(generation, self.blocks, tokens, clock)
        width = len(tokens)
        jobs = self._jobs_for(seen)
        for n in range(len(jobs)):
            turn = self._turn_by_width.get(width, 0)
            job = jobs[turn % len(jobs)]
            left = budget_ns - (clock() - began)
            if n and self._cost_ns.get((width, job), 0.0) >= left:
                return
            started = clock()
            timing = self._queued(job, generation, seen, width, clock, int(budget_ns * JOB_SHARE))
            self._cost_ns[width, job] = clock() - started
            self._turn_by_width[width] = turn + 1
            yield timing

    def incomplete(self, width: int) -> bool:
        """Whether some queued timing of that width has yet to be made for the first time."""
        return self._jobs is None or self._turn_by_width.get(width, 0) < len(self._jobs)

    def _affordable(self, cycle: Sequence[Block], width: int, share: float) -> list[int]:
        """Which blocks of a cycle to keep: that share, evenly spaced, but more than twice what the cache holds."""
        count = min(len(cycle), max(2, int(len(cycle) * share)))
        room = None if self._cache_bytes is None else 2 * self._cache_bytes
        while True:
            kept = [i * len(cycle) // count for i in range(count)]
            if count == len(cycle) or not fits([cycle[i] for i in kept], width, room):
                return kept
            count += 1

    def _jobs_for(self, seen: dict[Block, Seen]) -> tuple[_Job, ...]:
        if self._jobs is None:
            places: dict[tuple[str, str], list[Block]] = {}
            for block in self.blocks:
                if block in seen and not does_nothing(block, self.blocks, seen):
                    places.setdefault((block.place, block.category), []).append(block)
            cycled = [_Job(p, tuple(g), len(g), "cycled" if len(g) > 1 else None) for (p, _), g in places.items()]
            hot = [_Job(p, (g[len(g) // 2],), len(g), "hot") for (p, _), g in places.items() if len(g) > 1]
            self._jobs = (*cycled, *hot)
        return self._jobs

    def _remember_routes(self, width: int, seen: dict[Block, Seen]) -> None:
        for block, what in seen.items():
            if block.category == "MoE":
                self._routed.setdefault((width, block), deque(maxlen=ROUTES_KEPT)).appendleft(what.x)

    def _queued(
        self, job: _Job, generation: Generation, seen: dict[Block, Seen], width: int, clock: Clock, budget_ns: int
    ) -> BlockTiming:
        chosen = job.cycle
        with alone(chosen, self.blocks, seen):
            cycle = [copy_of(b, seen[b], tuple(self._routed.get((width, b), ()))) for b in chosen]
            began = clock()
            mx.eval(chain(cycle, 1))
            chained = clock()
            mx.eval(links(cycle, 1))
            chained_ns, linked_ns = chained - began, clock() - chained
            kept = self._affordable(chosen, width, budget_ns / max(chained_ns * LEAST_WORK, 1))
            chosen, cycle = tuple(chosen[i] for i in kept), [cycle[i] for i in kept]
            share = len(kept) / len(job.cycle)
            plan = design(chained_ns * share, linked_ns * share, budget_ns)
            timed = timed_slope(
                lambda r: chain(cycle, r), lambda r: links(cycle, r), plan, clock, mx.eval, self._random
            )
        n = len(cycle)
        return BlockTiming(
            block=job.place,
            category=job.cycle[0].category,
            layer=chosen[0].layer if n == 1 else None,
            width=width,
            context=generation.context,
            ruler="queued",
            slope_ns=timed.slope.ns / n,
            low_ns=timed.slope.low_ns / n,
            high_ns=timed.slope.high_ns / n,
            build_ns=tuple(b // n for b in timed.build_ns),
            eval_ns=timed.eval_ns,
            copies=tuple(c * n for c in timed.copies),
            layers=job.layers,
            arrangement=job.arrangement,
            cached=fits(chosen, width, self._cache_bytes),
            link_ns=timed.link_ns / n,
        )
