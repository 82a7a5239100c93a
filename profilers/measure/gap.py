"""What the gap is made of: graph build, submission and wait of a synchronous pass, and the same steps pipelined.

Everything runs over the same positions on one warm cache, in turn, and takes the caches back to where they were.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from ...engine.accept import greedy_choices
from ...engine.cache import arrays_of
from ...engine.decode import Generation, decode
from .queued import Copy, chain, links
from .restoring import as_before, held
from .slope import Design, Slope, design, timed_slope

Clock = Callable[[], int]
STRETCH = 4  # pipelined steps counted in a row; one before and one after are like no others
IN_A_ROW = 3  # passes of one width counted in a row, after one that is not
BOUNDARY_DESIGN = Design((256, 512, 1024, 2048), 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPass:
    """One synchronous pass over `width` positions in three stretches, in ns.

    Build until the lazy graph stands, submission until `async_eval` gave back, wait until it was evaluated. Work runs
    during the submission, which may last nearly as long as the evaluation: MLX lets only so much wait in its queue.
    """

    width: int
    context: int
    build_ns: int
    submit_ns: int
    wait_ns: int

    @property
    def eval_ns(self) -> int:
        """What `mx.eval` alone would have taken."""
        return self.submit_ns + self.wait_ns

    @property
    def total_ns(self) -> int:
        """T_verify(width) of this one pass."""
        return self.build_ns + self.eval_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedPass:
    """What one whole pass costs among others in one graph: a slope with its interval, free of build and fence."""

    width: int
    context: int
    slope: Slope


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTurns:
    """Passes of several widths and pipelined steps of one position, taken in turn at one context; steps in ns."""

    context: int
    passes: tuple[GapPass, ...]
    pipelined_ns: tuple[int, ...]

    def of(self, width: int) -> tuple[GapPass, ...]:
        """The passes of one width."""
        return tuple(p for p in self.passes if p.width == width)


def gap_pass(generation: Generation, tokens: Sequence[int], clock: Clock) -> GapPass:
    """Time one target pass over `tokens` in three stretches, then take the cache back to where it was."""
    cache = generation.cache
    positions = mx.array(list(tokens))[None]
    mx.eval(positions, arrays_of(cache))
    with as_before(cache):
        began = clock()
        choices = greedy_choices(generation.target.logits(positions, cache))
        built = clock()
        mx.async_eval(choices)
        submitted = clock()
        mx.eval(choices)
        ended = clock()
    return GapPass(
        width=len(tokens),
        context=generation.context,
        build_ns=built - began,
        submit_ns=submitted - built,
        wait_ns=ended - submitted,
    )


def pipelined_steps(generation: Generation, count: int, clock: Clock) -> tuple[int, ...]:
    """Times in ns of `count` steps of plain pipelined decode that start where the generation stands.

    The first and the last step of the stretch are made besides and not counted. The generation, its cache included,
    is as before afterwards.
    """
    ahead = Generation(generation.target, list(generation.tokens), generation.cache)
    with as_before(generation.cache, taped=False):
        steps = list(decode(ahead, count + 2, clock))
    return tuple(step.step_ns for step in steps[1:-1])


def gap_turns(
    generation: Generation,
    coming: Sequence[int],
    widths: Sequence[int],
    repeats: int,
    clock: Clock,
    random_source: random.Random,
) -> GapTurns:
    """`repeats` turns of three passes of every width and a pipelined stretch, in random order in each turn.

    `coming` are the tokens that follow, at least as many as the widest pass. The first pass after a switch of widths
    finds cold buffers and is made besides, as is the first step of a stretch.
    """
    passes: list[GapPass] = []
    steps: list[int] = []
    pipelined_steps(generation, STRETCH, clock)  # lets the keys and values grow before anything counts
    for _ in range(repeats):
        for width in random_source.sample((0, *widths), len(widths) + 1):
            if width:
                gap_pass(generation, coming[:width], clock)
                passes.extend(gap_pass(generation, coming[:width], clock) for _ in range(IN_A_ROW))
            else:
                steps.extend(pipelined_steps(generation, STRETCH, clock))
    return GapTurns(context=generation.context, passes=tuple(passes), pipelined_ns=tuple(steps))


def queued_pass(
    generation: Generation,
    tokens: Sequence[int],
    clock: Clock,
    budget_ns: int,
    random_source: random.Random,
    wait: Callable[[mx.array], object] = mx.eval,
) -> QueuedPass:
    """The slope of whole passes over `tokens`, each waiting for the one before, for about `budget_ns`.

    What a lone evaluation takes beyond it is what nothing hides: its start, its fence, its sync. Three repeats of the
    shortest design are made even if the budget is less.
    """
    positions = mx.array(list(tokens))[None]
    gate = mx.ones(positions.shape, dtype=mx.bool_)
    mx.eval(positions, gate, arrays_of(generation.cache))
    undos = [held(cache) for cache in generation.cache]

    def run(x: mx.array) -> mx.array:
        return greedy_choices(generation.target.logits(x, generation.cache))

    def undo() -> None:
        for one in undos:
            one()

    cycle = [Copy(run, undo, (positions,), gate)]
    wait(chain(cycle, 1))
    began = clock()
    wait(chain(cycle, 1))
    chained = clock()
    wait(links(cycle, 1))
    plan = design(chained - began, clock() - chained, budget_ns)
    timed = timed_slope(lambda r: chain(cycle, r), lambda r: links(cycle, r), plan, clock, wait, random_source)
    return QueuedPass(width=len(tokens), context=generation.context, slope=timed.slope)


def boundary_cost(clock: Clock, random_source: random.Random, wait: Callable[[mx.array], object] = mx.eval) -> Slope:
    """What one more dispatched primitive costs in ns, with its interval: the slope of chains of scalar additions."""
    one = mx.array(1.0)
    mx.eval(one)

    def additions(count: int) -> mx.array:
        x = one
        for _ in range(count):
            x = x + one
        return x

    wait(additions(BOUNDARY_DESIGN.counts[-1]))
    return timed_slope(additions, lambda _: one, BOUNDARY_DESIGN, clock, wait, random_source).slope
