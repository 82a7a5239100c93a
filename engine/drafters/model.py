"""A draft model: a smaller language model that writes k tokens ahead, one step each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache

from ..cache import Snapshot, arrays_of, cache_bytes, new_cache, prefill, restore, take_snapshot
from ..models import Target
from ..rewind import rewind, start_tape
from ..sampling import Sampling
from ..trees import nbytes
from .protocol import Draft, Guess, draft_of, guess, no_tokens


@dataclass(frozen=True, slots=True)
class DraftModelMark:
    """A draft model's moment: its caches, and the committed tokens it has not seen."""

    snapshot: Snapshot
    pending: tuple[int, ...]


class DraftModel:
    """Drafts with a model of the target's vocabulary: its likeliest tokens, or drawn ones.

    Its cache lags: the last committed token is not in it, and after full
    acceptance neither is the last draft, so its next first step is two
    positions wide (the catch-up of design section 2). Recurrent state is kept
    by reference after every step and put back to the step that survives; all
    other caches go back by their tapes.
    `vocabulary` is how many logits the target has, so that none is proposed
    that it lacks; None where the drafter has no more.
    """

    kind = "model"
    needs_hidden = False
    has_steps = True

    def __init__(self, model: Target, longest: int | None = None, vocabulary: int | None = None) -> None:
        self.model = model
        self.sampling: Sampling | None = None
        self._longest = longest
        self._vocabulary = vocabulary
        self._cache: list[Any] = []
        self._pending: tuple[int, ...] = ()
        self._width = 0
        self._after_steps: list[list[Any]] = []
        self._before_step: list[Any] = []

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
        self._width = len(self._pending)
        guesses: list[Guess] = []
        start_tape(self._others())
        for i in range(k):
            guesses.append(self._guess(y, len(tokens) + i))
            y = guesses[-1].token
            mx.async_eval(y)
            self._after_steps.append(self._recurrent_states())
        return draft_of(guesses, self._width)

    def _guess(self, tokens: mx.array, position: int) -> Guess:
        """What follows `tokens` [n] at that place of the text; the cache takes them in."""
        logits = self.model.logits(tokens[None], self._cache)[:, -1:]
        if self._vocabulary is not None and self._vocabulary < logits.shape[-1]:
            logits = logits[..., : self._vocabulary]
        return guess(logits, self.sampling, position)

    def _recurrent_states(self) -> list[Any]:
        return [list(c.cache) for c in self._cache if isinstance(c, ArraysCache)]

    def _put(self, states: list[Any]) -> None:
        recurrent = [c for c in self._cache if isinstance(c, ArraysCache)]
        for cache, kept in zip(recurrent, states, strict=True):
            cache.cache = list(kept)

    def _others(self) -> list[Any]:
        return [c for c in self._cache if not isinstance(c, ArraysCache)]

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Drop what was not accepted from the cache; note what it has yet to see."""
        k = len(self._after_steps)
        if k == 0:
            self._pending = (*self._pending, *tokens)
            return
        seen = self._width + k - 1
        rewind(self._others(), seen, min(self._width + accepted, seen))
        if accepted == k:
            self._pending = tuple(tokens[-2:])
            return
        self._put(self._after_steps[accepted])
        self._pending = tuple(tokens[-1:])

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """The guess after `tokens`, read on top of the cache as a draft reads them. Lazy."""
        mx.eval(arrays_of(self._cache))
        self._before_step = self._recurrent_states()
        start_tape(self._others())
        return self._guess(mx.array(list(tokens)), 0).token

    def take_back(self, width: int) -> None:
        """Take the cache back by a step."""
        rewind(self._others(), width, 0)
        self._put(self._before_step)

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
