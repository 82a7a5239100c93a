"""Shapes without weights: true dimensions, few layers in proportion, random packed words, and no trust in a config."""

from __future__ import annotations

import copy
import json

import mlx.core as mx
import mlx.nn as nn
import pytest

from specview.engine.cache import arrays_of, new_cache, prefill
from specview.engine.layer_kinds import layer_kinds
from specview.engine.model_files import BUNDLED_FOLDER, ModelError
from specview.engine.models import describe
from specview.engine.random_weights import STD, fill_with_random
from specview.engine.shape_config import PRESET_FOLDER, with_experts
from specview.engine.shape_layers import choose_layers
from specview.engine.shapes import (
    PRESETS,
    ShapeError,
    check_fits,
    estimate,
    load_shape,
    random_prompt,
    shape_config,
)
from specview.engine.trees import named_arrays

on_cpu = pytest.mark.skipif(mx.default_device() != mx.cpu, reason="speaks of the CPU backend")

DENSE = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
FOUR_BIT = {"group_size": 64, "bits": 4, "mode": "affine"}


def hybrid(**changes):
    """The 35b-a3b preset with small dimensions and eight layers."""
    config = copy.deepcopy(shape_config("35b-a3b"))
    small = {
        "hidden_size": 64,
        "num_hidden_layers": 8,
        "layer_types": config["text_config"]["layer_types"][:8],
        "num_attention_heads": 4,
        "head_dim": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 64,
        "vocab_size": 96,
    }
    config["text_config"].update(small | changes)
    return config


def dense_first(count, dense):
    """A DeepSeek-like architecture with `dense` layers before those with experts."""
    return {
        "model_type": "deepseek_v3",
        "hidden_size": 32,
        "intermediate_size": 64,
        "moe_intermediate_size": 32,
        "num_hidden_layers": count,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 16,
        "v_head_dim": 16,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": dense,
        "moe_layer_freq": 1,
        "vocab_size": 96,
    }


def written(tmp_path, config, name="some-shape"):
    """A folder with this config.json."""
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return str(folder)


def refusal(call, *args, **options):
    with pytest.raises(ShapeError) as caught:
        call(*args, **options)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


# -------------------------------------------------------------- presets, estimates


def test_presets_are_the_files_that_ship():
    assert sorted(PRESETS) == sorted(file.stem for file in PRESET_FOLDER.glob("*.json"))


@pytest.mark.parametrize(
    ("preset", "billions", "layers"),
    [
        ("0.6b", 0.596, {"full attention": 28}),
        ("8b", 8.19, {"full attention": 36}),
        ("32b", 32.76, {"full attention": 64}),
        ("30b-a3b", 30.53, {"full attention": 48}),
        ("35b-a3b", 34.66, {"full attention": 10, "linear attention": 30}),
    ],
)
def test_a_preset_has_the_parameters_of_its_model(preset, billions, layers):
    found = estimate(shape_config(preset))
    assert found.parameters / 1e9 == pytest.approx(billions, abs=0.005)
    assert dict(found.layers_in_full) == dict(found.layers_built) == layers


def test_an_estimate_allocates_nothing():
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    few = estimate(shape_config("35b-a3b"), 4)
    assert mx.get_peak_memory() - before < 2**20
    assert few.weight_bytes == pytest.approx(2.7e9, rel=0.05)
    assert few.weight_bytes_in_full > 7 * few.weight_bytes
    assert few.parameters < few.parameters_in_full


def test_an_estimate_is_what_is_then_built(tmp_path):
    config = hybrid()
    target = load_shape(written(tmp_path, config), layers=4)
    arrays = [a for _, a in named_arrays(target.model.parameters())]
    found = estimate(config, 4)
    assert found.weight_bytes == sum(a.nbytes for a in arrays)
    held = found.weight_bytes + max(a.nbytes for a in arrays)
    assert found.needed_bytes == pytest.approx(1.1 * held, abs=1) and found.cache_bytes == 0


def test_what_does_not_fit_is_refused_with_the_number_before_it_is_allocated():
    mx.clear_cache()
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    text = refusal(load_shape, "32b", available_bytes=18_000_000_000)
    assert text.startswith("32b needs 23.0 GB (20.5 GB of weights and room to work), 18.0 GB are free: build fewer")
    assert "--layers" in text
    assert mx.get_peak_memory() - before < 2**20


