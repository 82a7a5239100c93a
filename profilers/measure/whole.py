"""The whole-graph ruler: verify passes and drafter steps of a given width, timed alone on a warm cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from ...engine.accept import greedy_choices
from ...engine.cache import arrays_of
from ...engine.decode import Generation, verify
from ...engine.drafters import Drafter
from ...engine.rewind import rewind
from .restoring import as_before

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
    with as_before(cache):
        began = clock()
        choices = greedy_choices(generation.target.logits(positions, cache))
        built = clock()
        mx.eval(choices)
        ended = clock()
    return Pass(len(tokens), generation.context, built - began, ended - built)


def drafter_pass(drafter: Drafter, tokens: Sequence[int], context: int, clock: Clock) -> Pass | None:
    """Time one drafter step over `tokens`, then take it back; None for a drafter without steps."""
    began = clock()
    guess = drafter.step(tokens)
    built = clock()
    if guess is None:
        return None
    mx.eval(guess)
    ended = clock()
    drafter.take_back(len(tokens))
    return Pass(len(tokens), context, built - began, ended - built)


def round_pass(generation: Generation, drafter: Drafter, k: int, clock: Clock) -> Pass:
    """Time a draft of k tokens and its verify pass in one go, as a free round plays them, and accept nothing.

    The target's cache is taken back; the drafter has seen one token more
    afterwards and is put back by its mark. What this takes less than its parts
    alone is what they hide behind each other.
    """
    cache = generation.cache
    mx.eval(arrays_of(cache))
    began = clock()
    draft = drafter.draft(generation.tokens, k)
    hidden, choices = verify(generation, draft.tokens, drafter.needs_hidden)
    built = clock()
    mx.eval(choices)
    ended = clock()
    width = len(draft.tokens.tolist()) + 1  # type: ignore[arg-type]
    rewind(cache, width, 0)
    drafter.settle(generation.tokens[-1:], 0, hidden)
    return Pass(width, generation.context, built - began, ended - built)


def warm(timed: Callable[[], Pass | None], repeats: int) -> list[Pass]:
    """`repeats` passes in a row after one that does not count: the first of its width finds cold buffers."""
    passes = [timed() for _ in range(repeats + 1)][1:]
    return [done for done in passes if done is not None]
