"""Finding MTP weights in a folder and reading them: files, formats, norms, and what is refused."""

from __future__ import annotations

import json
import shutil

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.utils import _get_classes, load_model
from mtp_checkpoints import converted, fused, mimo_head, next_layer_head, raw_head, saved, tiny_target_in

from specview.engine.drafters.mtp import MtpError, load_mtp_head
from specview.engine.drafters.mtp_weights import (
    dequantised_fp8,
    stored_heads,
    with_ones_added,
    with_split_kv_b,
)
from specview.engine.model_files import BUNDLED_FOLDER
from specview.engine.mtp_names import Layout, classes_without_mtp, mtp_name, mtp_names
from specview.engine.prompt_hidden import wants_hidden
from specview.engine.trees import named_arrays

DENSE = "qwen3_5"


def weights_of(heads):
    return {name: np.array(a.astype(mx.float32)) for name, a in named_arrays(heads.parameters())}


def same_weights(one, other):
    mine, theirs = weights_of(one), weights_of(other)
    return mine.keys() == theirs.keys() and all(np.allclose(a, theirs[name], atol=1e-6) for name, a in mine.items())


def loaded(folder, kind, tensors, file="mtp.safetensors", **changes):
    folder.mkdir(exist_ok=True)
    saved(folder, tensors, file)
    return load_mtp_head(tiny_target_in(folder, kind, **changes))


def raw_of(folder, kind):
    return raw_head(kind, tiny_target_in(folder, kind).config)


# --------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mtp.fc.weight", (Layout.PREFIXED, 0, "fc.weight")),
        ("language_model.mtp.norm.weight", (Layout.PREFIXED, 0, "norm.weight")),
        ("model.layers.4.eh_proj.weight", (Layout.NEXT_LAYERS, 0, "eh_proj.weight")),
        ("language_model.model.layers.6.enorm.weight", (Layout.NEXT_LAYERS, 2, "enorm.weight")),
        ("model.mtp_layers.1.input_proj.weight", (Layout.MTP_LAYERS, 1, "input_proj.weight")),
        ("model.mtp.layers.0.norm.weight", (Layout.PREFIXED, 0, "layers.0.norm.weight")),
        ("mtp_block.0.mlp.weight", (Layout.OTHER, 0, "mtp_block.0.mlp.weight")),
    ],
)
def test_a_name_says_whose_it_is(name, expected):
    said = mtp_name(name, {"num_hidden_layers": 4})
    assert (said.layout, said.head, said.local) == expected


@pytest.mark.parametrize(
    "name", ["model.layers.3.mlp.up_proj.weight", "lm_head.weight", "vision_tower.layers.30.attn.weight"]
)
def test_the_models_own_weights_are_no_mtp(name):
    assert mtp_name(name, {"text_config": {"num_hidden_layers": 4}}) is None


def test_layers_that_a_config_leaves_out_are_no_heads():
    names = ("model.layers.4.mlp.up_proj.weight", "model.layers.5.eh_proj.weight", "model.layers.5.mlp.up_proj.weight")
    assert set(mtp_names(names, {"num_hidden_layers": 4})) == set(names[1:])


# --------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "file", ["mtp.safetensors", "mtp-00001-of-00001.safetensors", "model-mtp.safetensors", "model.safetensors"]
)
def test_weights_are_found_in_any_file_of_the_folder(tmp_path, file):
    raw = raw_of(tmp_path, DENSE)
    assert same_weights(loaded(tmp_path / "a", DENSE, raw, file), loaded(tmp_path / "b", DENSE, raw))


