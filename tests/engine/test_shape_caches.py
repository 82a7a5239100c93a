"""Keys and values of a shape, an upper estimate from its config."""

from __future__ import annotations

import pytest

from specview.engine.shape_caches import position_bytes

BUILT = (("full attention, MLP", 1), ("linear attention, MoE", 6), ("full attention, MoE", 1))
HEADS = {"hidden_size": 64, "num_attention_heads": 4}


@pytest.mark.parametrize(
    ("config", "of_a_layer"),
    [
        (HEADS, 2 * 4 * 16),
        (HEADS | {"num_key_value_heads": 2}, 2 * 2 * 16),
        (HEADS | {"num_key_value_heads": [1, 2], "head_dim": 32}, 2 * 2 * 32),
        ({"text_config": HEADS, "num_attention_heads": 99}, 2 * 4 * 16),
        (HEADS | {"kv_lora_rank": 8, "qk_nope_head_dim": 32, "qk_rope_head_dim": 8, "v_head_dim": 24}, 4 * 64),
        ({"vocab_size": 9}, 0),
    ],
)
def test_every_layer_with_keys_and_values_counts_all_its_heads(config, of_a_layer):
    assert position_bytes(config, BUILT) == 2 * of_a_layer * 4
