"""Loading models: names, dtypes, facts, and a sentence for everything that can be wrong with a folder."""

from __future__ import annotations

import json
import shutil
import socket

import mlx.core as mx
import pytest

from specview.engine.model_files import BUNDLED_FOLDER, ModelError, public_name
from specview.engine.models import describe, load_target, tokenizer_hash
from specview.engine.trees import named_arrays


@pytest.fixture
def model_copy(tmp_path):
    """A folder with the bundled model, to be spoilt."""
    folder = tmp_path / "some-model"
    shutil.copytree(BUNDLED_FOLDER, folder)
    return folder


def refusal(source, **options):
    with pytest.raises(ModelError) as caught:
        load_target(str(source), **options)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_the_bundled_model_loads_as_stored(stored):
    facts = describe(stored)
    assert (facts.name, facts.architecture) == ("bundled", "qwen3_next")
    assert facts.layers == (("full attention", 2), ("linear attention", 6))
    assert facts.quantisation == "8-bit, groups of 64"
    assert facts.dtype == "float32", "scales in float32: on CPU others are many times slower"
    assert facts.vocabulary == 4096
    assert facts.parameters > 4_000_000


def test_float32_dequantises(bundled):
    facts = describe(bundled)
    assert facts.quantisation is None
    assert facts.dtype == "float32"
    assert facts.weight_bytes == pytest.approx(4 * facts.parameters, rel=1e-3)


def test_a_folder_loads_like_the_bundled_model(model_copy, stored):
    target = load_target(str(model_copy))
    assert target.name == "some-model"
    assert tokenizer_hash(target) == tokenizer_hash(stored)


def test_a_cast_reaches_every_weight(model_copy, monkeypatch):
    monkeypatch.setattr("mlx_lm.models.qwen3_next.Model.__call__", lambda *_: mx.zeros(1))
    target = load_target(str(model_copy), "bfloat16")
    assert {a.dtype for _, a in named_arrays(target.model.parameters())} == {mx.bfloat16}


def test_what_the_backend_cannot_compute_is_told_at_once(model_copy, monkeypatch):
    def refuse(*_):
        raise RuntimeError("[GatherMM::eval] Currently only supports float32.")

    monkeypatch.setattr("mlx_lm.models.qwen3_next.Model.__call__", refuse)
    assert refusal(model_copy) == (
        "MLX cannot run some-model here ([GatherMM::eval] Currently only supports float32): "
        "try --dtype float32, or choose another model."
    )


