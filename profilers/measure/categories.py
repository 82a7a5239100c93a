"""Says what a traced call is, category and detail, from what it does and is made of; there is no table of models.

What counts first is what happened in the trace: caches changed, attention kernels, experts called, the width of what
came out. Names of classes and weights decide only among kinds that do the same: which recurrence, which window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from .timings import Category
from .trace import Node, single_caches

ROUTER, ROUTED, SHARED = "router", "routed experts", "shared expert"
Kind = tuple[Category, str | None]

_RESIDUALS = ("norm", "residual", "hyperconnection", "laurel", "altup")
_ROUTERS = ("router", "gate")
_LATENT_ATTENTION = ("kv_a_proj", "kv_lora_rank", "kv_b_proj")
_TOP_K = ("top_k", "num_experts_per_tok", "num_experts_per_token", "moe_topk")
_WINDOWS = ("sliding", "swa", "local")


def attends_by_name(module: nn.Module) -> bool:
    """Whether a module calls itself attention: one that is used in pieces, and never called as a whole."""
    return "attention" in type(module).__name__.lower()


def is_mixer(node: Node) -> bool:
    """Whether a call is one that mixes positions, and not only a container of such calls."""
    return node.mixes or attends_by_name(node.module)


def calls_experts(node: Node) -> bool:
    """Whether a call uses experts, itself or below."""
    return any(isinstance(inner.module, SwitchLinear | QuantizedSwitchLinear) for inner in node.below())


def holds_only_experts(node: Node) -> bool:
    """Whether a call is experts and their activation and nothing else that has weights."""
    if isinstance(node.module, SwitchLinear | QuantizedSwitchLinear):
        return True
    experts = [inner for inner in node.inner if calls_experts(inner)]
    others = [inner for inner in node.inner if inner not in experts]
    return (
        bool(experts)
        and not node.reads
        and all(isinstance(inner.module, SwitchLinear | QuantizedSwitchLinear) for inner in experts)
        and not any(inner.weights() for inner in others)
    )


def listed_experts(module: nn.Module) -> int:
    """How many experts a module holds as a list of modules, which it calls one by one; 0 for none."""
    lists = (value for key, value in module.items() if "expert" in key.lower() and isinstance(value, list))
    return max((len(v) for v in lists if all(isinstance(m, nn.Module) for m in v)), default=0)


def chosen_by(module: nn.Module) -> int | None:
    """How many experts each position takes, where a module says so."""
    told = ((name, value) for m in module.modules() for name, value in vars(m).items())
    return next((v for name, v in told if name in _TOP_K and isinstance(v, int)), None)


def experts_in(module: nn.Module) -> int | None:
    """How many experts a module chooses from; None if it has none."""
    listed = listed_experts(module)
    if listed:
        return listed
    found = (m for m in module.modules() if isinstance(m, SwitchLinear | QuantizedSwitchLinear))
    return next((m.num_experts for m in found), None)


def mixer_kind(node: Node, path: str, around: nn.Module | None) -> Kind:
    """What a mixer is; `around` is its layer, None outside the layers."""
    caches = [c for inner in node.below() for c in inner.changed] or single_caches(list(node.handed))
    embeds = any(isinstance(inner.module, nn.Embedding | nn.QuantizedEmbedding) for inner in node.below())
    if around is None and embeds:
        return "embedding", None
    recurrent = bool(caches) and all(isinstance(c, ArraysCache) for c in caches)
    if recurrent and not any(inner.attends for inner in node.below()):
        name = f"{path.rpartition('.')[2]} {type(node.module).__name__}".lower()
        if any(word in name for word in ("ffn", "mlp", "feed", "channel")):
            return "MLP", None
        return "linear attention", _recurrence(node.module)
    return "full attention", _span(node.module, around, caches)


def _recurrence(module: nn.Module) -> str:
    """Which recurrence a mixer runs, by the names of classes, functions and weights that it is made of."""
    names = set(_names_of(module))
    if any("rwkv" in n or "wkv7" in n for n in names):
        return "RWKV"
    if any("gated_delta" in n or "gateddelta" in n or "deltanet" in n for n in names):
        return "gated delta"
    if any("ssm_update" in n or "mamba2" in n for n in names):
        return "Mamba2"
    if any("mamba" in n or n == "a_log" for n in names):
        return "Mamba"
    if any("conv" in n for n in names) and not any("lru" in n or "recurr" in n or "decay" in n for n in names):
        return "short convolution"
    return "linear recurrence"


def _span(module: nn.Module, around: nn.Module | None, caches: list[Any]) -> str:
    """How far attention looks, and whether it keeps latent keys and values."""
    held = [m for name, m in module.named_modules()]
    if any(key.startswith(_LATENT_ATTENTION) for m in held for key in (*m, *vars(m))):
        return "MLA"
    classes = [type(c).__name__ for c in caches]
    if any("Chunked" in name for name in classes):
        return "chunked"
    if any("Rotating" in name for name in classes) or any(hasattr(c, "window_size") for c in caches):
        return "sliding window"
    flags = [f for m in (module, around) if m is not None for f in vars(m).items()]
    told = [name for name, value in flags if value is True]
    told += [value for name, value in flags if isinstance(value, str) and name.endswith("_type")]
    return "sliding window" if any(word in text.lower() for text in told for word in _WINDOWS) else "global"


def _names_of(module: nn.Module) -> Iterator[str]:
    for path, held in module.named_modules():
        yield path.rpartition(".")[2].lower()
        for key in held:
            yield key.lower()
        for kind in type(held).__mro__:
            if kind in nn.Module.__mro__:
                continue
            yield kind.__name__.lower()
            if kind.__module__.startswith("mlx.nn"):
                continue
            for function in vars(kind).values():
                code = getattr(function, "__code__", None)
                if code is not None:
                    yield from (n.lower() for n in code.co_names)


def expert_part(node: Node, path: str) -> str | None:
    """Which part of a mixture of experts a call in it is: routed or shared experts, router, or what leads to them."""
    name = path.rpartition(".")[2].lower()
    if calls_experts(node):
        return ROUTED
    if name.startswith("share"):
        return SHARED
    leads = "latent" in name or "expert" in name
    return "latent projection" if leads and isinstance(node.module, nn.Linear | nn.QuantizedLinear) else ROUTER


def plain_kind(
    node: Node,
    path: str,
    layer: int | None,
    *,
    with_experts: bool,
    vocabulary: int,
    after: bool,
    only_vectors: bool,
) -> Kind:
    """What a call is that mixes no positions and calls no routed experts.

    `with_experts`: its layer has experts elsewhere. `vocabulary` is the width of the logits, `after` whether the
    layers have run, `only_vectors` that it has weights and no matrix among them.
    """
    module, kind = node.module, type(node.module).__name__.lower()
    name = path.rpartition(".")[2].lower()
    if node.method == "as_linear":
        return "output head", None
    if isinstance(module, nn.Embedding | nn.QuantizedEmbedding) or (layer is None and "embedding" in kind):
        return "embedding", None
    if any(word in kind for word in _RESIDUALS) or only_vectors:
        return "norms and residuals", None
    if layer is None:
        if after and node.width == vocabulary and node.weights():
            return "output head", None
        embeds = any(isinstance(n.module, nn.Embedding | nn.QuantizedEmbedding) for n in node.below())
        return ("embedding" if embeds and not after else "misc"), None
    if with_experts and name.startswith("share"):
        return "MoE", SHARED
    if with_experts and (name in _ROUTERS or "router" in kind):
        return "MoE", ROUTER
    return ("MLP" if node.weights() else "misc"), None
