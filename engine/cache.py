"""Caches of a running generation: making, prefilling, snapshots that no later pass can change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx.utils import tree_map

from .errors import SpecviewError
from .models import Target
from .rewind import recurrent_with_tape, start_tape, untaped
from .trees import named_arrays

PREFILL_STEP = 512


class CacheError(SpecviewError):
    """A cache that this loop cannot rewind."""


REWINDABLE = ("KVCache", "QuantizedKVCache", "ArraysCache")


def new_cache(target: Target, longest: int | None = None) -> list[Any]:
    """An empty cache for every layer, recurrent ones with a tape for rewinding.

    `longest` is how many positions the generation may reach: a sliding-window
    cache can be rewound only while it is not full. Raises CacheError for cache
    classes that cannot be rewound at all.
    """
    from mlx_lm.models.cache import make_prompt_cache

    caches: list[Any] = make_prompt_cache(target.model)
    for cache in caches:
        name = type(cache).__name__
        if name == "RotatingKVCache" and longest is not None and longest < cache.max_size:
            continue
        if name not in REWINDABLE:
            reason = (
                f"its window of {cache.max_size} positions is shorter than this run"
                if name == "RotatingKVCache"
                else f"specview cannot rewind its {name} yet"
            )
            raise CacheError(f"{target.name} cannot be drafted for: {reason}; choose a shorter run or another model.")
    return recurrent_with_tape(target.model, caches)


def check_rewindable(target: Target, longest: int | None = None) -> None:
    """Raise CacheError unless every cache of the model can be taken back; runs one short pass where it must see."""
    caches = new_cache(target, longest)
    start_tape(caches)
    target.logits(mx.array([[0, 0]]), caches)
    if untaped(caches):
        raise CacheError(
            f"{target.name} cannot be drafted for: specview does not know which of its layers keep which recurrent "
            "state; choose another model."
        )


def arrays_of(caches: Sequence[Any]) -> list[mx.array]:
    """All arrays that the caches hold, e.g. to evaluate them."""
    return [a for _, a in named_arrays([c.state for c in caches])]


def cache_bytes(caches: Sequence[Any]) -> int:
    """Bytes held by the caches."""
    return sum(a.nbytes for a in arrays_of(caches))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a list of caches at one moment.

    Buffers are shared until a cache writes again (its first update then copies
    once), so taking and restoring is cheap and a snapshot stays what it was.
    """

    states: tuple[Any, ...]


def _owned(state: Any) -> Any:
    """The same values behind array objects of their own, containers copied too."""
    return tree_map(lambda x: mx.array(x) if isinstance(x, mx.array) else x, state)


def take_snapshot(caches: Sequence[Any]) -> Snapshot:
    """Remember the caches as they are now."""
    return Snapshot(tuple(_owned(c.state) for c in caches))


def restore(caches: Sequence[Any], snapshot: Snapshot) -> None:
    """Put the caches back to a snapshot of themselves or of their like."""
    for cache, state in zip(caches, snapshot.states, strict=True):
        cache.state = _owned(state)


def prefill(target: Target, tokens: Sequence[int], caches: list[Any], keep_hidden: bool = False) -> mx.array | None:
    """Read tokens into the caches in chunks of 512.

    Returns the hidden states [1, n, D] of all of them when `keep_hidden`,
    otherwise None; both evaluated.
    """
    kept = []
    for start in range(0, len(tokens), PREFILL_STEP):
        chunk = mx.array(list(tokens[start : start + PREFILL_STEP]))[None]
        if keep_hidden:
            hidden = target.inner(chunk, cache=caches)
            kept.append(hidden)
            mx.eval(hidden, arrays_of(caches))
        else:
            target.logits(chunk, caches)
            mx.eval(arrays_of(caches))
        mx.clear_cache()
    return mx.concatenate(kept, axis=1) if kept else None
