"""How many bytes one position of keys and values takes at most in a shape, read from its config."""

from __future__ import annotations

from typing import Any

from .language_config import text_config
from .layer_kinds import CountByKind

FLOAT_BYTES = 4  # the widest dtype that keys and values are kept in
WITHOUT_POSITIONS = "linear attention"  # a state of one size, however long the context


def position_bytes(config: dict[str, Any], built: CountByKind) -> int:
    """Bytes of one position over the layers of a checked config that were built; 0 where it names no heads.

    An upper estimate: keys and values of every head that a cache may hold, uncompressed, in float32.
    """
    text = text_config(config)
    layers = sum(count for kind, count in built if not kind.startswith(WITHOUT_POSITIONS))
    heads = _largest(text, "num_attention_heads", "n_head", "n_heads")
    sharing = _largest(text, "num_key_value_heads", "num_kv_heads") or heads
    width = _largest(text, "hidden_size", "n_embd", "d_model", "dim", "model_dim")
    head = _largest(text, "head_dim", "global_head_dim") or (width // heads if heads else 0)
    both = 2 * sharing * head
    if _largest(text, "kv_lora_rank"):  # a latent, or what heads make of it, whichever mlx-lm keeps
        keys = _largest(text, "qk_nope_head_dim") + _largest(text, "qk_rope_head_dim")
        both = max(both, heads * (keys + _largest(text, "v_head_dim")))
    return layers * both * FLOAT_BYTES


def _largest(text: dict[str, Any], *keys: str) -> int:
    """The largest number under the first of some keys, which some configs give layer by layer; 0 for none."""
    for key in keys:
        value = text.get(key)
        found = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, int)]
        if found:
            return max(found)
    return 0
