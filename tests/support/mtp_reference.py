"""MTP heads in NumPy, from the published descriptions: nothing of MLX, no cache, every position anew.

Tensors are those of a raw checkpoint. Shapes: positions first, [n, D].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Config = dict[str, Any]


def rms(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """RMS norm."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e^−x)."""
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def swiglu(w: Arrays, prefix: str, x: np.ndarray) -> np.ndarray:
    """down(silu(gate) · up)."""
    gate = x @ w[f"{prefix}.gate_proj.weight"].T
    return (gate * sigmoid(gate) * (x @ w[f"{prefix}.up_proj.weight"].T)) @ w[f"{prefix}.down_proj.weight"].T


def rope(x: np.ndarray, dims: int, theta: float, interleaved: bool) -> np.ndarray:
    """Rotate the first `dims` channels of [heads, n, channels] by position; pairs are halves or neighbours."""
    angles = np.arange(x.shape[1])[:, None] * theta ** (-np.arange(0, dims, 2) / dims)
    cos, sin = np.cos(angles), np.sin(angles)
    part = x[..., :dims]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., : dims // 2], part[..., dims // 2 :])
    turned = (a * cos - b * sin, a * sin + b * cos)
    out = np.stack(turned, -1).reshape(part.shape) if interleaved else np.concatenate(turned, -1)
    return np.concatenate([out, x[..., dims:]], -1)


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    scale: float,
    window: int | None = None,
    seen: np.ndarray | None = None,
) -> np.ndarray:
    """Causal attention of [heads, n, channels] over [groups, n, channels], to [n, heads, channels].

    Positions farther than `window`, or not in `seen` [n, n], are left out.
    """
    repeats = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, repeats, 0), np.repeat(v, repeats, 0)
    scores = q @ k.swapaxes(-1, -2) * scale
    far = np.arange(q.shape[1])[:, None] - np.arange(q.shape[1])[None]
    hidden = (far < 0) | (far >= window) if window else far < 0
    hidden = hidden if seen is None else hidden | ~seen
    return (softmax(np.where(hidden, -np.inf, scores)) @ v).swapaxes(0, 1)


def by_head(x: np.ndarray, heads: int) -> np.ndarray:
    """[n, heads · channels] to [heads, n, channels]."""
    return x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)


def best_experts(scores: np.ndarray, count: int) -> np.ndarray:
    """The `count` highest of each row."""
    return np.argsort(-scores, axis=-1, kind="stable")[:, :count]


