"""Verify passes that multiply by dequantised weights where the quantised product reads its weights once per position.

A quantised matrix on a CPU, and on Apple GPUs before generation 15, costs n times as much for n positions; a dense one
may be flat. So for two positions or more the product is made with a dense copy, kept in memory or made in every pass;
one position stays quantised. Experts and quantised keys and values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from .errors import SpecviewError
from .models import Target

WIDE = 2  # positions from which on a dense product is made


class DenseError(SpecviewError):
    """A model whose weights cannot be had dense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dense:
    """One quantised matrix [out, in]; `copy` is its dense twin where one is kept. Holds the weight, so its id stays."""

    weight: mx.array
    copy: mx.array | None
    make: Callable[[], mx.array]


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseBytes:
    """What dense copies of all quantised matrices of a model take, kept at once, and the largest alone."""

    matrices: int
    all_bytes: int
    largest_bytes: int


def dense_bytes(target: Target) -> DenseBytes:
    """What "dense" would keep of a target, all of it, and "dense on the fly" at least holds; nothing is evaluated."""
    sizes = [_dequantised(module).nbytes for module in _quantised(target.model)]
    return DenseBytes(matrices=len(sizes), all_bytes=sum(sizes), largest_bytes=max(sizes, default=0))


class DensePass:
    """The policy for one target.

    `limit_bytes` bounds the copies that are kept, the largest matrices first; the rest stay quantised. `keep` False
    dequantises in each pass instead and keeps nothing. Passes of fewer than `least` positions stay quantised. Raises
    DenseError for a target without quantised matrices, or when the limit holds none of them.
    """

    def __init__(self, target: Target, limit_bytes: int | None = None, keep: bool = True, least: int = WIDE) -> None:
        modules = sorted(_quantised(target.model), key=lambda m: -_dequantised(m).nbytes)
        if not modules:
            raise DenseError(
                f"{target.name} has no quantised matrices, so dense verify passes are what it runs: choose another "
                "policy, or a quantised model."
            )
        self._target = target
        self._least = least
        self.kept_bytes = 0
        self._dense: dict[int, _Dense] = {}
        for module in modules:
            dense = _dequantised(module)
            if keep and limit_bytes is not None and self.kept_bytes + dense.nbytes > limit_bytes:
                continue
            if keep:
                mx.eval(dense)
                self.kept_bytes += dense.nbytes
            self._dense[id(module.weight)] = _Dense(
                weight=module.weight, copy=dense if keep else None, make=partial(_dequantised, module)
            )
        if not self._dense:
            raise DenseError(
                f"Dense copies of {target.name} begin at {_dequantised(modules[-1]).nbytes:,} bytes and "
                f"{limit_bytes:,} may be used: free some memory, or choose the policy 'dense on the fly'."
            )

    @property
    def matrices(self) -> int:
        """How many quantised matrices it multiplies dense."""
        return len(self._dense)

    def __call__(
        self, target: Target, positions: mx.array, caches: list[Any], keep_hidden: bool
    ) -> tuple[mx.array | None, mx.array]:
        """One pass; see `verify_policies.Policy`. Raises DenseError for another target than it was made for."""
        if target.model is not self._target.model:
            raise DenseError(f"This dense policy holds copies of {self._target.name}: make one for {target.name}.")
        with self._instead():
            if not keep_hidden:
                return None, target.logits(positions, caches)
            return target.with_hidden(positions, caches)

    @contextmanager
    def _instead(self) -> Iterator[None]:
        """While it lasts, `mx.quantized_matmul` multiplies by the dense twin of a known weight where x is wide."""
        original = mx.quantized_matmul

        def product(x: mx.array, w: mx.array, /, *args: Any, **kwargs: Any) -> mx.array:
            known = self._dense.get(id(w))
            if known is None or x.size // x.shape[-1] < self._least:
                return original(x, w, *args, **kwargs)
            dense = known.make() if known.copy is None else known.copy
            return x @ dense.astype(x.dtype).T

        mx.quantized_matmul = product
        try:
            yield
        finally:
            mx.quantized_matmul = original


def _quantised(model: nn.Module) -> list[Any]:
    """The modules that multiply by a quantised matrix: linear layers, and an embedding that is the head too."""
    separate_head = any(name.endswith("lm_head") for name, _ in model.named_modules())
    kinds = (nn.QuantizedLinear,) if separate_head else (nn.QuantizedLinear, nn.QuantizedEmbedding)
    return [module for module in model.modules() if isinstance(module, kinds)]


def _dequantised(module: Any) -> mx.array:
    """The matrix [out, in] in the dtype of its scales. Lazy."""
    return mx.dequantize(
        module.weight,
        scales=module.scales,
        biases=module.get("biases"),
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
    )