def test_weights_that_just_fit_leave_no_room_to_work():
    found = estimate(shape_config("32b"), name="32b")
    assert "--layers" in refusal(check_fits, found, found.weight_bytes + 10**9)


def test_keys_and_values_of_the_asked_positions_must_fit_too():
    short, long = (estimate(shape_config("32b"), positions=n, name="32b") for n in (0, 32768))
    assert long.cache_bytes == 32768 * 64 * 2 * 8 * 128 * 4  # layers, keys and values, heads, their width, float32
    assert long.needed_bytes == short.needed_bytes + long.cache_bytes
    text = refusal(check_fits, long, short.needed_bytes)
    assert "up to 17.2 GB of keys and values" in text and "shorter --context" in text
    check_fits(long, long.needed_bytes)
    assert "keys and values" in refusal(load_shape, "0.6b", layers=1, available_bytes=2 * 10**9, positions=10**6)


def test_layers_that_keep_a_state_of_one_size_have_no_keys_and_values():
    config = shape_config("35b-a3b")
    assert estimate(config, positions=1).cache_bytes == 10 * 2 * 2 * 256 * 4
    assert estimate(config, 4, positions=1).cache_bytes == 2 * 2 * 256 * 4


def test_what_cannot_have_fewer_layers_is_told_so():
    found = estimate(DENSE, 1, name="some-shape")
    assert "choose a smaller shape" in refusal(check_fits, found, 10)
    check_fits(found, found.needed_bytes)


# ------------------------------------------------------------------- few of all layers


@pytest.mark.parametrize(
    ("layers", "linear", "full"), [(4, 3, 1), (8, 6, 2), (12, 9, 3), (2, 1, 1), (3, 2, 1), (5, 4, 1), (6, 5, 1)]
)
def test_few_layers_keep_every_kind_in_its_proportion(layers, linear, full):
    choice = choose_layers("35b-a3b", shape_config("35b-a3b"), layers)
    assert dict(choice.built) == {"linear attention": linear, "full attention": full}
    assert dict(choice.in_full) == {"linear attention": 30, "full attention": 10}


def test_few_layers_keep_their_order(tmp_path):
    target = load_shape(written(tmp_path, hybrid()), layers=4)
    assert layer_kinds(target.model) == ("linear attention",) * 3 + ("full attention",)


@pytest.mark.parametrize(("layers", "dense", "experts"), [(2, 1, 1), (4, 1, 3), (20, 1, 19), (40, 2, 38)])
def test_dense_layers_that_come_first_are_represented(layers, dense, experts):
    choice = choose_layers("x", dense_first(61, 3), layers)
    assert dict(choice.built) == {"full attention, MLP": dense, "full attention, MoE": experts}
    assert dict(choice.in_full) == {"full attention, MLP": 3, "full attention, MoE": 58}
    assert choice.config["first_k_dense_replace"] == dense


def test_too_few_layers_for_all_kinds_name_the_kinds():
    text = refusal(choose_layers, "x", hybrid(), 1)
    assert text == "x has 2 kinds of layers (full attention; linear attention): choose --layers 2 or more."


@pytest.mark.parametrize("layers", [0, -1, 9])
def test_layers_that_the_model_does_not_have(layers):
    text = refusal(choose_layers, "x", hybrid(), layers)
    assert text == f"x has 8 layers: choose --layers from 1 to 8, not {layers}."


def test_layers_of_one_kind_but_unequal_size_cannot_stand_for_all():
    config = {
        "model_type": "rwkv7",
        "vocab_size": 96,
        "hidden_size": 64,
        "intermediate_size": 128,
        "norm_eps": 1e-5,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "a_low_rank_dim": 8,
        "v_low_rank_dim": 8,
        "gate_low_rank_dim": 8,
        "decay_low_rank_dim": 8,
        "tie_word_embeddings": False,
    }
    assert "come in 2 sizes, so few cannot stand for all: choose --layers 4." in refusal(choose_layers, "x", config, 2)
    assert choose_layers("x", config, None).built == choose_layers("x", config, 4).built


