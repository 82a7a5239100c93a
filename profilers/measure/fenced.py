"""The fenced ruler: a pass with a fence before and after every block, graph build and evaluation apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx

from ...engine.cache import arrays_of
from ...engine.decode import Generation
from .blocks import Block, arrays_in, run_blocks
from .interception import Call
from .restoring import as_before
from .timings import BlockTiming

Clock = Callable[[], int]


class _Fences:
    """A watch that waits for what goes into a block and for what comes out, and charges the time in between.

    What a container does between its blocks is charged to its rest, piece by piece.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.build_ns: dict[Block, int] = {}
        self.eval_ns: dict[Block, int] = {}
        self._around: list[Block] = []
        self._since = 0

    def _charge(self, block: Block, build_ns: int, eval_ns: int) -> None:
        self.build_ns[block] = self.build_ns.get(block, 0) + build_ns
        self.eval_ns[block] = self.eval_ns.get(block, 0) + eval_ns

    def __call__(self, block: Block, call: Call) -> Any:
        reached = self._clock()
        inputs = arrays_in(call.args, call.kwargs)
        waiting = self._clock()
        mx.eval(inputs)
        began = self._clock()
        if self._around:
            self._charge(self._around[-1], reached - self._since, began - waiting)
        self._since = began
        if block.part == "rest":
            self._around.append(block)
        output = call.run()
        built = self._clock()
        results = arrays_in(output)
        waiting = self._clock()
        mx.eval(results)
        ended = self._clock()
        self._charge(block, built - self._since, ended - waiting)
        if block.part == "rest":
            self._around.pop()
        self._since = self._clock()
        return output


def fenced_pass(
    generation: Generation, blocks: Sequence[Block], tokens: Sequence[int], clock: Clock
) -> list[BlockTiming]:
    """One fenced pass over `tokens`, then the cache taken back to where it was: a timing of one sample per block.

    As in `verify_pass`, what the caches take in is evaluated only where an output asks for it. Callers make one
    untimed pass first: after a restore the first update of every cache copies it.
    """
    caches = generation.cache
    positions = mx.array(list(tokens))[None]
    mx.eval(positions, arrays_of(caches))
    fences = _Fences(clock)
    with as_before(caches):
        run_blocks(generation.target, blocks, positions, caches, fences)
    return [
        BlockTiming(
            block=block.name,
            category=block.category,
            detail=block.detail,
            layer=block.layer,
            width=len(tokens),
            context=generation.context,
            ruler="fenced",
            samples_ns=(fences.build_ns[block] + fences.eval_ns[block],),
            build_ns=(fences.build_ns[block],),
            eval_ns=(fences.eval_ns[block],),
        )
        for block in blocks
        if block in fences.eval_ns
    ]
