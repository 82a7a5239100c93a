"""Takes caches of every class back to where they were, exactly, after passes that only measure.

`engine.rewind` knows the caches that a generation may be drafted for, and any prefix of a pass. Here nothing is kept of
a pass, so every class can be had: keys and values are trimmed where that is exact, recurrent state is put back by the
arrays it had, and everything else (full windows, chunks, caches that a model brings along) by a copy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)

from ...engine.rewind import TapedCache

Undo = Callable[[], None]


@contextmanager
def as_before(caches: Sequence[Any], taped: bool = True) -> Iterator[None]:
    """Whatever passes inside do to the caches, afterwards they are as before, on errors too.

    Recurrent caches with a tape run it where `taped`, as in a round. Copies are made before and put back after, so
    that no pass in between finds its keys and values held by another and copies them.
    """
    undos = [_put_back(cache, taped) for cache in caches]
    try:
        yield
    finally:
        for undo in undos:
            undo()


def _put_back(cache: Any, taped: bool) -> Undo:
    if isinstance(cache, CacheList):
        return _all([_put_back(part, taped) for part in cache.caches])
    if isinstance(cache, ArraysCache):
        return _recurrent(cache, taped)
    if isinstance(cache, KVCache | QuantizedKVCache) and cache.keys is not None:
        return _trimmed(cache)
    if not hasattr(cache, "__dict__"):
        return lambda: None
    kept = copied(vars(cache))

    def undo() -> None:
        vars(cache).clear()
        vars(cache).update(kept)

    return undo


def held(cache: Any) -> Undo:
    """What puts one cache back after each of many copies of a block, so that the next one costs the same.

    It holds no view of keys or values: an update would then copy everything. What a window or an unknown cache
    overwrote in place stays overwritten, so the whole is done `as_before`. The undo may be called any number of times.
    """
    if isinstance(cache, CacheList):
        return _all([held(part) for part in cache.caches])
    if isinstance(cache, ArraysCache):
        return _recurrent(cache, taped=False)
    if isinstance(cache, RotatingKVCache):
        return _windowed(cache)
    if isinstance(cache, KVCache | QuantizedKVCache | ChunkedKVCache):
        return _trimmed(cache)
    if not hasattr(cache, "__dict__"):
        return lambda: None
    before = {name: list(value) if isinstance(value, list) else value for name, value in vars(cache).items()}

    def undo() -> None:
        vars(cache).update({n: list(value) if isinstance(value, list) else value for n, value in before.items()})

    return undo


def _all(undos: Sequence[Undo]) -> Undo:
    def undo() -> None:
        for one in undos:
            one()

    return undo


def _recurrent(cache: ArraysCache, taped: bool) -> Undo:
    before, lengths, padding = list(cache.cache), cache.lengths, cache.left_padding
    if taped and isinstance(cache, TapedCache):
        cache.start()

    def undo() -> None:
        if taped and isinstance(cache, TapedCache):
            cache.stop()
        cache.cache = list(before)
        cache.lengths, cache.left_padding = lengths, padding

    return undo


def _trimmed(cache: KVCache | QuantizedKVCache | ChunkedKVCache) -> Undo:
    offset = cache.offset

    def undo() -> None:
        cache.trim(cache.offset - offset)  # type: ignore[no-untyped-call]

    return undo


def _windowed(cache: RotatingKVCache) -> Undo:
    keys, values, offset, index = cache.keys, cache.values, cache.offset, cache._idx

    def undo() -> None:
        # one position writes in place and may grow the buffer first, which must not happen again in every copy; more
        # positions make new arrays of exactly the length they need, and leave the old ones alone
        now: mx.array | None = cache.keys
        grown = now is not None and keys is not None and now.shape[2] > max(keys.shape[2], cache._idx)
        if not grown:
            cache.keys, cache.values = keys, values
        cache.offset, cache._idx = offset, index

    return undo


def copied(tree: Any, known: dict[int, mx.array] | None = None) -> Any:
    """The same nested containers with every array in a buffer of its own, evaluated; other leaves are shared.

    Arrays that are one object stay one object, also those in `known` (copies by the id of the original).
    """
    known = {} if known is None else known
    originals: list[mx.array] = []
    true = mx.array(True)

    def own(array: mx.array) -> mx.array:
        if id(array) not in known:
            originals.append(array)
            known[id(array)] = mx.where(true, array, array)
        return known[id(array)]

    made = mapped(tree, own)
    mx.eval([known[id(a)] for a in originals])
    return made


def mapped(tree: Any, change: Callable[[mx.array], mx.array]) -> Any:
    """The same nested lists, tuples and dicts with every array changed; other leaves are shared."""
    if isinstance(tree, mx.array):
        return change(tree)
    if type(tree) is list:
        return [mapped(t, change) for t in tree]
    if isinstance(tree, tuple):
        parts = [mapped(t, change) for t in tree]
        return tuple(parts) if type(tree) is tuple else type(tree)(*parts)
    if type(tree) is dict:
        return {key: mapped(value, change) for key, value in tree.items()}
    return tree
