"""The queued ruler: copies of a block chained in one graph, on the inputs that generation really gave it.

Every copy gets the block's own captured input, so that expert routes and magnitudes are real, and yet waits for the
copy before: a select whose condition is always true takes the input and reads the other's output. That is a real
dependency on any stream (`mx.depends` orders nothing on GPU streams); its own cost is measured beside and taken off.
After each copy the cache is put back: keys and values by trimming, so that the offset stays and no view is held, and
recurrent state by the arrays it had, which is what a pass on tape reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList

from ...engine.accept import greedy_choices
from ...engine.cache import arrays_of
from ...engine.decode import Generation
from ...engine.rewind import rewind, start_tape
from .blocks import Block, arrays_in, caches_in, run_blocks, watched
from .interception import Call


@dataclass(frozen=True, slots=True)
class Seen:
    """What a block was called with and what it gave in a captured pass; both evaluated."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any

    @property
    def x(self) -> mx.array:
        """The array that flows through: the first one among the arguments."""
        return arrays_in(self.args, self.kwargs)[0]

    def with_x(self, x: mx.array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments with another array flowing through."""
        old = self.x
        return tuple(x if a is old else a for a in self.args), {k: x if a is old else a for k, a in self.kwargs.items()}


def capture(generation: Generation, blocks: Sequence[Block], tokens: Sequence[int]) -> dict[Block, Seen]:
    """Run one untimed pass over `tokens`, keep what every block saw, and take the cache back to where it was."""
    seen: dict[Block, Seen] = {}

    def watch(block: Block, call: Call) -> Any:
        output = call.run()
        seen[block] = Seen(call.args, call.kwargs, output)
        return output

    caches = generation.cache
    mx.eval(arrays_of(caches))
    start_tape(caches)
    _, choices = run_blocks(generation.target, blocks, mx.array(list(tokens))[None], caches, watch)
    mx.eval(choices, [arrays_in(s.args, s.kwargs, s.output) for s in seen.values()])
    rewind(caches, len(tokens), 0)
    return seen


def held(cache: Any) -> Callable[[], None]:
    """What puts one cache back to where it is now, after passes that only appended to it."""
    if isinstance(cache, CacheList):
        parts = [held(part) for part in cache.caches]

        def undo() -> None:
            for part in parts:
                part()

    elif isinstance(cache, ArraysCache):
        before = list(cache.cache)

        def undo() -> None:
            cache.cache = list(before)

    else:
        offset = cache.offset

        def undo() -> None:
            cache.trim(cache.offset - offset)

    return undo


@dataclass(frozen=True, slots=True)
class Copy:
    """One block as it can be repeated: `run(x)` gives its output, lazily, and `undo` puts its caches back.

    `inputs` are captured inputs to go through in turn, all of one shape; `gate` is true everywhere.
    """

    run: Callable[[mx.array], mx.array]
    undo: Callable[[], None]
    inputs: tuple[mx.array, ...]
    gate: mx.array


def copy_of(block: Block, seen: Seen, inputs: Sequence[mx.array] = ()) -> Copy:
    """The block as a copy to chain; `inputs` default to the captured one."""
    undos = [held(cache) for cache in caches_in(seen.args, seen.kwargs)]

    def run(x: mx.array) -> mx.array:
        if block.part == "sampling":
            return greedy_choices(x)
        args, kwargs = seen.with_x(x)
        return arrays_in(getattr(block.module, block.method)(*args, **kwargs))[0]

    def undo() -> None:
        for one in undos:
            one()

    gate = mx.ones(seen.x.shape, dtype=mx.bool_)
    mx.eval(gate)
    return Copy(run, undo, tuple(inputs) or (seen.x,), gate)


def linked(copy: Copy, x: mx.array, before: mx.array) -> mx.array:
    """x, but not before `before` is there."""
    if before.shape != x.shape:
        before = before[(0,) * before.ndim]
    return mx.where(copy.gate, x, before.astype(x.dtype))


def chain(cycle: Sequence[Copy], rounds: int) -> mx.array:
    """The cycle of copies, `rounds` times over, each waiting for the one before. Lazy."""
    return _chained(cycle, rounds, lambda copy, x: copy.run(x))


def links(cycle: Sequence[Copy], rounds: int) -> mx.array:
    """What chains the copies and nothing else. Lazy."""
    return _chained(cycle, rounds, lambda copy, x: x)


def _chained(cycle: Sequence[Copy], rounds: int, run: Callable[[Copy, mx.array], mx.array]) -> mx.array:
    before: mx.array | None = None
    for i in range(rounds):
        for copy in cycle:
            x = copy.inputs[i % len(copy.inputs)]
            before = run(copy, x if before is None else linked(copy, x, before))
            copy.undo()
    assert before is not None
    return before


@contextmanager
def alone(group: Sequence[Block], blocks: Sequence[Block], seen: dict[Block, Seen]) -> Iterator[None]:
    """While it lasts, containers in `group` do only their own work: every other block gives back what it gave."""
    if all(block.part != "rest" for block in group):
        yield
        return
    own = set(group)

    def watch(block: Block, call: Call) -> Any:
        return call.run() if block in own else seen[block].output

    with watched([b for b in blocks if b in seen], watch):
        yield


def does_nothing(block: Block, blocks: Sequence[Block], seen: dict[Block, Seen]) -> bool:
    """Whether a container only hands on what its blocks give, so that there is nothing of its own to repeat.

    What it feeds to its blocks without returning it (a mask, a scaled embedding) is not seen here: the fenced ruler
    has it, the queued one leaves it to the gap.
    """
    if block.part != "rest":
        return False
    with alone([block], blocks, seen):
        output = copy_of(block, seen[block]).run(seen[block].x)
    return any(output is array for s in seen.values() for array in arrays_in(s.output))
