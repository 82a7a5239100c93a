"""What every drafter does, and what it hands to a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import mlx.core as mx


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens [m] (m ≤ k, may be lazy) and how many positions the first drafter step took in (0: no step)."""

    tokens: mx.array
    catch_up_width: int


def no_tokens() -> mx.array:
    """An empty draft."""
    return mx.zeros((0,), dtype=mx.int32)


class Drafter(Protocol):
    """Guesses the next tokens of one generation.

    `begin` shows it the prompt, `draft` asks for guesses, `settle` tells it
    what a round committed. `mark` and `restore` take it back to an earlier
    moment of the same generation, so that arms can share a starting point.
    `needs_hidden` asks the loop to keep the target's hidden states;
    `has_steps` says whether drafting runs a model at all.
    """

    kind: str
    needs_hidden: bool
    has_steps: bool

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
