"""What a cache of any class holds: read it, keep it, put it back into the same object."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import CacheList

from .errors import SpecviewError
from .trees import named_arrays

TAPE = "tape"  # the attribute of a cache that belongs to the rewind, not to the model


class CacheError(SpecviewError):
    """A cache that this loop cannot rewind."""


def parts(caches: Sequence[Any]) -> Iterator[Any]:
    """The caches with every `CacheList` replaced by its parts, in order."""
    for cache in caches:
        if isinstance(cache, CacheList):
            yield from parts(cache.caches)
        else:
            yield cache


def own(tree: Any) -> Any:
    """The same nested containers with array objects of their own on the same buffers; other leaves are shared.

    An update in place then copies the buffer once instead of changing what is kept. No node is added to any graph.
    """
    if isinstance(tree, mx.array):
        return copy.copy(tree)
    if type(tree) is list:
        return [own(t) for t in tree]
    if isinstance(tree, tuple):
        made = [own(t) for t in tree]
        return tuple(made) if type(tree) is tuple else type(tree)(*made)
    if type(tree) is dict:
        return {key: own(value) for key, value in tree.items()}
    return tree


def contents(cache: Any) -> Any:
    """Everything a cache holds, so that no later pass changes it; of a `CacheList` that of its parts."""
    if isinstance(cache, CacheList):
        return [contents(part) for part in cache.caches]
    return {name: own(value) for name, value in _held(cache).items()}


def put_contents(cache: Any, kept: Any) -> None:
    """Put back what `contents` gave of this cache or of one of its class; the objects stay the same."""
    if isinstance(cache, CacheList):
        for part, kept_part in zip(cache.caches, kept, strict=True):
            put_contents(part, kept_part)
        return
    vars(cache).update({name: own(value) for name, value in kept.items()})


def arrays_in(caches: Sequence[Any]) -> list[mx.array]:
    """All arrays that the caches hold now, tapes left out."""
    return [array for _, array in named_arrays([_held(cache) for cache in parts(caches)])]


def _held(cache: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(cache).items() if name != TAPE} if hasattr(cache, "__dict__") else {}
