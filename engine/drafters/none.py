"""No drafter: the drafting loop with nothing drafted, which shows what the loop itself costs."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from ..sampling import Sampling
from .protocol import Draft, no_tokens


class NoDrafter:
    """Drafts nothing, so every round verifies one position."""

    kind = "none"
    needs_hidden = False
    has_steps = False
    sampling: Sampling | None = None

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Nothing to see."""

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """No tokens."""
        return Draft(no_tokens(), 0)

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Nothing to learn."""

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """It has no steps."""
        return None

    def take_back(self, width: int) -> None:
        """Nothing was stepped."""

    def mark(self) -> None:
        """Every moment is the same."""

    def restore(self, mark: None) -> None:
        """Every moment is the same."""

    def weight_bytes(self) -> int:
        """None."""
        return 0

    def cache_bytes(self) -> int:
        """None."""
        return 0
