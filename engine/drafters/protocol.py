"""What every drafter does, and what it hands to a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import mlx.core as mx

from ..accept import greedy_choices
from ..sampling import Sampling, Stream, drawn


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens [m] (m ≤ k, may be lazy) and how many positions the first drafter step took in (0: no step).

    `probabilities` [m, vocabulary] (float32) are what each token was drawn
    from; None when none was drawn but each was the drafter's one choice. A
    drawn token may not be left out for what it turned out to be: rejection
    sampling would no longer give the target's distribution.
    """

    tokens: mx.array
    catch_up_width: int
    probabilities: mx.array | None = None


@dataclass(frozen=True, slots=True)
class Guess:
    """One drafted token [1] and what it was drawn from [1, vocabulary], None for a greedy choice; both lazy."""

    token: mx.array
    probabilities: mx.array | None


def no_tokens() -> mx.array:
    """An empty draft."""
    return mx.zeros((0,), dtype=mx.int32)


def guess(logits: mx.array, sampling: Sampling | None, position: int) -> Guess:
    """The token a drafter proposes from logits [1, 1, vocabulary] for that place of the text: likeliest, or drawn."""
    if sampling is None:
        return Guess(greedy_choices(logits), None)
    return Guess(*drawn(logits, sampling, position, Stream.DRAFT))


def draft_of(guesses: Sequence[Guess], catch_up_width: int) -> Draft:
    """The draft of at least one guess, all greedy or all drawn."""
    rows = [g.probabilities for g in guesses if g.probabilities is not None]
    tokens = mx.concatenate([g.token for g in guesses])
    return Draft(tokens, catch_up_width, mx.concatenate(rows) if rows else None)


class Drafter(Protocol):
    """Guesses the next tokens of one generation.

    `begin` shows it the prompt, `draft` asks for guesses, `settle` tells it
    what a round committed. `mark` and `restore` take it back to an earlier
    moment of the same generation, so that arms can share a starting point.
    `needs_hidden` asks the loop to keep the target's hidden states;
    `has_steps` says whether drafting runs a model at all. `sampling`, set
    before `begin`, is how it draws its guesses; None takes the likeliest.
    """

    kind: str
    needs_hidden: bool
    has_steps: bool
    sampling: Sampling | None

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Start on a prompt; hidden [1, n-1, D] are the target's states of all tokens but the last."""
        ...

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """Up to k guesses after the committed `tokens`."""
        ...

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """A round committed `tokens` (accepted drafts and the bonus); hidden [1, m+1, D] of the verify pass."""
        ...

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """One first step over these tokens, for a probe: the guess after them [1], lazy; None if it has no steps."""
        ...

    def take_back(self, width: int) -> None:
        """Undo a probe's step of that width."""
        ...

    def mark(self) -> Any:
        """A moment to come back to."""
        ...

    def restore(self, mark: Any) -> None:
        """Come back to a moment."""
        ...

    def weight_bytes(self) -> int:
        """Bytes of the drafter's own weights."""
        ...

    def cache_bytes(self) -> int:
        """Bytes of the drafter's own caches."""
        ...
