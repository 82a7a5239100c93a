"""Takes caches back to a prefix of the positions they just saw, whatever their class.

Every class goes the cheapest way that is exact: keys and values that only grow are trimmed, chunks keep their front
meanwhile (`chunk_tape`), sliding windows keep what an update overwrites (`window_tape`), and all other state (gated
delta, Mamba, RWKV, short convolutions, caches that a model brings along) is put back and its writers run again over
the kept positions (`replay`). A tape that runs since `start_tape` may hold several passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import (
    ArraysCache,
    BatchKVCache,
    BatchRotatingKVCache,
    CacheList,
    ChunkedKVCache,
    ConcatenateKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)

from .cache_contents import CacheError, arrays_in, parts
from .chunk_tape import TapedChunk, on_chunk_tape
from .mixers import find_mixers, teach
from .replay import Replayed, TapedCache, TapedMixer, back_by_replay, on_replay_tape, run_again
from .window_tape import TapedBatchWindow, TapedWindow, back_in_window, on_window_tape, trims_exactly

__all__ = ["CacheError", "TapedCache", "rewind", "start_tape", "stop_tape", "with_tapes"]

_GROWING = (KVCache, QuantizedKVCache, ChunkedKVCache, ConcatenateKVCache, BatchKVCache)
_WINDOWS = (RotatingKVCache, BatchRotatingKVCache)
_TAPED = (Replayed, TapedWindow, TapedBatchWindow, TapedChunk)


def with_tapes(
    model: nn.Module, caches: list[Any], make: Callable[[], list[Any]], longest: int | None = None
) -> list[Any]:
    """The same caches, each able to go back, and the model's mixers taught to note what they need for it.

    `make` gives empty caches for the short pass that finds the mixers, which is built but not evaluated. A window that
    `longest` positions do not fill needs no tape. Raises CacheError for state that no way leads back to.
    """
    stateful = [cache for cache in parts(caches) if _cannot_be_cut(cache)]
    unknown = next((cache for cache in stateful if not hasattr(cache, "__dict__")), None)
    if unknown is not None:
        raise CacheError(f"its {type(unknown).__name__} shows nothing of what it holds")
    if stateful and not any(isinstance(module, TapedMixer) for module in model.modules()):
        tried = make()
        for mixer in find_mixers(model, tried, [cache for cache in parts(tried) if _cannot_be_cut(cache)]):
            teach(mixer, TapedMixer)
    for cache in stateful:
        on_replay_tape(cache)
    for cache in parts(caches):
        if type(cache) in _WINDOWS and (longest is None or longest >= cache.max_size):
            on_window_tape(cache)
        if type(cache) is ChunkedKVCache and (longest is None or longest > cache.chunk_size):
            on_chunk_tape(cache)
    return caches


def _cannot_be_cut(cache: Any) -> bool:
    return not isinstance(cache, (*_GROWING, *_WINDOWS, *_TAPED))


def start_tape(caches: Sequence[Any]) -> None:
    """Before passes that may have to be taken back in part."""
    for cache in parts(caches):
        if isinstance(cache, _TAPED):
            cache.tape.start()


def stop_tape(caches: Sequence[Any]) -> None:
    """After passes that stand as they are."""
    for cache in parts(caches):
        if isinstance(cache, _TAPED):
            cache.tape.stop()


def rewind(caches: Sequence[Any], width: int, kept: int) -> list[mx.array]:
    """Take caches that saw `width` positions since their tape started back to the first `kept` of them.

    Returns the arrays that were recomputed (lazy; empty when none was), so
    that a caller may evaluate or time them. Raises CacheError for a cache
    that cannot go back because no tape was started.
    """
    if kept == width:
        stop_tape(caches)
        return []
    again: list[mx.array] = []
    for cache in caches:
        again.extend(_back(cache, width, kept))
    return again


def _back(cache: Any, width: int, kept: int) -> list[mx.array]:
    if isinstance(cache, CacheList):
        return _list_back(cache, width, kept)
    if isinstance(cache, ArraysCache | Replayed):
        return _state_back(cache, width, kept)
    if isinstance(cache, TapedWindow | TapedBatchWindow) and cache.tape.running:
        return back_in_window(cache, width, kept) if cache.tape.passes else []
    if isinstance(cache, _WINDOWS) and not trims_exactly(cache):
        raise CacheError(
            "A sliding window that is full cannot be taken back without a tape: use caches that new_cache made, and "
            "start_tape before the pass."
        )
    cache.trim(width - kept)
    if isinstance(cache, TapedChunk):
        cache.tape.stop()
    if isinstance(cache, ConcatenateKVCache):
        _cut_to_offset(cache)
    return []


def _cut_to_offset(cache: Any) -> None:
    """What this class's own `trim` leaves to do."""
    if cache.keys is not None:
        cache.keys, cache.values = cache.keys[..., : cache.offset, :], cache.values[..., : cache.offset, :]


def _state_back(cache: Any, width: int, kept: int) -> list[mx.array]:
    if not isinstance(cache, Replayed) or not cache.tape.running:
        raise CacheError(
            "Recurrent state cannot be taken back without a tape: use caches that new_cache made, and start_tape "
            "before the pass."
        )
    if not cache.tape.passes:  # the model never used it
        return []
    back_by_replay(cache, width, kept)
    return arrays_in([cache])


def _list_back(cache: CacheList, width: int, kept: int) -> list[mx.array]:
    """Part by part; where one module wrote several parts at once, to a boundary of passes and on together."""
    for part in cache.caches:
        if isinstance(part, Replayed) and part.tape.running and part.tape.passes:
            taped, inside = part.tape.split(width, kept)
            if inside and any(own is cache for seen in taped.seen for own in seen.lists):
                again = [a for own in cache.caches for a in _back(own, width, kept - inside)]
                run_again(taped.seen, inside)
                return [*again, *arrays_in([cache])]
    return [a for part in cache.caches for a in _back(part, width, kept)]
