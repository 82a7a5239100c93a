"""Quantises a lazily built model as its config says: bits, group size and mode, other ones for some weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import Any

import mlx.nn as nn

from .models import first_line
from .shape_config import ShapeError

_GROUP_AND_BITS_BY_METHOD = {"mxfp4": (32, 4), "mxfp8": (32, 8)}
_LAYER = re.compile(r"\.(\d+)(?=\.)")


def quantised(name: str, model: nn.Module, config: dict[str, Any], chosen: Sequence[int]) -> bool:
    """Quantise a model in place without evaluating it; False where the config names no quantisation.

    What the config says of single weights by their path holds; without any such, the model file's own rule does, as
    in mlx_lm.convert. `chosen` are the layers' numbers in the architecture that those paths speak of.
    """
    wanted = _wanted(name, config)
    if wanted is None:
        return False
    group, bits, mode = wanted["group_size"], wanted["bits"], wanted.get("mode", "affine")
    by_path = {path: value for path, value in wanted.items() if isinstance(value, dict | bool)}
    rule = None if by_path else getattr(model, "quant_predicate", None)
    left_out = wanted.get("modules_to_not_convert") or ()

    def predicate(path: str, module: nn.Module) -> bool | dict[str, Any]:
        there = _LAYER.sub(lambda found: f".{chosen[int(found[1])]}", path, count=1) if chosen else path
        if not hasattr(module, "to_quantized"):
            return False
        verdict: bool | dict[str, Any] = by_path.get(there, True)
        if there not in by_path and rule is not None:
            verdict = rule(path, module)
        if any(fnmatch(there, f"{pattern}*") for pattern in left_out):
            return False
        size = verdict.get("group_size", group) if isinstance(verdict, dict) else group
        return verdict if module.weight.shape[-1] % size == 0 else False

    try:
        nn.quantize(model, group_size=group, bits=bits, mode=mode, class_predicate=predicate)
    except Exception as error:  # mlx and model files raise many kinds
        raise ShapeError(
            f"MLX cannot quantise {name} as its config says ({first_line(error)}): add --dtype float32 to build it "
            "unquantised, or correct its config.json."
        ) from error
    return True


def _wanted(name: str, config: dict[str, Any]) -> dict[str, Any] | None:
    """The quantisation of a config with group size and bits, None for none; ShapeError for one MLX does not have."""
    found = config.get("quantization") or config.get("quantization_config")
    if found is None and isinstance(config.get("text_config"), dict):
        found = config["text_config"].get("quantization_config")
    if not found:
        return None
    method = found.get("quant_method") if isinstance(found, dict) else None
    if isinstance(method, str) and method in _GROUP_AND_BITS_BY_METHOD:
        group, bits = _GROUP_AND_BITS_BY_METHOD[method]
        return {**found, "group_size": group, "bits": bits, "mode": method}
    if not isinstance(found, dict) or method is not None or not {"group_size", "bits"} <= found.keys():
        what = f" ({method})" if isinstance(method, str) else ""
        raise ShapeError(
            f"The quantisation of {name}{what[:40]} is not one of MLX's: name the config of an MLX conversion, or add "
            "--dtype to build it unquantised."
        )
    group, bits = found["group_size"], found["bits"]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 1024 for n in (group, bits)):
        raise ShapeError(
            f"{name} is quantised to {str(bits)[:20]} bits in groups of {str(group)[:20]}, which makes no sense: "
            "correct its config.json."
        )
    return found
