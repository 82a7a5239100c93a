"""Texts at once with drafts and without: the same texts in every arm, arms in turns, counts and phases that add up."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import mlx.core as mx
import pytest
from tiny_models import tiny_target

from specview.engine import batch as engine_batch
from specview.engine.batch import BatchError
from specview.engine.batch_cache import batch_caches
from specview.engine.drafters.choose import choose_drafter
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.models import load_target
from specview.profilers.measure import batch_drafting
from specview.profilers.measure.batch_drafting import drafters_alike, stretches

TEXTS = [[5, 17, 3, 60, 5, 17, 3], [8, 1, 2, 9, 8, 1, 2], [33, 2, 9, 12, 33, 2, 9]]


def made(model_type="llama", pairs=2, sizes=(1, 3), k=2, count=6, **more):
    clock = itertools.count(0, 100).__next__
    target = tiny_target(model_type)
    drafters = drafters_alike(PromptLookup(), 3)
    return stretches(target, lambda pair: TEXTS, drafters, k, count, sizes, pairs, clock, random.Random(2), **more)


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_every_pair_holds_every_arm_of_every_batch_once(model_type):
    heard = []
    rows = list(made(model_type, progress=lambda done, of: heard.append((done, of))))
    arms = ("plain", "drafting", "split")
    assert Counter((r.pair, r.batch, r.arm) for r in rows) == {
        (p, b, a): 1 for p in (0, 1) for b in (1, 3) for a in arms
    }
    assert heard[0] == (0, 12) and heard[-1] == (12, 12)
    for row in rows:
        assert row.context == 6 and row.elapsed_ns > 0
        if row.arm == "plain":
            assert (row.passes, row.tokens, row.drafted) == (6, 6 * row.batch, 0)
            continue
        assert row.tokens == row.accepted + row.passes * row.batch and row.tokens >= 6 * row.batch
        assert row.accepted <= row.tested <= row.drafted <= 2 * row.passes * row.batch
        phases = (row.draft_ns, row.verify_ns, row.rest_ns)
        assert (sum(phases) == row.elapsed_ns) if row.arm == "split" else phases == (None, None, None)


def test_all_arms_write_the_same_texts(monkeypatch):
    seen = []
    original = batch_drafting.smaller_batch
    monkeypatch.setattr(batch_drafting, "smaller_batch", lambda batch, n: seen.append(original(batch, n)) or seen[-1])
    list(made(pairs=1, sizes=(3,)))
    for b in range(3):
        texts = [batch.tokens[b] for batch in seen]
        shortest = min(map(len, texts))
        assert shortest >= 7 + 6 and len({tuple(text[:shortest]) for text in texts}) == 1


@pytest.mark.parametrize("wish", ["lookup", "mtp", "skip:2", "quantised:4", "fixed:0.7"])
def test_drafters_alike_share_weights_and_nothing_else(wish):
    target = load_target("bundled")
    first, second = drafters_alike(choose_drafter(wish, target), 2)
    hidden = batch_caches(target, [text[:-1] for text in TEXTS], True)[1]
    alone = choose_drafter(wish, target)
    alone.begin(TEXTS[0], hidden[0])
    expected = alone.draft(TEXTS[0], 2).tokens.tolist()
    first.begin(TEXTS[0], hidden[0])
    second.begin(TEXTS[1], hidden[1])
    mx.eval(second.draft(TEXTS[1], 2).tokens)
    second.settle([1], 0, hidden[1][:, :1])
    assert first.draft(TEXTS[0], 2).tokens.tolist() == expected
    assert first is not second and first.weight_bytes() == second.weight_bytes()


def test_a_model_whose_rows_disturb_each_other_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(batch_drafting, "_read", lambda *_: pytest.fail("it read the texts"))
    monkeypatch.setattr(engine_batch, "farthest", lambda a, b: 1.0 if b.any() else 0.0)
    with pytest.raises(BatchError, match="rows of different lengths"):
        list(made())
