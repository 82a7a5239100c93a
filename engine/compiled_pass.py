"""Verify passes compiled by `mx.compile` for one number of positions: the offset is data, so no round compiles again.

mlx-lm's `KVCache` keeps its offset as a Python number, which a compiled function would hold for good. Here the same
buffers are lent to a cache whose offset is an array; attention looks over the whole buffer under a mask. A new number
of positions, or a buffer that grew (every 256 positions), compiles anew; only the latest graphs are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.cache import KVCache, make_prompt_cache

from .errors import SpecviewError
from .models import Target, first_line

SAME = 0.05  # of the largest logit: more than float16 rounds off, less than a wrong position makes

MOST_GRAPHS = 64  # more than the widths of a sweep over a buffer's length and the next

Held = list[tuple[mx.array, ...]]
Run = Callable[..., tuple[mx.array, mx.array, Held]]


class CompiledError(SpecviewError):
    """A model whose pass cannot be compiled."""


class FixedKVCache:
    """Keys and values [1, H, capacity, D] of fixed shape, with the offset as an array []."""

    def __init__(self, keys: mx.array, values: mx.array, offset: mx.array) -> None:
        self.keys, self.values, self.offset = keys, values, offset
        self._begin = offset

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write at the offset; the whole buffers, whose rest the mask hides."""
        at = self.offset.reshape(1)
        self.keys = mx.slice_update(self.keys, keys, at, axes=(2,))
        self.values = mx.slice_update(self.values, values, at, axes=(2,))
        self.offset = self.offset + keys.shape[2]
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """The whole buffers."""
        return self.keys, self.values

    def make_mask(self, n: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Which of the buffer's positions each of n new ones may see: [n, capacity]."""
        mine = self._begin + mx.arange(n)[:, None]
        theirs = mx.arange(self.keys.shape[2])[None]
        mask = mine >= theirs
        return mask if window_size is None else mask & (mine < theirs + window_size)


class CompiledPass:
    """The policy for one target, tried on a few positions when it is made.

    Raises CompiledError for a target whose caches are not all plain keys and values, or which computes something else
    on buffers of fixed length than on growing ones.
    """

    def __init__(self, target: Target) -> None:
        kinds = sorted(
            {type(cache).__name__ for cache in make_prompt_cache(target.model) if type(cache) is not KVCache}
        )
        if kinds:
            raise CompiledError(
                f"{target.name} keeps {', '.join(kinds)}, and specview compiles passes over keys and values only: "
                "choose another verify policy."
            )
        self._target = target
        self._graphs: dict[tuple[bool, int, int], Run] = {}
        self._try()

    def __call__(
        self, target: Target, positions: mx.array, caches: list[Any], keep_hidden: bool
    ) -> tuple[mx.array | None, mx.array]:
        """One pass; see `verify_policies.Policy`. Raises CompiledError for other caches, or what MLX cannot compile."""
        if target.model is not self._target.model:
            raise CompiledError(f"This compiled policy is of {self._target.name}: make one for {target.name}.")
        if any(type(cache) is not KVCache for cache in caches):
            raise CompiledError(
                f"A compiled pass of {target.name} needs plain keys and values: choose another verify policy for "
                "quantised caches."
            )
        used = [cache for cache in caches if cache.keys is not None]  # some layers have none to write to
        if not used:  # there is no buffer yet whose shape could be fixed
            return target.with_hidden(positions, caches) if keep_hidden else (None, target.logits(positions, caches))
        n = positions.shape[1]
        for cache in used:
            _make_room(cache, n)
        run = self._graph(keep_hidden, n, used[0].keys.shape[2])
        try:
            hidden, logits, held = run(positions, mx.array(used[0].offset), [_held(c) for c in caches])
        except Exception as error:  # a model file may do anything that a trace cannot hold
            raise CompiledError(
                f"MLX cannot compile a pass of {target.name} ({first_line(error)}): choose another verify policy."
            ) from error
        for cache, both in zip(caches, held, strict=True):
            if both:
                cache.keys, cache.values = both
                cache.offset += n
        return (hidden if keep_hidden else None), logits

    def _try(self) -> None:
        tokens, logits = mx.array([[0, 1, 2]]), []
        for policy in (self, lambda target, positions, caches, keep_hidden: (None, target.logits(positions, caches))):
            caches = make_prompt_cache(self._target.model)
            self._target.logits(tokens, caches)
            logits.append(policy(self._target, tokens[:, :2], caches, False)[1].astype(mx.float32))
        apart = farthest(*logits)
        if not apart <= SAME * farthest(logits[1], mx.zeros_like(logits[1])):
            raise CompiledError(
                f"A compiled pass of {self._target.name} gives other logits (by {apart:.2g}), because its attention "
                "reads positions off the length of its buffers: choose another verify policy."
            )

    def _graph(self, keep_hidden: bool, width: int, capacity: int) -> Run:
        """The compiled pass for so many positions on buffers of that length; the one not used for longest goes."""
        key = (keep_hidden, width, capacity)
        run = self._graphs.pop(key, None) or self._compiled(keep_hidden)
        self._graphs[key] = run
        if len(self._graphs) > MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        return run

    def _compiled(self, keep_hidden: bool) -> Run:
        target = self._target

        def run(positions: mx.array, offset: mx.array, held: Held) -> tuple[mx.array, mx.array, Held]:
            caches: list[Any] = [FixedKVCache(both[0], both[1], offset) if both else KVCache() for both in held]
            if keep_hidden:
                hidden, logits = target.with_hidden(positions, caches)
            else:
                logits = target.logits(positions, caches)
                hidden = logits
            return hidden, logits, [_held(cache) for cache in caches]

        compiled: Run = mx.compile(run)
        return compiled


def farthest(a: mx.array, b: mx.array) -> float:
    """The largest difference between two arrays of logits; what a model rules out (−inf) is left out."""
    finite = mx.isfinite(a) & mx.isfinite(b)
    return float(cast("float", mx.where(finite, mx.abs(a - b), 0.0).max().item()))


def _held(cache: Any) -> tuple[mx.array, ...]:
    """Keys and values, or nothing where a layer writes none."""
    return () if cache.keys is None else (cache.keys, cache.values)


def _make_room(cache: Any, n: int) -> None:
    """Grow the buffers as `KVCache.update_and_fetch` would before it writes n positions."""
    offset, length = cache.offset, cache.keys.shape[2]
    if offset + n <= length:
        return
    rows = (cache.step + n - 1) // cache.step * cache.step

    def grown(array: mx.array) -> mx.array:
        more = mx.zeros((*array.shape[:2], rows, array.shape[3]), array.dtype)
        return mx.concatenate([array[..., :offset, :], more], axis=2)

    cache.keys, cache.values = grown(cache.keys), grown(cache.values)
