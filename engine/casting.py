"""Weights in another form: quantised ones as plain ones, floating ones in another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map_with_path, tree_unflatten


def as_dtype(model: nn.Module, dtype: mx.Dtype, may_cast: Callable[[str], bool] | None = None) -> nn.Module:
    """The model with quantised weights dequantised and floating weights cast, both lazy.

    `may_cast` tells by a weight's name whether it is cast; None asks the model, as mlx-lm's converter does: what
    routers add stays in float32.
    """
    model = dequantised(model)
    wanted = may_cast or cast("Callable[[str], bool]", getattr(model, "cast_predicate", lambda name: True))

    def as_wanted(name: str, a: mx.array) -> mx.array:
        return a.astype(dtype) if mx.issubdtype(a.dtype, mx.floating) and wanted(name) else a

    model.update(tree_map_with_path(as_wanted, model.parameters()))
    return model


def dequantised(model: Any) -> Any:
    """The model with its quantised matrices as plain ones, lazy; those of MLA's heads too, which mlx-lm leaves."""
    from mlx_lm.models.mla import QuantizedMultiLinear
    from mlx_lm.utils import dequantize_model

    model = dequantize_model(model)
    heads = [(name, _plain_heads(m)) for name, m in model.named_modules() if isinstance(m, QuantizedMultiLinear)]
    if heads:
        model.update_modules(tree_unflatten(heads))
    return model


def _plain_heads(module: Any) -> nn.Module:
    """One matrix for each attention head, as it was before it was quantised."""
    from mlx_lm.models.mla import MultiLinear

    packed = (module.weight, module.scales, module.biases, module.group_size, module.bits)
    weight = mx.dequantize(*packed, mode=module.mode)
    count, outputs, inputs = weight.shape
    plain: nn.Module = MultiLinear(inputs, outputs, count)
    plain.weight = weight
    return plain
