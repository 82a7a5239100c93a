"""The bundled prompts: six of each kind, of the kind they say, none twice."""

from __future__ import annotations

import json
from importlib import resources

import pytest

SUITES = ("english", "chinese", "code")


def entries(name):
    text = (resources.files("specview") / "assets" / "prompts" / f"{name}.jsonl").read_text(encoding="utf8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", SUITES)
def test_six_of_each_kind(name):
    assert [e["kind"] for e in entries(name)] == [name] * 6


def test_no_text_comes_twice():
    texts = [e["text"] for name in SUITES for e in entries(name)]
    assert len(set(texts)) == 18
    assert all(text.strip() for text in texts)


def test_chinese_prompts_are_chinese():
    for entry in entries("chinese"):
        share = sum("\u4e00" <= c <= "\u9fff" for c in entry["text"]) / len(entry["text"])
        assert share > 0.5


def test_english_prompts_are_ascii_prose():
    for entry in entries("english"):
        assert sum(c.isalpha() or c.isspace() for c in entry["text"]) / len(entry["text"]) > 0.85
        assert not any("\u4e00" <= c <= "\u9fff" for c in entry["text"])


def test_every_prompt_leaves_room_in_the_bundled_model(stored):
    longest = stored.config["max_position_embeddings"]
    for name in SUITES:
        for entry in entries(name):
            assert 5 <= len(stored.tokenizer.encode(entry["text"])) < longest // 4
