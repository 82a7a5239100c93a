"""What every block of a pass was called with, kept so that its call can be traced again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from ....engine.accept import greedy_choices
from ....engine.decode import Generation
from ..blocks import Block, run_blocks, watched
from ..interception import Call
from .throw_away import arrays_within, caches_within, thrown_away
from .tracing import Flow


@dataclass(frozen=True, slots=True)
class SeenCall:
    """Arguments of a block's call as they were before it, caches among them, and what it gave back; all evaluated."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any

    @property
    def arrays(self) -> list[mx.array]:
        """The arrays among the arguments, without those in caches."""
        caches = {id(a) for a in arrays_within(caches_within((*self.args, *self.kwargs.values())))}
        return [a for a in arrays_within((self.args, self.kwargs)) if id(a) not in caches]

    @property
    def caches(self) -> list[Any]:
        """The caches among the arguments, not those in a list of all layers' caches."""
        return caches_within((*self.args, *self.kwargs.values()))


@dataclass(slots=True)
class SeenPass:
    """One untimed pass over tokens on throw-away caches, as its blocks saw it."""

    generation: Generation
    blocks: Sequence[Block]
    tokens: Sequence[int]
    call_by_block: dict[Block, SeenCall] = field(default_factory=dict)

    def take(self) -> SeenPass:
        """Run the pass; the generation and its caches stay as they are."""

        def watch(block: Block, call: Call) -> Any:
            args, kwargs = thrown_away((call.args, call.kwargs))
            output = call.run()
            self.call_by_block[block] = SeenCall(args, kwargs, thrown_away(output))
            return output

        caches = thrown_away(self.generation.cache)
        mx.eval(arrays_within(caches))
        run_blocks(self.generation.target, self.blocks, mx.array([list(self.tokens)]), caches, watch)
        for call in self.call_by_block.values():
            mx.eval(arrays_within((call.args, call.kwargs, call.output)))
        return self

    def whole(self) -> tuple[Flow, list[mx.array]]:
        """The pass as a function of its tokens: choices, and what the caches hold afterwards."""
        positions = mx.array([list(self.tokens)])
        mx.eval(positions)

        def flow(arrays: Sequence[mx.array]) -> list[mx.array]:
            caches = thrown_away(self.generation.cache)
            before = arrays_within(caches)
            choices = greedy_choices(self.generation.target.logits(arrays[0], caches))
            return _without([choices, *arrays_within(caches)], before)

        return flow, [positions]

    def of(self, block: Block) -> tuple[Flow, list[mx.array]]:
        """A block's call as a function of the arrays that it was given.

        It gives out what the block does and what its caches hold afterwards; a container also what it feeds to the
        blocks within, which do nothing: they give back what they gave in the pass.
        """
        seen = self.call_by_block[block]
        given = seen.arrays

        def flow(arrays: Sequence[mx.array]) -> list[mx.array]:
            args, kwargs = thrown_away((seen.args, seen.kwargs), {id(a): b for a, b in zip(given, arrays, strict=True)})
            caches = caches_within((*args, *kwargs.values()))
            before = [*arrays, *arrays_within(caches)]
            results: list[Any]
            if block.part == "sampling":
                results = [greedy_choices(args[0])]
            elif block.part == "rest":
                results = self._alone(block, args, kwargs)
            else:
                results = [getattr(block.module, block.method)(*args, **kwargs)]
            return _without([*arrays_within(results), *arrays_within(caches)], before)

        return flow, given

    def _alone(self, block: Block, args: Any, kwargs: Any) -> list[Any]:
        fed: list[Any] = []
        given_back: list[Any] = []
        entered = False

        def watch(other: Block, call: Call) -> Any:
            nonlocal entered
            if not entered and call.module is block.module and call.method == block.method:
                entered = True
                return call.run()
            fed.append((call.args, call.kwargs))
            given_back.append(thrown_away(self.call_by_block[other].output))  # what takes it may add to it in place
            return given_back[-1]

        with watched([b for b in self.blocks if b in self.call_by_block], watch):
            output = getattr(block.module, block.method)(*args, **kwargs)
        known = {id(a) for a in arrays_within(given_back)}
        kept = [a for a in arrays_within([_without_caches(f) for f in fed]) if id(a) not in known]
        return [output, *kept]


def _without(arrays: Sequence[mx.array], before: Sequence[mx.array]) -> list[mx.array]:
    """Each array once, those left out that were there before."""
    old = {id(array) for array in before}
    return list({id(array): array for array in arrays if id(array) not in old}.values())


def _without_caches(call: tuple[tuple[Any, ...], dict[str, Any]]) -> list[Any]:
    caches = {id(cache) for cache in caches_within((*call[0], *call[1].values()))}
    return [item for item in (*call[0], *call[1].values()) if id(item) not in caches]


def modules_of(block: Block, model: nn.Module) -> list[nn.Module]:
    """The modules whose parameters a block may use."""
    return [model] if block.part == "rest" else [] if block.module is None else [block.module]
