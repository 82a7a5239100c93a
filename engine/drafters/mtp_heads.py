"""The modules of MTP heads, by family, around the decoder layer that mlx-lm has for the model.

Every head computes block(project(norm(embedding of token t+1) ++ norm(hidden
state of token t))). Families differ in what comes first, in which hidden
state of the target they take, and in which of their own they hand on to the
next draft. Sources: vLLM's qwen3_next_mtp, qwen3_5_mtp, deepseek_mtp,
glm4_moe_mtp, mimo_mtp and step3p5_mtp, SGLang's deepseek_nextn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from ..models import Target
from ..mtp_names import Layout


def text_arguments(target: Target) -> Any:
    """mlx-lm's arguments of the language model, inside a wrapper too."""
    model = target.model
    return (model.language_model if "language_model" in model else model).args


def decoder_layer(file: str, name: str, *args: Any) -> nn.Module:
    """One decoder layer of an mlx-lm model file."""
    layer: nn.Module = getattr(import_module(f"mlx_lm.models.{file}"), name)(*args)
    return layer


class Head(nn.Module):
    """One MTP head. `embed_tokens` and `output` are its own where its checkpoint has them, else the target's serve."""

    window: int | None = None
    mask_as_array = False
    indexed = False  # its attention keeps a second cache, to choose positions by

    def new_cache(self) -> Any:
        """An empty cache, which can be trimmed whatever the layer's window: a mask keeps to that."""
        from mlx_lm.models.cache import CacheList, KVCache

        return CacheList(KVCache(), KVCache()) if self.indexed else KVCache()

    def masked(self, x: mx.array, cache: Any) -> Any:
        """The causal mask for positions x [1, n, D] on top of the cache."""
        from mlx_lm.models.base import create_attention_mask

        if self.indexed and cache is not None:
            cache = cache[0]
        return create_attention_mask(x, cache, window_size=self.window, return_array=self.mask_as_array)

    def __call__(self, embedding: mx.array, hidden: mx.array, cache: Any) -> mx.array:
        """Hidden states [1, n, D] from embeddings of the next tokens and hidden states, both [1, n, D]."""
        raise NotImplementedError

    def scored(self, hidden: mx.array) -> mx.array:
        """What the output head takes, of hidden states that the head gave."""
        return hidden

    @property
    def own_embedding(self) -> nn.Module | None:
        """The head's own embedding."""
        return None

    @property
    def own_output(self) -> nn.Module | None:
        """The head's own output matrix."""
        return None


