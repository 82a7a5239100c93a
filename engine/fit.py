"""How many bytes a model and its caches will hold at a context, reckoned from shapes before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import (
    ArraysCache,
    ChunkedKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
    make_prompt_cache,
)

from .cache import PREFILL_STEP
from .cache_contents import parts
from .errors import SpecviewError
from .kv_quantisation import KvQuantisation
from .language_config import text_config
from .models import Target
from .trees import nbytes

STEP = 256  # positions by which mlx-lm's caches grow
FLOAT_BYTES = 4  # attention scores are float32 where they are made at all


class FitError(SpecviewError):
    """Something that needs more memory than there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Bytes of one target at one context.

    `cache_bytes` are the buffers of all caches for `batch` sequences; `growing_bytes` what the largest of them takes
    once more while it grows, or what all take more while they are not yet quantised; `scores_bytes` one layer's
    attention scores in the widest pass, which a backend without a fused kernel holds. Other activations of a pass are
    not counted. `unknown` names cache classes of which only the first positions are counted.
    """

    name: str
    context: int
    batch: int
    weight_bytes: int
    cache_bytes: int
    growing_bytes: int
    scores_bytes: int
    unknown: tuple[str, ...] = ()

    @property
    def needed_bytes(self) -> int:
        """All of it at the same moment."""
        return self.weight_bytes + self.cache_bytes + self.growing_bytes + self.scores_bytes

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        kept = f", not counting {', '.join(self.unknown)}" if self.unknown else ""
        many = f" for {self.batch} sequences" if self.batch > 1 else ""
        return (
            f"{self.name} at {self.context:,} positions{many} needs {_size(self.needed_bytes)}: "
            f"{_size(self.weight_bytes)} of weights, {_size(self.cache_bytes + self.growing_bytes)} for caches, "
            f"{_size(self.scores_bytes)} for attention{kept}."
        )


def fit(
    target: Target, context: int, kv: KvQuantisation | None = None, batch: int = 1, chunk: int = PREFILL_STEP
) -> Fit:
    """Estimate a target at a context read in chunks; shapes come from a lazily made cache, and nothing is evaluated.

    A cache is quantised where the context reaches `kv.start`; until then it was plain, so the copy it grows by is
    counted at its plain size.
    """
    caches = make_prompt_cache(target.model)
    target.logits(mx.zeros((batch, 1), mx.int32), caches)
    before = _plain_positions(context, chunk, kv)
    sizes, growing, unknown = [], [0], set()
    for cache in parts(caches):
        size = _cache_bytes(cache, context, chunk, kv)
        if size is None:
            unknown.add(type(cache).__name__)
            size = nbytes(cache.state)
        sizes.append(size)
        plain = _cache_bytes(cache, before, chunk, None)
        growing.append(size if plain is None else max(size, plain))
    # before the first quantising all caches are plain together, which may be the larger moment
    plain_sum = sum(_cache_bytes(c, before, chunk, None) or nbytes(c.state) for c in parts(caches))
    return Fit(
        name=target.name,
        context=context,
        batch=batch,
        weight_bytes=nbytes(target.model.parameters()),
        cache_bytes=sum(sizes),
        growing_bytes=max(*growing, plain_sum - sum(sizes)),
        scores_bytes=_scores_bytes(target, min(chunk, context), context, batch),
        unknown=tuple(sorted(unknown)),
    )


def check_fits(estimate: Fit, available_bytes: int) -> None:
    """Raise FitError, one sentence with the numbers, when an estimate is more than is available."""
    if estimate.needed_bytes > available_bytes:
        raise FitError(
            f"{estimate.sentence.removesuffix('.')}; {_size(available_bytes)} are free: choose a shorter context, "
            "quantise the keys and values, or free some memory."
        )


def _plain_positions(context: int, chunk: int, kv: KvQuantisation | None) -> int:
    """The most positions a cache holds unquantised: all, or those before the start and one chunk more."""
    if kv is None or context < kv.start:
        return context
    return min(context, kv.start + chunk)


def _cache_bytes(cache: Any, context: int, chunk: int, kv: KvQuantisation | None) -> int | None:
    """Bytes of one cache's buffers at a context; None for a class that is not known."""
    both: list[Any] = [getattr(cache, "keys", ()), getattr(cache, "values", ())]
    if isinstance(cache, ArraysCache):
        return nbytes(cache.state)
    if both[0] is None:  # a layer that never writes to it
        return 0
    if isinstance(cache, QuantizedKVCache):
        return _rows(context) * _row_bytes([*both[0], *both[1]])
    if isinstance(cache, RotatingKVCache):
        return min(context, int(cache.max_size) + chunk) * _row_bytes(both)
    if isinstance(cache, ChunkedKVCache):
        return _rows(min(context, cache.chunk_size + chunk)) * _row_bytes(both)
    if not isinstance(cache, KVCache):
        return None
    if kv is None or context < kv.start:
        return _rows(context) * _row_bytes(both)
    return _rows(context) * sum(_quantised_row_bytes(a, kv) for a in both)


def _rows(context: int) -> int:
    """Positions that a buffer has room for."""
    return -(-max(context, 1) // STEP) * STEP


def _row_bytes(arrays: Sequence[mx.array]) -> int:
    """Bytes of one position over all heads and sequences of arrays [B, H, positions, D]."""
    return sum(a.shape[0] * a.shape[1] * a.shape[3] * a.dtype.size for a in arrays)


def _quantised_row_bytes(array: mx.array, kv: KvQuantisation) -> int:
    sequences, heads, _, width = array.shape
    scales = 2 * (width // kv.group_size) * array.dtype.size
    return int(sequences * heads) * (width * kv.bits // 8 + scales)


def _scores_bytes(target: Target, positions: int, context: int, batch: int) -> int:
    return batch * _attention_heads(text_config(target.config)) * positions * context * FLOAT_BYTES


def _attention_heads(config: dict[str, Any]) -> int:
    """The most heads that a layer has, which some configs give layer by layer; 0 where a config gives no number."""
    named = next((config[key] for key in ("num_attention_heads", "n_head", "n_heads") if key in config), None)
    return max((n for n in (named if isinstance(named, list) else [named]) if isinstance(n, int)), default=0)


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
