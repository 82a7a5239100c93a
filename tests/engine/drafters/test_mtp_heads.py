"""MTP heads of every family against a forward in NumPy, from checkpoints in the published layouts."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mtp_checkpoints import converted, fused, next_layer_head, raw_head, saved, tiny_target_in
from mtp_reference import ReferenceHeads

from specview.engine.decode import decode, speculate, start
from specview.engine.drafters.mtp import MtpDrafter, head_count, load_mtp_head
from specview.engine.language_config import text_config
from specview.engine.probe import FreeProbe
from specview.profilers.judge.economics import DrafterKind, draft_steps

KINDS = (
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "deepseek_v3",
    "deepseek_v32",
    "glm_moe_dsa",
    "glm4_moe",
    "glm4_moe_lite",
    "mimo",
    "step3p5",
)
WITH_EXPERTS = ("qwen3_next", "qwen3_5_moe", "deepseek_v3", "glm4_moe", "glm4_moe_lite")
BEFORE_FINAL_NORM = ("mimo", "step3p5")
ZERO_CENTRED = ("qwen3_next", "qwen3_5", "qwen3_5_moe", "step3p5")
LENGTH = 14  # beyond Step-3.5's window of 8


def reference_of(kind, target, raw):
    body = target.model.language_model if "language_model" in target.model else target.model
    config = {**text_config(target.config), "model_type": kind}
    embedding, output = np.array(target.inner.embed_tokens.weight), np.array(body.lm_head.weight)
    return ReferenceHeads(kind, raw, config, embedding, output)


def random_text(target, length=LENGTH, seed=3):
    """Tokens, and hidden states as the target hands them out and as the head's family takes them."""
    random = np.random.default_rng(seed)
    weight = np.array(target.inner.norm.weight)
    tokens = [int(t) for t in random.integers(0, 96, length)]
    before = random.standard_normal((length, weight.size)).astype(np.float32)
    after = before / np.sqrt((before**2).mean(-1, keepdims=True)) * weight
    return tokens, mx.array(after)[None], before


def case(tmp_path, kind, raw=None, stored=None):
    """The target, its loaded heads and the reference, of a raw head stored in some form."""
    target = tiny_target_in(tmp_path, kind)
    raw = raw_head(kind, target.config) if raw is None else raw
    saved(tmp_path, raw if stored is None else stored(raw))
    return target, load_mtp_head(target), reference_of(kind, target, raw)