class QwenHead(Head):
    """Qwen3-Next, Qwen3.5 and Qwen3.6: embedding first, the target's final hidden state, normalised to the next draft.

    Parameters are named as in the checkpoint after `mtp.`, with mlx-lm's
    layer; `has` are the names of its weights (None: as the config says).
    """

    def __init__(self, target: Target, has: Collection[str] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        args = text_arguments(target)
        width, eps = args.hidden_size, args.rms_norm_eps
        self.pre_fc_norm_embedding = nn.RMSNorm(width, eps=eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(width, eps=eps)
        self.fc = nn.Linear(2 * width, width, bias=False)
        full_attention = args.full_attention_interval - 1
        if hasattr(args, "mlp_only_layers"):
            args = replace(args, mlp_only_layers=[], decoder_sparse_step=1)
            self.layers = [decoder_layer("qwen3_next", "Qwen3NextDecoderLayer", args, full_attention)]
        else:
            self.layers = [decoder_layer("qwen3_5", "DecoderLayer", args, full_attention)]
        self.norm = nn.RMSNorm(width, eps=eps)
        if has is not None and any(name.startswith("embed_tokens.") for name in has):
            self.embed_tokens = nn.Embedding(args.vocab_size, width)

    def __call__(self, embedding: mx.array, hidden: mx.array, cache: Any) -> mx.array:
        x: mx.array = self.fc(
            mx.concatenate([self.pre_fc_norm_embedding(embedding), self.pre_fc_norm_hidden(hidden)], -1)
        )
        x = self.layers[0](x, self.masked(x, cache), cache)
        result: mx.array = self.norm(x)
        return result

    @property
    def own_embedding(self) -> nn.Module | None:
        return self.embed_tokens if "embed_tokens" in self else None


class SharedHead(nn.Module):
    """The norm before the output matrix, and that matrix where a checkpoint has it per head."""

    def __init__(self, args: Any, own_output: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.norm = nn.RMSNorm(args.hidden_size, eps=args.rms_norm_eps)
        if own_output:
            self.head = nn.Linear(args.hidden_size, args.vocab_size, bias=False)


class NextLayerHead(Head):
    """A layer beyond the last, DeepSeek-V3's form: embedding first.

    DeepSeek and GLM hand their normalised state to the next draft (SGLang's
    deepseek_nextn, vLLM pull requests 45895 and 47448), Step-3.5 the state
    before the norm (vLLM's step3p5_mtp): `chains_normed`.
    """

    def __init__(
        self, args: Any, block: nn.Module, has: Collection[str], chains_normed: bool, window: int | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        width, eps = args.hidden_size, args.rms_norm_eps
        self.enorm = nn.RMSNorm(width, eps=eps)
        self.hnorm = nn.RMSNorm(width, eps=eps)
        self.eh_proj = nn.Linear(2 * width, width, bias=False)
        self.block = block
        self.shared_head = SharedHead(args, any(name.startswith("shared_head.head.") for name in has))
        if any(name.startswith("embed_tokens.") for name in has):
            self.embed_tokens = nn.Embedding(args.vocab_size, width)
        self.chains_normed = chains_normed
        self.window = window
        self.mask_as_array = "kv_a_proj_with_mqa" in block.self_attn  # MLA adds its scores to an array
        self.indexed = "indexer" in block.self_attn

    def __call__(self, embedding: mx.array, hidden: mx.array, cache: Any) -> mx.array:
        x: mx.array = self.eh_proj(mx.concatenate([self.enorm(embedding), self.hnorm(hidden)], -1))
        x = self.block(x, self.masked(x, cache), cache)
        result: mx.array = self.shared_head.norm(x) if self.chains_normed else x
        return result

    def scored(self, hidden: mx.array) -> mx.array:
        result: mx.array = hidden if self.chains_normed else self.shared_head.norm(hidden)
        return result

    @property
    def own_embedding(self) -> nn.Module | None:
        return self.embed_tokens if "embed_tokens" in self else None

    @property
    def own_output(self) -> nn.Module | None:
        return self.shared_head.head if "head" in self.shared_head else None


class MimoHead(Head):
    """MiMo: hidden state first, and that before the target's final norm (vLLM's mimo and mimo_mtp)."""

    def __init__(self, args: Any, block: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        width, eps = args.hidden_size, args.rms_norm_eps
        self.token_layernorm = nn.RMSNorm(width, eps=eps)
        self.hidden_layernorm = nn.RMSNorm(width, eps=eps)
        self.input_proj = nn.Linear(2 * width, width, bias=False)
        self.block = block
        self.final_layernorm = nn.RMSNorm(width, eps=eps)

    def __call__(self, embedding: mx.array, hidden: mx.array, cache: Any) -> mx.array:
        x: mx.array = self.input_proj(
            mx.concatenate([self.hidden_layernorm(hidden), self.token_layernorm(embedding)], -1)
        )
        x = self.block(x, self.masked(x, cache), cache)
        result: mx.array = self.final_layernorm(x)
        return result


class MtpHeads(nn.Module):
    """The MTP heads of a checkpoint, first draft first; `before_final_norm` says which hidden state they take."""

    def __init__(self, heads: Sequence[Head], before_final_norm: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.heads = list(heads)
        self.before_final_norm = before_final_norm

    def taken(self, target: Target, hidden: mx.array) -> mx.array:
        """What the first head takes, from the target's final hidden states [1, n, D]. Lazy.

        A state before the final norm is found by dividing by that norm's
        weight: the head's own norm takes the scale out again.
        """
        if not self.before_final_norm:
            return hidden
        weight = target.inner.norm.weight.astype(mx.float32)
        undone = mx.where(weight == 0, 0, hidden.astype(mx.float32) / weight)
        return undone.astype(hidden.dtype)

    def embedded(self, i: int, target: Target, tokens: mx.array) -> mx.array:
        """Embeddings [1, n, D] that head i takes, of tokens [n]. Lazy."""
        own = self.heads[i].own_embedding
        result: mx.array = (target.inner.embed_tokens if own is None else own)(tokens[None])
        return result

    def logits(self, i: int, target: Target, hidden: mx.array) -> mx.array:
        """Logits [1, n, vocabulary] of hidden states that head i gave. Lazy."""
        scored = self.heads[i].scored(hidden)
        output = self.heads[i].own_output
        result: mx.array = target.head(scored) if output is None else output(scored)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How the MTP heads of a model type are stored and built.

    `build` makes head i from the target and the names of its weights.
    `zero_centred` norms are stored without the 1 that they add.
    """

    layout: Layout
    build: Callable[[Target, int, Collection[str]], Head]
    zero_centred: bool = False
    before_final_norm: bool = False


def _qwen(target: Target, i: int, has: Collection[str]) -> Head:
    return QwenHead(target, has)


def _next_layer(file: str, name: str) -> Callable[[Target, int, Collection[str]], Head]:
    def build(target: Target, i: int, has: Collection[str]) -> Head:
        args = text_arguments(target)
        layer_args = replace(args, first_k_dense_replace=0)
        if hasattr(args, "moe_layer_freq"):
            layer_args = replace(layer_args, moe_layer_freq=1)
        block = decoder_layer(file, name, layer_args, args.num_hidden_layers + i)
        return NextLayerHead(args, block, has, chains_normed=True)

    return build


def _step(target: Target, i: int, has: Collection[str]) -> Head:
    args = text_arguments(target)
    place = args.num_hidden_layers + i
    kinds = list(args.layer_types or [])
    if kinds:  # a converted config may list the model's own layers only; the heads are sliding ones
        kinds += ["sliding_attention"] * (place + 1 - len(kinds))
    thetas = args.rope_theta
    if isinstance(thetas, list):
        thetas = thetas + [thetas[-1]] * (place + 1 - len(thetas))
    layer_args = replace(args, layer_types=kinds or None, rope_theta=thetas)
    block = decoder_layer("step3p5", "Step3p5DecoderLayer", layer_args, place)
    window = args.sliding_window if block.is_sliding else None
    return NextLayerHead(args, block, has, chains_normed=False, window=window)


def _mimo(target: Target, i: int, has: Collection[str]) -> Head:
    args = text_arguments(target)
    return MimoHead(args, decoder_layer("mimo", "TransformerBlock", args))


_DEEPSEEK_V32 = Family(layout=Layout.NEXT_LAYERS, build=_next_layer("deepseek_v32", "DeepseekV32DecoderLayer"))
_QWEN = Family(layout=Layout.PREFIXED, build=_qwen, zero_centred=True)

FAMILIES: dict[str, Family] = {
    "qwen3_next": _QWEN,
    "qwen3_5": _QWEN,
    "qwen3_5_moe": _QWEN,
    "deepseek_v3": Family(layout=Layout.NEXT_LAYERS, build=_next_layer("deepseek_v3", "DeepseekV3DecoderLayer")),
    "deepseek_v32": _DEEPSEEK_V32,
    "glm_moe_dsa": _DEEPSEEK_V32,
    "glm4_moe": Family(layout=Layout.NEXT_LAYERS, build=_next_layer("glm4_moe", "DecoderLayer")),
    "glm4_moe_lite": Family(layout=Layout.NEXT_LAYERS, build=_next_layer("glm4_moe_lite", "Glm4MoeLiteDecoderLayer")),
    "step3p5": Family(layout=Layout.NEXT_LAYERS, build=_step, zero_centred=True, before_final_norm=True),
    "mimo": Family(layout=Layout.MTP_LAYERS, build=_mimo, before_final_norm=True),
}
