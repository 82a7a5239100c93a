"""What cannot be recorded is refused in one sentence before a session file exists."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from specview.app.cli import main
from specview.engine.model_files import BUNDLED_FOLDER


@pytest.fixture
def copied(tmp_path):
    """A copy of the bundled model whose MTP weights were changed."""

    def copied(change):
        folder = tmp_path / "changed"
        shutil.copytree(BUNDLED_FOLDER, folder)
        for file in folder.glob("*.safetensors"):
            weights = dict(mx.load(str(file)))
            mx.eval(weights)
            if not any(name.startswith("mtp.") for name in weights):
                continue
            change(weights)
            file.unlink()
            mx.save_safetensors(str(file), weights, {"format": "mlx"})
        return folder

    return copied


def refused(capfd, out: Path, *arguments: str) -> str:
    assert main(["record", "--limit", "1", "--tokens", "8", "--out", str(out), *arguments]) == 1
    said = capfd.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if line.strip()]
    assert not out.exists()
    assert len(lines) == 1 and lines[0].startswith("specview: ") and lines[0].endswith(".")
    return lines[0]


def test_a_checkpoint_that_lacks_an_mtp_weight(copied, tmp_path, capfd):
    folder = copied(lambda weights: weights.pop("mtp.fc.weight"))
    sentence = refused(capfd, tmp_path / "a.specview.jsonl", "--model", str(folder), "--draft", "mtp")
    assert "The MTP head of changed lacks 1 of its weights (fc.weight)" in sentence


def test_a_checkpoint_with_a_misshapen_mtp_weight(copied, tmp_path, capfd):
    def cut(weights):
        name = "mtp.layers.0.self_attn.q_norm.weight"
        weights[name] = weights[name][:-4]

    folder = copied(cut)
    sentence = refused(capfd, tmp_path / "a.specview.jsonl", "--model", str(folder), "--draft", "mtp")
    assert "q_norm.weight of changed's MTP head has shape" in sentence and "where its config asks for" in sentence


def test_a_draft_model_with_another_tokenizer(tmp_path, capfd):
    folder = tmp_path / "other"
    shutil.copytree(BUNDLED_FOLDER, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    ids = tokenizer["model"]["vocab"]
    one, other = sorted(ids, key=ids.get)[300:302]
    ids[one], ids[other] = ids[other], ids[one]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    sentence = refused(capfd, tmp_path / "a.specview.jsonl", "--draft", str(folder))
    assert "choose a draft model with the target's tokenizer" in sentence


def test_a_prompt_longer_than_the_context(tmp_path, capfd):
    prompt = tmp_path / "long.txt"
    prompt.write_text("the quick brown fox jumps over the lazy dog. " * 500)
    sentence = refused(capfd, tmp_path / "a.specview.jsonl", "--prompts", str(prompt))
    assert "tokens, more than the" in sentence and "shorten it" in sentence


def test_a_draft_that_leaves_a_context_no_room(tmp_path, capfd):
    sentence = refused(
        capfd, tmp_path / "a.specview.jsonl", "--k", "60", "--context", "100", "--draft", "lookup", "--prompts", "code"
    )
    assert "more than the 0 this run has room for" in sentence


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--k", "65"), "choose k from 0 to 64"),
        (("--kv-start", "100"), "name --kv-bits too"),
        (("--kv-bits", "8", "--policy", "compiled"), "leave --kv-bits out, or the policy"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, capfd, arguments, said):
    assert said in refused(capfd, tmp_path / "a.specview.jsonl", *arguments)
