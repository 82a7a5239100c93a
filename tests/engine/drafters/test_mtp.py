"""The MTP drafter on the bundled model: what it accepts, with and without the prompt, and how it draws."""

from __future__ import annotations

import json
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from specview.engine.decode import speculate, start
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.drafters.mtp_heads import QwenHead
from specview.engine.model_files import BUNDLED_FOLDER
from specview.engine.probe import FreeProbe
from specview.engine.sampling import Sampling, distribution
from specview.engine.trees import named_arrays

PROMPTS = BUNDLED_FOLDER.parent / "prompts"
ROUNDS = 4
CODE = "def add(self, value):\n    self."


@pytest.fixture(scope="module")
def heads(bundled):
    return load_mtp_head(bundled, "float32")


def prompts(bundled, per_kind=2):
    for kind in ("english", "code", "chinese"):
        lines = Path(PROMPTS / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines[:per_kind]:
            yield bundled.tokenizer.encode(json.loads(line)["text"])[:40]


def accepted_of(bundled, heads, fake_clock, sees_prompt):
    accepted = 0
    for prompt in prompts(bundled):
        drafter = MtpDrafter(bundled, heads, sees_prompt=sees_prompt)
        generation = start(bundled, prompt, drafter)
        rounds = speculate(generation, drafter, 2, 100, FreeProbe(fake_clock))
        accepted += sum(next(rounds).accepted for _ in range(ROUNDS))
    return accepted


def test_a_head_that_sees_the_prompt_accepts_more_than_one_that_does_not(bundled, heads, fake_clock):
    """Article A: acceptance went from 0.11 to 0.51 when the head's cache was given the prompt."""
    seeing = accepted_of(bundled, heads, fake_clock, sees_prompt=True)
    blind = accepted_of(bundled, heads, fake_clock, sees_prompt=False)
    assert seeing > 1.5 * blind
    assert seeing > 0.5 * 6 * ROUNDS * 2


def test_without_the_prompt_the_cache_starts_at_the_first_draft(bundled, heads):
    drafter = MtpDrafter(bundled, heads, sees_prompt=False)
    start(bundled, bundled.tokenizer.encode("one two three four five"), drafter)
    assert drafter._cache[0].offset == 0
    assert drafter.draft((), 1).catch_up_width == 1
    assert drafter._cache[0].offset == 1


def test_a_long_prompt_is_read_in_pieces_and_comes_out_the_same(bundled, heads, monkeypatch):
    prompt = next(prompts(bundled))
    drafts = []
    for piece in (512, 7):
        monkeypatch.setattr("specview.engine.drafters.mtp.PREFILL_STEP", piece)
        drafter = MtpDrafter(bundled, heads)
        start(bundled, prompt, drafter)
        assert drafter._cache[0].offset == len(prompt) - 2
        drafts.append(drafter.draft((), 4).tokens.tolist())
    assert drafts[0] == drafts[1]


def drawn(bundled, heads, seed, k=3):
    drafter = MtpDrafter(bundled, heads)
    start(bundled, bundled.tokenizer.encode(CODE), drafter, sampling=Sampling(temperature=1.0, seed=seed))
    draft = drafter.draft((), k)
    return draft.tokens.tolist(), np.array(draft.probabilities)


def test_drawn_drafts_carry_what_they_were_drawn_from(bundled, heads):
    tokens, probabilities = drawn(bundled, heads, 1)
    assert probabilities.shape == (3, 4096)
    np.testing.assert_allclose(probabilities.sum(-1), 1, atol=1e-4)
    assert all(probabilities[i, token] > 0 for i, token in enumerate(tokens))


def test_the_first_draft_is_drawn_from_the_heads_own_distribution(bundled, heads):
    sampling = Sampling(temperature=0.8, seed=1)
    drafter = MtpDrafter(bundled, heads)
    start(bundled, bundled.tokenizer.encode(CODE), drafter, sampling=sampling)
    hidden = drafter._waiting[0]
    made = heads.heads[0](heads.embedded(0, bundled, mx.array(drafter._tokens[-1:])), hidden, drafter._cache[0])
    expected = distribution(heads.logits(0, bundled, made), sampling)[0]
    drafter.take_back(1)
    np.testing.assert_allclose(np.array(drafter.draft((), 1).probabilities), np.array(expected), atol=1e-5)


def test_equal_seeds_draw_equal_drafts(bundled, heads):
    assert drawn(bundled, heads, 1)[0] == drawn(bundled, heads, 1)[0]
    assert len({tuple(drawn(bundled, heads, seed)[0]) for seed in range(4)}) > 1


def test_greedy_drafts_carry_no_distribution(bundled, heads):
    drafter = MtpDrafter(bundled, heads)
    start(bundled, bundled.tokenizer.encode("one two three"), drafter)
    assert drafter.draft((), 2).probabilities is None


def test_a_probes_step_leaves_nothing_behind(bundled, heads):
    drafter = MtpDrafter(bundled, heads)
    start(bundled, bundled.tokenizer.encode("one two three four"), drafter)
    offset = drafter._cache[0].offset
    assert drafter.step([5, 6, 7]).shape == (1,)
    drafter.take_back(3)
    assert drafter._cache[0].offset == offset


def test_the_recipe_of_the_bundled_model_builds_the_same_head(bundled, heads):
    """`assets/training/export.py` fills an empty head by the names of a Qwen3-Next checkpoint."""
    own = {name: a.shape for name, a in named_arrays(QwenHead(bundled).parameters())}
    assert own == {name: a.shape for name, a in named_arrays(heads.heads[0].parameters())}


def test_states_that_wait_for_a_head_which_does_not_draft_are_evaluated_round_by_round(bundled, monkeypatch):
    tokens = [5, 17, 3, 60]
    generation = start(bundled, tokens, drafter := MtpDrafter(bundled, load_mtp_head(bundled)))
    submitted = []
    monkeypatch.setattr(mx, "async_eval", lambda *arrays: submitted.append(arrays))
    for _ in range(3):
        drafter.draft(generation.tokens, 0)
        drafter.settle([1], 0, mx.zeros((1, 1, bundled.config["hidden_size"])))
    assert len(submitted) == 3 and drafter._waiting[0].shape[1] == 4
