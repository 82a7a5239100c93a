"""The whole-graph ruler: verify passes and drafter steps of a given width, timed alone on a warm cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from ...engine.accept import GREEDY_MATCH, AcceptanceRule
from ...engine.cache import arrays_of
from ...engine.decode import Generation, target_pass
from ...engine.drafters import Drafter
from ...engine.drafters.protocol import Draft
from ...engine.models import logit_count
from ...engine.rewind import rewind
from ...engine.verify_policies import Policy, one_pass
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


@dataclass(frozen=True, slots=True)
class Manner:
    """How a loop makes its verify passes and what it reads off them: by default as greedy rounds in one pass do.

    `drawn`: drafts come with what they were drawn from, which rejection sampling reads too.
    """

    policy: Policy = one_pass
    rule: AcceptanceRule = GREEDY_MATCH
    keep_hidden: bool = False
    drawn: bool = False


PLAIN = Manner()


def verify_pass(generation: Generation, tokens: Sequence[int], clock: Clock, manner: Manner = PLAIN) -> Pass:
    """Time one target pass over `tokens`, all but the first as drafts, then take the cache back to where it was.

    As in a round: the rule's answer is evaluated, and the caches take the
    positions in. Drawn drafts are taken to come from a flat distribution;
    what is computed does not depend on which.
    """
    cache = generation.cache
    positions = mx.array(list(tokens))[None]
    draft = Draft(positions[0, 1:], 0, _flat(generation, len(tokens) - 1) if manner.drawn else None)
    mx.eval(positions, draft.tokens, draft.probabilities, arrays_of(cache))
    with as_before(cache):
        began = clock()
        _, logits = manner.policy(generation.target, positions, cache, manner.keep_hidden)
        answer = manner.rule.ask(logits, draft, generation.context + 1)
        built = clock()
        mx.eval(answer)
        ended = clock()
    return Pass(len(tokens), generation.context, built - began, ended - built)


def _flat(generation: Generation, drafts: int) -> mx.array | None:
    """The same probability for every token, [drafts, vocabulary]; None for no drafts."""
    size = logit_count(generation.target)
    return mx.full((drafts, size), 1 / size) if drafts else None


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


def round_pass(
    generation: Generation, drafter: Drafter, k: int, clock: Clock, manner: Manner = PLAIN, *, accept_all: bool = False
) -> Pass:
    """Time a draft of k tokens and its verify pass in one go, as a free round plays them; then accept all, or nothing.

    So every pass but the first follows a round that accepted as much, and has its catch-up to do. The target's cache is
    taken back; the drafter has seen more tokens afterwards and is put back by its mark. What this takes less than its
    parts alone is what they hide behind each other.
    """
    cache = generation.cache
    mx.eval(arrays_of(cache))
    began = clock()
    draft = drafter.draft(generation.tokens, k)
    hidden, logits = target_pass(generation, draft.tokens, drafter.needs_hidden, manner.policy)
    answer = manner.rule.ask(logits, draft, generation.context + 1)
    built = clock()
    mx.eval(answer)
    ended = clock()
    drafted: list[int] = draft.tokens.tolist()  # type: ignore[assignment]
    rewind(cache, len(drafted) + 1, 0)
    accepted = drafted if accept_all else []
    drafter.settle([*accepted, generation.tokens[-1]], len(accepted), hidden)
    return Pass(len(drafted) + 1, generation.context, built - began, ended - built)


def warm(timed: Callable[[], Pass | None], repeats: int) -> list[Pass]:
    """`repeats` passes in a row after one that does not count: the first of its width finds cold buffers."""
    passes = [timed() for _ in range(repeats + 1)][1:]
    return [done for done in passes if done is not None]