def check_logits(kind, target, heads, reference):
    tokens, after, before = random_text(target)
    made = heads.taken(target, after)
    expected_made = before if kind in BEFORE_FINAL_NORM else np.array(after[0])
    for i in range(len(heads.heads)):
        ids = tokens[i:]
        made = heads.heads[i](heads.embedded(i, target, mx.array(ids)), made[:, : len(ids)], None)
        expected_made, logits = reference.head(i, np.array(ids), expected_made[: len(ids)])
        np.testing.assert_allclose(np.array(heads.logits(i, target, made))[0], logits, atol=2e-4)
        if kind not in BEFORE_FINAL_NORM or i:
            np.testing.assert_allclose(np.array(made)[0], expected_made, atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_raw_head_computes_what_its_description_says(tmp_path, kind):
    check_logits(kind, *case(tmp_path, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_converted_head_computes_the_same(tmp_path, kind):
    check_logits(kind, *case(tmp_path, kind, stored=lambda raw: converted(raw, kind in ZERO_CENTRED)))


@pytest.mark.parametrize("kind", WITH_EXPERTS)
def test_fused_experts_compute_the_same(tmp_path, kind):
    check_logits(kind, *case(tmp_path, kind, stored=fused))


@pytest.mark.parametrize("kind", ["deepseek_v3", "glm4_moe"])
def test_several_layers_beyond_the_last_are_several_heads(tmp_path, kind):
    config = tiny_target_in(tmp_path, kind).config
    raw = {**next_layer_head(config, 7, 0), **next_layer_head(config, 8, 1)}
    target, heads, reference = case(tmp_path, kind, raw)
    assert len(heads.heads) == 2
    check_logits(kind, target, heads, reference)


@pytest.mark.parametrize("kind", ["deepseek_v3", "glm4_moe"])
def test_copies_of_the_targets_embedding_and_output_are_shared(tmp_path, kind):
    target = tiny_target_in(tmp_path, kind)
    raw = raw_head(kind, target.config)
    layer = f"model.layers.{target.config['num_hidden_layers']}"
    raw[f"{layer}.embed_tokens.weight"] = np.array(target.inner.embed_tokens.weight)
    raw[f"{layer}.shared_head.head.weight"] = np.array(target.model.lm_head.weight)
    target, heads, reference = case(tmp_path, kind, raw)
    assert (heads.heads[0].own_embedding, heads.heads[0].own_output) == (None, None)
    check_logits(kind, target, heads, reference)


def test_what_is_not_stored_per_head_is_the_targets(tmp_path):
    target = tiny_target_in(tmp_path, "glm4_moe")
    raw = raw_head("glm4_moe", target.config)
    saved(
        tmp_path, {k: v for k, v in raw.items() if not k.endswith(("embed_tokens.weight", "shared_head.head.weight"))}
    )
    heads = load_mtp_head(target)
    layer = f"model.layers.{target.config['num_hidden_layers']}"
    raw[f"{layer}.shared_head.head.weight"] = np.array(target.model.lm_head.weight)
    raw[f"{layer}.embed_tokens.weight"] = np.array(target.inner.embed_tokens.weight)
    check_logits("glm4_moe", target, heads, reference_of("glm4_moe", target, raw))


# ------------------------------------------------------------------ drafting


@pytest.mark.parametrize("kind", ["qwen3_next", "qwen3_5", "qwen3_5_moe", "deepseek_v3", "glm4_moe", "mimo"])
def test_drafting_changes_no_token(tmp_path, fake_clock, kind):
    """The tiny target's own greedy text, with drafts that are mostly wrong."""
    target, heads, _ = case(tmp_path, kind)
    prompt = random_text(target)[0]
    plain = start(target, prompt)
    list(decode(plain, 16, fake_clock))
    drafter = MtpDrafter(target, heads)
    drafting = start(target, prompt, drafter)
    list(speculate(drafting, drafter, 3, 16, FreeProbe(fake_clock)))
    assert drafting.tokens[: len(plain.tokens)] == plain.tokens


def drafts_of(drafter, k):
    return drafter.draft((), k).tokens.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_drafts_follow_the_reference_whatever_was_accepted(tmp_path, kind, k):
    """Several rounds, each keeping another number of drafts: nothing of a rejected draft may stay in a cache."""
    target, heads, reference = case(tmp_path, kind)
    tokens, after, before = random_text(target, 30)
    states = before if kind in BEFORE_FINAL_NORM else np.array(after[0])
    drafter = MtpDrafter(target, heads)
    seen = 6
    drafter.begin(tokens[:seen], after[:, : seen - 1])
    for accepted in (0, min(k, 2), k, 0, 1):
        assert drafts_of(drafter, k) == reference.drafts(tokens[:seen], states[: seen - 1], k)
        kept = tokens[seen : seen + accepted + 1]
        drafter.settle(kept, accepted, after[:, seen - 1 : seen + k])
        seen += len(kept)


def test_heads_that_did_not_run_catch_up(tmp_path):
    """k changes from round to round: the second and third head of Step-3.5 lag and read later."""
    target, heads, reference = case(tmp_path, "step3p5")
    tokens, after, before = random_text(target, 30)
    drafter = MtpDrafter(target, heads)
    seen = 5
    drafter.begin(tokens[:seen], after[:, : seen - 1])
    for k, accepted in ((1, 1), (0, 0), (1, 0), (3, 2), (2, 0), (4, 1)):
        expected = reference.drafts(tokens[:seen], before[: seen - 1], k) if k else []
        assert drafts_of(drafter, k) == expected
        kept = tokens[seen : seen + accepted + 1]
        drafter.settle(kept, accepted, after[:, seen - 1 : seen + k])
        seen += len(kept)


@pytest.mark.parametrize("length", [2, 3])
def test_several_heads_start_on_a_short_prompt(tmp_path, length):
    target, heads, reference = case(tmp_path, "step3p5")
    tokens, after, before = random_text(target)
    drafter = MtpDrafter(target, heads)
    drafter.begin(tokens[:length], after[:, : length - 1])
    for seen in (length, length + 1, length + 2):
        assert drafts_of(drafter, 3) == reference.drafts(tokens[:seen], before[: seen - 1], 3)
        drafter.settle(tokens[seen : seen + 1], 0, after[:, seen - 1 : seen + 3])


def test_several_heads_come_back_to_a_mark(tmp_path):
    target, heads, _ = case(tmp_path, "step3p5")
    tokens, after, _ = random_text(target, 20)
    drafter = MtpDrafter(target, heads)
    drafter.begin(tokens[:8], after[:, :7])
    drafts_of(drafter, 3)
    drafter.settle(tokens[8:10], 1, after[:, 7:11])
    mark = drafter.mark()
    before = drafts_of(drafter, 4)
    drafter.settle(tokens[10:12], 1, after[:, 9:14])
    drafts_of(drafter, 2)
    drafter.restore(mark)
    assert drafts_of(drafter, 4) == before


class Widths(MtpDrafter):
    """Notes which head took in how many positions since the draft began."""

    def draft(self, tokens, k):
        self.taken = []
        return super().draft(tokens, k)

    def _pass(self, i, tokens, hidden):
        if hasattr(self, "taken"):
            self.taken.append((i, tokens.shape[0]))
        return super()._pass(i, tokens, hidden)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_each_head_takes_in_one_position_more_than_the_head_before_it(tmp_path, k):
    """What a prediction counts with: the first step of head j is (accepted before) + 1 + j wide, later steps are 1."""
    target, heads, _ = case(tmp_path, "step3p5")
    assert len(heads.heads) == 3
    tokens, after, _ = random_text(target)
    drafter = Widths(target, heads)
    assert head_count(drafter) == 3
    drafter.begin(tokens, after[:, :-1])
    drafted = drafter.draft(tokens, k)
    for accepted in (0, k, min(1, k), k, 0):
        committed = [*drafted.tokens.tolist()[:accepted], 7]
        tokens = [*tokens, *committed]
        drafter.settle(committed, accepted, mx.random.normal((1, k + 1, after.shape[-1])))
        drafted = drafter.draft(tokens, k)
        own = min(k, 3)
        expected = [(j, accepted + 1 + j) for j in range(own)] + [(own - 1, 1)] * (k - own)
        assert drafter.taken == expected
        assert drafted.catch_up_width == accepted + 1
        cumulative = tuple(float(i <= accepted) for i in range(1, k + 1))
        counted = {}
        for _, width in expected:
            counted[width] = counted.get(width, 0) + 1
        assert draft_steps(DrafterKind.MTP, cumulative, 3) == counted
