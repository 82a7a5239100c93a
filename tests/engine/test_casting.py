"""Casting weights: quantised ones become plain, and what a model wants kept stays as it is."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn
import pytest
from tiny_models import tiny_target

from specview.engine.casting import as_dtype, dequantised
from specview.engine.trees import named_arrays


@pytest.fixture
def quantised():
    """A tiny DeepSeek-V3 whose matrices, those of MLA's heads too, are in 8 bits where groups of 32 divide them."""
    target = tiny_target("deepseek_v3")
    nn.quantize(
        target.model,
        group_size=32,
        bits=8,
        class_predicate=lambda _, m: hasattr(m, "to_quantized") and m.weight.shape[-1] % 32 == 0,
    )
    return target


def test_a_cast_dequantises_the_heads_of_mla_and_keeps_what_routers_add(quantised):
    assert any(type(m).__name__ == "QuantizedMultiLinear" for m in quantised.model.modules())
    as_dtype(quantised.model, mx.bfloat16)
    dtypes = {name: a.dtype for name, a in named_arrays(quantised.model.parameters())}
    kept = {name for name, dtype in dtypes.items() if dtype != mx.bfloat16}
    assert kept and all(name.endswith("e_score_correction_bias") for name in kept)
    assert not any(hasattr(m, "bits") for m in quantised.model.modules())


def test_plain_heads_compute_what_quantised_ones_do(quantised):
    tokens = mx.array([[3, 1, 4, 1, 5]])
    before = quantised.model(tokens)
    after = dequantised(quantised.model)(tokens)
    assert mx.allclose(before, after, atol=1e-4).item()


def test_who_casts_may_say_what_is_kept():
    model = nn.Linear(4, 4)
    as_dtype(model, mx.float16, lambda name: name != "bias")
    assert (model.weight.dtype, model.bias.dtype) == (mx.float16, mx.float32)
