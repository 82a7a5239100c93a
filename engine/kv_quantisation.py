"""Quantised keys and values, as mlx-lm's `kv_bits`, `kv_group_size` and `quantized_kv_start` make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache, make_prompt_cache

from .cache_contents import parts
from .errors import SpecviewError
from .models import Target, first_line

BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)
START = 5000  # positions from which mlx-lm quantises where nobody says


class KvQuantisationError(SpecviewError):
    """Keys and values that cannot be quantised as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvQuantisation:
    """How keys and values are kept: `bits` in groups of `group_size`, once a cache holds `start` positions.

    Positions from `start` on see quantised keys, those before see them as computed. So no pass may cross the start,
    or text with drafts would differ from plain text (`longest_draft`).
    """

    bits: int
    group_size: int = 64
    start: int = 0

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise KvQuantisationError(
                f"Keys and values cannot be kept in {self.bits} bits: choose bits from {', '.join(map(str, BITS))}."
            )
        if self.group_size not in GROUP_SIZES:
            raise KvQuantisationError(
                f"Keys and values cannot be quantised in groups of {self.group_size}: choose groups of "
                f"{', '.join(map(str, GROUP_SIZES))}."
            )
        if self.start < 0:
            raise KvQuantisationError(
                f"Keys and values cannot be quantised from position {self.start} on: choose a start from 0."
            )

    def longest_draft(self, context: int, k: int) -> int:
        """At most k drafts, and no more than a verify pass may hold that begins at `context` and ends at the start."""
        start = max(self.start, 1)  # an empty cache cannot be quantised: its first pass is a plain one
        return min(k, start - context - 1) if context < start else k


def quantise_caches(caches: list[Any], kv: KvQuantisation) -> int:
    """Quantise, in the list itself, every plain KV cache that has reached the start; returns how many it were.

    Empty ones wait, because mlx-lm gives an empty quantised cache buffers of the wrong width for 3, 5 and 6 bits.
    To be called between passes, when nothing has to be rewound, as mlx-lm does after every step. Windows and recurrent
    state stay as they are. Source: mlx-lm, `maybe_quantize_kv_cache`.
    """
    count = 0
    for at, cache in enumerate(caches):
        if type(cache) is KVCache and cache.keys is not None and cache.offset >= kv.start:
            caches[at] = cache.to_quantized(group_size=kv.group_size, bits=kv.bits)
            count += 1
    return count


def check_quantisable(target: Target, kv: KvQuantisation) -> None:
    """Raise KvQuantisationError unless the target's keys and values can be kept so, which two tiny passes find out.

    Head sizes must be multiples of the group size, and attention with sinks or of a kind of its own may not know
    quantised keys.
    """
    caches = make_prompt_cache(target.model)
    if not any(type(cache) is KVCache for cache in parts(caches)):
        kinds = ", ".join(sorted({type(cache).__name__ for cache in caches}))
        raise KvQuantisationError(f"{target.name} keeps {kinds}, which mlx-lm cannot quantise: leave --kv-bits out.")
    try:
        mx.eval(target.logits(mx.array([[0, 0]]), caches))
        unfit = [size for size in _head_sizes(caches) if size % kv.group_size]
        if unfit:
            raise KvQuantisationError(
                f"Keys and values are quantised in groups of {kv.group_size}, and the heads of {target.name} are "
                f"{' and '.join(map(str, unfit))} wide: leave --kv-bits out, or choose a model whose head size is a "
                f"multiple of {kv.group_size}."
            )
        if quantise_caches(caches, KvQuantisation(bits=kv.bits, group_size=kv.group_size)) == 0:
            raise ValueError("its caches are lists of caches")
        mx.eval(target.logits(mx.array([[0, 0]]), caches))
    except KvQuantisationError:
        raise
    except Exception as error:  # attention of a model file may raise anything
        raise KvQuantisationError(
            f"The attention of {target.name} does not take keys and values in {kv.bits} bits ({first_line(error)}): "
            "leave --kv-bits out, or choose another model."
        ) from error


def _head_sizes(caches: list[Any]) -> list[int]:
    """How many numbers a head keeps of a key or a value, of all plain KV caches that hold something."""
    plain = [cache for cache in parts(caches) if type(cache) is KVCache]
    kept = [array for cache in plain for array in (cache.keys, cache.values) if array is not None]
    return sorted({array.shape[-1] for array in kept})
