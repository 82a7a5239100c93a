"""Timing several sequences at once: sizes and widths take turns, steps that are unlike the others are dropped."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import mlx.core as mx
import numpy as np
import pytest
from tiny_models import tiny_target

from specview.engine.batch import BatchError, start_batch
from specview.engine.verify_policies import one_pass
from specview.profilers.measure.batch import BatchTimingError, batch_timings

PROMPTS = [[5, 17, 3, 60], [8, 1, 2, 9], [33, 2, 9, 12]]
COMING = [[i, i + 1, i + 2, i + 3] for i in (10, 20, 30)]


def timed(batch, sizes=(1, 3), widths=(2, 4), repeats=1, steps=4, coming=COMING, **more):
    clock = itertools.count(0, 100).__next__
    return batch_timings(batch, coming, sizes, widths, repeats, clock, random.Random(1), steps=steps, **more)


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_sizes_and_widths_take_turns_forth_and_back(model_type):
    heard = []
    batch = start_batch(tiny_target(model_type), PROMPTS)
    rows = list(timed(batch, repeats=2, progress=lambda done, of: heard.append((done, of))))
    tasks = [(r.batch, r.part, r.width) for r in rows]
    expected = {(b, *rest) for b in (1, 3) for rest in (("decode", 1), ("verify", 2), ("verify", 4))}
    assert Counter(tasks) == dict.fromkeys(expected, 4)
    assert tasks[:6] == tasks[6:12][::-1] and tasks[12:18] == tasks[18:][::-1]
    assert heard[-1] == (24, 24)
    for row in rows:
        decode = row.part == "decode"
        assert row.samples_ns == ((100,) * 4 if decode else (200,)) and row.pipelined == decode
        assert row.build_ns == (() if decode else (100,))
        assert row.peak_bytes > 0 and row.context == (5 if decode else 3) and not row.ragged


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_batches_are_as_before_at_every_visit_and_the_original_is_never_touched(model_type):
    target = tiny_target(model_type)
    batch, fresh = start_batch(target, PROMPTS), start_batch(target, PROMPTS)
    visits = timed(batch, repeats=2)
    for _ in range(7):
        next(visits)
    visits.close()
    assert batch.tokens == PROMPTS
    a, b = (target.logits(mx.array([[1, 2], [3, 4], [5, 6]]), x.cache) for x in (batch, fresh))
    np.testing.assert_array_equal(np.array(a), np.array(b))


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_the_same_passes_are_made_however_often(model_type, monkeypatch):
    target, seen = tiny_target(model_type), []
    kind = type(target.model)
    original = kind.__call__

    def noting(self, tokens, cache=None):
        logits = original(self, tokens, cache=cache)
        seen.append((tokens.shape, logits))
        return logits

    batch = start_batch(target, PROMPTS)
    monkeypatch.setattr(kind, "__call__", noting)
    list(timed(batch, sizes=(3,), widths=(4,), repeats=2))
    verify = [np.array(logits) for shape, logits in seen if shape == (3, 4)]
    assert len(verify) == 8
    for logits in verify[1:]:
        np.testing.assert_array_equal(verify[0], logits)


def test_a_policy_may_run_the_verify_passes():
    widths = []

    def policy(target, positions, caches, keep_hidden):
        widths.append(positions.shape)
        return one_pass(target, positions, caches, keep_hidden)

    list(timed(start_batch(tiny_target("llama"), PROMPTS), sizes=(3,), widths=(2,), policy=policy))
    assert widths == [(3, 2)] * 4


def test_rows_of_different_lengths_are_told():
    batch = start_batch(tiny_target("llama"), [PROMPTS[0], PROMPTS[1][:2], PROMPTS[2]])
    assert {r.batch: r.ragged for r in timed(batch)} == {1: False, 3: True}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"sizes": ()}, r"Batches \[\]"),
        ({"widths": (5,)}, "3 rows of 4 tokens to come"),
        ({"widths": (0,)}, "at least one"),
        ({"coming": COMING[:2]}, "2 rows"),
        ({"repeats": 0}, "0 repeats of 4 steps"),
        ({"steps": 0}, "1 repeats of 0 steps"),
    ],
)
def test_what_measures_nothing_is_refused_before_anything_is_timed(asked, reason):
    batch = start_batch(tiny_target("llama"), PROMPTS)
    with pytest.raises(BatchTimingError, match=reason):
        timed(batch, **asked)
    with pytest.raises(BatchError, match="0 of 3 sequences"):
        timed(batch, sizes=(0,))
