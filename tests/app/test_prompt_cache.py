"""`specview cache-prompt` and `record --prompt-cache`: one text with and without, mlx-lm's files, and every refusal."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import mlx.core as mx
import pytest
from mlx_lm.models.cache import load_prompt_cache, make_prompt_cache, save_prompt_cache
from stub_canary import StubCanary

from specview.app.cli import main
from specview.engine.cache import new_cache
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.models import load_target
from specview.engine.prompt_cache import PromptCacheError, open_prompt, read_prompt, save_prompt
from specview.profilers.measure import schedule
from specview.profilers.record import prompt_beginning
from specview.profilers.record import recorder as recording
from specview.profilers.record.kv_choice import as_cached, kv_of
from specview.profilers.record.plan import Plan
from specview.profilers.record.prompt_beginning import Beginning, beginning_tokens, open_beginning
from specview.profilers.record.session import read_session

CODE = "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n"
QUESTION = "        self.items.append(item)\n"


@pytest.fixture
def specview(monkeypatch, capsys, bundled, stored):
    """Run a command on models that are loaded once, with short segments; its status and both streams."""

    def load(source="bundled", dtype=None, trust=False):
        if source != "bundled":
            return load_target(source, dtype, trust)
        return bundled if dtype == "float32" else stored

    monkeypatch.setattr(schedule, "SEGMENT_TOKENS", 8)
    monkeypatch.setattr(recording, "Canary", StubCanary)
    monkeypatch.setattr(recording, "load_target", load)
    monkeypatch.setattr(prompt_beginning, "load_target", load)

    def run(*arguments):
        status = main(list(map(str, arguments)))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def texts(tmp_path):
    """Files with the beginning, with what comes behind it, and with both."""
    for name, text in (("beginning", CODE), ("behind", QUESTION), ("whole", CODE + QUESTION)):
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


@pytest.fixture
def cached(specview, texts):
    """A prompt cache of the beginning, of the bundled model in float32."""
    out = texts / "a.safetensors"
    status, said, _ = specview("cache-prompt", "--prompt", texts / "beginning.txt", "--out", out, "--dtype", "float32")
    assert status == 0 and "positions" in said and "--prompt-cache" in said
    return out


def recorded(specview, out, *options):
    status, _, error = specview("record", "--no-blocks", "--tokens", 16, "--out", out, *options)
    assert not error and status == 0, error
    return read_session(out)


def text_of(session):
    """What the drafting arm shows, replays left out."""
    pieces = [r.pieces.committed for r in session.rounds if r.pieces is not None and not r.replay]
    return "".join(piece for committed in pieces for piece in committed)


def same(a, b):
    """Whether one text begins with the other: the last round of each may reach further."""
    return min(len(a), len(b)) > 30 and (a.startswith(b) or b.startswith(a))


@pytest.mark.parametrize("draft", ["mtp", "bundled", "fixed:0.7"])
def test_the_greedy_text_is_the_same_with_and_without(specview, texts, cached, draft):
    common = ("--dtype", "float32", "--draft", draft, "--draft-dtype", "float32", "--k", 2)
    whole = recorded(specview, texts / "w.specview.jsonl", *common, "--prompts", texts / "whole.txt")
    options = ("--prompts", texts / "behind.txt", "--prompt-cache", cached)
    with_cache = recorded(specview, texts / "c.specview.jsonl", *common, *options)
    assert same(text_of(whole), text_of(with_cache))
    assert [run.prompt.tokens for run in whole.runs] == [run.prompt.tokens for run in with_cache.runs]
    note = next(note.text for note in with_cache.notes if "prompt cache" in note.tags)
    assert "positions of the prompt cache a.safetensors, which were not read again." in note
    assert "behind the prompt cache a.safetensors" in with_cache.header.plan


def test_a_file_of_mlx_lm_is_gone_on_from_and_names_no_tokens(specview, texts, bundled):
    ids = bundled.tokenizer.encode(CODE)
    theirs = make_prompt_cache(bundled.model)
    mx.eval(bundled.model(mx.array([ids]), cache=theirs))
    path = texts / "theirs.safetensors"
    save_prompt_cache(str(path), theirs, {"model": "bundled", "tokenizer_config": "{}"})
    options = ("--dtype", "float32", "--draft", "lookup")
    whole = recorded(specview, texts / "w.specview.jsonl", *options, "--prompts", texts / "whole.txt")
    behind = ("--prompts", texts / "behind.txt", "--prompt-cache", path)
    with_cache = recorded(specview, texts / "c.specview.jsonl", *options, *behind)
    assert same(text_of(whole), text_of(with_cache))
    assert "the draft (lookup) sees only what follows" in with_cache.notes[0].text
    status, _, error = specview("record", "--dtype", "float32", "--draft", "fixed:0.7", *behind)
    assert status == 1 and "must foresee the text" in error


def drafts_of(session):
    """What was drafted and kept in the rounds that are shown, token for token."""
    shown = [r for r in session.rounds if r.pieces is not None and not r.replay]
    return [(r.context, r.drafted, r.accepted, r.pieces.committed, r.pieces.rejected) for r in shown]


def test_an_mtp_head_drafts_the_same_behind_a_prompt_cache(specview, texts, cached):
    common = ("--dtype", "float32", "--draft", "mtp", "--k", 3)
    whole = recorded(specview, texts / "w.specview.jsonl", *common, "--prompts", texts / "whole.txt")
    behind = ("--prompts", texts / "behind.txt", "--prompt-cache", cached)
    with_cache = recorded(specview, texts / "c.specview.jsonl", *common, *behind)
    assert len(drafts_of(whole)) > 4 and drafts_of(whole) == drafts_of(with_cache)


def test_a_file_without_hidden_states_still_loads_and_says_what_the_head_sees(specview, texts, bundled):
    ids, caches = beginning_tokens(bundled, CODE, None, True), new_cache(bundled)
    read_prompt(bundled, ids, caches)
    path = saved_at(texts / "old.safetensors", bundled, ids, caches)
    behind = ("--dtype", "float32", "--prompts", texts / "behind.txt", "--prompt-cache", path)
    session = recorded(specview, texts / "o.specview.jsonl", *behind, "--draft", "mtp")
    assert "which were not read again; the draft (mtp) sees only what follows." in session.notes[0].text


def test_hidden_states_that_cannot_be_the_models_are_refused(texts, bundled):
    ids, caches = bundled.tokenizer.encode(CODE), new_cache(bundled)
    hidden = read_prompt(bundled, ids, caches, keep_hidden=True).hidden
    for name, wrong in (("short", hidden[:, 1:]), ("narrow", hidden[..., 1:]), ("half", hidden.astype(mx.float16))):
        path = texts / f"{name}.safetensors"
        save_prompt(path, bundled, ids, caches, hidden=wrong)
        with pytest.raises(PromptCacheError, match=r"its hidden states are not those of its positions\): make it anew"):
            open_prompt(path, bundled)
    path = texts / "right.safetensors"
    save_prompt(path, bundled, ids, caches, hidden=hidden)
    assert mx.array_equal(open_prompt(path, bundled).hidden, hidden)
    assert sorted(each.name for each in texts.glob("right*")) == ["right.safetensors"]


def test_mlx_lm_reads_the_file_and_finds_the_model_in_it(cached, bundled):
    caches, metadata = load_prompt_cache(str(cached), return_metadata=True)
    assert len(caches) == len(bundled.model.layers)
    assert load_target(metadata["model"]).config == bundled.config and json.loads(metadata["tokenizer_config"]) == {}


def test_quantised_keys_and_values_stay_as_the_file_has_them(specview, texts, monkeypatch):
    out = texts / "q.safetensors"
    monkeypatch.setattr("sys.stdin", io.StringIO(CODE))
    assert specview("cache-prompt", "--prompt", "-", "--out", out, "--kv-bits", 8)[0] == 0
    behind = ("--prompts", texts / "behind.txt", "--prompt-cache", out)
    session = recorded(specview, texts / "s.specview.jsonl", *behind)
    assert {run.kv_bits for run in session.runs} == {8}
    status, _, error = specview("record", "--kv-bits", 4, *behind)
    assert status == 1 and "keeps keys and values in 8 bits: leave --kv-bits out" in error
    status, _, error = specview("record", "--policy", "compiled", *behind)
    assert status == 1 and "and --policy compiled needs them as they are: leave the policy out" in error
    status, _, error = specview("record", "--kv-bits", 8, "--kv-start", 500, *behind)
    assert status == 1 and "is quantised already: leave --kv-start out" in error


def test_groups_of_quantised_keys_are_those_of_the_file(specview, texts, bundled):
    ids, caches = bundled.tokenizer.encode(CODE), new_cache(bundled)
    kv = KvQuantisation(bits=8, group_size=32)
    read_prompt(bundled, ids, caches, kv=kv)
    beginning = Beginning(open_prompt(saved_at(texts / "g.safetensors", bundled, ids, caches), bundled), bundled)
    assert kv_of(Plan(kv_bits=8, kv_start=3), beginning) == replace(kv, start=3)
    assert as_cached(Plan(), beginning) == Plan(kv_bits=8)


def saved_at(path, target, ids, caches):
    save_prompt(path, target, ids, caches)
    return path


def test_the_command_that_goes_on_repeats_what_it_must(specview, texts, monkeypatch, stored):
    monkeypatch.setattr(prompt_beginning, "load_target", lambda *_: replace(stored, tokenizer=Letters()))
    out = texts / "n.safetensors"
    _, said, _ = specview("cache-prompt", "--prompt", texts / "beginning.txt", "--out", out, "--no-chat")
    command = said[said.index("specview record") :].split()
    assert "--no-chat" in command and "--trust-remote-code" not in command


def test_a_text_without_tokens_cannot_go_on(cached, bundled):
    beginning = open_beginning(str(cached), bundled)
    with pytest.raises(prompt_beginning.PlanError, match=r"no tokens behind a\.safetensors: write some text"):
        replace(beginning, cached=replace(beginning.cached, chat=False)).tokens("", False)


def test_a_template_that_refuses_is_one_sentence(bundled):
    class Strict(Turns):
        def apply_chat_template(self, messages, **more):
            raise RuntimeError("System role not supported")

    with pytest.raises(PromptCacheError, match=r"does not take this \(System role not supported\): leave --system out"):
        beginning_tokens(replace(bundled, tokenizer=Strict()), "Read this.", "Be brief.", True)


def test_what_does_not_fit_is_refused_in_one_sentence(specview, texts, cached, monkeypatch):
    behind = ("--prompts", texts / "behind.txt", "--prompt-cache")
    for options, says in (
        ((*behind, texts / "none.safetensors"), "There is no prompt cache none.safetensors here"),
        ((*behind, texts / "whole.txt"), "whole.txt cannot be read as a prompt cache"),
        ((*behind, cached, "--system", "Be brief."), "--system comes before the prompt cache"),
        ((*behind, cached, "--dtype", "float32", "--context", 10_000_000), "needs"),
        (("--context", 3000), "reads at most 2,048 positions"),
    ):
        status, _, error = specview("record", *options)
        assert (status, error.count("\n")) == (1, 1) and says in error
    for options, says in (
        (("--prompt", texts / "whole.txt", "--out", cached), "exists already"),
        (("--prompt", texts / "none.txt", "--out", texts / "b.safetensors"), "There is no file"),
        (
            ("--prompt", texts / "whole.txt", "--out", texts / "b.safetensors", "--system", "a\udcff"),
            "--system is not UTF-8 text",
        ),
        (("--prompt", texts / "whole.txt", "--out", texts / "b.npz"), "let it end in .safetensors"),
        (("--prompt", texts / "whole.txt", "--out", texts / "no" / "b.safetensors"), "the folder 'no' is not there"),
    ):
        status, _, error = specview("cache-prompt", *options)
        assert (status, error.count("\n")) == (1, 1) and says in error
    (texts / "long.txt").write_text(CODE * 200)
    status, _, error = specview("cache-prompt", "--prompt", texts / "long.txt", "--out", texts / "b.safetensors")
    assert status == 1 and "reads at most 2,048: give a shorter prompt" in error
    assert not (texts / "b.safetensors").exists()


class Turns:
    """A tokenizer with a chat template, as mlx-lm calls one."""

    chat_template = "made"

    def encode(self, text, add_special_tokens=True):
        return [1] * add_special_tokens + [ord(c) for c in text]

    def apply_chat_template(self, messages, tokenize=True, add_generation_prompt=False, **more):
        text = "".join(f"<{m['role']}>{m['content']}</>" for m in messages)
        if more.get("continue_final_message"):
            text = text.removesuffix("</>")
        text += "<assistant>" if add_generation_prompt else ""
        return self.encode(text, add_special_tokens=False) if tokenize else text


class Letters(Turns):
    """The same without tokens the bundled model does not have."""

    def encode(self, text, add_special_tokens=True):
        return [ord(c) % 97 for c in text]

    def get_vocab(self):
        return {}


def test_behind_a_cached_turn_only_the_rest_of_the_turn_is_read(cached, bundled, tmp_path):
    target = replace(bundled, tokenizer=Turns())
    assert "".join(map(chr, beginning_tokens(target, "Read this.", "Be brief.", True))) == (
        "<system>Be brief.</><user>Read this."
    )
    beginning = open_beginning(str(cached), bundled)
    there = replace(beginning, target=target, cached=replace(beginning.cached, chat=True))
    ids = there.tokens(" And?", True)
    assert ids[: there.positions] == list(beginning.cached.tokens)
    assert "".join(map(chr, ids[there.positions :])) == " And?</><assistant>"
    with pytest.raises(prompt_beginning.PlanError, match="made with the chat template: leave --no-chat out"):
        there.tokens(" And?", False)
