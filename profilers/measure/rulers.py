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
from .categories import listed_experts
from .fenced import fenced_pass
from .queued import Seen, alone, caches_as_seen, capture, chain, copy_of, does_nothing, links
from .restoring import as_before
from .slope import LEAST_WORK, design, timed_slope
from .timings import Arrangement, BlockTiming
from .touched import fits, last_level_cache_bytes
from .trace import single_caches

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
        self._routed: dict[tuple[int, Block], deque[Seen]] = {}
        self._jobs_by_width: dict[int, tuple[_Job, ...]] = {}

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
        jobs = self._jobs_for(width, generation, seen)
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
        jobs = self._jobs_by_width.get(width)
        return jobs is None or self._turn_by_width.get(width, 0) < len(jobs)

    def measure_all(
        self, generation: Generation, tokens: Sequence[int], clock: Clock, budget_ns_per_place: int
    ) -> Iterator[BlockTiming]:
        """Time every block by all three rulers once: fenced, queued with layers in turn, queued with one hot.

        As `measure`, but each queued timing has a budget of its own and none is left out.
        """
        width = len(tokens)
        seen = capture(generation, self.blocks, tokens)
        self._remember_routes(width, seen)
        yield from fenced_pass(generation, self.blocks, tokens, clock)
        jobs = self._jobs_for(width, generation, seen)
        for job in jobs:
            yield self._queued(job, generation, seen, width, clock, budget_ns_per_place)
        self._turn_by_width[width] = max(self._turn_by_width.get(width, 0), len(jobs))

    def _affordable(self, cycle: Sequence[Block], width: int, share: float) -> list[int]:
        """Which blocks of a cycle to keep: that share, evenly spaced, but more than twice what the cache holds."""
        count = min(len(cycle), max(2, int(len(cycle) * share)))
        room = None if self._cache_bytes is None else 2 * self._cache_bytes
        while True:
            kept = [i * len(cycle) // count for i in range(count)]
            if count == len(cycle) or not fits([cycle[i] for i in kept], width, room):
                return kept
            count += 1

    def _jobs_for(self, width: int, generation: Generation, seen: dict[Block, Seen]) -> tuple[_Job, ...]:
        if width not in self._jobs_by_width:
            places: dict[str, list[Block]] = {}
            with as_before(generation.cache):
                for block in self.blocks:
                    if _can_be_queued(block, self.blocks, seen):
                        places.setdefault(block.place, []).append(block)
            cycled = [_Job(p, tuple(g), len(g), "cycled" if len(g) > 1 else None) for p, g in places.items()]
            hot = [_Job(p, (g[len(g) // 2],), len(g), "hot") for p, g in places.items() if len(g) > 1]
            self._jobs_by_width[width] = (*cycled, *hot)
        return self._jobs_by_width[width]

    def _remember_routes(self, width: int, seen: dict[Block, Seen]) -> None:
        for block, what in seen.items():
            if block.experts is not None:
                self._routed.setdefault((width, block), deque(maxlen=ROUTES_KEPT)).appendleft(what)

    def _queued(
        self, job: _Job, generation: Generation, seen: dict[Block, Seen], width: int, clock: Clock, budget_ns: int
    ) -> BlockTiming:
        chosen = job.cycle
        touched = single_caches([(seen[b].args, seen[b].kwargs) for b in chosen])
        with (
            as_before(touched, taped=False),
            caches_as_seen([seen[b] for b in chosen]),
            alone(chosen, self.blocks, seen) as fed,
        ):
            cycle = [copy_of(b, tuple(self._routed.get((width, b), (seen[b],))), fed) for b in chosen]
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
            detail=job.cycle[0].detail,
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


def _can_be_queued(block: Block, blocks: Sequence[Block], seen: dict[Block, Seen]) -> bool:
    """Whether copies of a block can wait in one graph: it was called, is lazy itself, and does something."""
    if block not in seen or not seen[block].repeatable:
        return False
    if block.module is not None and block.part == "call" and listed_experts(block.module):
        return False  # it reads its routes in mid-pass to know which experts to call
    return not does_nothing(block, blocks, seen)
