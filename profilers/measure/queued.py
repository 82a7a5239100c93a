"""The queued ruler: copies of a block chained in one graph, on the inputs that generation really gave it.

Every copy gets the block's own captured input, so that expert routes and magnitudes are real, and yet waits for the
copy before: a select whose condition is always true takes the input and reads the other's output. That is a real
dependency on any stream (`mx.depends` orders nothing on GPU streams); its own cost is measured beside and taken off.
After each copy the cache is put back without holding a view of it (see `restoring`), so that the offset stays. A
container is copied `alone`: the blocks within give back what they gave, and what it feeds to them is evaluated too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from ...engine.accept import greedy_choices
from ...engine.cache import arrays_of
from ...engine.decode import Generation
from .blocks import Block, arrays_in, run_blocks
from .interception import Call, intercepted
from .restoring import as_before, copied, held, mapped
from .trace import same_state, single_caches, state_parts

__all__ = ["Copy", "Seen", "alone", "caches_as_seen", "capture", "chain", "copy_of", "does_nothing", "held", "links"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a block was called with and what it gave in a captured pass; evaluated, no view of a cache among it.

    `moved` are the caches among the arguments that the pass had changed before the call (keys and values shared by
    layers, chunks cut at their front), each with its state at the call.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any
    moved: tuple[tuple[Any, dict[str, Any]], ...] = ()

    @property
    def x(self) -> mx.array:
        """The array that flows through: the first one among the arguments."""
        return arrays_in(self.args, self.kwargs)[0]

    def with_x(self, x: mx.array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments with another array flowing through, in containers of their own."""
        old = self.x
        args, kwargs = mapped((self.args, self.kwargs), lambda a: x if a is old else a)
        return args, kwargs

    @property
    def repeatable(self) -> bool:
        """Whether an array goes in and one comes out, so that copies can be chained."""
        return bool(arrays_in(self.args, self.kwargs)) and bool(arrays_in(self.output))


def capture(generation: Generation, blocks: Sequence[Block], tokens: Sequence[int]) -> dict[Block, Seen]:
    """Run one untimed pass over `tokens`, keep what every block saw, and take the cache back to where it was."""
    called: dict[Block, tuple[Any, Any]] = {}
    caches = generation.cache
    moves = _Moves(caches)

    def watch(block: Block, call: Call) -> Any:
        before = mapped((call.args, call.kwargs), lambda array: array)  # a callee may fill a dict it was handed
        moves.note(block, call)
        output = call.run()
        called[block] = before, output
        return output

    mx.eval(arrays_of(caches))
    with as_before(caches):
        _, choices = run_blocks(generation.target, blocks, mx.array([list(tokens)]), caches, watch)
        mx.eval(choices, [arrays_in(c) for c in called.values()])
        # keys and values that layers share are views of a cache, and a view that is held makes its update copy all
        kept = copied(list(called.values()))
        moved = moves.settled()
    return {
        block: Seen(args, kwargs, output, moved[block])
        for block, ((args, kwargs), output) in zip(called, kept, strict=True)
    }


class _Moves:
    """Notes which caches a pass had changed before it handed them to a block."""

    def __init__(self, caches: Sequence[Any]) -> None:
        self._first = {id(c): state_parts(c) for c in single_caches(list(caches))}
        self._states: list[tuple[Any, list[Any], dict[str, Any]]] = []
        self._of: dict[Block, list[int]] = {}

    def note(self, block: Block, call: Call) -> None:
        self._of[block] = []
        for cache in single_caches([call.args, call.kwargs]):
            now = state_parts(cache)
            if same_state(self._first.get(id(cache), now), now):
                continue
            known = (i for i, (c, parts, _) in enumerate(self._states) if c is cache and same_state(parts, now))
            index = next(known, None)
            if index is None:
                index = len(self._states)
                # an update rewrites the array object it finds: these are others, of the same values
                self._states.append((cache, now, mapped(dict(vars(cache)), mx.array)))
            self._of[block].append(index)

    def settled(self) -> dict[Block, tuple[tuple[Any, dict[str, Any]], ...]]:
        """The states by block, in buffers of their own."""
        states = [(cache, copied(state)) for cache, _, state in self._states]
        return {block: tuple(states[i] for i in indices) for block, indices in self._of.items()}


@contextmanager
def caches_as_seen(seen: Sequence[Seen]) -> Iterator[None]:
    """While it lasts, the caches that blocks were handed are as they were at the blocks' calls."""
    state_by_cache = {id(cache): (cache, state) for one in seen for cache, state in one.moved}
    kept = [(cache, dict(vars(cache))) for cache, _ in state_by_cache.values()]
    try:
        for cache, state in state_by_cache.values():
            vars(cache).update(copied(state))
        yield
    finally:
        for cache, before in kept:
            vars(cache).clear()
            vars(cache).update(before)


@dataclass(frozen=True, slots=True)
class Copy:
    """One block as it can be repeated: `run(x)` gives its output, lazily, and `undo` puts its caches back.

    `inputs` are captured inputs to go through in turn, all of one shape; `gate` is true everywhere. Where more than
    one array goes with an input (experts and their routes), `runs` has a run for each. `spaced` copies have
    trivial ops in their link: on the CPU a submitted op holds what it reads until it is done, and the next update of a
    large cache would copy all that the attention just before it still holds. With layers in between it never does.
    """

    run: Callable[[mx.array], mx.array]
    undo: Callable[[], None]
    inputs: tuple[mx.array, ...]
    gate: mx.array
    runs: tuple[Callable[[mx.array], mx.array], ...] = ()
    spaced: bool = False