def test_a_draft_model_is_told_of_by_its_own_options(model_copy, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refusal("no/such-drafter", drafts=True).endswith("go online, or choose another --draft, such as lookup.")
    monkeypatch.setattr("mlx_lm.models.qwen3_next.Model.__call__", lambda *_: 1 / 0)
    assert "try --draft-dtype float32" in refusal(model_copy, drafts=True)


def test_an_unknown_dtype_names_the_choices(model_copy):
    assert "use one of float32, float16, bfloat16" in refusal(model_copy, dtype="int3")


def test_inner_and_head_are_the_model(stored):
    tokens = mx.array([[5, 6, 7]])
    whole = stored.model(tokens)
    assert mx.array_equal(stored.head(stored.inner(tokens)), whole)


def test_names_carry_no_path(model_copy, monkeypatch):
    assert public_name("bundled") == "bundled"
    assert public_name(str(model_copy)) == "some-model"
    assert public_name("org/name") == "org/name"
    monkeypatch.chdir(model_copy)
    assert public_name(".") == "some-model"


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_stays_a_name(name):
    assert public_name(name) == name


# ---------------------------------------------------------------- what is wrong


def test_a_missing_folder(tmp_path):
    assert refusal(tmp_path / "nothing").startswith("There is no model folder")


def test_a_home_that_does_not_exist():
    assert refusal("~no-such-user-here/models/x").startswith("There is no model folder")


def test_a_name_too_long():
    assert "cannot be read" in refusal("x" * 5000)


def test_a_file(model_copy):
    assert refusal(model_copy / "config.json").startswith("config.json is a file: name the folder")


def test_a_folder_without_config(tmp_path):
    assert refusal(tmp_path).startswith(f"{tmp_path.name} holds no config.json")


def test_the_current_folder_without_config_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(".").startswith(f"{tmp_path.name} holds no config.json")


def test_a_config_without_weights(model_copy):
    for file in model_copy.glob("*.safetensors"):
        file.unlink()
    assert refusal(model_copy) == (
        "some-model holds a config.json but no model*.safetensors: convert it with mlx_lm.convert."
    )


@pytest.mark.parametrize(
    "spoil", [lambda b: b"nonsense", lambda b: b[:1000], lambda b: b"", lambda b: b[: len(b) // 2]]
)
def test_corrupt_weights(model_copy, spoil):
    weights = model_copy / "model.safetensors"
    weights.write_bytes(spoil(weights.read_bytes()))
    text = refusal(model_copy)
    assert text.startswith("The weights of some-model cannot be read") and text.endswith("fetch the model again.")
    assert str(model_copy.parent) not in text


@pytest.mark.parametrize("config", ["{", "", "[]", "3", '"text"', "{}", '{"model_type": 5}'])
def test_a_corrupt_config(model_copy, config):
    (model_copy / "config.json").write_text(config)
    assert "some-model" in refusal(model_copy)


def test_a_config_that_is_no_text(model_copy):
    (model_copy / "config.json").write_bytes(b"\xff\xfe\x00")
    assert "some-model" in refusal(model_copy)


def test_a_config_of_another_size(model_copy):
    config = json.loads((model_copy / "config.json").read_text())
    config["hidden_size"] = 128
    (model_copy / "config.json").write_text(json.dumps(config))
    assert "some-model" in refusal(model_copy)


def test_an_architecture_nobody_knows(model_copy):
    config = json.loads((model_copy / "config.json").read_text())
    config["model_type"] = "no_such_architecture"
    (model_copy / "config.json").write_text(json.dumps(config))
    text = refusal(model_copy)
    assert text.startswith("mlx-lm cannot load some-model") and "upgrade mlx-lm" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"full_attention_interval": 0},
        {"linear_num_key_heads": 0},
        {"hidden_size": 2**40},
        {"hidden_size": 2**70},
        {"num_hidden_layers": "8"},
        {"num_experts": 1, "num_experts_per_tok": -1},
    ],
)
def test_a_config_whose_numbers_make_no_sense(model_copy, changes):
    config = json.loads((model_copy / "config.json").read_text())
    (model_copy / "config.json").write_text(json.dumps(config | changes))
    assert "some-model" in refusal(model_copy)


def test_a_model_file_that_ends_the_process_does_not(model_copy):
    (model_copy / "config.json").write_text(json.dumps({"model_type": "olmo"}))
    assert refusal(model_copy) == (
        "mlx-lm needs a package for some-model that is not installed here: install it, or choose another model."
    )


def test_a_config_nested_too_deep(model_copy):
    (model_copy / "config.json").write_text("[" * 100_000)
    assert refusal(model_copy).startswith("The config.json of some-model is nested too deep")


def test_what_a_config_says_cannot_steer_the_terminal(model_copy):
    (model_copy / "config.json").write_text(json.dumps({"model_type": "\x1b]0;owned\x07"}))
    text = refusal(model_copy)
    assert text.isprintable() and "\ufffd]0;owned\ufffd" in text


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_corrupt_tokenizer(model_copy, content):
    (model_copy / "tokenizer.json").write_text(content)
    assert refusal(model_copy).startswith("The tokenizer of some-model cannot be read")


def test_a_file_that_may_not_be_read(model_copy, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(model_copy / "config.json"))

    monkeypatch.setattr("mlx_lm.utils.load_model", refuse)
    text = refusal(model_copy)
    assert text == "some-model cannot be read (Permission denied): check the folder and its permissions."


# --------------------------------------------------------------------- the hub


def test_a_hub_id_while_offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    text = refusal("no-such-org/no-such-model")
    assert "neither a folder here nor in the local cache" in text and "leave --model out" in text


def test_a_hub_that_does_not_answer(monkeypatch):
    asked = []

    def refuse(address, timeout):
        asked.append((address, timeout))
        raise OSError("unreachable")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert "the hub cannot be reached" in refusal("no-such-org/no-such-model")
    (((host, port), timeout),) = asked
    assert (host, port) == ("huggingface.co", 443)
    assert timeout <= 5
