"""What kind each layer of a model is: by the state it keeps and, where a model mixes them, by its feed-forward part."""

from __future__ import annotations

from collections.abc import Iterable

import mlx.nn as nn

CountByKind = tuple[tuple[str, int], ...]
_NAME_BY_CACHE = {
    "ArraysCache": "linear attention",
    "KVCache": "full attention",
    "RotatingKVCache": "sliding attention",
}


def layer_kinds(model: nn.Module) -> tuple[str, ...]:
    """The kind of every layer in order: "linear attention", "full attention", "full attention, MoE" ….

    The first part comes from the cache a layer is given. A model whose caches are not one a layer is told apart by
    the classes of its layers' parts instead. ", MoE" or ", MLP" follows only where both occur. Nothing is evaluated.
    """
    from mlx_lm.models.cache import make_prompt_cache

    layers = list(model.layers)
    caches = make_prompt_cache(model)
    if len(caches) == len(layers):
        names = [type(cache).__name__ for cache in caches]
        mixers = [_NAME_BY_CACHE.get(name, name) for name in names]
    else:
        mixers = [_parts(layer) for layer in layers]
    experts = [has_experts(layer) for layer in layers]
    if len(set(experts)) == 1:
        return tuple(mixers)
    return tuple(f"{mixer}, {'MoE' if moe else 'MLP'}" for mixer, moe in zip(mixers, experts, strict=True))


def has_experts(module: nn.Module) -> bool:
    """Whether a module holds stacked experts."""
    from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

    return any(isinstance(m, SwitchLinear | QuantizedSwitchLinear) for m in module.modules())


def count_by_kind(kinds: Iterable[str]) -> CountByKind:
    """Each kind with its count, in order of their names."""
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return tuple(sorted(counts.items()))


def _parts(layer: nn.Module) -> str:
    """The classes of a layer's parts that are no norms."""
    names = [type(m).__name__ for m in layer.children().values() if isinstance(m, nn.Module)]
    return " + ".join(name for name in names if "norm" not in name.lower()) or type(layer).__name__
