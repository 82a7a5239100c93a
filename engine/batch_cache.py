"""Caches of several sequences at once, whose rows may hold different numbers of positions.

mlx-lm's `BatchKVCache` keeps rows flush right, so rows that accept different prefixes have to be shifted, every key and
value copied. Here rows are flush left and each has its own offset: a row is taken back by its offset alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, KVCache

from .cache import new_cache, prefill
from .errors import SpecviewError
from .models import Target
from .prompt_cache import own_kind
from .replay import TapedCache
from .rewind import rewind

STEP = 256


class BatchError(SpecviewError):
    """Several sequences at once that cannot be had."""


class RaggedKVCache:
    """Keys and values [B, H, capacity, D] with an offset for each row.

    `offset` is what mlx-lm's attention hands to its rotary embedding: a number while all rows are equal, else [B].
    """

    def __init__(self, keys: mx.array, values: mx.array, offsets: Sequence[int]) -> None:
        self.keys, self.values = keys, values
        self.offsets = list(offsets)

    @property
    def offset(self) -> int | mx.array:
        """Positions that each row holds."""
        return self.offsets[0] if self._even else mx.array(self.offsets)

    @property
    def _even(self) -> bool:
        return len(set(self.offsets)) == 1

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write n positions behind each row's own; everything up to the longest row."""
        n, end = keys.shape[2], max(self.offsets) + keys.shape[2]
        if end > self.keys.shape[2]:
            self.keys, self.values = (_grown(a, end - a.shape[2]) for a in (self.keys, self.values))
        if self._even:
            at = self.offsets[0]
            self.keys[..., at:end, :] = keys
            self.values[..., at:end, :] = values
        else:
            places = (mx.array(self.offsets)[:, None] + mx.arange(n))[:, None, :, None]
            self.keys = mx.put_along_axis(self.keys, mx.broadcast_to(places, keys.shape), keys, axis=2)
            self.values = mx.put_along_axis(self.values, mx.broadcast_to(places, values.shape), values, axis=2)
        self.offsets = [offset + n for offset in self.offsets]
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """Everything up to the longest row."""
        end = max(self.offsets)
        return self.keys[..., :end, :], self.values[..., :end, :]

    def make_mask(self, n: int, return_array: bool = False, window_size: int | None = None) -> mx.array | str | None:
        """Which positions each of n new ones may see: one for all while rows are equal, else [B, 1, n, end]."""
        if self._even and window_size is None and not return_array:
            return None if n == 1 else "causal"
        theirs = mx.arange(max(self.offsets) + n)
        if self._even:  # attention of some models knows no mask of several rows
            mine = self.offsets[0] + mx.arange(n)[:, None]
        else:
            mine = (mx.array(self.offsets)[:, None] + mx.arange(n))[:, None, :, None]
        mask = mine >= theirs
        return mask if window_size is None else mask & (mine < theirs + window_size)

    def size(self) -> int:
        """Positions of the longest row."""
        return max(self.offsets)

    def empty(self) -> bool:
        """Never: it is made of caches that hold something."""
        return False

    @property
    def nbytes(self) -> int:
        """Bytes of its buffers."""
        return self.keys.nbytes + self.values.nbytes


