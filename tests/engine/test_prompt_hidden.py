"""Hidden states beside a prompt's caches: what the writing of them touches in a person's folder."""

from __future__ import annotations

import mlx.core as mx
import pytest
from tiny_models import tiny_target

from specview.engine.cache import new_cache
from specview.engine.prompt_cache import PromptCacheError, open_prompt, read_prompt, save_prompt

PROMPT = [5, 17, 3, 60, 42, 8]


@pytest.fixture(scope="module")
def read():
    """A target, and the caches and hidden states [1, 6, D] of a prompt."""
    target = tiny_target("llama")
    caches = new_cache(target)
    return target, caches, read_prompt(target, PROMPT, caches, keep_hidden=True).hidden


def test_files_beside_it_stay_what_they_are_and_none_is_left(tmp_path, read):
    target, caches, hidden = read
    neighbour = tmp_path / "p.part.safetensors"
    neighbour.write_bytes(b"mine")
    save_prompt(tmp_path / "p.safetensors", target, PROMPT, caches, hidden=hidden)
    assert neighbour.read_bytes() == b"mine"
    assert {file.name for file in tmp_path.iterdir()} == {"p.safetensors", "p.part.safetensors"}
    kept = open_prompt(tmp_path / "p.safetensors", target).hidden
    assert kept is not None and mx.array_equal(kept, hidden)


def test_a_failure_leaves_nothing_behind(tmp_path, read, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    target, caches, hidden = read
    monkeypatch.setattr("specview.engine.prompt_hidden.mx.load", refuse)
    with pytest.raises(PromptCacheError, match=r"p\.safetensors cannot be written"):
        save_prompt(tmp_path / "p.safetensors", target, PROMPT, caches, hidden=hidden)
    assert list(tmp_path.iterdir()) == []
