"""Prompts: the bundled suites, and files of one's own."""

from __future__ import annotations

import io

import pytest

from specview.profilers.record.prompts import BUNDLED_SUITES, Prompt, PromptError, load_prompts, tokens_of


def test_all_suites_take_turns():
    prompts = load_prompts()
    assert len(prompts) == 18
    assert [p.kind for p in prompts[:6]] == ["english", "chinese", "code"] * 2
    assert [p.index for p in prompts[:6]] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("suite", BUNDLED_SUITES)
def test_a_suite_holds_six(suite):
    prompts = load_prompts(suite)
    assert [(p.suite, p.index) for p in prompts] == [(suite, n) for n in range(6)]


def test_several_suites_are_joined_by_commas():
    assert [p.suite for p in load_prompts("code,english,code")] == ["code", "english"] * 6


def test_hashes_tell_texts_apart():
    hashes = {p.hash for p in load_prompts()}
    assert len(hashes) == 18
    assert all(len(h) == 16 for h in hashes)
    assert Prompt("a", 0, "b", "text").hash == Prompt("c", 9, "d", "text").hash


def test_a_text_file_is_one_prompt(tmp_path):
    file = tmp_path / "one.txt"
    file.write_text("Zeile eins\n行二\n", encoding="utf8")
    assert load_prompts(str(file)) == (Prompt("one.txt", 0, "text", "Zeile eins\n行二\n"),)


def test_a_jsonl_file_is_a_prompt_a_line(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text('{"text": "a", "kind": "x"}\n\n{"text": "b"}\n{"text": ""}\n', encoding="utf8")
    assert load_prompts(str(file)) == (Prompt("some.jsonl", 0, "x", "a"), Prompt("some.jsonl", 1, "text", "b"))


def test_a_file_named_like_a_suite_needs_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").write_text("own")
    assert len(load_prompts("code")) == 6
    assert load_prompts("./code")[0].text == "own"


def test_a_missing_file_names_the_choices():
    with pytest.raises(PromptError, match="use all, english, chinese, code, or a file"):
        load_prompts("nothing-here")


def test_a_name_too_long_is_one_sentence():
    with pytest.raises(PromptError, match="cannot be read"):
        load_prompts("x" * 5000)


def test_tokens_that_fit():
    assert tokens_of(Prompt("s", 0, "k", "t"), (1, 2, 3), 3) == [1, 2, 3]


def test_no_tokens_are_refused():
    with pytest.raises(PromptError, match="Prompt 4 of mine has no tokens"):
        tokens_of(Prompt("mine", 4, "k", "t"), (), 100)


@pytest.mark.parametrize(("longest", "told"), [(2, 2), (0, 0), (-60, 0)])
def test_more_tokens_than_room_are_refused(longest, told):
    with pytest.raises(PromptError, match=f"has 3 tokens, more than the {told} this run has room for: shorten it"):
        tokens_of(Prompt("mine", 4, "k", "t"), (1, 2, 3), longest)


def test_who_cannot_raise_the_context_is_not_told_to():
    with pytest.raises(PromptError) as refused:
        tokens_of(Prompt("mine", 4, "k", "t"), (1, 2, 3), 2, can_grow=False)
    assert str(refused.value).endswith("the model reads no longer text, so shorten it, or ask for fewer --tokens.")
    with pytest.raises(PromptError, match="or raise --context"):
        tokens_of(Prompt("mine", 4, "k", "t"), (1, 2, 3), 2)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_bytes_on_stdin_that_are_no_text_are_one_sentence(errors):
    stdin = io.TextIOWrapper(io.BytesIO(b"hello \xff\xfe"), encoding="utf-8", errors=errors)
    with pytest.raises(PromptError, match="stdin is not UTF-8 text: convert it first"):
        load_prompts("-", stdin)
    assert load_prompts("-", io.StringIO("hello"))[0].text == "hello"
