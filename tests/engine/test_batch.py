"""Several sequences at once: each row is what it would be alone, whatever the others accept."""

from __future__ import annotations

import itertools

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache
from tiny_models import tiny_target

from specview.engine.batch import (
    BatchError,
    decode_batch,
    smaller_batch,
    speculate_batch,
    start_batch,
    verify_rows,
)
from specview.engine.batch_cache import merged, rewind_rows
from specview.engine.cache import arrays_of, new_cache, prefill
from specview.engine.decode import decode, start
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.drafters.none import NoDrafter
from specview.engine.drafters.protocol import Draft
from specview.engine.replay import on_replay_tape

TYPES = ["llama", "qwen3_next", "gpt2", "lfm2"]
PROMPTS = [[5, 17, 3, 60, 42, 5, 17], [8, 1], [33, 2, 9, 33, 2, 9, 33, 2, 44, 7, 33]]
TEXTS = ["def add(self, value):\n    self", "In the beginning of the file", "选项。如果没有给出文件"]


def alone(target, prompt, count):
    return [step.token for step in decode(start(target, prompt), count, lambda: 0)]


class Oracle(NoDrafter):
    """Drafts what the target will say, wrong from its `good`-th token on, `length` tokens long."""

    def __init__(self, truth, good, length):
        self.truth, self.good, self.length = truth, good, length

    def draft(self, tokens, k):
        coming = self.truth[len(tokens) : len(tokens) + min(k, self.length)]
        wrong = [t if i < self.good else (t + 1) % 90 for i, t in enumerate(coming)]
        return Draft(mx.array(wrong, dtype=mx.int32), 0)


@pytest.mark.parametrize("model_type", TYPES)
def test_every_row_of_plain_decoding_is_its_own_plain_text(model_type):
    target = tiny_target(model_type)
    batch = start_batch(target, PROMPTS)
    ticks = itertools.count(0, 10).__next__
    steps = list(decode_batch(batch, 8, ticks))
    for b, prompt in enumerate(PROMPTS):
        assert [step.tokens[b] for step in steps] == alone(target, prompt, 8)
        assert batch.tokens[b] == prompt + alone(target, prompt, 8)
    assert [step.step_ns for step in steps] == [10] * 8
    assert batch.contexts == tuple(len(p) + 7 for p in PROMPTS)


# full, partial and no acceptance in one round, and drafts of three lengths
@pytest.mark.parametrize("model_type", TYPES)
def test_rows_that_accept_different_prefixes_keep_their_own_text(model_type):
    target = tiny_target(model_type)
    truths = [prompt + alone(target, prompt, 24) for prompt in PROMPTS]
    drafters = [Oracle(truths[0], 9, 3), Oracle(truths[1], 1, 2), Oracle(truths[2], 0, 3)]
    batch = start_batch(target, PROMPTS, drafters)
    rounds = list(speculate_batch(batch, drafters, 3, 5, lambda: 0))
    for b, truth in enumerate(truths):
        assert batch.tokens[b] == truth[: len(batch.tokens[b])] and len(batch.tokens[b]) >= len(PROMPTS[b]) + 5
    assert rounds[0].accepted == (3, 1, 0) and rounds[0].width == 4
    assert [len(d) for d in rounds[0].drafted] == [3, 2, 3]


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_after_a_ragged_round_the_caches_are_those_of_the_rows_alone(model_type):
    target = tiny_target(model_type)
    batch = start_batch(target, PROMPTS)
    drafts = [mx.array([1, 2, 3]), mx.array([4]), mx.array([], dtype=mx.int32)]
    mx.eval(verify_rows(batch, drafts, 4, False)[1])
    kept = [3, 2, 1]
    mx.eval(rewind_rows(batch.cache, 4, kept))
    seen = [[*PROMPTS[0], 1, 2], [*PROMPTS[1], 4], PROMPTS[2]]
    logits = target.logits(mx.array([[11], [12], [13]]), batch.cache)
    for b, tokens in enumerate(seen):
        caches = new_cache(target)
        prefill(target, tokens, caches)
        expected = target.logits(mx.array([[11 + b]]), caches)
        np.testing.assert_allclose(np.array(logits[b : b + 1]), np.array(expected), atol=1e-4)


@pytest.mark.parametrize("kind", ["mtp", "lookup", "model"])
def test_drafters_of_every_kind_change_no_row_of_the_bundled_model(bundled, kind):
    make = {
        "mtp": lambda: MtpDrafter(bundled, load_mtp_head(bundled, "float32")),
        "lookup": PromptLookup,
        "model": lambda: DraftModel(bundled),
    }[kind]
    prompts = [bundled.tokenizer.encode(text) for text in TEXTS]
    drafters = [make() for _ in prompts]
    batch = start_batch(bundled, prompts, drafters)
    rounds = list(speculate_batch(batch, drafters, 2, 6, lambda: 0))
    for b, prompt in enumerate(prompts):
        new = batch.tokens[b][len(prompt) :]
        assert new == alone(bundled, prompt, len(new))
        assert new == [token for played in rounds for token in played.tokens[b]]


