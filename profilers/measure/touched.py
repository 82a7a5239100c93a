"""Which weights of a block a pass touches, and whether they fit the processor's last-level cache.

Copies of a block whose weights fit run from the cache, which generation does not: such a timing is marked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import mlx.core as mx
import mlx.nn as nn

from .blocks import Block
from .load import Read, Run, output_of, text_of


def touched_bytes(block: Block, width: int) -> int:
    """Bytes of weights that `width` positions touch at most: all but rows not looked up and experts not chosen."""
    if block.category == "embedding" and isinstance(block.module, nn.Embedding | nn.QuantizedEmbedding):
        return block.weight_bytes * width // block.module.weight.shape[0]
    if block.experts and block.active:
        return int(block.weight_bytes * min(1.0, width * block.active / block.experts))
    return block.weight_bytes


def fits(blocks: Iterable[Block], width: int, cache_bytes: int | None) -> bool | None:
    """Whether the weights that the blocks touch fit a cache of that size; None if its size is unknown."""
    return None if cache_bytes is None else sum(touched_bytes(b, width) for b in blocks) <= cache_bytes


def last_level_cache_bytes(system: str = sys.platform, read: Read = text_of, run: Run = output_of) -> int | None:
    """Size of the CPU's last-level cache; None where it cannot be read or the GPU computes."""
    if mx.default_device() == mx.gpu:
        return None
    if system == "darwin":
        text = (run(["sysctl", "-n", "hw.perflevel0.l2cachesize"]) or "").strip()
        return int(text) if text.isdigit() else None
    sizes = [(read(f"/sys/devices/system/cpu/cpu0/cache/index{i}/size") or "").strip() for i in range(5)]
    known = [int(s[:-1]) * {"K": 1024, "M": 1024**2}[s[-1]] for s in sizes if s[:-1].isdigit() and s[-1] in "KM"]
    return max(known, default=None)
