"""Takes few layers of an architecture so that every kind of layer stays, in its proportion and order.

mlx-lm's model files decide from config.json which layer is of which kind: by a list with an entry for each layer, by
the numbers of some layers, by how many come first, by "every fourth". A cut rewrites those keys; what it gave is then
read from the model that mlx-lm builds of it, lazily, so a key that is not known here ends in a sentence and not in
another architecture.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.nn as nn

from .language_config import text_config
from .layer_kinds import CountByKind, count_by_kind, layer_kinds
from .models import first_line
from .shape_config import LAYER_KEYS, NEEDED_IF_ASKED, ShapeError, layer_count
from .trees import named_arrays

_NUMBERS_OF_LAYERS = ("mlp_only_layers", "full_attn_idxs")
_NUMBERS_FROM_ONE = ("kda_layers", "full_attn_layers")
_HOW_MANY_FIRST = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
_EVERY_NTH = (
    "full_attention_interval",
    "sliding_window_pattern",
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "moe_layer_interval",
    "moe_layer_freq",
    "expert_layer_period",
    "dense_attention_every_n_layers",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChoice:
    """A config of few layers: `chosen` are their numbers in the whole architecture, in order."""

    config: dict[str, Any]
    chosen: tuple[int, ...]
    built: CountByKind
    in_full: CountByKind


def constructed(name: str, config: dict[str, Any]) -> nn.Module:
    """The model that mlx-lm builds of a checked config, its random arrays not evaluated; ShapeError if it cannot."""
    from mlx_lm.utils import _get_classes

    try:
        config = copy.deepcopy(config)
        model_class, args_class = _get_classes(config)
        args = args_class.from_dict(config)
        model: nn.Module = model_class(args)
        named_arrays(model.parameters())
    except (Exception, SystemExit) as error:  # a model file may raise anything, and one ends the process on import
        raise ShapeError(_why_not(name, config, error)) from error
    text = text_config(config)
    for holder in (model, model.get("language_model")):
        names = getattr(getattr(holder, "args", None), "__dataclass_fields__", {})
        for key in NEEDED_IF_ASKED:
            if key in names and key not in text and isinstance(names[key].default, int):
                raise ShapeError(f"The config of {name} lacks {key}: add it, or choose a whole config.json.")
    return model


def choose_layers(name: str, config: dict[str, Any], layers: int | None) -> LayerChoice:
    """Few layers of a checked config, or all of them for None.

    Raises ShapeError for a number that the architecture does not allow, and where layers of one kind differ in size,
    so that few cannot stand for all.
    """
    count = layer_count(config)
    if layers is not None and not 1 <= layers <= count:
        raise ShapeError(f"{name} has {count} layers: choose --layers from 1 to {count}, not {layers}.")
    full = constructed(name, config)
    kinds = _kinds(name, full)
    in_full = count_by_kind(kinds)
    if layers is None or layers == count:
        return LayerChoice(config=config, chosen=tuple(range(count)), built=in_full, in_full=in_full)
    if layers < len(in_full):
        raise ShapeError(
            f"{name} has {len(in_full)} kinds of layers ({'; '.join(kind for kind, _ in in_full)}): "
            f"choose --layers {len(in_full)} or more."
        )
    _check_alike(name, full, kinds)
    wanted = _in_proportion(dict(in_full), layers)
    found = []
    for cut, chosen in _cuts(config, kinds, wanted):
        try:
            built = count_by_kind(layer_kinds(constructed(name, cut)))
        except Exception:  # a cut that this architecture does not take
            continue
        if {kind for kind, _ in built} == wanted.keys() and sum(n for _, n in built) == layers:
            off = sum(abs(n - wanted[kind]) for kind, n in built)
            found.append((off, LayerChoice(config=cut, chosen=chosen, built=built, in_full=in_full)))
            if off == 0:
                break
    if not found:
        raise ShapeError(f"{name} cannot be cut to {layers} layers: choose more with --layers, or all {count}.")
    return min(found, key=lambda pair: pair[0])[1]


def _kinds(name: str, model: nn.Module) -> tuple[str, ...]:
    try:
        return layer_kinds(model)
    except Exception as error:  # a model file may raise anything
        raise ShapeError(f"specview cannot tell the layers of {name} apart ({first_line(error)}).") from error


def _check_alike(name: str, model: nn.Module, kinds: Sequence[str]) -> None:
    """Raise ShapeError unless the layers of each kind hold the same number of weights."""
    sizes: dict[str, set[int]] = {}
    for layer, kind in zip(model.layers, kinds, strict=True):
        sizes.setdefault(kind, set()).add(sum(a.size for _, a in named_arrays(layer.parameters())))
    for kind, each in sizes.items():
        if len(each) > 1:
            raise ShapeError(
                f"The layers of {name} of one kind ({kind}) come in {len(each)} sizes, so few cannot stand for all: "
                f"choose --layers {len(kinds)}."
            )


def _in_proportion(in_full: dict[str, int], layers: int) -> dict[str, int]:
    """How many of each kind `layers` should hold: at least one, the rest by largest remainder."""
    total = sum(in_full.values())
    shares = {kind: layers * n / total for kind, n in in_full.items()}
    wanted = {kind: max(1, int(share)) for kind, share in shares.items()}
    while sum(wanted.values()) < layers:
        wanted[max(shares, key=lambda kind: shares[kind] - wanted[kind])] += 1
    while sum(wanted.values()) > layers:
        wanted[max((k for k in wanted if wanted[k] > 1), key=lambda kind: wanted[kind] - shares[kind])] -= 1
    return wanted


def _cuts(
    config: dict[str, Any], kinds: Sequence[str], wanted: dict[str, int]
) -> Iterator[tuple[dict[str, Any], tuple[int, ...]]]:
    """Cut configs to try, with the layers they keep: the first ones, some of each kind, a shorter period."""
    layers = sum(wanted.values())
    first = tuple(range(layers))
    spread: list[int] = []
    for kind, n in wanted.items():
        numbers = [i for i, each in enumerate(kinds) if each == kind]
        spread += [numbers[j * len(numbers) // n] for j in range(n)]
    spread.sort()
    if Counter(kinds[i] for i in first) == wanted:
        yield _cut(config, first, len(kinds)), first
    yield _cut(config, spread, len(kinds)), tuple(spread)
    yield _cut(config, first, len(kinds), longest_period=layers), tuple(spread)
    yield _cut(config, first, len(kinds)), first


def _cut(
    config: dict[str, Any], chosen: Sequence[int], count: int, longest_period: int | None = None
) -> dict[str, Any]:
    """The config of the chosen layers of `count` only."""
    cut = copy.deepcopy(config)
    text = text_config(cut)
    for key, value in text.items():
        if key in LAYER_KEYS:
            text[key] = len(chosen)
        elif key in _HOW_MANY_FIRST and isinstance(value, int):
            text[key] = sum(i < value for i in chosen)
        elif key in _EVERY_NTH and isinstance(value, int) and longest_period is not None:
            text[key] = min(value, longest_period)
        elif key in _NUMBERS_OF_LAYERS and isinstance(value, list):
            text[key] = [new for new, old in enumerate(chosen) if old in value]
        elif isinstance(value, dict):
            for inner in _NUMBERS_FROM_ONE:
                if isinstance(value.get(inner), list):
                    value[inner] = [new + 1 for new, old in enumerate(chosen) if old + 1 in value[inner]]
        elif isinstance(value, list) and len(value) == count:
            text[key] = [value[i] for i in chosen]
        elif isinstance(value, str) and len(value) == count and "pattern" in key:
            text[key] = "".join(value[i] for i in chosen)
    return cut


def _why_not(name: str, config: dict[str, Any], error: BaseException) -> str:
    text = first_line(error)
    if isinstance(error, ValueError) and "not supported" in text:
        return f"mlx-lm does not know {name} ({text}): upgrade mlx-lm, or choose another model."
    if isinstance(error, AttributeError) and ("'Model'" in text or "'ModelArgs'" in text):
        return f"mlx-lm has no model of type {config['model_type']}, which {name} names: choose another model."
    if isinstance(error, TypeError) and "missing" in text and "argument" in text:
        return f"The config of {name} lacks {_quoted(text)}: add it, or choose a whole config.json."
    if isinstance(error, KeyError):
        return f"The config of {name} lacks {text.strip(chr(39))}: add it, or choose a whole config.json."
    return f"mlx-lm cannot build {name} from its config ({type(error).__name__}: {text}): correct its config.json."


def _quoted(text: str) -> str:
    """The names between quotation marks of an error, with commas."""
    return ", ".join(text.split("'")[1::2])
