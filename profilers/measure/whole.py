"""The whole-graph ruler: verify passes and drafter steps of a given width, timed alone on a warm cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from ...engine.accept import greedy_choices
from ...engine.cache import arrays_of
from ...engine.decode import Generation
from ...engine.drafters import Drafter
from ...engine.rewind import rewind, start_tape

Clock = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Pass:
    """One synchronous pass over `width` positions: graph build and evaluation apart, in ns."""

    width: int
    context: int
    build_ns: int
    eval_ns: int

    @property
    def total_ns(self) -> int:
        """T_verify(width) of this one pass."""
        return self.build_ns + self.eval_ns


def verify_pass(generation: Generation, tokens: Sequence[int], clock: Clock) -> Pass:
    """Time one target pass over `tokens`, then take the cache back to where it was.

    As in a round: the positions' own choices are evaluated, and the caches
    take the positions in.
    """
    cache = generation.cache
    positions = mx.array(list(tokens))[None]
    mx.eval(positions, arrays_of(cache))
    start_tape(cache)
    began = clock()
    choices = greedy_choices(generation.target.logits(positions, cache))
    built = clock()
    mx.eval(choices)
    ended = clock()
    rewind(cache, len(tokens), 0)
    return Pass(len(tokens), generation.context, built - began, ended - built)


def drafter_pass(drafter: Drafter, tokens: Sequence[int], context: int, clock: Clock) -> Pass | None:
    """Time one drafter step over `tokens`, then take it back; None for a drafter without steps.

    The first call of a pair pays for setting the probe up; callers drop it.
    """
    warm = drafter.step(tokens)
    if warm is None:
        return None
    mx.eval(warm)
    drafter.take_back(len(tokens))
    began = clock()
    guess = drafter.step(tokens)
    built = clock()
    mx.eval(guess)
    ended = clock()
    drafter.take_back(len(tokens))
    return Pass(len(tokens), context, built - began, ended - built)