def _grown(array: mx.array, least: int) -> mx.array:
    more = -(-least // STEP) * STEP
    return mx.concatenate([array, mx.zeros((*array.shape[:2], more, array.shape[3]), array.dtype)], axis=2)


def batch_caches(target: Target, prompts: Sequence[Sequence[int]], hidden: bool) -> tuple[list[Any], list[mx.array]]:
    """Read each prompt by itself, then put their caches together; also hidden states [1, n, D] of each where asked.

    Prompts are read alone because padding would change recurrent state. Raises BatchError for caches that are neither
    plain keys and values nor recurrent state.
    """
    rows, states = [], []
    for prompt in prompts:
        caches = new_cache(target)
        kept = prefill(target, prompt, caches, keep_hidden=hidden)
        rows.append(caches)
        if kept is not None:
            states.append(kept)
    return merged(target, rows), states


def merged(target: Target, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The caches of several sequences, one list a sequence, as one list of caches for all."""
    return [_merged(target, parts) for parts in zip(*rows, strict=True)]


def _merged(target: Target, parts: Sequence[Any]) -> Any:
    first: Any = parts[0]
    if isinstance(parts[0], TapedCache):
        for i in range(len(first.cache)):
            arrays = [part.cache[i] for part in parts]
            if len({None if a is None else a.shape for a in arrays}) > 1:
                raise BatchError(
                    f"{target.name} keeps state whose size depends on the prompt: give prompts of one length, or one "
                    "sequence."
                )
            first.cache[i] = None if arrays[0] is None else mx.concatenate(arrays)
        return first
    if type(first) is KVCache:
        if first.keys is None:  # a layer that never writes to it
            return first
        offsets = [part.offset for part in parts]
        rows = -(-max(offsets) // STEP) * STEP

        def side(arrays: Sequence[mx.array]) -> mx.array:
            flush = [a[..., :n, :] for a, n in zip(arrays, offsets, strict=True)]
            return mx.concatenate([mx.pad(a, [(0, 0), (0, 0), (0, rows - a.shape[2]), (0, 0)]) for a in flush])

        return RaggedKVCache(side([p.keys for p in parts]), side([p.values for p in parts]), offsets)
    raise BatchError(
        f"{target.name} cannot run several sequences at once, because specview batches no {own_kind(first).__name__}: "
        "choose another model, or one sequence."
    )


def first_rows(target: Target, caches: Sequence[Any], count: int) -> list[Any]:
    """The caches of the first `count` sequences in buffers of their own."""
    own: list[Any] = []
    for cache, fresh in zip(caches, new_cache(target), strict=True):
        if isinstance(cache, RaggedKVCache):
            keys, values = (mx.contiguous(a[:count]) for a in (cache.keys, cache.values))
            own.append(RaggedKVCache(keys, values, cache.offsets[:count]))
        elif isinstance(cache, ArraysCache):
            fresh.cache = [None if a is None else mx.contiguous(a[:count]) for a in cache.cache]
            own.append(fresh)
        else:
            own.append(fresh)
    return own


def rewind_rows(caches: Sequence[Any], width: int, kept: Sequence[int]) -> list[mx.array]:
    """Take each row of caches that saw `width` positions since their tape started back to the first `kept` of them.

    Recurrent state is replayed once for each number that occurs, and every row takes its own. Returns what was
    recomputed, lazy.
    """
    again: list[mx.array] = []
    for cache in caches:
        if isinstance(cache, RaggedKVCache):
            cache.offsets = [offset - width + n for offset, n in zip(cache.offsets, kept, strict=True)]
        elif isinstance(cache, TapedCache):
            again += _rows_back(cache, width, kept)
    return again


def _rows_back(cache: Any, width: int, kept: Sequence[int]) -> list[mx.array]:
    passes, states = cache.tape.passes, {width: list(cache.cache)}
    for n in sorted(set(kept) - {width}):
        cache.tape.running, cache.tape.passes, cache.cache = True, passes, list(states[width])
        rewind([cache], width, n)
        states[n] = list(cache.cache)
    cache.tape.stop()
    if len(set(kept)) == 1:
        cache.cache = list(states[kept[0]])
    else:
        cache.cache = [_picked([states[n][i] for n in kept]) for i in range(len(cache.cache))]
    return [a for a in cache.cache if a is not None] if set(kept) != {width} else []


def _picked(states: Sequence[mx.array | None]) -> mx.array | None:
    """Row b of state b."""
    rows = [state[b : b + 1] for b, state in enumerate(states) if state is not None]
    return mx.concatenate(rows) if len(rows) == len(states) else None