Fed = list[mx.array]
SPACING = 48  # ops; with fewer, the CPU had not yet let go of what the copy before read
SPACED_FROM_BYTES = 1 << 18  # copying less than this costs less than the spacing blurs


def copy_of(block: Block, seen: Sequence[Seen], fed: Fed | None = None) -> Copy:
    """The block as a copy to chain, on each of what it saw in turn; `fed` is what `alone` gave for its group."""
    caches = single_caches([seen[0].args, seen[0].kwargs])
    undos = [held(cache) for cache in caches]

    def undo() -> None:
        for one in undos:
            one()

    runs = tuple(_run_of(block, one, fed) for one in seen)
    gate = mx.ones(seen[0].x.shape, dtype=mx.bool_)
    mx.eval(gate)
    return Copy(runs[0], undo, tuple(one.x for one in seen), gate, runs, _needs_space(caches))


def _needs_space(caches: Sequence[Any]) -> bool:
    return mx.default_device() == mx.cpu and sum(a.nbytes for a in arrays_of(caches)) >= SPACED_FROM_BYTES


def _run_of(block: Block, seen: Seen, fed: Fed | None) -> Callable[[mx.array], mx.array]:
    def run(x: mx.array) -> mx.array:
        if block.part == "sampling":
            return greedy_choices(x)
        args, kwargs = seen.with_x(x)
        if fed is not None:
            fed.clear()
        first, *others = arrays_in(getattr(block.module, block.method)(*args, **kwargs))
        if block.part == "rest":
            others += [*(fed or ()), x]  # nothing that comes out need depend on them
        if not others:
            return first
        waiting: mx.array = mx.depends(first, others)
        return waiting

    return run


def linked(copy: Copy, x: mx.array, before: mx.array) -> mx.array:
    """x, but not before `before` is there."""
    if before.shape != x.shape or copy.spaced:
        before = before[(0,) * before.ndim]
    for _ in range(SPACING if copy.spaced else 0):
        before = -before
    return mx.where(copy.gate, x, before.astype(x.dtype))


def chain(cycle: Sequence[Copy], rounds: int) -> mx.array:
    """The cycle of copies, `rounds` times over, each waiting for the one before. Lazy."""
    return _chained(cycle, rounds, lambda copy, turn, x: (copy.runs[turn] if copy.runs else copy.run)(x))


def links(cycle: Sequence[Copy], rounds: int) -> mx.array:
    """What chains the copies and nothing else. Lazy."""
    return _chained(cycle, rounds, lambda copy, turn, x: x)


def _chained(cycle: Sequence[Copy], rounds: int, run: Callable[[Copy, int, mx.array], mx.array]) -> mx.array:
    before: mx.array | None = None
    for i in range(rounds):
        for copy in cycle:
            turn = i % len(copy.inputs)
            x = copy.inputs[turn]
            before = run(copy, turn, x if before is None else linked(copy, x, before))
            copy.undo()
    assert before is not None
    return before


@contextmanager
def alone(group: Sequence[Block], blocks: Sequence[Block], seen: dict[Block, Seen]) -> Iterator[Fed]:
    """While it lasts, containers in `group` do only their own work: blocks within give back what they gave.

    The list it gives has what the last call of one of them fed to the blocks within, and made itself.
    """
    fed: Fed = []
    if all(block.part != "rest" for block in group):
        yield fed
        return
    turns: dict[tuple[int, str], list[Block]] = {}
    for block in blocks:
        if block in seen and block.module is not None:
            turns.setdefault((id(block.module), block.method), []).append(block)
    own = {(id(block.module), block.method): block for block in group}
    known = {id(a) for s in seen.values() for a in arrays_in(s.args, s.kwargs, s.output)}
    around: list[tuple[Block, dict[tuple[int, str], int]]] = []

    def handle(call: Call) -> Any:
        key = (id(call.module), call.method)
        if around and key in turns:
            container, counts = around[-1]
            fed.extend(a for a in arrays_in(call.args, call.kwargs) if id(a) not in known)
            # a container that runs again in a pass holds the later turns of the blocks within
            share = len(turns[key]) // len(turns[id(container.module), container.method])
            turn = container.nth * share + counts.get(key, 0)
            counts[key] = counts.get(key, 0) + 1
            return seen[turns[key][min(turn, len(turns[key]) - 1)]].output
        if around or key not in own:
            return call.run()
        around.append((own[key], {}))
        try:
            return call.run()
        finally:
            around.pop()

    with intercepted([b.module for b in (*blocks, *group) if b in seen and b.module is not None], handle):
        yield fed


def does_nothing(block: Block, blocks: Sequence[Block], seen: dict[Block, Seen]) -> bool:
    """Whether a container only hands on what its blocks give, so that there is nothing of its own to repeat."""
    if block.part != "rest":
        return False
    known = {id(a) for s in seen.values() for a in arrays_in(s.args, s.kwargs, s.output)}
    what = seen[block]
    with alone([block], blocks, seen) as fed:
        given = arrays_in(getattr(block.module, block.method)(*what.args, **what.kwargs))
    return not any(id(a) not in known for a in (*given, *fed))