def test_weights_in_several_shards_are_one_head(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    names = sorted(raw)
    saved(tmp_path, {n: raw[n] for n in names[::2]}, "model-00001-of-00002.safetensors")
    saved(tmp_path, {n: raw[n] for n in names[1::2]}, "model-00002-of-00002.safetensors")
    assert same_weights(load_mtp_head(tiny_target_in(tmp_path, DENSE)), loaded(tmp_path / "b", DENSE, raw))


def test_a_file_of_its_own_goes_before_the_models_files(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    saved(tmp_path, {n: np.zeros_like(a) for n, a in raw.items()}, "model.safetensors")
    assert same_weights(loaded(tmp_path, DENSE, raw), loaded(tmp_path / "b", DENSE, raw))


def test_a_drafters_own_file_may_leave_the_prefix_out(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    bare = {name.removeprefix("mtp."): a for name, a in raw.items()}
    assert same_weights(loaded(tmp_path / "a", DENSE, bare), loaded(tmp_path / "b", DENSE, raw))


def test_a_wrappers_prefix_changes_nothing(tmp_path):
    raw = raw_of(tmp_path, "glm4_moe")
    wrapped = {f"language_model.{name}": a for name, a in raw.items()}
    assert same_weights(loaded(tmp_path / "a", "glm4_moe", wrapped), loaded(tmp_path / "b", "glm4_moe", raw))


def test_rotary_frequencies_and_cache_scales_are_left_out(tmp_path):
    raw = raw_of(tmp_path, "mimo")
    more = {**raw, "model.mtp_layers.0.self_attn.rotary_emb.inv_freq": np.ones(4, np.float32)}
    more["model.mtp_layers.0.self_attn.k_scale"] = np.ones(1, np.float32)
    assert same_weights(loaded(tmp_path / "a", "mimo", more), loaded(tmp_path / "b", "mimo", raw))


@pytest.mark.parametrize("kind", ["qwen3_next", "qwen3_5_moe", "deepseek_v3", "glm4_moe", "mimo", "step3p5"])
def test_mlx_lm_loads_the_model_from_a_folder_that_keeps_its_mtp_weights(tmp_path, kind):
    """Some model files refuse what they do not drop themselves; with the names dropped first, all load."""
    target = tiny_target_in(tmp_path, kind)
    stored = converted(raw_head(kind, target.config), kind.startswith(("qwen", "step")))
    saved(tmp_path, {**dict(tree_flatten(target.model.parameters())), **stored}, "model.safetensors")
    config = {**target.config, "eos_token_id": 0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, _ = load_model(tmp_path, get_model_classes=classes_without_mtp(_get_classes))
    assert type(model) is type(target.model)
    tokens = mx.array([[1, 2, 3]])
    np.testing.assert_allclose(np.array(model(tokens)), np.array(target.model(tokens)), atol=1e-5)
    assert same_weights(load_mtp_head(target), loaded(tmp_path / "b", kind, stored))


# --------------------------------------------------------------------- norms


def norms(layer, inputs, last):
    def of(average):
        return mx.full((8,), average)

    return {
        "layers.0.input_layernorm.weight": of(layer[0]),
        "layers.0.self_attn.q_norm.weight": of(layer[1]),
        "layers.0.self_attn.k_norm.weight": of(layer[2]),
        "pre_fc_norm_hidden.weight": of(inputs[0]),
        "pre_fc_norm_embedding.weight": of(inputs[1]),
        "norm.weight": of(last),
        "layers.0.self_attn.q_proj.weight": mx.zeros((2, 2)),
    }


def added(tensors, stored=None):
    after = with_ones_added(tensors, stored or tensors)
    return {name for name in tensors if not mx.array_equal(after[name], tensors[name])}


def test_raw_norms_get_their_one_whatever_the_last_one_amplifies():
    raw = norms((-0.0951, -0.2328, 0.1), (-0.44, -0.73), 1.9253)
    assert added(raw) == {name for name in raw if "norm" in name}


def test_converted_norms_stay_even_where_they_damp():
    assert added(norms((0.9049, 0.7672, 1.1), (0.4937, 0.2734), 2.9253)) == set()


def test_norms_before_the_projection_that_a_converter_forgot_get_their_one():
    assert added(norms((0.9, 0.8, 1.1), (-0.44, -0.73), 2.9)) == {
        "pre_fc_norm_hidden.weight",
        "pre_fc_norm_embedding.weight",
    }


def test_low_norms_of_a_converted_layer_do_not_outvote_the_others():
    assert added(norms((0.04, 0.75, 0.74), (0.5, 0.3), 2.9)) == set()


@pytest.mark.parametrize("experts", ["mlp.experts.0.up_proj.weight", "mlp.experts.gate_up_proj"])
def test_experts_in_the_raw_layout_mean_raw_norms(experts):
    given = norms((0.6, 0.7, 0.8), (0.6, 0.7), 1.5)
    assert len(added(given, {**given, f"layers.0.{experts}": mx.zeros((2, 2))})) == 6


# -------------------------------------------------------------- quantisation


def packed(raw, bits=8, group_size=32, keep=()):
    """Matrices as mlx-lm stores them, and what they are worth."""
    stored, worth = {}, {}
    for name, value in raw.items():
        whole = mx.array(value)
        if value.ndim < 2 or name.endswith(("mlp.gate.weight", "shared_expert_gate.weight", *keep)):
            stored[name] = worth[name] = whole
            continue
        weight, scales, biases = mx.quantize(whole, group_size=group_size, bits=bits)
        stem = name.removesuffix(".weight")
        stored |= {name: weight, f"{stem}.scales": scales, f"{stem}.biases": biases}
        worth[name] = mx.dequantize(weight, scales, biases, group_size=group_size, bits=bits)
    return stored, worth


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("kind", ["qwen3_5_moe", "glm4_moe", "mimo", "step3p5"])
def test_a_quantised_head_stays_quantised_and_is_worth_what_it_says(tmp_path, kind, bits):
    stored, worth = packed(converted(raw_of(tmp_path, kind), kind.startswith(("qwen", "step"))), bits)
    heads = loaded(tmp_path / "a", kind, stored)
    assert any(isinstance(m, nn.QuantizedLinear) and m.bits == bits for m in heads.modules())
    assert same_weights(loaded(tmp_path / "b", kind, worth), loaded_as(tmp_path / "a", kind, "float32"))


def loaded_as(folder, kind, dtype):
    return load_mtp_head(tiny_target_in(folder, kind), dtype)


def test_a_head_may_be_quantised_in_part_and_in_other_groups_than_the_model(tmp_path):
    stored, _ = packed(raw_of(tmp_path, DENSE), 4, 32, keep=("fc.weight",))
    heads = loaded(tmp_path, DENSE, stored, quantization={"group_size": 64, "bits": 8})
    head = heads.heads[0]
    assert isinstance(head.fc, nn.Linear)
    assert (head.layers[0].mlp.up_proj.bits, head.layers[0].mlp.up_proj.group_size) == (4, 32)


def test_single_quantised_experts_are_stacked_with_their_scales(tmp_path):
    stored, worth = packed(raw_of(tmp_path, "glm4_moe"))
    loaded(tmp_path / "a", "glm4_moe", stored)
    assert same_weights(loaded(tmp_path / "b", "glm4_moe", worth), loaded_as(tmp_path / "a", "glm4_moe", "float32"))


def test_quantised_latent_attention_is_split_and_packed_again():
    weight = mx.random.normal((2 * (32 + 64), 64), key=mx.random.key(1))
    packed_weight, scales, biases = mx.quantize(weight, group_size=32, bits=8)
    whole = with_split_kv_b({"a.kv_b_proj.weight": weight}, 2, 32, 64, "m")
    given = {"a.kv_b_proj.weight": packed_weight, "a.kv_b_proj.scales": scales, "a.kv_b_proj.biases": biases}
    split = with_split_kv_b(given, 2, 32, 64, "m")
    for part in ("a.embed_q", "a.unembed_out"):
        worth = mx.dequantize(*(split[f"{part}.{kind}"] for kind in ("weight", "scales", "biases")), 32, 8)
        np.testing.assert_allclose(np.array(worth), np.array(whole[f"{part}.weight"]), atol=0.05)


def test_fp8_blocks_are_worth_their_scale():
    weight = mx.random.normal((130, 200), key=mx.random.key(2))
    scale = mx.array([[1.0, 2.0], [0.5, 4.0]])
    plain = dequantised_fp8({"up.weight": mx.to_fp8(weight), "up.weight_scale_inv": scale, "n": mx.ones(2)}, "m")
    assert plain.keys() == {"up.weight", "n"}
    by_row = mx.repeat(mx.repeat(scale, 128, axis=0), 128, axis=1)[:130, :200]
    np.testing.assert_allclose(
        np.array(plain["up.weight"].astype(mx.float32)), np.array(weight * by_row), rtol=0.08, atol=0.01
    )


def test_fp8_scales_that_do_not_fit_their_weight_say_so():
    given = {"up.weight": mx.to_fp8(mx.ones((130, 200))), "up.weight_scale_inv": mx.ones((2, 3))}
    with pytest.raises(
        MtpError, match=r"up\.weight_scale_inv .* has shape \(2, 3\) where its config asks for \(2, 2\)"
    ):
        dequantised_fp8(given, "m")


def test_a_head_follows_the_targets_dtype_but_for_the_routers_bias(tmp_path):
    raw = {name: mx.array(a).astype(mx.float16) for name, a in raw_of(tmp_path, "glm4_moe").items()}
    bias = next(name for name in raw if name.endswith("correction_bias"))
    raw[bias] = raw[bias].astype(mx.float32)
    kinds = {a.dtype for _, a in named_arrays(loaded(tmp_path, "glm4_moe", raw).parameters())}
    assert kinds == {mx.float32}


# ------------------------------------------------------------------ bad input


def refused(tmp_path, kind, tensors, match, **changes):
    with pytest.raises(MtpError, match=match) as caught:
        loaded(tmp_path, kind, tensors, **changes)
    text = str(caught.value)
    assert text.count(". ") == 0
    assert text.endswith(".")
    assert str(tmp_path) not in text


@pytest.mark.parametrize("kind", ["qwen3_5", "glm4_moe", "deepseek_v3", "mimo", "step3p5"])
def test_a_missing_weight_is_named(tmp_path, kind):
    raw = raw_of(tmp_path, kind)
    del raw[next(name for name in raw if name.endswith("post_attention_layernorm.weight"))]
    refused(
        tmp_path, kind, raw, r"lacks 1 of its weights \(.*post_attention_layernorm\.weight\): fetch the model again"
    )


def test_a_misshapen_weight_is_named_with_both_shapes(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    raw["mtp.fc.weight"] = raw["mtp.fc.weight"][:, :64]
    refused(tmp_path, DENSE, raw, r"fc\.weight .* has shape \(64, 64\) where its config asks for \(64, 128\)")


def test_latent_attention_of_another_width_is_named(tmp_path):
    raw = raw_of(tmp_path, "deepseek_v3")
    name = next(name for name in raw if name.endswith("kv_b_proj.weight"))
    raw[name] = raw[name][:, :16]
    refused(tmp_path, "deepseek_v3", raw, r"kv_b_proj\.weight .* has shape \(128, 16\)")


@pytest.mark.parametrize("shape", [(), (8,)])
def test_fused_experts_without_rows_say_so(tmp_path, shape):
    raw = fused(raw_of(tmp_path, "qwen3_5_moe"))
    name = next(name for name in raw if name.endswith("gate_up_proj"))
    refused(tmp_path, "qwen3_5_moe", {**raw, name: np.ones(shape, np.float32)}, "cannot be read .*: fetch the model")


def test_an_fp8_scale_beside_a_float_weight_says_so(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    refused(tmp_path, DENSE, {**raw, "mtp.fc.weight_scale_inv": np.ones((1, 1), np.float32)}, "cannot be read")


def test_scales_without_a_shape_say_so(tmp_path):
    stored, _ = packed(raw_of(tmp_path, DENSE))
    refused(tmp_path, DENSE, {**stored, "mtp.fc.scales": np.ones((), np.float32)}, "cannot be read")


@pytest.mark.parametrize(
    ("kind", "name", "match"),
    [
        ("glm4_moe", "model.layers.4.mlp.experts.{}.up_proj.weight", "has no place for"),
        ("mimo", "model.mtp_layers.{}.input_proj.weight", "has a layout that specview cannot run yet"),
    ],
)
def test_a_number_of_endless_digits_is_no_number(tmp_path, kind, name, match):
    more = {name.format("9" * 5000): np.ones((2, 2), np.float32)}
    with pytest.raises(MtpError, match=match) as caught:
        loaded(tmp_path, kind, {**raw_of(tmp_path, kind), **more})
    assert len(str(caught.value)) < 400


def test_a_layer_of_endless_digits_is_no_head(tmp_path):
    raw = raw_of(tmp_path, "glm4_moe")
    more = {f"model.layers.{'9' * 5000}.eh_proj.weight": np.ones((2, 2), np.float32)}
    assert same_weights(loaded(tmp_path / "a", "glm4_moe", raw | more), loaded(tmp_path / "b", "glm4_moe", raw))


def test_a_tensor_whose_name_is_no_text_says_so(tmp_path):
    header = b'{"mtp.\xff":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (tmp_path / "mtp.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    target = tiny_target_in(tmp_path, DENSE)
    with pytest.raises(MtpError, match=r"^mtp\.safetensors of .* cannot be read: fetch the model again\.$"):
        load_mtp_head(target)
    assert not wants_hidden(target)


def test_a_missing_expert_says_so(tmp_path):
    raw = {name: a for name, a in raw_of(tmp_path, "glm4_moe").items() if ".experts.1." not in name}
    refused(tmp_path, "glm4_moe", raw, r"The experts of glm4_moe's MTP head are not complete")


def test_fewer_experts_than_the_config_says_are_misshapen(tmp_path):
    raw = {name: a for name, a in raw_of(tmp_path, "glm4_moe").items() if ".experts.3." not in name}
    refused(tmp_path, "glm4_moe", raw, r"switch_mlp\.\w+\.weight .* has shape \(3, ")


@pytest.mark.parametrize("name", ["mtp_block.0.mlp.weight", "model.nextn.0.fc.weight"])
def test_an_unknown_layout_says_so(tmp_path, name):
    refused(tmp_path, DENSE, {name: np.ones((2, 2), np.float32)}, "has a layout that specview cannot run yet")


def test_several_layers_behind_one_projection_are_an_unknown_layout(tmp_path):
    raw = raw_of(tmp_path, DENSE)
    more = {n.replace("layers.0", "layers.1"): a for n, a in raw.items() if "layers.0" in n}
    refused(tmp_path, DENSE, {**raw, **more}, "has a layout that specview cannot run yet")


def test_another_familys_layout_is_unknown(tmp_path):
    config = tiny_target_in(tmp_path, "mimo").config
    refused(tmp_path, "glm4_moe", mimo_head(config, 1), "has a layout that specview cannot run yet")


def test_two_layouts_in_one_folder_are_unknown(tmp_path):
    config = tiny_target_in(tmp_path, "mimo").config
    both = {**mimo_head(config, 1), "mtp.fc.weight": np.ones((2, 2), np.float32)}
    refused(tmp_path, "mimo", both, "has a layout that specview cannot run yet")


def test_a_weight_that_no_module_takes_is_named(tmp_path):
    raw = {**raw_of(tmp_path, "mimo"), "model.mtp_layers.0.gate.weight": np.ones((2, 2), np.float32)}
    refused(tmp_path, "mimo", raw, r"holds weights that its config has no place for \(block\.gate\.weight\)")


def test_packed_weights_without_scales_say_so(tmp_path):
    stored, _ = packed(raw_of(tmp_path, DENSE))
    refused(tmp_path, DENSE, {k: v for k, v in stored.items() if k != "mtp.fc.scales"}, "comes without scales")


def test_packing_that_mlx_does_not_know_says_so(tmp_path):
    stored, _ = packed(raw_of(tmp_path, DENSE))
    for kind in ("scales", "biases"):
        stored[f"mtp.fc.{kind}"] = mx.repeat(stored[f"mtp.fc.{kind}"], 16, axis=1)
    refused(tmp_path, DENSE, stored, r"fc of qwen3_5's MTP head is quantised in a way that MLX does not know")


def test_a_gap_between_heads_says_so(tmp_path):
    config = tiny_target_in(tmp_path, "glm4_moe").config
    raw = {**next_layer_head(config, 1, 0), **next_layer_head(config, 2, 2)}
    refused(tmp_path, "glm4_moe", raw, r"holds MTP heads 0, 2 \(counted from 0\) but not those between")


def test_a_folder_without_heads_says_so(tmp_path):
    refused(tmp_path, DENSE, {"model.layers.0.mlp.weight": np.ones(2, np.float32)}, "holds no MTP head")


def test_a_dtype_that_does_not_exist_says_so(tmp_path):
    saved(tmp_path, raw_of(tmp_path, DENSE))
    with pytest.raises(MtpError, match=r"There is no dtype 'float8': use one of float32"):
        loaded_as(tmp_path, DENSE, "float8")


def test_a_head_that_the_backend_cannot_run_says_so(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("[gather_mm] not here")

    monkeypatch.setattr("specview.engine.drafters.mtp_heads.MtpHeads.logits", fails)
    refused(tmp_path, DENSE, raw_of(tmp_path, DENSE), r"MLX cannot run the MTP head of qwen3_5 here.*--dtype float32")


def test_the_bundled_head_is_found_as_it_is_stored(stored, tmp_path):
    found = stored_heads(BUNDLED_FOLDER, stored.config, "bundled")
    assert (found.layout, len(found.heads)) == (Layout.PREFIXED, 1)
    shutil.copy(BUNDLED_FOLDER / "mtp.safetensors", tmp_path)
    assert same_weights(load_mtp_head(stored), load_mtp_head(type(stored)(**{**fields(stored), "folder": tmp_path})))


def fields(target):
    return {name: getattr(target, name) for name in target.__dataclass_fields__}


def test_fused_and_single_experts_load_alike(tmp_path):
    raw = raw_of(tmp_path, "qwen3_5_moe")
    assert same_weights(loaded(tmp_path / "a", "qwen3_5_moe", fused(raw)), loaded(tmp_path / "b", "qwen3_5_moe", raw))
