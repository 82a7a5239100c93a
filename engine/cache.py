"""Caches of a running generation: making, prefilling, snapshots that no later pass can change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import QuantizedKVCache

from .cache_contents import CacheError, arrays_in, contents, put_contents
from .models import Target
from .rewind import stop_tape, with_tapes

__all__ = [
    "CacheError",
    "Snapshot",
    "arrays_of",
    "cache_bytes",
    "check_rewindable",
    "new_cache",
    "prefill",
    "restore",
    "take_snapshot",
]

PREFILL_STEP = 512


def new_cache(target: Target, longest: int | None = None) -> list[Any]:
    """An empty cache for every layer, each able to go back to a prefix of a pass (see `rewind`).

    `longest` is how many positions the generation may reach: a sliding window
    that they do not fill is only trimmed. Raises CacheError for a model whose
    state no way leads back to.
    """
    from mlx_lm.models.cache import make_prompt_cache

    def make() -> list[Any]:
        made: list[Any] = make_prompt_cache(target.model)
        return made

    try:
        return with_tapes(target.model, make(), make, longest)
    except CacheError as error:
        raise CacheError(f"{target.name} cannot be drafted for: {error}; choose another model.") from error


def check_rewindable(target: Target, longest: int | None = None) -> None:
    """Raise CacheError unless every cache of the model can be taken back."""
    new_cache(target, longest)


def arrays_of(caches: Sequence[Any]) -> list[mx.array]:
    """All arrays that the caches hold, e.g. to evaluate them."""
    return arrays_in(caches)


def cache_bytes(caches: Sequence[Any]) -> int:
    """Bytes held by the caches."""
    return sum(a.nbytes for a in arrays_of(caches))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of a list of caches at one moment.

    Buffers are shared until a cache writes again (its first update then copies
    once), so taking and restoring is cheap and a snapshot stays what it was.
    """

    states: tuple[Any, ...]
    kinds: tuple[type, ...]


def take_snapshot(caches: Sequence[Any]) -> Snapshot:
    """Remember the caches as they are now."""
    return Snapshot(tuple(contents(cache) for cache in caches), tuple(type(cache) for cache in caches))


def restore(caches: list[Any], snapshot: Snapshot) -> None:
    """Put the caches back to a snapshot of themselves or of their like; the objects and their parts stay.

    A cache that was quantised since (see `kv_quantisation`) makes room in the list for one of the class it had.
    """
    stop_tape(caches)
    for at, (kept, kind) in enumerate(zip(snapshot.states, snapshot.kinds, strict=True)):
        # by this and not by class: some models make the classes of their caches anew each time
        if isinstance(caches[at], QuantizedKVCache) != issubclass(kind, QuantizedKVCache):
            caches[at] = object.__new__(kind)
        put_contents(caches[at], kept)


def prefill(target: Target, tokens: Sequence[int], caches: list[Any], keep_hidden: bool = False) -> mx.array | None:
    """Read tokens into the caches in chunks of 512.

    Returns the hidden states [1, n, D] of all of them when `keep_hidden`,
    otherwise None; both evaluated.
    """
    kept = []
    for start in range(0, len(tokens), PREFILL_STEP):
        chunk = mx.array(list(tokens[start : start + PREFILL_STEP]))[None]
        if keep_hidden:
            hidden, _ = target.with_hidden(chunk, caches)
            kept.append(hidden)
            mx.eval(hidden, arrays_of(caches))
        else:
            target.logits(chunk, caches)
            mx.eval(arrays_of(caches))
        mx.clear_cache()
    return mx.concatenate(kept, axis=1) if kept else None
