"""Fixed acceptance: right with the chosen chance, wrong on purpose otherwise, and never running ahead in a draft."""

from __future__ import annotations

import math

import pytest
from drafted_text import PROMPT, TINY, mean_tokens, plain_text, rounds_with, text_of
from tiny_models import tiny_target

from specview.engine.cache import cache_bytes, new_cache
from specview.engine.decode import Generation, speculate, start
from specview.engine.drafters import fixed as module
from specview.engine.drafters.fixed import FixedAcceptance, FixedError
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.probe import FreeProbe
from specview.engine.prompt_cache import read_prompt
from specview.engine.sampling import Sampling

COUNT = 14


def drafter_of(target, p, ahead=24, **more):
    return FixedAcceptance(target, p, ahead=ahead, **more)


@pytest.mark.parametrize("model_type", TINY)
def test_text_drafted_at_a_fixed_acceptance_is_the_plain_one(model_type):
    target = tiny_target(model_type)
    plain = plain_text(target, PROMPT, COUNT)
    drafter = drafter_of(target, 0.6)
    for k in range(1, 9):
        assert text_of(rounds_with(target, drafter, PROMPT, k, COUNT), COUNT) == plain


def test_the_bundled_model_writes_its_own_text(bundled):
    prompt = bundled.tokenizer.encode("def add(self, value):\n    self.items.append(value)\n")
    plain = plain_text(bundled, prompt, 8)
    drafter = drafter_of(bundled, 0.6, ahead=16)
    for k in range(1, 9):
        assert text_of(rounds_with(bundled, drafter, prompt, k, 8), 8) == plain


@pytest.mark.parametrize("model_type", TINY)
@pytest.mark.parametrize("k", [1, 4])
def test_certain_drafts_are_all_kept_and_impossible_ones_none(model_type, k):
    target = tiny_target(model_type)
    sure = rounds_with(target, drafter_of(target, 1.0), PROMPT, k, COUNT)
    never = rounds_with(target, drafter_of(target, 0.0), PROMPT, k, COUNT)
    assert {r.accepted for r in sure} == {k}
    assert mean_tokens(sure) == k + 1
    assert {(len(r.drafted), r.accepted) for r in never} == {(k, 0)}


def test_what_is_foreseen_is_what_quantised_keys_and_values_write(bundled):
    prompt = bundled.tokenizer.encode("def merge(a, b):\n    result = []\n")
    kv = KvQuantisation(bits=4)
    caches = new_cache(bundled, 512)
    read_prompt(bundled, prompt[:-1], caches, kv=kv)
    drafter = FixedAcceptance(bundled, 1.0, longest=512)
    drafter.kv = kv
    drafter.begin(prompt, None)
    generation = Generation(bundled, list(prompt), caches, kv)
    rounds = list(speculate(generation, drafter, 2, 60, FreeProbe(lambda: 0)))
    assert {r.accepted for r in rounds} == {2} and drafter.looked_ahead_in_rounds == 0


@pytest.mark.parametrize(("p", "k"), [(0.3, 2), (0.7, 4), (0.9, 6)])
def test_tokens_per_round_are_those_of_the_chosen_acceptance(p, k):
    target = tiny_target("llama")
    rounds = rounds_with(target, drafter_of(target, p), PROMPT, k, 200)
    expected = sum(p**i for i in range(k + 1))
    spread = math.sqrt(sum((len(r.tokens) - expected) ** 2 for r in rounds)) / len(rounds)
    assert abs(mean_tokens(rounds) - expected) < 3.5 * spread


def test_a_seed_and_a_place_decide_what_is_right():
    target = tiny_target("llama")

    def drafted(seed):
        return [r.drafted for r in rounds_with(target, drafter_of(target, 0.5, seed=seed), PROMPT, 3, COUNT)]

    assert drafted(1) == drafted(1)
    assert drafted(1) != drafted(2)