# ------------------------------------------------------------------------- building


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Four of eight layers of a small hybrid, 4-bit."""
    return load_shape(written(tmp_path_factory.mktemp("shapes"), hybrid()), layers=4)


def test_a_shape_describes_itself_as_random(built):
    facts = describe(built)
    assert (facts.name, facts.architecture, facts.vocabulary) == ("some-shape", "qwen3_5_moe", 96)
    assert facts.random_weights and facts.tokenizer_hash == "none"
    assert facts.layers == (("full attention", 1), ("linear attention", 3))
    assert facts.layers_in_full == (("full attention", 2), ("linear attention", 6))
    assert facts.quantisation == "4-bit, groups of 64"


def test_the_header_says_that_weights_are_random(built, stored):
    from specview.profilers.record.facts import model_facts

    facts = model_facts(built)
    assert facts.random_weights and facts.layers_in_full == (("full attention", 2), ("linear attention", 6))
    real = model_facts(stored)
    assert not real.random_weights and real.layers_in_full is None


def test_a_shape_with_all_layers_has_nothing_to_extrapolate(tmp_path):
    target = load_shape(written(tmp_path, DENSE | {"quantization": FOUR_BIT}))
    assert target.random_weights and target.layers_in_full is None


def test_a_shape_generates_finite_numbers_on_a_warm_cache(built):
    caches = new_cache(built)
    prefill(built, random_prompt(built, 40, 1), caches)
    logits = built.logits(mx.array([[3, 4]]), caches)
    mx.eval(logits, arrays_of(caches))
    assert mx.all(mx.isfinite(logits)).item()
    assert all(mx.all(mx.isfinite(a)).item() for a in arrays_of(caches))
    assert mx.std(logits).item() > 0.05


def test_routers_spread_their_choices(built):
    chosen = []
    block = built.model.layers[0].mlp
    hidden = mx.random.normal((1, 64, 64), key=mx.random.key(3))
    gates = block.gate(hidden)
    chosen = mx.argpartition(gates, kth=-2, axis=-1)[..., -2:].flatten().tolist()
    assert len(set(chosen)) >= 12, "of 16 experts"


def test_the_same_seed_gives_the_same_weights(tmp_path):
    folder = written(tmp_path, hybrid())
    first, again, other = (load_shape(folder, layers=2, seed=seed) for seed in (1, 1, 2))
    tokens = mx.array([[1, 2, 3]])
    assert mx.array_equal(first.model(tokens), again.model(tokens))
    assert not mx.array_equal(first.model(tokens), other.model(tokens))


def test_prompts_are_random_tokens_of_the_model(built):
    prompt = random_prompt(built, 500, 7)
    assert len(prompt) == 500 and min(prompt) >= 0 and max(prompt) < 96
    assert len(set(prompt)) > 80
    assert prompt == random_prompt(built, 500, 7) != random_prompt(built, 500, 8)


def test_a_shape_has_no_tokenizer(built):
    assert built.eos_ids == frozenset()
    assert "reads no text" in refusal(built.tokenizer.encode, "text")
    assert "writes no text" in refusal(built.tokenizer.decode, [1])


MODES = [("affine", bits, 64) for bits in (2, 3, 4, 5, 6, 8)] + [("mxfp4", 4, 32), ("nvfp4", 4, 16), ("mxfp8", 8, 32)]


@pytest.mark.parametrize(("mode", "bits", "group"), MODES)
def test_random_words_stand_for_small_weights_around_zero(mode, bits, group):
    model = nn.Sequential(nn.Linear(256, 512))
    nn.quantize(model, group_size=group, bits=bits, mode=mode)
    fill_with_random(model, 5)
    layer = model.layers[0]
    weights = mx.dequantize(layer.weight, layer.scales, layer.get("biases"), group, bits, mode).astype(mx.float32)
    assert weights.shape == (512, 256)
    assert mx.std(weights).item() == pytest.approx(STD, rel=0.25)
    assert abs(mx.mean(weights).item()) < STD / 50
    assert mx.all(layer.bias == 0).item()


def test_every_bit_of_a_random_word_is_random():
    layer = nn.QuantizedLinear(256, 512, bias=False)
    fill_with_random(layer, 5)
    for bit in range(32):
        assert mx.mean(((layer.weight >> bit) & 1).astype(mx.float32)).item() == pytest.approx(0.5, abs=0.02)


@on_cpu
def test_scales_are_float32_on_a_cpu(built):
    floats = {a.dtype for _, a in named_arrays(built.model.parameters()) if mx.issubdtype(a.dtype, mx.floating)}
    assert floats == {mx.float32}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_dtype_builds_it_unquantised(tmp_path, dtype):
    target = load_shape(written(tmp_path, DENSE | {"quantization": FOUR_BIT}), layers=2, dtype=dtype)
    facts = describe(target)
    assert (facts.quantisation, facts.dtype) == (None, dtype)
    weight = target.model.layers[0].mlp.up_proj.weight.astype(mx.float32)
    assert mx.std(weight).item() == pytest.approx(STD, rel=0.1)


def test_without_quantisation_it_has_the_dtype_of_the_checkpoint(tmp_path):
    assert describe(load_shape(written(tmp_path, DENSE), layers=1)).dtype == "bfloat16"


@on_cpu
def test_unquantised_experts_on_a_cpu_want_float32(tmp_path):
    folder = written(tmp_path, hybrid())
    assert "in float32 only: add --dtype float32." in refusal(load_shape, folder, layers=4, dtype="float16")
    assert describe(load_shape(folder, layers=2, dtype="float32")).dtype == "float32"


def test_fewer_experts_are_in_the_name(tmp_path):
    target = load_shape(written(tmp_path, hybrid()), layers=4, experts=4)
    assert target.name == "some-shape (4 experts)"
    assert target.model.layers[0].mlp.switch_mlp.up_proj.num_experts == 4


@pytest.mark.parametrize("experts", [1, 17, 0, -2])
def test_experts_that_the_model_does_not_have(tmp_path, experts):
    text = refusal(load_shape, written(tmp_path, hybrid()), layers=4, experts=experts)
    assert text == "some-shape has 16 experts and uses 2 at a time: choose a number from 2 to 16."
    assert "has no experts" in refusal(load_shape, written(tmp_path, DENSE), experts=4)


def bits_of(target, path):
    return dict(target.model.named_modules())[path].bits


def test_routers_are_quantised_as_the_model_file_says(built):
    assert bits_of(built, "language_model.model.layers.0.mlp.gate") == 8
    assert bits_of(built, "language_model.model.layers.0.mlp.switch_mlp.up_proj") == 4


def test_quantisation_of_single_weights_follows_its_layer(tmp_path):
    quantisation = FOUR_BIT | {
        "model.layers.3.mlp.up_proj": {"group_size": 32, "bits": 8},
        "model.layers.0.self_attn.q_proj": False,
    }
    config = DENSE | {"quantization": quantisation}
    target = load_shape(written(tmp_path, config))
    assert bits_of(target, "model.layers.3.mlp.up_proj") == 8
    assert bits_of(target, "model.layers.2.mlp.up_proj") == 4
    assert not hasattr(target.model.layers[0].self_attn.q_proj, "bits")
    chosen = dense_first(8, 2) | {"quantization": FOUR_BIT | {"model.layers.2.mlp.switch_mlp.up_proj": {"bits": 8}}}
    assert choose_layers("x", chosen, 2).chosen == (0, 2)


def test_weights_that_no_group_divides_stay_unquantised(tmp_path):
    config = DENSE | {"quantization": {"group_size": 128, "bits": 4}}
    target = load_shape(written(tmp_path, config), layers=1)
    assert not hasattr(target.model.layers[0].mlp.up_proj, "bits")
    assert target.model.layers[0].mlp.down_proj.bits == 4


# ------------------------------------------------------------------------- sources


def test_a_file_a_folder_and_the_bundled_model_are_sources(tmp_path):
    folder = written(tmp_path, DENSE)
    other = tmp_path / "my-shape.json"
    other.write_text(json.dumps(DENSE))
    assert shape_config(folder) == shape_config(f"{folder}/config.json") == shape_config(str(other)) == DENSE
    names = [load_shape(str(s), layers=1).name for s in (folder, f"{folder}/config.json", other)]
    assert names == ["some-shape", "some-shape", "my-shape"]
    assert shape_config("bundled") == json.loads((BUNDLED_FOLDER / "config.json").read_text())


def test_only_the_config_of_a_hub_id_is_downloaded(tmp_path, monkeypatch):
    asked = []

    def give(hub_id, file):
        asked.append((hub_id, file))
        return f"{written(tmp_path, DENSE)}/config.json"

    monkeypatch.setattr("huggingface_hub.hf_hub_download", give)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr("specview.engine.model_files._hub_answers", lambda: True)
    assert load_shape("some-org/some-model", layers=1).name == "some-org/some-model"
    assert asked == [("some-org/some-model", "config.json")]


def test_a_hub_id_while_offline_offers_the_presets(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"the hub cannot be reached: go online, or choose one of 35b-a3b, "):
        shape_config("no-such-org/no-such-model")


def test_a_name_that_is_nothing_lists_the_presets(tmp_path):
    assert "or one of 35b-a3b, 30b-a3b, 0.6b, 8b, 32b." in refusal(shape_config, "70b")
    for source in ("../nope", "./nope.json", "a/..", "a/b.git", "a/b--c", f"a/{'b' * 100}"):
        assert "There is no shape" in refusal(shape_config, source)
    assert "holds no config.json" in refusal(shape_config, str(tmp_path))
    assert "cannot be read" in refusal(shape_config, "x" * 5000)


# ------------------------------------------------------------------------ bad configs


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, "1" * 10_000, '{"a": NaN'])
def test_a_config_that_is_not_json(tmp_path, text):
    assert refusal(shape_config, written(tmp_path, text)).startswith("The config of some-shape is not valid JSON")


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null"])
def test_a_config_that_is_no_object(tmp_path, text):
    assert refusal(shape_config, written(tmp_path, text)).startswith("The config of some-shape is no JSON object")


def test_a_config_that_is_no_text(tmp_path):
    folder = tmp_path / "some-shape"
    folder.mkdir()
    (folder / "config.json").write_bytes(b"\xff\xfe\x00\x80")
    assert "not valid JSON" in refusal(shape_config, str(folder))


def test_a_config_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("specview.engine.shape_config.LONGEST_CONFIG_BYTES", 10)
    assert "longer than 10 bytes" in refusal(shape_config, written(tmp_path, DENSE))


@pytest.mark.parametrize("key", ["model_type", "num_hidden_layers", "hidden_size", "rms_norm_eps", "vocab_size"])
def test_a_missing_key_is_named(tmp_path, key):
    config = {k: v for k, v in DENSE.items() if k != key}
    text = refusal(load_shape, written(tmp_path, config))
    assert text == f"The config of some-shape lacks {key}: add it, or choose a whole config.json."


@pytest.mark.parametrize("key", ["vocab_size", "num_attention_heads", "linear_num_value_heads"])
def test_a_dimension_that_mlx_lm_would_make_up_is_missing(tmp_path, key):
    config = hybrid()
    del config["text_config"][key]
    assert f"lacks {key}" in refusal(load_shape, written(tmp_path, config), layers=4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", -64),
        ("hidden_size", 0),
        ("hidden_size", 2**40),
        ("hidden_size", 64.5),
        ("hidden_size", "64"),
        ("hidden_size", True),
        ("vocab_size", 10**12),
        ("num_hidden_layers", 10**9),
        ("num_hidden_layers", 0),
        ("intermediate_size", [128, -1]),
        ("head_dim", 10**30),
    ],
)
def test_a_dimension_that_makes_no_sense_is_named(tmp_path, key, value):
    text = refusal(load_shape, written(tmp_path, DENSE | {key: value}))
    assert f"some-shape has {key} = " in text and "must be a whole number from" in text


def test_dimensions_that_are_too_large_together_end_in_a_sentence(tmp_path):
    absurd = DENSE | {"num_attention_heads": 2**24, "head_dim": 2**24}
    assert "some-shape" in refusal(load_shape, written(tmp_path, absurd), layers=1, available_bytes=10**9)
    large = DENSE | {"hidden_size": 2**18, "intermediate_size": 2**20}
    assert "GB are free" in refusal(load_shape, written(tmp_path, large), layers=1, available_bytes=10**9)


@pytest.mark.parametrize(
    "model_type", ["no_such_architecture", "base", "cache", "../../evil", "os.path", "", 5, ["llama"], "a" * 100]
)
def test_an_architecture_nobody_knows(tmp_path, model_type):
    text = refusal(load_shape, written(tmp_path, DENSE | {"model_type": model_type}))
    assert "some-shape" in text and "Traceback" not in text


def test_a_model_file_that_ends_the_process_does_not():
    assert "mlx-lm cannot build x" in refusal(choose_layers, "x", DENSE | {"model_type": "olmo"}, None)


@pytest.mark.parametrize("inner", [False, True])
def test_code_that_a_config_brings_is_never_run(tmp_path, inner):
    config = hybrid()
    (config["text_config"] if inner else config)["model_file"] = "evil.py"
    folder = written(tmp_path, config)
    ran = tmp_path / "ran"
    (tmp_path / "some-shape" / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    assert "wants to run code of its own (model_file)" in refusal(load_shape, folder)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("quantisation", "says"),
    [
        ({"quantization_config": {"quant_method": "fp8", "fmt": "e4m3"}}, "(fp8) is not one of MLX's"),
        ({"quantization": {"bits": 4}}, "is not one of MLX's"),
        ({"quantization": "4bit"}, "is not one of MLX's"),
        ({"quantization": {"bits": -4, "group_size": 64}}, "makes no sense"),
        ({"quantization": {"bits": 7, "group_size": 64}}, "MLX cannot quantise some-shape"),
        ({"quantization": {"bits": 4, "group_size": 64, "mode": "magic"}}, "MLX cannot quantise some-shape"),
    ],
)
def test_a_quantisation_that_mlx_does_not_have(tmp_path, quantisation, says):
    folder = written(tmp_path, DENSE | quantisation)
    assert says in refusal(load_shape, folder, layers=1)
    assert describe(load_shape(folder, layers=1, dtype="float32")).quantisation is None


def test_an_unknown_dtype_names_the_choices():
    assert "use one of float32, float16, bfloat16" in refusal(load_shape, "0.6b", layers=1, dtype="int3")


@pytest.mark.parametrize(("key", "value"), [("torch_dtype", []), ("dtype", {}), ("dtype", 16)])
def test_a_dtype_that_is_no_name_counts_as_none(tmp_path, key, value):
    plain = {k: v for k, v in DENSE.items() if k != "torch_dtype"}
    assert describe(load_shape(written(tmp_path, plain | {key: value}), layers=1)).dtype == "bfloat16"


def test_layers_are_one_number(tmp_path):
    text = refusal(load_shape, written(tmp_path, DENSE | {"num_hidden_layers": [2, 2]}), layers=2)
    assert text.startswith("some-shape has num_hidden_layers = [2, 2], which must be a whole number from 1 to 2,048")


def test_experts_layer_by_layer_are_not_cut():
    few = with_experts("x", hybrid(num_experts_per_tok=[2, 3]), 4)
    assert few["text_config"]["num_experts"] == 4
    assert "uses 3 at a time" in refusal(with_experts, "x", hybrid(num_experts_per_tok=[2, 3]), 2)
    assert "uses 1 at a time" in refusal(with_experts, "x", hybrid(num_experts_per_tok=[]), 0)
    assert "gives its experts layer by layer" in refusal(with_experts, "x", hybrid(num_experts=[8]), 4)


def test_a_method_of_quantisation_that_is_no_name(tmp_path):
    folder = written(tmp_path, DENSE | {"quantization_config": {"quant_method": []}})
    assert "The quantisation of some-shape is not one of MLX's" in refusal(load_shape, folder, layers=1)


def test_a_config_nested_too_deep(tmp_path):
    deep = json.dumps(DENSE)[:-1] + ', "rope_scaling": ' + '{"a":' * 600 + "1" + "}" * 601
    assert "some-shape" in refusal(load_shape, written(tmp_path, deep), layers=1)
