"""The loops: drafts change neither greedy text nor what drawn text is drawn from; caches end where their tokens do."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from specview.engine.accept import acceptance_rule
from specview.engine.cache import arrays_of, new_cache, prefill, restore, take_snapshot
from specview.engine.decode import decode, speculate, start
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.drafters.none import NoDrafter
from specview.engine.limits import DraftLengthError
from specview.engine.probe import FreeProbe, SplitProbe
from specview.engine.rewind import rewind, start_tape
from specview.engine.sampling import Sampling

TEXTS = {
    "english": "In the beginning of the file there is a header. In the beginning of the",
    "code": "def add(self, value):\n    self.items.append(value)\n    return self\n\ndef remove(self, value):\n",
    "chinese": "选项。如果没有给出文件，就从标准输入读取。如果没有给出",
}


def make_drafter(kind, target):
    if kind == "mtp":
        return MtpDrafter(target, load_mtp_head(target, "float32"))
    return {"none": NoDrafter, "lookup": PromptLookup, "model": lambda: DraftModel(target)}[kind]()


def plain_tokens(target, prompt, count, clock, pipelined=True):
    generation = start(target, prompt)
    return [s.token for s in decode(generation, count, clock, pipelined)]


def assert_same_cache(caches, fresh, tolerance=1e-4):
    for a, b in zip(caches, fresh, strict=True):
        if hasattr(a, "keys"):
            assert a.offset == b.offset
            pairs = [(a.keys[..., : a.offset, :], b.keys[..., : a.offset, :])]
            pairs += [(a.values[..., : a.offset, :], b.values[..., : a.offset, :])]
        else:
            pairs = [(x, y) for (_, x), (_, y) in zip(tree_flatten(a.cache), tree_flatten(b.cache), strict=True)]
        for x, y in pairs:
            np.testing.assert_allclose(np.array(x), np.array(y), atol=tolerance, rtol=1e-4)


LONG = 16


@pytest.fixture(scope="module")
def plain_by_text(bundled):
    """Plain greedy continuations of the texts, written once."""
    prompts = {name: bundled.tokenizer.encode(text) for name, text in TEXTS.items()}
    return {name: (prompt, plain_tokens(bundled, prompt, LONG, lambda: 0)) for name, prompt in prompts.items()}


def assert_drafts_change_nothing(target, clock, kind, k, prompt, plain):
    drafter = make_drafter(kind, target)
    generation = start(target, prompt, drafter)
    rounds = list(speculate(generation, drafter, k, LONG, FreeProbe(clock)))
    drafted = [t for r in rounds for t in r.tokens]
    assert drafted[:LONG] == plain
    assert generation.tokens == prompt + drafted
    return rounds


# Every drafter meets every k; the texts take turns, so that each drafter meets each text at short and long drafts.
@pytest.mark.parametrize(("n", "kind"), list(enumerate(["mtp", "lookup", "model"])))
@pytest.mark.parametrize("k", range(1, 9))
def test_greedy_text_with_drafts_equals_plain_greedy(bundled, plain_by_text, fake_clock, n, kind, k):
    prompt, plain = plain_by_text[list(TEXTS)[(n + k) % len(TEXTS)]]
    assert_drafts_change_nothing(bundled, fake_clock, kind, k, prompt, plain)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("kind", "k"), [("none", 1), ("mtp", 0)])
def test_the_loop_without_drafts_equals_plain_greedy(bundled, plain_by_text, fake_clock, text, kind, k):
    rounds = assert_drafts_change_nothing(bundled, fake_clock, kind, k, *plain_by_text[text])
    assert {(r.drafted, r.width) for r in rounds} == {((), 1)}


@pytest.mark.parametrize("kind", ["mtp", "lookup", "model"])
def test_the_cache_after_drafting_equals_a_fresh_one(bundled, fake_clock, kind):
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    drafter = make_drafter(kind, bundled)
    generation = start(bundled, prompt, drafter)
    for _ in speculate(generation, drafter, 4, 20, FreeProbe(fake_clock)):
        pass
    fresh = new_cache(bundled)
    prefill(bundled, generation.tokens[:-1], fresh)
    assert_same_cache(generation.cache, fresh)


@pytest.mark.parametrize("kept", range(1, 7))
def test_a_pass_is_taken_back_to_any_prefix(bundled, kept):
    tokens = bundled.tokenizer.encode(TEXTS["english"] + TEXTS["code"])
    caches = new_cache(bundled)
    prefill(bundled, tokens[:20], caches)
    start_tape(caches)
    mx.eval(bundled.logits(mx.array(tokens[20:26])[None], caches))
    rewind(caches, 6, kept)
    fresh = new_cache(bundled)
    prefill(bundled, tokens[:20], fresh)
    for token in tokens[20 : 20 + kept]:
        mx.eval(bundled.logits(mx.array([[token]]), fresh), arrays_of(fresh))
    assert_same_cache(caches, fresh)
    again = bundled.logits(mx.array(tokens[30:31])[None], caches)
    expected = bundled.logits(mx.array(tokens[30:31])[None], fresh)
    np.testing.assert_allclose(np.array(again), np.array(expected), atol=1e-3)


def test_a_replay_reads_no_weight_again(bundled):
    tokens = bundled.tokenizer.encode(TEXTS["code"])
    caches = new_cache(bundled)
    prefill(bundled, tokens[:10], caches)
    start_tape(caches)
    mx.eval(bundled.logits(mx.array(tokens[10:13])[None], caches))
    mixer = bundled.inner.layers[0].linear_attn
    weight = mixer.in_proj_qkvz.weight
    mixer.in_proj_qkvz.weight = weight * float("nan")
    try:
        again = rewind(caches, 3, 1)
        assert all(not mx.isnan(a).any().item() for a in again)
    finally:
        mixer.in_proj_qkvz.weight = weight


def test_a_snapshot_survives_later_passes(bundled):
    tokens = bundled.tokenizer.encode(TEXTS["english"])
    caches = new_cache(bundled)
    prefill(bundled, tokens[:10], caches)
    snapshot = take_snapshot(caches)
    first = bundled.logits(mx.array(tokens[10:12])[None], caches)
    mx.eval(first)
    mx.eval(bundled.logits(mx.array([[5, 6, 7]]), caches), arrays_of(caches))
    restore(caches, snapshot)
    again = bundled.logits(mx.array(tokens[10:12])[None], caches)
    assert np.array_equal(np.array(first), np.array(again))


@pytest.mark.parametrize("kind", ["mtp", "lookup", "model"])
def test_arms_from_one_snapshot_play_the_same_rounds(bundled, fake_clock, kind):
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    drafter = make_drafter(kind, bundled)
    generation = start(bundled, prompt, drafter)
    list(speculate(generation, drafter, 3, 6, FreeProbe(fake_clock)))
    snapshot, mark, tokens = take_snapshot(generation.cache), drafter.mark(), list(generation.tokens)
    seen = []
    for probe in (FreeProbe(fake_clock), SplitProbe(fake_clock, mx.eval), FreeProbe(fake_clock)):
        restore(generation.cache, snapshot)
        drafter.restore(mark)
        generation.tokens[:] = tokens
        seen.append([(r.drafted, r.accepted) for r in speculate(generation, drafter, 3, 12, probe)])
        generation.tokens[:] = tokens
        restore(generation.cache, snapshot)
        list(decode(generation, 9, fake_clock))
    assert seen[0] == seen[1] == seen[2]


def test_phases_of_a_split_round_add_up_to_the_round(bundled, fake_clock):
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    drafter = make_drafter("mtp", bundled)
    generation = start(bundled, prompt, drafter)
    for played in speculate(generation, drafter, 2, 12, SplitProbe(fake_clock, mx.eval)):
        assert played.draft_ns + played.verify_ns + played.rest_ns == played.round_ns
        assert 0 < played.rewind_ns <= played.rest_ns


def test_a_free_round_tells_no_phases(bundled, fake_clock):
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    drafter = make_drafter("mtp", bundled)
    generation = start(bundled, prompt, drafter)
    played = next(speculate(generation, drafter, 1, 1, FreeProbe(fake_clock)))
    assert played.draft_ns is played.verify_ns is played.rest_ns is played.rewind_ns is None


def test_the_build_of_the_verify_graph_is_charged_to_verify(bundled):
    # drafted at 10, graph of verify built at 30, drafts there at 100, verified at 400, rewound from 450 to 460
    times = iter([0, 10, 30, 100, 400, 450, 460, 500])
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    drafter = PromptLookup()
    generation = start(bundled, prompt, drafter)
    (played,) = speculate(generation, drafter, 2, 1, SplitProbe(lambda: next(times), mx.eval))
    assert played.draft_ns == 10 + (100 - 30)
    assert played.verify_ns == (30 - 10) + (400 - 100)
    assert (played.rest_ns, played.rewind_ns) == (100, 10)
    assert played.draft_ns + played.verify_ns + played.rest_ns == played.round_ns == 500


def test_pipelined_and_synchronous_steps_give_the_same_text(bundled, fake_clock):
    prompt = bundled.tokenizer.encode(TEXTS["english"])
    assert plain_tokens(bundled, prompt, 16, fake_clock) == plain_tokens(bundled, prompt, 16, fake_clock, False)


@pytest.mark.parametrize("k", [-1, 1000])
def test_a_senseless_draft_length_is_refused(bundled, fake_clock, k):
    drafter = NoDrafter()
    generation = start(bundled, [1, 2, 3], drafter)
    with pytest.raises(DraftLengthError, match="choose k from 0"):
        next(speculate(generation, drafter, k, 4, FreeProbe(fake_clock)))


@pytest.mark.parametrize("kind", ["mtp", "lookup", "model", "none"])
def test_a_prompt_of_one_token_works(bundled, fake_clock, kind):
    drafter = make_drafter(kind, bundled)
    plain = plain_tokens(bundled, [7], 10, fake_clock)
    generation = start(bundled, [7], drafter)
    drafted = [t for r in speculate(generation, drafter, 2, 10, FreeProbe(fake_clock)) for t in r.tokens]
    assert drafted[:10] == plain


# ------------------------------------------------------------- drawn tokens


@pytest.mark.parametrize("word", ["greedy", "rejection"])
def test_a_real_drafter_with_the_targets_weights_is_always_accepted(bundled, fake_clock, word):
    sampling = None if word == "greedy" else Sampling(temperature=1.0, top_p=0.95, seed=3)
    drafter = DraftModel(bundled)
    generation = start(bundled, bundled.tokenizer.encode(TEXTS["code"]), drafter, sampling=sampling)
    rounds = list(speculate(generation, drafter, 3, 24, FreeProbe(fake_clock), acceptance_rule(word, sampling)))
    assert [r.accepted for r in rounds] == [3] * 6
    assert [r.catch_up_width for r in rounds] == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("kind", ["lookup", "model"])
def test_the_text_of_exact_match_is_the_one_that_plain_decoding_draws(bundled, fake_clock, kind):
    sampling = Sampling(temperature=0.8, seed=2)
    prompt = bundled.tokenizer.encode(TEXTS["code"])
    generation = start(bundled, prompt)
    plain = [s.token for s in decode(generation, LONG, fake_clock, sampling=sampling)]
    drafter = make_drafter(kind, bundled)
    generation = start(bundled, prompt, drafter, sampling=sampling)
    rounds = speculate(generation, drafter, 3, LONG, FreeProbe(fake_clock), acceptance_rule("exact", sampling))
    assert [t for r in rounds for t in r.tokens][:LONG] == plain


@pytest.mark.parametrize("kind", ["lookup", "model"])
@pytest.mark.parametrize("word", ["rejection", "exact"])
def test_drawn_arms_from_one_snapshot_repeat_in_any_order(bundled, fake_clock, kind, word):
    sampling = Sampling(temperature=0.9, seed=8)
    rule = acceptance_rule(word, sampling)
    drafter = make_drafter(kind, bundled)
    generation = start(bundled, bundled.tokenizer.encode(TEXTS["code"]), drafter, sampling=sampling)
    snapshot, mark, tokens = take_snapshot(generation.cache), drafter.mark(), list(generation.tokens)
    seen = {"plain": [], "drafting": []}
    for arm in ("plain", "drafting", "drafting", "plain"):
        restore(generation.cache, snapshot)
        drafter.restore(mark)
        generation.tokens[:] = tokens
        events = (
            decode(generation, 8, fake_clock, sampling=sampling)
            if arm == "plain"
            else speculate(generation, drafter, 3, 8, FreeProbe(fake_clock), rule)
        )
        list(events)
        seen[arm].append(list(generation.tokens))
    assert seen["plain"][0] == seen["plain"][1]
    assert seen["drafting"][0] == seen["drafting"][1]


def test_the_caches_after_drawn_rounds_equal_fresh_ones(bundled, fake_clock):
    sampling = Sampling(temperature=1.5, seed=1)
    drafter = DraftModel(bundled)
    generation = start(bundled, bundled.tokenizer.encode(TEXTS["code"]), drafter)
    drafter.sampling = Sampling(temperature=0.5, seed=1)  # guesses otherwise than the target, so that some are refused
    rounds = list(speculate(generation, drafter, 3, 12, FreeProbe(fake_clock), acceptance_rule("rejection", sampling)))
    assert {r.accepted for r in rounds} - {3}
    fresh = new_cache(bundled)
    prefill(bundled, generation.tokens[:-1], fresh)
    assert_same_cache(generation.cache, fresh)
    if rounds[-1].accepted == 3:
        fresh = new_cache(bundled)
        prefill(bundled, generation.tokens[:-2], fresh)
    assert_same_cache(drafter._cache, fresh)
