"""Tiny random MTP heads written as the published checkpoints have them: names, shapes and norm conventions.

Everything is NumPy until it is saved. Matrices keep activations near 1, so that a wrong norm, order or gate shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np
from tiny_models import TINY_CONFIGS, tiny_target

from specview.engine.language_config import text_config
from specview.engine.models import Target

Arrays = dict[str, np.ndarray]

# with two heads the indexer's scores are often both cut at 0, and which of equal positions it takes is nobody's rule
CHANGED = {"deepseek_v32": {"index_n_heads": 16}, "glm_moe_dsa": {"index_n_heads": 16}}


class _Maker:
    """Random tensors under one prefix; `centre` is where norm weights lie."""

    def __init__(self, seed: int, centre: float) -> None:
        self.random = np.random.default_rng(seed)
        self.centre = centre
        self.made: Arrays = {}

    def matrix(self, name: str, *shape: int) -> None:
        self.made[name] = (self.random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    def vector(self, name: str, size: int, scale: float = 0.3) -> None:
        self.made[name] = (scale * self.random.standard_normal(size)).astype(np.float32)

    def norm(self, name: str, size: int) -> None:
        self.made[name] = (self.centre + 0.2 * self.random.standard_normal(size)).astype(np.float32)

    def mlp(self, prefix: str, width: int, inner: int) -> None:
        self.matrix(f"{prefix}.gate_proj.weight", inner, width)
        self.matrix(f"{prefix}.up_proj.weight", inner, width)
        self.matrix(f"{prefix}.down_proj.weight", width, inner)

    def grouped_attention(
        self, prefix: str, width: int, heads: int, groups: int, size: int, doubled: bool = False
    ) -> None:
        self.matrix(f"{prefix}.q_proj.weight", heads * size * (2 if doubled else 1), width)
        self.matrix(f"{prefix}.k_proj.weight", groups * size, width)
        self.matrix(f"{prefix}.v_proj.weight", groups * size, width)
        self.matrix(f"{prefix}.o_proj.weight", width, heads * size)

    def latent_attention(self, prefix: str, c: dict[str, Any]) -> None:
        width, heads, rank = c["hidden_size"], c["num_attention_heads"], c["kv_lora_rank"]
        nope, rotated, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        self.matrix(f"{prefix}.q_a_proj.weight", c["q_lora_rank"], width)
        self.norm(f"{prefix}.q_a_layernorm.weight", c["q_lora_rank"])
        self.matrix(f"{prefix}.q_b_proj.weight", heads * (nope + rotated), c["q_lora_rank"])
        self.matrix(f"{prefix}.kv_a_proj_with_mqa.weight", rank + rotated, width)
        self.norm(f"{prefix}.kv_a_layernorm.weight", rank)
        self.matrix(f"{prefix}.kv_b_proj.weight", heads * (nope + value), rank)
        self.matrix(f"{prefix}.o_proj.weight", width, heads * value)
        if "index_topk" in c:
            size = c["index_head_dim"]
            self.matrix(f"{prefix}.indexer.wq_b.weight", c["index_n_heads"] * size, c["q_lora_rank"])
            self.matrix(f"{prefix}.indexer.wk.weight", size, width)
            self.norm(f"{prefix}.indexer.k_norm.weight", size)
            self.vector(f"{prefix}.indexer.k_norm.bias", size)
            self.matrix(f"{prefix}.indexer.weights_proj.weight", c["index_n_heads"], width)

    def experts(self, prefix: str, width: int, inner: int, count: int) -> None:
        for e in range(count):
            self.mlp(f"{prefix}.experts.{e}", width, inner)


def qwen_head(c: dict[str, Any], seed: int) -> Arrays:
    """`mtp.*` of Qwen3-Next and Qwen3.5: zero-centred norms, gated attention, experts one by one if any."""
    make, width = _Maker(seed, 0.0), c["hidden_size"]
    make.norm("mtp.pre_fc_norm_embedding.weight", width)
    make.norm("mtp.pre_fc_norm_hidden.weight", width)
    make.matrix("mtp.fc.weight", width, 2 * width)
    layer = "mtp.layers.0"
    make.norm(f"{layer}.input_layernorm.weight", width)
    make.norm(f"{layer}.post_attention_layernorm.weight", width)
    make.grouped_attention(
        f"{layer}.self_attn", width, c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], doubled=True
    )
    make.norm(f"{layer}.self_attn.q_norm.weight", c["head_dim"])
    make.norm(f"{layer}.self_attn.k_norm.weight", c["head_dim"])
    if c.get("num_experts"):
        make.matrix(f"{layer}.mlp.gate.weight", c["num_experts"], width)
        make.experts(f"{layer}.mlp", width, c["moe_intermediate_size"], c["num_experts"])
        make.mlp(f"{layer}.mlp.shared_expert", width, c["shared_expert_intermediate_size"])
        make.matrix(f"{layer}.mlp.shared_expert_gate.weight", 1, width)
    else:
        make.mlp(f"{layer}.mlp", width, c["intermediate_size"])
    make.norm("mtp.norm.weight", width)
    return make.made


def next_layer_head(c: dict[str, Any], seed: int, i: int = 0) -> Arrays:
    """`model.layers.N` of DeepSeek-V3 and GLM-4.5, with its own embedding and output matrix."""
    make, width = _Maker(seed, 1.0), c["hidden_size"]
    layer = f"model.layers.{c['num_hidden_layers'] + i}"
    make.matrix(f"{layer}.embed_tokens.weight", c["vocab_size"], width)
    make.norm(f"{layer}.enorm.weight", width)
    make.norm(f"{layer}.hnorm.weight", width)
    make.matrix(f"{layer}.eh_proj.weight", width, 2 * width)
    make.norm(f"{layer}.input_layernorm.weight", width)
    make.norm(f"{layer}.post_attention_layernorm.weight", width)
    if "kv_lora_rank" in c:
        make.latent_attention(f"{layer}.self_attn", c)
    else:
        size = c["head_dim"]
        make.grouped_attention(f"{layer}.self_attn", width, c["num_attention_heads"], c["num_key_value_heads"], size)
        make.norm(f"{layer}.self_attn.q_norm.weight", size)
        make.norm(f"{layer}.self_attn.k_norm.weight", size)
    make.matrix(f"{layer}.mlp.gate.weight", c["n_routed_experts"], width)
    make.vector(f"{layer}.mlp.gate.e_score_correction_bias", c["n_routed_experts"])
    make.experts(f"{layer}.mlp", width, c["moe_intermediate_size"], c["n_routed_experts"])
    make.mlp(f"{layer}.mlp.shared_experts", width, c["moe_intermediate_size"] * c["n_shared_experts"])
    make.norm(f"{layer}.shared_head.norm.weight", width)
    make.matrix(f"{layer}.shared_head.head.weight", c["vocab_size"], width)
    return make.made


def mimo_head(c: dict[str, Any], seed: int, i: int = 0) -> Arrays:
    """`model.mtp_layers.*` of MiMo: biased projections, dense."""
    make, width = _Maker(seed, 1.0), c["hidden_size"]
    layer, size = f"model.mtp_layers.{i}", width // c["num_attention_heads"]
    for name in (
        "token_layernorm",
        "hidden_layernorm",
        "input_layernorm",
        "post_attention_layernorm",
        "final_layernorm",
    ):
        make.norm(f"{layer}.{name}.weight", width)
    make.matrix(f"{layer}.input_proj.weight", width, 2 * width)
    make.grouped_attention(f"{layer}.self_attn", width, c["num_attention_heads"], c["num_key_value_heads"], size)
    make.vector(f"{layer}.self_attn.q_proj.bias", c["num_attention_heads"] * size)
    make.vector(f"{layer}.self_attn.k_proj.bias", c["num_key_value_heads"] * size)
    make.vector(f"{layer}.self_attn.v_proj.bias", c["num_key_value_heads"] * size)
    make.mlp(f"{layer}.mlp", width, c["intermediate_size"])
    return make.made


def step_heads(c: dict[str, Any], seed: int, count: int = 3) -> Arrays:
    """Three layers beyond the last of Step-3.5: zero-centred norms, gated heads, an output matrix of their own."""
    make, width, size = _Maker(seed, 0.0), c["hidden_size"], c["head_dim"]
    other = c["attention_other_setting"]
    for i in range(count):
        layer = f"model.layers.{c['num_hidden_layers'] + i}"
        for name in ("enorm", "hnorm", "input_layernorm", "post_attention_layernorm", "transformer.shared_head.norm"):
            make.norm(f"{layer}.{name}.weight", width)
        make.matrix(f"{layer}.eh_proj.weight", width, 2 * width)
        heads, groups = other["num_attention_heads"], other["num_attention_groups"]
        make.grouped_attention(f"{layer}.self_attn", width, heads, groups, size)
        make.matrix(f"{layer}.self_attn.g_proj.weight", heads, width)
        make.norm(f"{layer}.self_attn.q_norm.weight", size)
        make.norm(f"{layer}.self_attn.k_norm.weight", size)
        make.mlp(f"{layer}.mlp", width, c["intermediate_size"])
        make.matrix(f"{layer}.transformer.shared_head.output.weight", c["vocab_size"], width)
    return make.made


def raw_head(model_type: str, config: dict[str, Any], seed: int = 7) -> Arrays:
    """The MTP tensors of a model type as its published checkpoint has them."""
    c = text_config(config)
    makers: dict[str, Callable[[dict[str, Any], int], Arrays]] = {"mimo": mimo_head, "step3p5": step_heads}
    if model_type.startswith("qwen"):
        return qwen_head(c, seed)
    return makers.get(model_type, next_layer_head)(c, seed)


def fused(raw: Arrays) -> Arrays:
    """The same tensors with experts as Qwen3.5 stores them: all in `gate_up_proj` and `down_proj`."""
    rest = {k: v for k, v in raw.items() if ".experts." not in k}
    stem = next(k for k in raw if ".experts.0." in k).split(".experts.")[0]
    count = sum(k.startswith(f"{stem}.experts.") and k.endswith("up_proj.weight") for k in raw)

    def of(projection: str) -> np.ndarray:
        return np.stack([raw[f"{stem}.experts.{e}.{projection}.weight"] for e in range(count)])

    rest[f"{stem}.experts.gate_up_proj"] = np.concatenate([of("gate_proj"), of("up_proj")], axis=1)
    rest[f"{stem}.experts.down_proj"] = of("down_proj")
    return rest


def converted(raw: Arrays, zero_centred: bool) -> Arrays:
    """The same tensors as mlx-lm's converter leaves them: experts stacked, 1 added to zero-centred norms."""
    out: Arrays = {}
    for name, value in raw.items():
        if ".experts." in name:
            stem, rest = name.split(".experts.")
            expert, projection = rest.split(".", 1)
            out.setdefault(f"{stem}.switch_mlp.{projection}", []).append((int(expert), value))  # type: ignore[union-attr,arg-type]
        elif zero_centred and name.endswith("norm.weight") | ("pre_fc_norm" in name):
            out[name] = value + 1
        else:
            out[name] = value
    return {k: np.stack([a for _, a in sorted(v)]) if isinstance(v, list) else v for k, v in out.items()}


def saved(folder: Path, tensors: dict[str, Any], file: str = "mtp.safetensors") -> None:
    """Write tensors, NumPy or MLX, as one safetensors file."""
    mx.save_safetensors(str(folder / file), {k: mx.array(v) for k, v in tensors.items()})


def tiny_target_in(folder: Path, model_type: str, **changes: Any) -> Target:
    """A tiny random target whose checkpoint folder is `folder`; `changes` go into its config."""
    with mock.patch.dict(TINY_CONFIGS, {model_type: TINY_CONFIGS[model_type] | CHANGED.get(model_type, {})}):
        target = tiny_target(model_type)
    return dataclasses.replace(target, folder=folder, config={**target.config, **changes})