def mixture(w: Arrays, prefix: str, x: np.ndarray, chosen: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Each position's chosen experts, weighted, one position after the other."""
    out = np.zeros_like(x)
    for t in range(x.shape[0]):
        for e, weight in zip(chosen[t], weights[t], strict=True):
            out[t] += weight * swiglu(w, f"{prefix}.experts.{e}", x[t : t + 1])[0]
    return out


# ----------------------------------------------------------- the families' layers


def qwen_layer(w: Arrays, c: Config, x: np.ndarray) -> np.ndarray:
    """Qwen3-Next's full attention with its output gate, then experts (softmax before the choice) or a dense MLP."""
    p, eps, heads = "mtp.layers.0", c["rms_norm_eps"], c["num_attention_heads"]
    normed = rms(x, 1 + w[f"{p}.input_layernorm.weight"], eps)
    q, gate = np.split(by_head(normed @ w[f"{p}.self_attn.q_proj.weight"].T, heads), 2, axis=-1)
    k = by_head(normed @ w[f"{p}.self_attn.k_proj.weight"].T, c["num_key_value_heads"])
    v = by_head(normed @ w[f"{p}.self_attn.v_proj.weight"].T, c["num_key_value_heads"])
    theta, part = rope_of_qwen(c)
    dims = int(c["head_dim"] * part)
    q = rope(rms(q, 1 + w[f"{p}.self_attn.q_norm.weight"], eps), dims, theta, False)
    k = rope(rms(k, 1 + w[f"{p}.self_attn.k_norm.weight"], eps), dims, theta, False)
    mixed = attend(q, k, v, c["head_dim"] ** -0.5) * sigmoid(gate.swapaxes(0, 1))
    x = x + mixed.reshape(x.shape[0], -1) @ w[f"{p}.self_attn.o_proj.weight"].T
    normed = rms(x, 1 + w[f"{p}.post_attention_layernorm.weight"], eps)
    if not c.get("num_experts"):
        return x + swiglu(w, f"{p}.mlp", normed)
    scores = softmax(normed @ w[f"{p}.mlp.gate.weight"].T)
    chosen = best_experts(scores, c["num_experts_per_tok"])
    weights = np.take_along_axis(scores, chosen, -1)
    weights = weights / weights.sum(-1, keepdims=True)
    shared = sigmoid(normed @ w[f"{p}.mlp.shared_expert_gate.weight"].T) * swiglu(w, f"{p}.mlp.shared_expert", normed)
    return x + mixture(w, f"{p}.mlp", normed, chosen, weights) + shared


def rope_of_qwen(c: Config) -> tuple[float, float]:
    """Base and rotated part: at the top for Qwen3-Next; what mlx-lm assumes for Qwen3.5 without rope_parameters."""
    if "qwen3_5" in c["model_type"]:
        return 100000.0, 0.25
    return c["rope_theta"], c["partial_rotary_factor"]


def sigmoid_mixture(w: Arrays, c: Config, p: str, x: np.ndarray) -> np.ndarray:
    """DeepSeek-V3's and GLM-4.5's experts: sigmoid scores, a bias for the choice only, groups, a shared expert."""
    scores = sigmoid(x @ w[f"{p}.gate.weight"].T)
    biased = scores + w[f"{p}.gate.e_score_correction_bias"]
    if c["n_group"] > 1:
        groups = biased.reshape(x.shape[0], c["n_group"], -1)
        worth = np.sort(groups, -1)[..., -2:].sum(-1)
        kept = np.zeros_like(worth, dtype=bool)
        np.put_along_axis(kept, best_experts(worth, c["topk_group"]), True, -1)
        biased = np.where(kept[..., None], groups, 0.0).reshape(biased.shape)
    chosen = best_experts(biased, c["num_experts_per_tok"])
    weights = np.take_along_axis(scores, chosen, -1)
    weights = weights / weights.sum(-1, keepdims=True) * c["routed_scaling_factor"]
    return mixture(w, p, x, chosen, weights) + swiglu(w, f"{p}.shared_experts", x)


def latent_attention(w: Arrays, c: Config, p: str, x: np.ndarray, inner_eps: float) -> np.ndarray:
    """Multi-head latent attention, keys and values made in full: no absorbed matrices."""
    heads, nope, rank = c["num_attention_heads"], c["qk_nope_head_dim"], c["kv_lora_rank"]
    rotated, theta = c["qk_rope_head_dim"], theta_of(c)
    low = rms(x @ w[f"{p}.q_a_proj.weight"].T, w[f"{p}.q_a_layernorm.weight"], inner_eps)
    q = by_head(low @ w[f"{p}.q_b_proj.weight"].T, heads)
    q = np.concatenate([q[..., :nope], rope(q[..., nope:], rotated, theta, True)], -1)
    both = x @ w[f"{p}.kv_a_proj_with_mqa.weight"].T
    latent = rms(both[:, :rank], w[f"{p}.kv_a_layernorm.weight"], inner_eps)
    key_turned = rope(both[None, :, rank:], rotated, theta, True)
    full = by_head(latent @ w[f"{p}.kv_b_proj.weight"].T, heads)
    k = np.concatenate([full[..., :nope], np.repeat(key_turned, heads, 0)], -1)
    seen = chosen_positions(w, c, f"{p}.indexer", x, low) if "index_topk" in c else None
    mixed = attend(q, k, full[..., nope:], (nope + rotated) ** -0.5, seen=seen)
    return mixed.reshape(x.shape[0], -1) @ w[f"{p}.o_proj.weight"].T


def chosen_positions(w: Arrays, c: Config, p: str, x: np.ndarray, low: np.ndarray) -> np.ndarray:
    """DeepSeek-V3.2's indexer: the best `index_topk` earlier positions of each, as a mask [n, n]."""
    heads, dims, interleaved = c["index_n_heads"], c["qk_rope_head_dim"], c["model_type"] == "glm_moe_dsa"
    q = rope(by_head(low @ w[f"{p}.wq_b.weight"].T, heads), dims, theta_of(c), interleaved)
    k = x @ w[f"{p}.wk.weight"].T
    k = (k - k.mean(-1, keepdims=True)) / np.sqrt(k.var(-1, keepdims=True) + 1e-5)
    k = rope((k * w[f"{p}.k_norm.weight"] + w[f"{p}.k_norm.bias"])[None], dims, theta_of(c), interleaved)
    weights = (x @ w[f"{p}.weights_proj.weight"].T).T[..., None] * heads**-0.5 * c["index_head_dim"] ** -0.5
    scores = (np.maximum(q @ k.swapaxes(-1, -2), 0) * weights).sum(0)
    scores = np.where(np.tri(x.shape[0], dtype=bool), scores, -np.inf)
    seen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(seen, best_experts(scores, c["index_topk"]), True, -1)
    return seen


def theta_of(c: Config) -> float:
    """The base of the rotation, which GLM-5 keeps in `rope_parameters`."""
    return c.get("rope_theta") or c["rope_parameters"]["rope_theta"]


def normed_attention(w: Arrays, c: Config, p: str, x: np.ndarray) -> np.ndarray:
    """GLM-4.5's attention: norms on queries and keys, half the channels rotated."""
    eps, dims = c["rms_norm_eps"], int(c["head_dim"] * c["partial_rotary_factor"])
    q = rms(by_head(x @ w[f"{p}.q_proj.weight"].T, c["num_attention_heads"]), w[f"{p}.q_norm.weight"], eps)
    k = rms(by_head(x @ w[f"{p}.k_proj.weight"].T, c["num_key_value_heads"]), w[f"{p}.k_norm.weight"], eps)
    v = by_head(x @ w[f"{p}.v_proj.weight"].T, c["num_key_value_heads"])
    q, k = rope(q, dims, c["rope_theta"], False), rope(k, dims, c["rope_theta"], False)
    return attend(q, k, v, c["head_dim"] ** -0.5).reshape(x.shape[0], -1) @ w[f"{p}.o_proj.weight"].T


def next_layer(w: Arrays, c: Config, p: str, x: np.ndarray) -> np.ndarray:
    """The decoder layer of a DeepSeek-V3 or GLM-4.5 head."""
    eps = c["rms_norm_eps"]
    normed = rms(x, w[f"{p}.input_layernorm.weight"], eps)
    if "kv_lora_rank" in c:
        x = x + latent_attention(w, c, f"{p}.self_attn", normed, eps if c["model_type"] == "glm4_moe_lite" else 1e-6)
    else:
        x = x + normed_attention(w, c, f"{p}.self_attn", normed)
    return x + sigmoid_mixture(w, c, f"{p}.mlp", rms(x, w[f"{p}.post_attention_layernorm.weight"], eps))


def mimo_layer(w: Arrays, c: Config, p: str, x: np.ndarray) -> np.ndarray:
    """MiMo's (Qwen2's) layer: biased projections, all channels rotated."""
    eps, heads, groups = c["rms_norm_eps"], c["num_attention_heads"], c["num_key_value_heads"]
    normed = rms(x, w[f"{p}.input_layernorm.weight"], eps)

    def projected(name: str, count: int) -> np.ndarray:
        a = f"{p}.self_attn.{name}_proj"
        return by_head(normed @ w[f"{a}.weight"].T + w[f"{a}.bias"], count)

    size = c["hidden_size"] // heads
    q, k = (rope(projected(n, m), size, c["rope_theta"], False) for n, m in (("q", heads), ("k", groups)))
    mixed = attend(q, k, projected("v", groups), size**-0.5).reshape(x.shape[0], -1)
    x = x + mixed @ w[f"{p}.self_attn.o_proj.weight"].T
    return x + swiglu(w, f"{p}.mlp", rms(x, w[f"{p}.post_attention_layernorm.weight"], eps))


def step_layer(w: Arrays, c: Config, p: str, x: np.ndarray) -> np.ndarray:
    """Step-3.5's sliding layer: zero-centred norms, one gate per attention head, dense."""
    eps, size, other = c["rms_norm_eps"], c["head_dim"], c["attention_other_setting"]
    heads, groups, a = other["num_attention_heads"], other["num_attention_groups"], f"{p}.self_attn"
    normed = rms(x, 1 + w[f"{p}.input_layernorm.weight"], eps)
    q = rms(by_head(normed @ w[f"{a}.q_proj.weight"].T, heads), 1 + w[f"{a}.q_norm.weight"], eps)
    k = rms(by_head(normed @ w[f"{a}.k_proj.weight"].T, groups), 1 + w[f"{a}.k_norm.weight"], eps)
    v = by_head(normed @ w[f"{a}.v_proj.weight"].T, groups)
    q, k = rope(q, size, c["rope_theta"], False), rope(k, size, c["rope_theta"], False)
    mixed = attend(q, k, v, size**-0.5, c["sliding_window"]) * sigmoid(normed @ w[f"{a}.g_proj.weight"].T)[..., None]
    x = x + mixed.reshape(x.shape[0], -1) @ w[f"{a}.o_proj.weight"].T
    return x + swiglu(w, f"{p}.mlp", rms(x, 1 + w[f"{p}.post_attention_layernorm.weight"], eps))


# ------------------------------------------------------------------------- heads


class ReferenceHeads:
    """The heads of a model type: raw tensors `w`, text config `c`, and the target's embedding and output matrix."""

    def __init__(self, model_type: str, w: Arrays, c: Config, embedding: np.ndarray, output: np.ndarray) -> None:
        self.kind, self.w, self.c = model_type, w, c
        self.embedding, self.output = embedding, output
        self.count = 3 if model_type == "step3p5" else 1

    def head(self, i: int, tokens: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What head i hands on [n, D], and its logits [n, vocabulary], of tokens [n] and hidden states [n, D]."""
        w, c, eps = self.w, self.c, self.c["rms_norm_eps"]
        if self.kind.startswith("qwen"):
            both = [
                rms(self.embedding[tokens], 1 + w["mtp.pre_fc_norm_embedding.weight"], eps),
                rms(hidden, 1 + w["mtp.pre_fc_norm_hidden.weight"], eps),
            ]
            out = qwen_layer(w, c, np.concatenate(both, -1) @ w["mtp.fc.weight"].T)
            out = rms(out, 1 + w["mtp.norm.weight"], eps)
            return out, out @ self.output.T
        if self.kind == "mimo":
            p = f"model.mtp_layers.{i}"
            both = [
                rms(hidden, w[f"{p}.hidden_layernorm.weight"], eps),
                rms(self.embedding[tokens], w[f"{p}.token_layernorm.weight"], eps),
            ]
            out = mimo_layer(w, c, p, np.concatenate(both, -1) @ w[f"{p}.input_proj.weight"].T)
            out = rms(out, w[f"{p}.final_layernorm.weight"], eps)
            return out, out @ self.output.T
        p = f"model.layers.{c['num_hidden_layers'] + i}"
        one, shared = (1, "transformer.shared_head") if self.kind == "step3p5" else (0, "shared_head")
        embedding = w.get(f"{p}.embed_tokens.weight", self.embedding)
        both = [
            rms(embedding[tokens], one + w[f"{p}.enorm.weight"], eps),
            rms(hidden, one + w[f"{p}.hnorm.weight"], eps),
        ]
        layer: Callable[..., np.ndarray] = step_layer if self.kind == "step3p5" else next_layer
        out = layer(w, c, p, np.concatenate(both, -1) @ w[f"{p}.eh_proj.weight"].T)
        normed = rms(out, one + w[f"{p}.{shared}.norm.weight"], eps)
        output = w[f"{p}.{shared}.output.weight" if one else f"{p}.{shared}.head.weight"]
        return out if one else normed, normed @ output.T

    def drafts(self, tokens: list[int], hidden: np.ndarray, k: int) -> list[int]:
        """k greedy drafts after committed tokens [n], of hidden states [n − 1, D], every head over the whole text."""
        text, made = list(tokens), hidden
        for j in range(min(k, self.count)):
            made, logits = self.head(j, np.array(text[1 + j :]), made)
            text.append(int(logits[-1].argmax()))
        last = min(k, self.count) - 1
        inputs = [*self.inputs_of(last, tokens, text, hidden)]
        for _ in range(k - self.count):
            inputs.append(made[-1])
            made, logits = self.head(last, np.array(text[1 + last :]), np.array(inputs))
            text.append(int(logits[-1].argmax()))
        return text[len(tokens) :]

    def inputs_of(self, last: int, tokens: list[int], text: list[int], hidden: np.ndarray) -> np.ndarray:
        """What the last head took in while every head ran once."""
        made = hidden
        for j in range(last):
            made, _ = self.head(j, np.array(text[1 + j : len(tokens) + j]), made)
        return made
