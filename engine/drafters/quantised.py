"""Quantised self: a copy of the target in fewer bits as its draft model, quantised in memory."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from ..casting import dequantised
from ..errors import SpecviewError
from ..models import Target, first_line
from ..trees import named_arrays
from .model import DraftModel

BITS = (2, 3, 4)
USUAL_BITS = 4
GROUP_SIZES = (64, 32)  # the widest that divides a matrix is taken
_PACKAGE = __name__.rpartition(".engine.")[0]


class QuantisedError(SpecviewError):
    """A copy that cannot be made, or would be no cheaper than the target."""


class QuantisedSelf(DraftModel):
    """Drafts with the target's own weights in 2, 3 or 4 bits.

    What is not quantised (norms, convolutions, matrices that no group size
    divides) is shared with the target where its dtype is kept.
    """

    kind = "quantised"

    def __init__(self, target: Target, bits: int = USUAL_BITS, longest: int | None = None) -> None:
        """Makes the copy; raises QuantisedError when it cannot be or would be no smaller."""
        super().__init__(quantised_copy(target, bits), longest)
        shared = {id(a) for _, a in named_arrays(target.model.parameters())}
        own = (a for _, a in named_arrays(self.model.model.parameters()) if id(a) not in shared)
        self._own_bytes = sum(a.nbytes for a in own)

    def weight_bytes(self) -> int:
        """Bytes of the weights that are not the target's own arrays."""
        return self._own_bytes


def quantised_copy(target: Target, bits: int = USUAL_BITS, on_cpu: bool | None = None) -> Target:
    """A copy of the target with its linear layers and embeddings in `bits` bits, in groups of 64 or 32.

    A quantised target is dequantised first, matrix by matrix, so no whole
    copy in full precision is ever in memory. What the model file keeps at
    more bits (routers) stays so. On the CPU (`on_cpu`; None asks MLX) scales
    and activations become float32, as its quantised kernels want them.
    Raises QuantisedError for other bits, a target already stored in as few,
    or one in which nothing can be quantised.
    """
    if bits not in BITS:
        raise QuantisedError(f"A copy in {bits} bits is no draft: choose quantised:2, quantised:3 or quantised:4.")
    stored = _stored_bits(target.model)
    if stored is not None and stored <= bits:
        fewer = [f"quantised:{b}" for b in BITS if b < stored]
        other = f"{' or '.join(fewer)}, or another draft" if fewer else "another draft"
        raise QuantisedError(
            f"{target.name} is stored in {stored} bits, so a copy in {bits} would cost no less: choose {other}."
        )
    if on_cpu is None:
        on_cpu = mx.default_device().type == mx.DeviceType.cpu
    model = _quantise(dequantised(copied(target.model)), bits, on_cpu)
    if all(not hasattr(m, "bits") for m in model.modules()):
        raise QuantisedError(
            f"No matrix of {target.name} has rows that groups of {GROUP_SIZES[-1]} divide, so it cannot be quantised: "
            "choose another draft."
        )
    copy_of_target = replace(target, name=f"{target.name}, {bits}-bit copy", model=model)
    try:  # layers that a model file quantises in a way of its own show themselves in the first pass
        mx.eval(model(mx.array([[0]])))
    except Exception as error:  # a model file may raise anything
        raise QuantisedError(
            f"{target.name} cannot be quantised anew ({first_line(error)}): choose another draft."
        ) from error
    return copy_of_target


def copied(module: Any) -> Any:
    """The same tree of modules, lists and dicts in new objects around the same arrays.

    A module whose class specview changed to keep notes gets the class of its model file back.
    """
    made: dict[int, Any] = {}

    def of(value: Any) -> Any:
        if not isinstance(value, nn.Module | list | tuple | dict):
            return value
        if id(value) in made:
            return made[id(value)]
        if isinstance(value, tuple):
            return tuple(of(v) for v in value) if type(value) is tuple else value
        if isinstance(value, list):
            new: Any = made.setdefault(id(value), [])
            new.extend(of(v) for v in value)
            return new
        new = made.setdefault(id(value), copy.copy(value))
        for name, child in value.items():
            new[name] = of(child)
        if isinstance(value, nn.Module):
            new.__class__ = next(c for c in type(value).__mro__ if not c.__module__.startswith(f"{_PACKAGE}.engine"))
            for name, other in vars(value).items():
                if isinstance(other, nn.Module):
                    object.__setattr__(new, name, of(other))
        return new

    return of(module)


def _stored_bits(model: nn.Module) -> int | None:
    """The bits that most of a model's packed bytes are in; None when nothing is quantised."""
    bytes_by_bits: dict[int, int] = {}
    for module in model.modules():
        bits = getattr(module, "bits", None)
        if isinstance(bits, int) and "scales" in module:
            bytes_by_bits[bits] = bytes_by_bits.get(bits, 0) + module.weight.nbytes
    return max(bytes_by_bits, key=lambda bits: bytes_by_bits[bits]) if bytes_by_bits else None


def _quantise(model: Any, bits: int, in_float32: bool) -> Any:
    """Quantise in place, then evaluate array by array, so that full precision is never whole in memory."""
    if in_float32:
        _cast_to_float32(model)
    wishes = getattr(model, "quant_predicate", None)

    def wanted(path: str, module: Any) -> bool | dict[str, int]:
        if not hasattr(module, "to_quantized"):
            return False
        group_size = _group_size(module.weight.shape)
        wish = True if wishes is None else wishes(path, module)
        if group_size is None or not wish:
            return False
        own_bits = wish.get("bits", bits) if isinstance(wish, dict) else bits
        return {"group_size": group_size, "bits": max(bits, own_bits)}

    nn.quantize(model, class_predicate=wanted)
    for _, array in named_arrays(model.parameters()):
        mx.eval(array)
    model.eval()
    return model


def _cast_to_float32(model: Any) -> None:
    """Every floating array as float32, lazy; one that is float32 already stays the same object."""

    def cast(x: mx.array) -> mx.array:
        return x.astype(mx.float32) if mx.issubdtype(x.dtype, mx.floating) and x.dtype != mx.float32 else x

    model.apply(cast)


def _group_size(shape: Sequence[int]) -> int | None:
    return next((size for size in GROUP_SIZES if shape[-1] % size == 0), None)
