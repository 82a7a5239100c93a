"""From the MTP weights of a checkpoint folder to the heads of a target: right names, shapes, packing and dtype."""

from __future__ import annotations

from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache

from ..casting import as_dtype
from ..errors import SpecviewError
from ..language_config import text_config
from ..models import DTYPES, Target, first_line
from ..mtp_names import Layout
from ..split import check_split
from ..trees import named_arrays
from .mtp_heads import FAMILIES, Family, Head, MtpHeads, text_arguments
from .mtp_weights import (
    LONGEST_NAME,
    MtpError,
    StoredHeads,
    Tensors,
    check_scales,
    dequantised_fp8,
    misshapen,
    quantiser,
    renamed,
    stored_heads,
    with_ones_added,
    with_split_kv_b,
    with_stacked_experts,
)

_KEPT = ("correction_bias", "router_bias")  # routers add them in float32
WITHOUT_MTP = "choose --draft lookup or a draft model"


def load_mtp_head(target: Target, dtype: str | None = None) -> MtpHeads:
    """The MTP heads stored beside a target's weights, quantised as stored or cast to `dtype`.

    Without a `dtype`, floating weights take the target's. Raises MtpError when
    the folder holds none, one of another layout, or one that is not complete.
    """
    if dtype is not None and dtype not in DTYPES:
        raise MtpError(f"There is no dtype {dtype!r}: use one of {', '.join(DTYPES)}.")
    stored = stored_heads(target.folder, target.config, target.name)
    if stored is None:
        raise MtpError(
            f"{target.name} holds no MTP head (no mtp.* weights, no layers beyond the last): choose --draft lookup, "
            "a draft model, or a checkpoint whose MTP weights were kept."
        )
    family = _family_of(target, stored)
    check_split(target.model, make_prompt_cache)
    heads = MtpHeads(
        [_readable_head(target, family, stored.layout, i, tensors) for i, tensors in enumerate(stored.heads)],
        family.before_final_norm,
    )
    if dtype is not None:
        as_dtype(heads, DTYPES[dtype], lambda name: not name.endswith(_KEPT))
    else:
        _follow_dtype(heads, target)
    heads.eval()
    _share_what_is_equal(heads, target)
    _check_that_it_runs(heads, target)
    return heads


def _family_of(target: Target, stored: StoredHeads) -> Family:
    from mlx_lm.utils import MODEL_REMAPPING

    for config in (target.config, text_config(target.config)):
        kind = str(config.get("model_type"))
        family = FAMILIES.get(MODEL_REMAPPING.get(kind, kind))
        if family is not None and family.layout is stored.layout and _is_of_its_kind(stored):
            return family
    raise MtpError(f"The MTP head of {target.name} has a layout that specview cannot run yet: {WITHOUT_MTP}.")


def _is_of_its_kind(stored: StoredHeads) -> bool:
    """Whether the heads' weights are named as in the published checkpoints, as far as names alone can tell."""
    if stored.layout is Layout.PREFIXED:
        return not any(name.startswith("layers.") and not name.startswith("layers.0.") for name in stored.heads[0])
    return True


def _readable_head(target: Target, family: Family, layout: Layout, i: int, stored: Tensors) -> Head:
    """The head of `_head`, with a sentence too where weights of strangers have shapes that no step of it expects."""
    try:
        return _head(target, family, layout, i, stored)
    except SpecviewError:
        raise
    except Exception as error:  # MLX and model files raise many kinds
        raise MtpError(
            f"The MTP head of {target.name} cannot be read ({first_line(error)}): fetch the model again, "
            f"or {WITHOUT_MTP}."
        ) from error