def test_a_batch_of_one_plays_as_one_sequence_does():
    target = tiny_target("llama")
    drafter = PromptLookup()
    batch = start_batch(target, PROMPTS[2:], [drafter])
    rounds = list(speculate_batch(batch, [drafter], 3, 9, lambda: 0))
    assert [t for r in rounds for t in r.tokens[0]][:9] == alone(target, PROMPTS[2], 9)


def test_buffers_grow_when_the_longest_row_is_full():
    target = tiny_target("llama")
    prompts = [[i % 90 for i in range(254)], [3, 4, 5]]
    batch = start_batch(target, prompts)
    steps = list(decode_batch(batch, 6, lambda: 0))
    for b, prompt in enumerate(prompts):
        assert [step.tokens[b] for step in steps] == alone(target, prompt, 6)


def test_phases_of_a_split_round_add_up_and_a_free_round_tells_none():
    target = tiny_target("llama")
    ticks = itertools.count(0, 10).__next__
    drafters = [PromptLookup() for _ in PROMPTS]
    batch = start_batch(target, PROMPTS, drafters)
    for played in speculate_batch(batch, drafters, 2, 3, ticks, split=True):
        assert played.draft_ns + played.verify_ns + played.rest_ns == played.round_ns == 30
    played = next(speculate_batch(batch, drafters, 2, 3, ticks))
    assert played.draft_ns is played.verify_ns is played.rest_ns is None and played.round_ns == 10


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_fewer_rows_of_a_batch_are_a_batch_of_their_own(model_type):
    target = tiny_target(model_type)
    batch = start_batch(target, PROMPTS)
    two = smaller_batch(batch, 2)
    list(decode_batch(two, 4, lambda: 0))
    assert batch.tokens == PROMPTS
    steps = list(decode_batch(batch, 4, lambda: 0))
    assert [s.tokens[2] for s in steps] == alone(target, PROMPTS[2], 4)
    assert two.tokens == batch.tokens[:2]
    assert sum(a.nbytes for a in arrays_of(two.cache)) < sum(a.nbytes for a in arrays_of(batch.cache))


def test_what_no_batch_can_do_is_a_sentence():
    target = tiny_target("llama")
    for prompts in ([], [[1, 2], [3]]):
        with pytest.raises(BatchError, match="each of at least two tokens"):
            start_batch(target, prompts)
    with pytest.raises(BatchError, match="3 sequences need a drafter each and 1 were given"):
        start_batch(target, PROMPTS, [NoDrafter()])
    with pytest.raises(BatchError, match="share one drafter"):
        start_batch(target, PROMPTS, [NoDrafter()] * 3)
    with pytest.raises(BatchError, match="4 of 3 sequences"):
        smaller_batch(start_batch(target, PROMPTS), 4)
    with pytest.raises(BatchError, match="batches no RotatingKVCache"):
        start_batch(tiny_target("gemma3"), PROMPTS)


def test_recurrent_state_of_a_class_of_its_own_is_refused_before_a_round_needs_it_back():
    class OddState(ArraysCache):
        pass

    caches = [OddState(1)]
    on_replay_tape(caches[0])
    with pytest.raises(BatchError, match=r"llama cannot run several sequences at once, .* batches no OddState"):
        merged(tiny_target("llama"), [caches, caches])


def test_attention_that_knows_no_rows_of_different_lengths_still_runs_rows_of_one_length():
    target = tiny_target("gemma2")
    with pytest.raises(BatchError, match="give prompts of one length"):
        start_batch(target, PROMPTS)
    prompts = [prompt[:2] for prompt in PROMPTS]
    steps = list(decode_batch(start_batch(target, prompts), 3, lambda: 0))
    assert [s.tokens[2] for s in steps] == alone(target, prompts[2], 3)


def test_a_model_that_reads_positions_off_the_length_of_its_keys_is_found_out():
    target = tiny_target("afm7")
    with pytest.raises(BatchError, match=r"afm7 computes other logits .* than for each alone"):
        start_batch(target, PROMPTS)
    assert list(decode_batch(start_batch(target, [PROMPTS[0], PROMPTS[0]]), 2, lambda: 0))


def test_layers_without_a_cache_of_their_own_are_left_alone():
    target = tiny_target("nemotron-nas")
    batch = smaller_batch(start_batch(target, PROMPTS), 2)
    steps = list(decode_batch(batch, 3, lambda: 0))
    assert [s.tokens[1] for s in steps] == alone(target, PROMPTS[1], 3)
