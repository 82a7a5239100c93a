"""Random weights for a model that was built and quantised lazily: the right shapes, bytes and sizes, no checkpoint.

Packed words are drawn as they are, because quantising random floats takes ten times as long and as much memory.
Scales and biases put the weights they stand for around 0 with a standard deviation of 0.02, so activations stay finite
through any number of normalised layers and routers spread their choices.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_unflatten

from .trees import named_arrays

STD = 0.02
# By mode of mlx: bits of a word that may be set (no code of mxfp8 is then a NaN), and the one scale for all groups,
# a power of two as e8m0 (2^(s−127)) or, in nvfp4, an e4m3 number.
_WORD_MASK_AND_SCALE = {"mxfp4": (0xFFFFFFFF, 120), "nvfp4": (0xFFFFFFFF, 4), "mxfp8": (0xBFBFBFBF, 122)}


def fill_with_random(model: nn.Module, seed: int) -> None:
    """Give every weight of a lazily built model random values of its shape and dtype, evaluated one by one.

    Norms and constants stay as the model file makes them. The same seed gives the same weights.
    """
    owners: dict[str, Any] = dict(model.named_modules())
    parameters = named_arrays(model.parameters())
    keys = mx.random.split(mx.random.key(seed), max(1, len(parameters)))
    for (path, old), key in zip(parameters, keys, strict=False):
        owner_path, _, name = path.rpartition(".")
        owner = owners.get(owner_path)
        new = _quantised(owner, name, old, key) if _is_quantised(owner) else _plain(name, old, key)
        mx.eval(new)
        model.update(tree_unflatten([(path, new)]))


def _is_quantised(module: Any) -> bool:
    return isinstance(getattr(module, "bits", None), int) and "scales" in module


def _plain(name: str, old: mx.array, key: mx.array) -> mx.array:
    """A weight that is not quantised: matrices are uniform, biases zero, decays between 1 and 16."""
    if name == "A_log":
        return mx.log(mx.random.uniform(1, 16, old.shape, key=key)).astype(old.dtype)
    if not mx.issubdtype(old.dtype, mx.floating):
        return old
    if old.ndim < 2:
        return mx.zeros(old.shape, old.dtype) if name == "bias" else old
    edge = STD * math.sqrt(3)
    return mx.random.uniform(-edge, edge, old.shape, old.dtype, key=key)


def _quantised(module: Any, name: str, old: mx.array, key: mx.array) -> mx.array:
    """A part of a quantised weight: packed words [..., out, in · bits ÷ 32], scales or biases [..., out, groups]."""
    mode = getattr(module, "mode", "affine")
    mask, scale_code = _WORD_MASK_AND_SCALE.get(mode, (0xFFFFFFFF, 0))
    if name == "weight":
        # subkeys are the raw words of mlx's generator; its integers are made from floats and lack the low bits
        words = mx.random.split(key, (old.size + 1) // 2).reshape(-1)[: old.size].reshape(old.shape)
        return words if mask == 0xFFFFFFFF else words & mx.array(mask, mx.uint32)
    if name == "scales" and mode != "affine":
        return mx.full(old.shape, scale_code, old.dtype)
    top = 2**module.bits - 1
    scale = STD / math.sqrt(((top + 1) ** 2 - 1) / 12)
    if name == "scales":
        return mx.full(old.shape, scale, old.dtype)
    if name == "biases":
        return mx.full(old.shape, -scale * top / 2, old.dtype)
    return _plain(name, old, key)
