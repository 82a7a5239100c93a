"""Shapes without weights: an architecture at true dimensions and quantisation, with random weights, to know its cost.

What it says about cost holds; what it would say about acceptance means nothing, and its Target is marked so.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, NoReturn

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map_with_path

from .language_config import text_config
from .layer_kinds import CountByKind, has_experts
from .models import DTYPES, Target, first_line, logit_count
from .random_weights import fill_with_random
from .shape_caches import position_bytes
from .shape_config import PRESETS, ShapeError, check_config, shape_config, shape_source, with_experts
from .shape_layers import LayerChoice, choose_layers, constructed
from .shape_quantisation import quantised
from .trees import named_arrays

WITH_WORK = 1.1  # of what is held, for the arrays that a pass makes on its way

__all__ = [
    "PRESETS",
    "ShapeError",
    "ShapeEstimate",
    "check_fits",
    "estimate",
    "load_shape",
    "random_prompt",
    "shape_config",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEstimate:
    """What a shape will hold once built, reckoned without building it.

    `needed_bytes` are the weights and one more copy of the largest array, which the drawing of random numbers takes, a
    tenth more for what passes hold meanwhile, and `cache_bytes`, at most, of keys and values.
    Layers are counted by kind; `…_in_full` are of the whole architecture.
    """

    name: str
    weight_bytes: int
    cache_bytes: int
    needed_bytes: int
    parameters: int
    layers_built: CountByKind
    layers_in_full: CountByKind
    weight_bytes_in_full: int
    parameters_in_full: int
    dtype: str


class NoTokenizer:
    """Stands where a tokenizer would: a shape has no tokens, only their number."""

    eos_token_ids: frozenset[int] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    def get_vocab(self) -> dict[str, int]:
        """No token strings."""
        return {}

    def encode(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to read text."""
        raise ShapeError(f"{self.name} is a shape without weights and reads no text: give it random tokens.")

    def decode(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to write text."""
        raise ShapeError(f"{self.name} is a shape without weights and writes no text: leave the text out.")


def estimate(
    config: dict[str, Any],
    layers: int | None = None,
    dtype: str | None = None,
    experts: int | None = None,
    name: str = "the shape",
    positions: int = 0,
) -> ShapeEstimate:
    """Bytes, parameters and layers of a config's shape on this device; allocates nothing.

    Arguments are those of `load_shape`. Raises ShapeError for a config, layers or dtype that cannot be built.
    """
    check_config(name, config)
    if experts is not None:
        config = with_experts(name, config, experts)
    choice = choose_layers(name, config, layers)
    return _estimate(name, config, choice, _prepared(name, choice, dtype), dtype, positions)


def check_fits(estimate: ShapeEstimate, available_bytes: int) -> None:
    """Raise ShapeError when a shape needs more memory than is available."""
    if estimate.needed_bytes <= available_bytes:
        return
    least = len(estimate.layers_in_full)
    fewer = sum(n for _, n in estimate.layers_built) > least
    advice = "build fewer layers with --layers" if fewer else "choose a smaller shape"
    if estimate.needed_bytes - estimate.cache_bytes <= available_bytes:
        advice += ", ask for a shorter --context"
    kept = f", up to {_gigabytes(estimate.cache_bytes)} of keys and values" if estimate.cache_bytes else ""
    raise ShapeError(
        f"{estimate.name} needs {_gigabytes(estimate.needed_bytes)} ({_gigabytes(estimate.weight_bytes)} of weights"
        f"{kept} and room to work), {_gigabytes(available_bytes)} are free: {advice}, or free some memory."
    )


def load_shape(
    source: str,
    layers: int | None = None,
    dtype: str | None = None,
    seed: int = 0,
    available_bytes: int | None = None,
    experts: int | None = None,
    positions: int = 0,
) -> Target:
    """Build a shape: a preset, a config.json, a folder with one, or a hub id, whose weights are not fetched.

    `layers` of them are kept, each kind in its proportion; None keeps all. `dtype` builds it unquantised, None as its
    config says, with float32 scales on a CPU and the checkpoint's dtype elsewhere. `experts` keeps fewer experts.
    `positions` are those that its caches will hold together. Raises ShapeError for what cannot be had, and before
    anything is allocated for what does not fit `available_bytes`.
    """
    found = shape_source(source)
    name, config = found.name, found.config
    if experts is not None:
        config = with_experts(name, config, experts)
        name = f"{name} ({experts} experts)"
    choice = choose_layers(name, config, layers)
    model = _prepared(name, choice, dtype)
    if available_bytes is not None:
        check_fits(_estimate(name, config, choice, model, dtype, positions), available_bytes)
    try:
        fill_with_random(model, seed)
        mx.eval(model.parameters())
        model.eval()
        logits = model(mx.array([[0]]))
        finite = bool(mx.all(mx.isfinite(logits)).item())
    except Exception as error:  # what this backend cannot compute shows itself in the first pass
        raise ShapeError(f"MLX cannot run {name} here ({first_line(error)}): try --dtype float32.") from error
    if not finite:
        raise ShapeError(f"{name} gives no finite numbers with random weights, so its cost would mislead.")
    return Target(
        name,
        source,
        found.folder,
        model,
        NoTokenizer(name),
        choice.config,
        random_weights=True,
        layers_in_full=None if choice.built == choice.in_full else choice.in_full,
    )


def random_prompt(target: Target, count: int, seed: int) -> list[int]:
    """`count` token ids drawn evenly from all that the model has, the same for the same seed."""
    ids = random.Random(seed)
    vocabulary = logit_count(target)
    return [ids.randrange(vocabulary) for _ in range(count)]


def _prepared(name: str, choice: LayerChoice, dtype: str | None) -> nn.Module:
    """The model of a choice in its final dtypes and quantisation; nothing is evaluated."""
    if dtype is not None and dtype not in DTYPES:
        raise ShapeError(f"There is no dtype {dtype!r}: use one of {', '.join(DTYPES)}.")
    model = constructed(name, choice.config)
    packed = quantised(name, model, choice.config, choice.chosen) if dtype is None else False
    on_cpu = mx.default_device() == mx.cpu
    kept = DTYPES[dtype] if dtype is not None else mx.float32 if packed and on_cpu else _stored_dtype(choice.config)
    if on_cpu and not packed and kept != mx.float32 and has_experts(model):
        raise ShapeError(f"MLX multiplies the experts of {name} on a CPU in float32 only: add --dtype float32.")
    may_cast = getattr(model, "cast_predicate", lambda _: True)

    def cast(path: str, array: Any) -> Any:
        floats = isinstance(array, mx.array) and mx.issubdtype(array.dtype, mx.floating)
        return array.astype(kept) if floats and may_cast(path) else array

    model.update(tree_map_with_path(cast, model.parameters()))
    return model


def _stored_dtype(config: dict[str, Any]) -> mx.Dtype:
    """The dtype that a checkpoint of this config has: the one it names, else bfloat16."""
    for part in (text_config(config), config):
        for key in ("dtype", "torch_dtype"):
            named = part.get(key)
            if isinstance(named, str) and named in DTYPES:
                return DTYPES[named]
    return mx.bfloat16


def _estimate(
    name: str, config: dict[str, Any], choice: LayerChoice, model: nn.Module, dtype: str | None, positions: int
) -> ShapeEstimate:
    total = tuple(range(sum(n for _, n in choice.in_full)))
    full = (
        choice
        if choice.chosen == total
        else LayerChoice(config=config, chosen=total, built=choice.in_full, in_full=choice.in_full)
    )
    whole = model if full is choice else _prepared(name, full, dtype)
    sizes = [a.nbytes for _, a in named_arrays(model.parameters())]
    caches = positions * position_bytes(choice.config, choice.built)
    return ShapeEstimate(
        name=name,
        weight_bytes=sum(sizes),
        cache_bytes=caches,
        needed_bytes=round((sum(sizes) + max(sizes)) * WITH_WORK) + caches,
        parameters=_parameters(model),
        layers_built=choice.built,
        layers_in_full=choice.in_full,
        weight_bytes_in_full=sum(a.nbytes for _, a in named_arrays(whole.parameters())),
        parameters_in_full=_parameters(whole),
        dtype=_common_dtype(model),
    )


def _parameters(model: nn.Module) -> int:
    from mlx_lm.utils import get_total_parameters

    return int(get_total_parameters(model))


def _common_dtype(model: nn.Module) -> str:
    floats = [a.dtype for _, a in named_arrays(model.parameters()) if mx.issubdtype(a.dtype, mx.floating)]
    return str(max(set(floats), key=floats.count)).removeprefix("mlx.core.") if floats else "none"


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
