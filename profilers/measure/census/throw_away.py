"""Copies of caches and arguments for a pass that nobody keeps."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache, _BaseCache

from ....engine.rewind import TapedCache


def thrown_away(tree: Any, stand_ins: dict[int, mx.array] | None = None) -> Any:
    """The same values in containers, caches and array objects of their own; buffers are shared, modules are the same.

    `stand_ins` replace arrays by the identity of the array in `tree`. A cache on tape comes back without its tape.
    """
    return _copied(tree, stand_ins or {}, {})


def _copied(item: Any, stand_ins: dict[int, mx.array], done: dict[int, Any]) -> Any:
    if id(item) in done:
        return done[id(item)]
    made: Any
    if isinstance(item, mx.array):
        made = stand_ins.get(id(item))
        made = copy.copy(item) if made is None else made  # `mx.array(item)` would add a primitive
    elif type(item) in (list, tuple):
        made = type(item)(_copied(part, stand_ins, done) for part in item)
    elif type(item) is dict:
        made = {key: _copied(part, stand_ins, done) for key, part in item.items()}
    elif isinstance(item, tuple) and hasattr(item, "_fields"):
        made = type(item)(*(_copied(part, stand_ins, done) for part in item))
    elif _holds_state(item):
        made = copy.copy(item)
        done[id(item)] = made
        if isinstance(made, TapedCache):
            made.__class__ = ArraysCache  # type: ignore[assignment]
            for name in ("mixer", "seen", "before", "calls", "after_pass", "running", "mixers"):
                made.__dict__.pop(name, None)
        for name, part in vars(made).items():
            vars(made)[name] = _copied(part, stand_ins, done)
    else:
        made = item
    done[id(item)] = made
    return made


def _is_cache(item: Any) -> bool:
    if isinstance(item, nn.Module | type) or not hasattr(item, "__dict__"):
        return False
    return isinstance(item, _BaseCache) or "cache" in type(item).__name__.lower()


def _holds_state(item: Any) -> bool:
    """Whether an object is a cache, or another of mlx-lm's own that a pass may write to."""
    plain = isinstance(item, nn.Module | type) or not hasattr(item, "__dict__") or callable(item)
    return _is_cache(item) or (not plain and type(item).__module__.startswith("mlx_lm.models"))


def arrays_within(tree: Any) -> list[mx.array]:
    """All arrays in containers and caches, each once."""
    return list({id(array): array for array in _arrays(tree, set())}.values())


def _arrays(item: Any, been: set[int]) -> Iterator[mx.array]:
    if isinstance(item, mx.array):
        yield item
        return
    if id(item) in been:
        return
    been.add(id(item))
    parts: Any = ()
    if isinstance(item, list | tuple):
        parts = item
    elif type(item) is dict:
        parts = item.values()
    elif _holds_state(item):
        parts = vars(item).values()
    for part in parts:
        yield from _arrays(part, been)


def caches_within(items: Iterable[Any]) -> list[Any]:
    """The caches among arguments, those in lists left out."""
    return [item for item in items if _is_cache(item)]
