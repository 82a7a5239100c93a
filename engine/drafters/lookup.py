"""Prompt lookup: drafts what followed the last few tokens the last time they occurred in this text."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from ..errors import SpecviewError
from ..sampling import Sampling
from .protocol import Draft, no_tokens

LONGEST_NGRAM = 4
SHORTEST_NGRAM = 2


class NgramError(SpecviewError):
    """Lengths of n-grams that make no sense."""


class PromptLookup:
    """Finds the longest n-gram that ends the text and occurred before, in prompt or output; drafts what came next.

    `longest` and `shortest` are how many tokens must match at most and at
    least; raises NgramError unless 1 ≤ shortest ≤ longest. The index maps each
    n-gram to the place after its last occurrence and grows with the text, so a
    draft costs a few dictionary look-ups. It proposes what is written already
    and no more, as vLLM and transformers do: text that repeats every few tokens
    gets drafts of a few tokens.
    Source: prompt lookup decoding (Saxena, 2023).
    """

    kind = "lookup"
    needs_hidden = False
    has_steps = False
    sampling: Sampling | None = None

    def __init__(self, longest: int = LONGEST_NGRAM, shortest: int = SHORTEST_NGRAM) -> None:
        if not 1 <= shortest <= longest:
            raise NgramError(
                f"A lookup by {shortest} to {longest} tokens makes no sense: choose a shortest match of at least 1 and "
                "a longest of at least that."
            )
        self.longest, self.shortest = longest, shortest
        self._places: dict[tuple[int, ...], int] = {}
        self._indexed = 0
        self._tokens: list[int] = []

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Index the prompt."""
        self._places = {}
        self._indexed = 0
        self._tokens = list(tokens)
        self._index()

    def _index(self) -> None:
        """Take in the n-grams that something follows; the one that ends the text stays out."""
        tokens = self._tokens
        for end in range(max(self._indexed, self.shortest), len(tokens)):
            for n in range(self.shortest, self.longest + 1):
                if end >= n:
                    self._places[tuple(tokens[end - n : end])] = end
        self._indexed = len(tokens)

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """What followed the last occurrence, at most k tokens."""
        for n in range(self.longest, self.shortest - 1, -1):
            place = self._places.get(tuple(self._tokens[-n:])) if len(self._tokens) >= n else None
            if place is not None:
                guess = self._tokens[place : place + k]
                return Draft(mx.array(guess, dtype=mx.int32) if guess else no_tokens(), 0)
        return Draft(no_tokens(), 0)

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Index what was committed."""
        self._tokens.extend(tokens)
        self._index()

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """It has no steps."""
        return None

    def take_back(self, width: int) -> None:
        """Nothing was stepped."""

    def mark(self) -> tuple[int, ...]:
        """The text so far."""
        return tuple(self._tokens)

    def restore(self, mark: tuple[int, ...]) -> None:
        """Index that text anew."""
        self.begin(mark, None)

    def weight_bytes(self) -> int:
        """None."""
        return 0

    def cache_bytes(self) -> int:
        """None that the device holds."""
        return 0
