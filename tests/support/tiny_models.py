"""Tiny random models, one for every model type that the installed mlx-lm can construct."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.utils import _get_classes

from specview.engine.models import Target

# Two to six layers of about 64 hidden channels, four experts of which two are used, sliding windows of 8: every kind
# of layer an architecture has occurs at least once. Vocabularies hold 96 tokens; phi3small alone needs 100,352,
# because it writes −inf to 91 token ids above 100,000 (MLX checks no bounds: a smaller one corrupts memory).
TINY_CONFIGS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("tiny_configs.json").read_text(encoding="utf-8")
)

UNSUPPORTED: dict[str, str] = {
    "bitnet": "Its linear layers are one Metal kernel without a fallback, so it runs on Apple GPUs only.",
    "muse_spark": "Its query and key norms are one Metal kernel without a fallback, so it runs on Apple GPUs only.",
    "olmo": "Its module ends the process on import unless ai2-olmo is installed, which mlx-lm does not depend on.",
}

NOISE = 0.05  # about the spread of an initial weight matrix here; logits stay below 20


def model_types() -> tuple[str, ...]:
    """The model types of which there is a tiny model, sorted; each is the name of an mlx-lm module."""
    return tuple(sorted(TINY_CONFIGS))


def vocabulary(model_type: str) -> int:
    """The width of the logits of a tiny model."""
    config = TINY_CONFIGS[model_type]
    text = config.get("text_config", config)
    return int(text.get("vocab_size", text.get("num_vocab", 0)))


def tiny_target(model_type: str, seed: int = 0) -> Target:
    """A tiny model with random float32 weights, in eval mode, without a tokenizer; equal seeds give equal weights.

    It seeds MLX's global random state. Raises KeyError for a model type that is not in `TINY_CONFIGS`.
    """
    config = copy.deepcopy(TINY_CONFIGS[model_type])
    model_class, arguments_class = _get_classes(config)
    mx.random.seed(seed)
    model = model_class(arguments_class.from_dict(copy.deepcopy(config)))
    weights = [(name, _random_like(weight)) for name, weight in tree_flatten(model.parameters())]
    model.update(tree_unflatten(weights))
    model.eval()
    mx.eval(model.parameters())
    return Target(model_type, model_type, Path(), model, None, config)


def _random_like(weight: mx.array) -> mx.array:
    """The weight with noise: what a module starts as zeros or ones (gates, norms, sinks) must tell positions apart."""
    if mx.issubdtype(weight.dtype, mx.floating):
        return weight.astype(mx.float32) + NOISE * mx.random.normal(weight.shape)
    return mx.random.randint(0, 2 ** (8 * weight.dtype.size - 1), weight.shape).astype(weight.dtype)
