"""Drafters: what each proposes, what it remembers, and which are refused."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import numpy as np
import pytest
from tiny_models import tiny_target

from specview.engine.cache import new_cache, prefill
from specview.engine.decode import speculate, start
from specview.engine.drafters.choose import DrafterError, choose_drafter
from specview.engine.drafters.lookup import NgramError, PromptLookup
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, MtpError, load_mtp_head
from specview.engine.drafters.none import NoDrafter
from specview.engine.model_files import BUNDLED_FOLDER, ModelError
from specview.engine.models import check_same_tokens
from specview.engine.probe import FreeProbe
from specview.engine.sampling import Sampling, distribution
from specview.engine.trees import named_arrays

CODE = "def add(self, value):\n    self.items.append(value)\n    return self\n\ndef remove(self, value):\n"


def lookup_after(*tokens):
    drafter = PromptLookup()
    drafter.begin(tokens, None)
    return drafter


def guesses(drafter, k):
    return drafter.draft((), k).tokens.tolist()


# -------------------------------------------------------------------- lookup


def test_lookup_proposes_what_followed():
    assert guesses(lookup_after(1, 2, 3, 4, 5, 1, 2, 3), 2) == [4, 5]


def test_lookup_takes_the_last_occurrence():
    assert guesses(lookup_after(1, 2, 7, 1, 2, 8, 1, 2), 1) == [8]


def test_lookup_prefers_the_longest_match():
    # the pair (3, 4) was last followed by 9, but the four tokens (1, 2, 3, 4) by 5
    assert guesses(lookup_after(1, 2, 3, 4, 5, 0, 3, 4, 9, 1, 2, 3, 4), 1) == [5]


@pytest.mark.parametrize("k", range(9))
def test_lookup_proposes_never_more_than_k(k):
    drafter = lookup_after(*range(20), *range(5))
    assert guesses(drafter, k) == list(range(5, 5 + k))


def test_lookup_proposes_less_where_the_text_ends():
    assert guesses(lookup_after(1, 2, 3, 1, 2), 8) == [3, 1, 2]


@pytest.mark.parametrize("tokens", [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4, 5)])
def test_lookup_proposes_nothing_when_nothing_matches(tokens):
    draft = lookup_after(*tokens).draft((), 4)
    assert draft.tokens.shape == (0,)
    assert draft.catch_up_width == 0


def test_one_token_is_no_match():
    assert guesses(lookup_after(1, 5, 2, 1), 3) == []


def test_lookup_learns_what_was_committed():
    drafter = lookup_after(1, 2, 3)
    drafter.settle((9, 1, 2), 2, None)
    assert guesses(drafter, 2) == [3, 9]


def test_lookup_goes_back_to_a_mark():
    drafter = lookup_after(1, 2, 3, 1, 2)
    mark, before = drafter.mark(), guesses(drafter, 3)
    drafter.settle((7, 1, 2), 0, None)
    assert guesses(drafter, 3) != before
    drafter.restore(mark)
    assert guesses(drafter, 3) == before


def test_indexing_bit_by_bit_is_indexing_at_once():
    tokens = [(n * n) % 5 for n in range(60)]
    grown = lookup_after(*tokens[:7])
    for token in tokens[7:]:
        grown.settle((token,), 0, None)
        whole = lookup_after(*tokens[: len(grown.mark())])
        assert guesses(grown, 4) == guesses(whole, 4)


def test_lookup_matches_as_long_and_as_short_as_it_is_told():
    shorter = PromptLookup(longest=1, shortest=1)
    shorter.begin((1, 5, 2, 1), None)
    assert guesses(shorter, 3) == [5, 2, 1]
    longer = PromptLookup(longest=5, shortest=5)
    longer.begin((1, 2, 3, 4, 5, 6, 2, 3, 4, 5), None)
    assert guesses(longer, 1) == []
    longer.begin((1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5), None)
    assert guesses(longer, 1) == [6]


@pytest.mark.parametrize(("longest", "shortest"), [(4, 0), (1, 2), (-1, -1)])
def test_lookup_by_no_token_is_refused(longest, shortest):
    with pytest.raises(NgramError, match="choose a shortest match of at least 1"):
        PromptLookup(longest, shortest)


def test_lookup_is_certain_of_its_guesses():
    assert lookup_after(1, 2, 3, 1, 2).draft((), 2).probabilities is None


# ---------------------------------------------------------------- draft model


def drafted_by(target, drafter, fake_clock, k, count):
    prompt = target.tokenizer.encode(CODE)
    generation = start(target, prompt, drafter)
    return generation, list(speculate(generation, drafter, k, count, FreeProbe(fake_clock)))


@pytest.mark.parametrize("k", [1, 4])
def test_a_model_that_drafts_for_itself_is_always_right(bundled, fake_clock, k):
    _, rounds = drafted_by(bundled, DraftModel(bundled), fake_clock, k, 16)
    assert all(r.accepted == k for r in rounds)
    assert [r.catch_up_width for r in rounds] == [1] + [2] * (len(rounds) - 1)


def held_by(cache):
    """What a cache holds: keys and values up to its offset, or recurrent states."""
    if hasattr(cache, "keys"):
        return [cache.keys[..., : cache.offset, :], cache.values[..., : cache.offset, :]]
    return list(cache.cache)


@pytest.mark.parametrize("wrong_at", [0, 1, 2, 3])
def test_a_hybrid_drafters_cache_equals_a_fresh_one(bundled, fake_clock, monkeypatch, wrong_at):
    """Whatever length was accepted: drafts are spoilt on their way to the target, at one place."""
    drafter = DraftModel(bundled)
    right = drafter.draft

    def spoilt(tokens, k):
        draft = right(tokens, k)
        ids = draft.tokens.tolist()
        ids[wrong_at] = (ids[wrong_at] + 1) % 4096
        return type(draft)(mx.array(ids, dtype=mx.int32), draft.catch_up_width)

    monkeypatch.setattr(drafter, "draft", spoilt)
    generation, rounds = drafted_by(bundled, drafter, fake_clock, 4, 8)
    assert {r.accepted for r in rounds} == {wrong_at}
    fresh = new_cache(bundled)
    prefill(bundled, generation.tokens[:-1], fresh)
    for mine, other in zip(drafter._cache, fresh, strict=True):
        for a, b in zip(held_by(mine), held_by(other), strict=True):
            np.testing.assert_allclose(np.array(a), np.array(b), atol=1e-4)


@pytest.mark.parametrize("accepted", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(
    "model_type", ["llama", "gemma3_text", "gpt_oss", "falcon_h1", "mamba2", "lfm2", "deepseek_v3"]
)
def test_a_draft_model_of_any_kind_forgets_what_was_not_accepted(model_type, accepted):
    model = tiny_target(model_type)
    text = [(7 * i) % 90 for i in range(21)]
    drafter = DraftModel(model)
    drafter.begin(text, None)
    for _ in range(2):
        drafted = drafter.draft(text, 4).tokens.tolist()
        committed = [*drafted[:accepted], 5]
        text = [*text, *committed]
        drafter.settle(committed, accepted, None)
    fresh = DraftModel(model)
    fresh.begin(text, None)
    drafter.sampling = fresh.sampling = Sampling(seed=1)
    draft, other = drafter.draft(text, 3), fresh.draft(text, 3)
    assert draft.tokens.tolist() == other.tokens.tolist()
    np.testing.assert_allclose(np.array(draft.probabilities), np.array(other.probabilities), atol=1e-4)


def test_a_greedy_draft_tells_no_probabilities(bundled):
    drafter = DraftModel(bundled)
    drafter.begin([5, 6, 7], None)
    assert drafter.draft([5, 6, 7], 2).probabilities is None


def test_a_drawn_draft_tells_what_each_token_was_drawn_from(bundled):
    drafter = DraftModel(bundled)
    drafter.sampling = Sampling(temperature=0.8, top_k=20, seed=3)
    tokens = bundled.tokenizer.encode(CODE)
    drafter.begin(tokens, None)
    draft = drafter.draft(tokens, 3)
    ids, q = draft.tokens.tolist(), np.array(draft.probabilities)
    cache = new_cache(bundled)
    logits = bundled.logits(mx.array([tokens + ids[:-1]]), cache)[0, -3:]
    np.testing.assert_allclose(q, np.array(distribution(logits, drafter.sampling)), atol=1e-4)
    assert all(q[i, token] > 0 for i, token in enumerate(ids))


@pytest.mark.parametrize("sampling", [None, Sampling(temperature=100.0, seed=1)])
def test_a_draft_model_proposes_no_token_that_the_target_lacks(bundled, sampling):
    drafter = DraftModel(bundled, vocabulary=7)
    drafter.sampling = sampling
    drafter.begin([5, 6, 2], None)
    draft = drafter.draft([5, 6, 2], 6)
    assert max(draft.tokens.tolist()) < 7
    assert sampling is None or draft.probabilities.shape == (6, 7)


def test_k_0_keeps_a_drafter_able_to_catch_up(bundled, fake_clock):
    drafter = DraftModel(bundled)
    prompt = bundled.tokenizer.encode(CODE)
    generation = start(bundled, prompt, drafter)
    list(speculate(generation, drafter, 0, 3, FreeProbe(fake_clock)))
    played = next(speculate(generation, drafter, 2, 1, FreeProbe(fake_clock)))
    assert (played.accepted, played.catch_up_width) == (2, 4)


def test_bytes_of_a_draft_model_are_its_weights(bundled):
    drafter = DraftModel(bundled)
    assert drafter.cache_bytes() == 0
    assert drafter.weight_bytes() == sum(a.nbytes for _, a in named_arrays(bundled.model.parameters()))
    drafter.begin([5, 6, 7], None)
    assert drafter.cache_bytes() > 0


# ------------------------------------------------------------------- MTP head


def test_the_mtp_head_takes_in_what_was_accepted(bundled, fake_clock):
    drafter = MtpDrafter(bundled, load_mtp_head(bundled, "float32"))
    generation, rounds = drafted_by(bundled, drafter, fake_clock, 3, 24)
    widths = [r.catch_up_width for r in rounds]
    assert widths[0] == 1
    assert widths[1:] == [r.accepted + 1 for r in rounds[:-1]]
    # one pair of token and hidden state for each position but the first, those still pending left out
    assert drafter._cache[0].offset == generation.context - rounds[-1].accepted - 1


def test_a_model_without_an_mtp_head_says_so(bundled, tmp_path):
    target = SimpleNamespace(name="plain", folder=tmp_path, config=bundled.config)
    with pytest.raises(MtpError, match=r"plain holds no MTP head.*choose --draft lookup"):
        load_mtp_head(target)


def test_an_mtp_head_of_another_layout_says_so(bundled):
    target = SimpleNamespace(name="other", folder=BUNDLED_FOLDER, config={**bundled.config, "model_type": "llama"})
    with pytest.raises(MtpError, match="has a layout that specview cannot run yet"):
        load_mtp_head(target)


def test_a_corrupt_mtp_file_says_so(bundled, tmp_path):
    (tmp_path / "mtp.safetensors").write_bytes(b"nonsense")
    target = SimpleNamespace(name="broken", folder=tmp_path, config=bundled.config)
    with pytest.raises(MtpError, match=r"mtp\.safetensors of .* cannot be read: fetch the model again"):
        load_mtp_head(target)


# -------------------------------------------------------------------- choosing


@pytest.mark.parametrize(
    ("wish", "kind"), [("none", "none"), ("lookup", "lookup"), ("mtp", "mtp"), ("bundled", "model")]
)
def test_a_drafter_is_chosen_by_name(stored, wish, kind):
    assert choose_drafter(wish, stored).kind == kind


def test_a_folder_is_a_draft_model(stored):
    drafter = choose_drafter(str(BUNDLED_FOLDER), stored, drafter_dtype="float32")
    assert drafter.kind == "model"
    assert drafter.model.model.model.layers[0].linear_attn.out_proj.weight.dtype == mx.float32


def test_an_unknown_drafter_names_the_choices(stored):
    with pytest.raises(DrafterError, match=r"There is no drafter 'magic': use mtp, lookup, none, or the folder"):
        choose_drafter("magic", stored)


def test_a_folder_without_a_model_keeps_its_own_reason(stored, tmp_path):
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        choose_drafter(str(tmp_path), stored)


def model_of_tokens(name, *tokens):
    vocabulary = {token: i for i, token in enumerate(tokens)}
    return SimpleNamespace(name=name, tokenizer=SimpleNamespace(get_vocab=lambda: vocabulary))


def test_the_same_tokens_are_accepted():
    check_same_tokens(model_of_tokens("target", "a", "b"), model_of_tokens("draft", "a", "b"))


def test_other_token_strings_are_refused_with_the_reason():
    with pytest.raises(ModelError, match="draft means 'c' by token 1 where target means 'b': choose a draft model"):
        check_same_tokens(model_of_tokens("target", "a", "b"), model_of_tokens("draft", "a", "c"))


def test_another_number_of_tokens_is_refused_with_the_reason():
    many = [str(n) for n in range(100)]
    with pytest.raises(ModelError, match="draft knows 50 tokens and target 100: they are not of one family"):
        check_same_tokens(model_of_tokens("target", *many), model_of_tokens("draft", *many[:50]))


def test_a_few_extra_tokens_are_no_reason():
    many = [str(n) for n in range(100)]
    check_same_tokens(model_of_tokens("target", *many), model_of_tokens("draft", *many, "<extra>"))


def test_no_drafter_does_nothing():
    drafter = NoDrafter()
    drafter.begin([1, 2], None)
    draft = drafter.draft([1, 2], 5)
    assert (draft.tokens.shape, draft.catch_up_width) == ((0,), 0)
    assert (drafter.weight_bytes(), drafter.cache_bytes(), drafter.step([1]), drafter.mark()) == (0, 0, None, None)