def _head(target: Target, family: Family, layout: Layout, i: int, stored: Tensors) -> Head:
    """One head with its weights; MtpError unless they are there, and in the shapes that the config asks for."""
    name = target.name
    tensors = renamed(with_stacked_experts(dequantised_fp8(stored, name), name), layout)
    args = text_arguments(target)
    rank = getattr(args, "kv_lora_rank", None)
    if rank is not None:
        tensors = with_split_kv_b(tensors, args.num_attention_heads, args.qk_nope_head_dim, rank, name)
    if family.zero_centred:
        tensors = with_ones_added(tensors, stored)
    check_scales(tensors, name)
    head = family.build(target, i, tensors.keys())
    asked = _shapes(head)
    _check_names(asked, tensors, name)
    packed = quantiser(tensors, name)
    nn.quantize(head, class_predicate=packed)
    asked = _shapes(head)
    for weight, shape in asked.items():
        if weight not in tensors:
            raise _lacking(name, [weight])
        if tensors[weight].shape != shape:
            raise misshapen(weight, tensors[weight].shape, shape, name)
    surplus = sorted(tensors.keys() - asked.keys())
    if surplus:
        raise _unknown(name, surplus)
    head.load_weights(list(tensors.items()))
    return head


def _arrays(module: nn.Module) -> dict[str, mx.array]:
    return dict(named_arrays(module.parameters()))


def _shapes(head: nn.Module) -> dict[str, tuple[int, ...]]:
    return {weight: tuple(array.shape) for weight, array in _arrays(head).items()}


def _check_names(asked: dict[str, tuple[int, ...]], tensors: Tensors, name: str) -> None:
    lacking = sorted(asked.keys() - tensors.keys())
    if lacking:
        raise _lacking(name, lacking)
    surplus = sorted(w for w in tensors.keys() - asked.keys() if not w.endswith((".scales", ".biases")))
    if surplus:
        raise _unknown(name, surplus)


def _lacking(name: str, weights: list[str]) -> MtpError:
    return MtpError(
        f"The MTP head of {name} lacks {len(weights)} of its weights ({weights[0][:LONGEST_NAME]}"
        f"{' and others' if len(weights) > 1 else ''}): fetch the model again, or {WITHOUT_MTP}."
    )


def _unknown(name: str, weights: list[str]) -> MtpError:
    return MtpError(
        f"The MTP head of {name} holds weights that its config has no place for ({weights[0][:LONGEST_NAME]}"
        f"{' and others' if len(weights) > 1 else ''}): {WITHOUT_MTP}."
    )


def _follow_dtype(heads: MtpHeads, target: Target) -> None:
    """Cast floating weights to what the target computes in, so that neither drags the other to float32."""
    computes_in = target.inner.norm.weight.dtype
    for head in heads.heads:
        floats = {name: a for name, a in _arrays(head).items() if mx.issubdtype(a.dtype, mx.floating)}
        cast_to = {name: a if name.endswith(_KEPT) else a.astype(computes_in) for name, a in floats.items()}
        head.load_weights(list(cast_to.items()), strict=False)


def _share_what_is_equal(heads: MtpHeads, target: Target) -> None:
    """Drop a head's copy of the target's embedding or output matrix (DeepSeek ships copies), to keep memory."""
    body: Any = target.model.language_model if "language_model" in target.model else target.model
    for head in heads.heads:
        if "embed_tokens" in head and _equal(head.own_embedding, target.inner.embed_tokens):
            head.pop("embed_tokens")
        if head.own_output is not None and "lm_head" in body and _equal(head.own_output, body.lm_head):
            cast("Any", head).shared_head.pop("head")


def _equal(one: nn.Module | None, other: nn.Module) -> bool:
    mine, theirs = {} if one is None else _arrays(one), _arrays(other)
    return mine.keys() == theirs.keys() and all(
        a.shape == theirs[name].shape and a.dtype == theirs[name].dtype and bool(mx.array_equal(a, theirs[name]).item())
        for name, a in mine.items()
    )


def _check_that_it_runs(heads: MtpHeads, target: Target) -> None:
    """Evaluate the weights and one position of every head: what a backend cannot compute shows itself here."""
    try:
        mx.eval(_arrays(heads))
        for i, head in enumerate(heads.heads):
            embedding = heads.embedded(i, target, mx.array([0, 0]))
            mx.eval(heads.logits(i, target, head(embedding, mx.zeros_like(embedding), None)))
    except Exception as error:  # a model file may raise anything
        raise MtpError(
            f"MLX cannot run the MTP head of {target.name} here ({first_line(error)}): try --dtype float32, "
            f"or {WITHOUT_MTP}."
        ) from error