@pytest.fixture
def looked_ahead(monkeypatch):
    """How many tokens each look-ahead wrote."""
    counts = []
    original = module.decode

    def counting(generation, count, clock):
        counts.append(count)
        return original(generation, count, clock)

    monkeypatch.setattr(module, "decode", counting)
    return counts


def test_the_target_runs_ahead_before_the_first_draft_and_at_marks_only(looked_ahead):
    target = tiny_target("llama")
    drafter = drafter_of(target, 0.8, ahead=40)
    generation = start(target, list(PROMPT), drafter)
    assert looked_ahead == [40]
    list(speculate(generation, drafter, 4, 12, FreeProbe(lambda: 0)))
    assert looked_ahead == [40]
    committed = len(generation.tokens) - len(PROMPT)
    mark = drafter.mark()
    assert looked_ahead == [40, committed]
    drafter.restore(mark)
    assert looked_ahead == [40, committed]
    assert drafter.looked_ahead_in_rounds == 0


def test_a_stretch_without_marks_runs_ahead_between_rounds_and_counts_it(looked_ahead):
    target = tiny_target("llama")
    drafter = drafter_of(target, 0.8, ahead=16)
    rounds_with(target, drafter, PROMPT, 4, 40)
    assert drafter.looked_ahead_in_rounds == len(looked_ahead) - 1 > 0


def test_arms_of_one_text_meet_the_same_acceptance():
    target = tiny_target("qwen3_next")
    drafter = drafter_of(target, 0.5)
    generation = start(target, list(PROMPT), drafter)
    mark = drafter.mark()
    first = [drafter.draft(generation.tokens, 6).tokens.tolist()]
    drafter.settle((1,), 0, None)
    drafter.restore(mark)
    assert [drafter.draft(generation.tokens, 6).tokens.tolist()] == first


def test_a_text_that_went_elsewhere_is_foreseen_anew():
    target = tiny_target("gemma3_text")
    drafter = drafter_of(target, 1.0)
    drafter.begin(PROMPT, None)
    other = (drafter.draft((), 1).tokens.item() + 1) % 96
    drafter.settle((other,), 0, None)
    assert drafter.looked_ahead_in_rounds == 1
    assert drafter.draft((), 6).tokens.tolist() == plain_text(target, (*PROMPT, other), 6)


def test_nothing_is_foreseen_beyond_the_longest_text():
    target = tiny_target("llama")
    drafter = drafter_of(target, 1.0, longest=len(PROMPT) + 3)
    drafter.begin(PROMPT, None)
    assert drafter.draft((), 8).tokens.shape == (3,)
    drafter.settle([*drafter.draft((), 3).tokens.tolist(), 7], 3, None)
    assert drafter.draft((), 8).tokens.shape == (0,)


def test_a_wrong_draft_is_never_the_targets_token():
    target = tiny_target("llama")
    drafter = drafter_of(target, 0.0, ahead=60)
    drafter.begin(PROMPT, None)
    wrong, right = drafter.draft((), 60).tokens.tolist(), plain_text(target, PROMPT, 60)
    assert all(a != b and 0 <= a < 96 for a, b in zip(wrong, right, strict=True))


def test_it_has_a_name_of_its_own_and_no_steps():
    target = tiny_target("llama")
    drafter = drafter_of(target, 0.5)
    assert (drafter.kind, drafter.has_steps, drafter.step([1])) == ("fixed", False, None)
    assert (drafter.weight_bytes(), drafter.cache_bytes()) == (0, 0)
    drafter.begin(PROMPT, None)
    assert drafter.cache_bytes() == cache_bytes(drafter._known.cache) > 0


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_a_chance_that_is_none_is_refused(p):
    with pytest.raises(FixedError, match="makes no sense: choose p from 0 to 1"):
        FixedAcceptance(tiny_target("llama"), p)


def test_drawn_text_cannot_be_foreseen():
    target = tiny_target("llama")
    with pytest.raises(FixedError, match="drawn text cannot: choose temperature 0"):
        start(target, list(PROMPT), drafter_of(target, 0.5), sampling=Sampling(temperature=1.0))
