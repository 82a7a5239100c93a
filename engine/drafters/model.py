"""A draft model: a smaller language model that writes k tokens ahead, one step each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from ..accept import greedy_choices
from ..cache import Snapshot, arrays_of, cache_bytes, new_cache, prefill, restore, take_snapshot
from ..models import Target
from ..rewind import rewind, start_tape
from ..trees import nbytes
from .protocol import Draft, no_tokens


@dataclass(frozen=True, slots=True)
class DraftModelMark:
    """A draft model's moment: its caches, and the committed tokens it has not seen."""

    snapshot: Snapshot
    pending: tuple[int, ...]


class DraftModel:
    """Drafts greedily with a model of the target's vocabulary.

    Its cache lags: the last committed token is not in it, and after full
    acceptance neither is the last draft, so its next first step is two
    positions wide (the catch-up of design section 2). Recurrent state is kept
    by reference after every step and put back to the step that survives.
    """

    kind = "model"
    needs_hidden = False
    has_steps = True

    def __init__(self, model: Target, longest: int | None = None) -> None:
        self.model = model
        self._longest = longest
        self._cache: list[Any] = []
        self._pending: tuple[int, ...] = ()
        self._after_steps: list[list[Any]] = []

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Read the prompt into the drafter's own cache."""
        self._cache = new_cache(self.model, self._longest)
        prefill(self.model, tokens[:-1], self._cache)
        self._pending = tuple(tokens[-1:])
        self._after_steps = []

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """k tokens, submitted step by step and left lazy."""
        self._after_steps = []
        if k == 0:
            return Draft(no_tokens(), 0)
        y = mx.array(self._pending)
        width = len(self._pending)
        guesses = []
        for _ in range(k):
            y = greedy_choices(self.model.logits(y[None], self._cache)[:, -1:])
            mx.async_eval(y)
            guesses.append(y)
            self._after_steps.append(self._recurrent_states())
        return Draft(mx.concatenate(guesses), width)

    def _recurrent_states(self) -> list[Any]:
        return [list(c.cache) if hasattr(c, "cache") else None for c in self._cache]

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Drop what was not accepted from the cache; note what it has yet to see."""
        k = len(self._after_steps)
        if k == 0:
            self._pending = (*self._pending, *tokens)
            return
        if accepted == k:
            self._pending = tuple(tokens[-2:])
            return
        for cache, states in zip(self._cache, self._after_steps[accepted], strict=True):
            if states is not None:
                cache.cache = list(states)
            elif accepted + 1 < k:
                cache.trim(k - 1 - accepted)
        self._pending = tuple(tokens[-1:])

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """The guess after `tokens`, read on top of the cache. Lazy."""
        mx.eval(arrays_of(self._cache))
        start_tape(self._cache)
        return greedy_choices(self.model.logits(mx.array(list(tokens))[None], self._cache)[:, -1:])

    def take_back(self, width: int) -> None:
        """Take the cache back by a step."""
        rewind(self._cache, width, 0)

    def mark(self) -> DraftModelMark:
        """The caches and what they have not seen."""
        return DraftModelMark(take_snapshot(self._cache), self._pending)

    def restore(self, mark: DraftModelMark) -> None:
        """Put the caches back."""
        restore(self._cache, mark.snapshot)
        self._pending = mark.pending
        self._after_steps = []

    def weight_bytes(self) -> int:
        """Bytes of the draft model's weights."""
        return nbytes(self.model.model.parameters())

    def cache_bytes(self) -> int:
        """Bytes of the draft model's caches."""
        return cache_bytes(self._cache) if self._cache else 0
