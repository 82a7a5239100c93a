"""Verify policies: the logits of one pass up to rounding, and caches that a round can rewind."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from tiny_models import tiny_target

from specview.engine.cache import arrays_of, new_cache, prefill
from specview.engine.compiled_pass import CompiledError
from specview.engine.decode import decode, start
from specview.engine.dense_pass import DenseError, DensePass, dense_bytes
from specview.engine.rewind import rewind, start_tape
from specview.engine.verify_policies import (
    POLICIES,
    PolicyError,
    one_pass,
    policies_for,
    single_passes,
    verify_policy,
)
from specview.profilers.measure.blas import blas_in_use

PROMPT = [5, 17, 3, 60, 42, 8, 1, 33]
COMING = [9, 21, 4, 77, 2]
CLOSE = 2e-4


def reference_blas():
    return blas_in_use().kind == "reference"


@pytest.fixture(scope="module")
def packed():
    """A tiny llama whose linear layers are quantised to 8 bits."""
    target = tiny_target("llama")
    nn.quantize(target.model, group_size=32, bits=8)
    mx.eval(target.model.parameters())
    return target


def verified(target, policy, keep_hidden=False, tokens=COMING):
    caches = new_cache(target)
    prefill(target, PROMPT, caches)
    start_tape(caches)
    hidden, logits = policy(target, mx.array(tokens)[None], caches, keep_hidden)
    mx.eval(logits, arrays_of(caches))
    return hidden, logits, caches


def greedy_with(target, policy, prompt, count, k=3):
    """Rounds whose drafts are wrong at the third place, verified by the policy; the committed tokens."""
    plain = [step.token for step in decode(start(target, prompt), count + k, lambda: 0)]
    generation, out = start(target, prompt), []
    while len(out) < count:
        drafts = plain[len(out) : len(out) + k]
        drafts[2] = (drafts[2] + 1) % 90
        start_tape(generation.cache)
        positions = mx.array([generation.tokens[-1], *drafts])[None]
        _, logits = policy(target, positions, generation.cache, False)
        choices = mx.argmax(logits[0], axis=-1).tolist()
        accepted = next(i for i, draft in enumerate(drafts) if draft != choices[i])
        committed = [*drafts[:accepted], choices[accepted]]
        mx.eval(rewind(generation.cache, k + 1, accepted + 1))
        generation.tokens.extend(committed)
        out += committed
    return out[:count], plain[:count]


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next", "lfm2"])
@pytest.mark.parametrize("keep_hidden", [False, True])
def test_single_passes_are_bit_identical_to_plain_decoding(model_type, keep_hidden):
    target = tiny_target(model_type)
    hidden, logits, caches = verified(target, single_passes, keep_hidden)
    plain = new_cache(target)
    prefill(target, PROMPT, plain)
    steps = [one_pass(target, mx.array([[token]]), plain, keep_hidden) for token in COMING]
    assert mx.array_equal(logits, mx.concatenate([step[1] for step in steps], axis=1))
    assert hidden is None or mx.array_equal(hidden, mx.concatenate([step[0] for step in steps], axis=1))
    assert all(
        mx.array_equal(a[..., :n, :], b[..., :n, :]) if (n := getattr(c, "offset", 0)) else mx.array_equal(a, b)
        for c, d in zip(caches, plain, strict=True)
        for a, b in zip(arrays_of([c]), arrays_of([d]), strict=True)
    )


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next", "mamba"])
def test_single_passes_equal_one_pass_bit_for_bit_where_the_blas_adds_in_one_order(model_type):
    target = tiny_target(model_type)
    _, together, _ = verified(target, one_pass)
    _, single, _ = verified(target, single_passes)
    np.testing.assert_allclose(np.array(single), np.array(together), atol=CLOSE)
    if model_type == "llama" and reference_blas() and mx.default_device() == mx.cpu:
        assert mx.array_equal(single, together)


@pytest.mark.parametrize("name", ["dense", "dense on the fly", "compiled"])
@pytest.mark.parametrize("keep_hidden", [False, True])
def test_other_policies_give_the_logits_of_one_pass(packed, name, keep_hidden):
    expected_hidden, expected, _ = verified(packed, one_pass, keep_hidden)
    hidden, logits, caches = verified(packed, verify_policy(name, packed), keep_hidden)
    np.testing.assert_allclose(np.array(logits), np.array(expected), atol=CLOSE)
    assert (hidden is None) == (not keep_hidden)
    if keep_hidden:
        np.testing.assert_allclose(np.array(hidden), np.array(expected_hidden), atol=CLOSE)
    assert [c.offset for c in caches] == [len(PROMPT) + len(COMING)] * len(caches)


@pytest.mark.parametrize("name", list(POLICIES))
def test_greedy_text_is_the_same_with_every_policy(packed, name):
    policy = verify_policy(name, packed)
    drafted, plain = greedy_with(packed, policy, PROMPT, 12)
    assert drafted == plain


@pytest.mark.parametrize("name", ["one pass", "single passes"])
@pytest.mark.parametrize("model_type", ["qwen3_next", "lfm2"])
def test_rounds_rewind_recurrent_state_after_either_policy(name, model_type):
    target = tiny_target(model_type)
    drafted, plain = greedy_with(target, verify_policy(name, target), PROMPT, 6)
    assert drafted == plain


def test_single_passes_are_rewound_by_noted_states_whatever_the_mixer():
    target = tiny_target("mamba")
    drafted, plain = greedy_with(target, single_passes, PROMPT, 6)
    assert drafted == plain


@pytest.mark.parametrize("name", ["one pass", "single passes"])
def test_greedy_text_of_the_bundled_model_is_the_same_with_every_policy(bundled, name):
    prompt = bundled.tokenizer.encode("def add(self, value):\n    self.items")
    drafted, plain = greedy_with(bundled, verify_policy(name, bundled), prompt, 9)
    assert drafted == plain


@pytest.mark.parametrize("name", ["dense", "dense on the fly"])
def test_dense_policies_leave_the_bundled_models_text_alone(stored, name):
    prompt = stored.tokenizer.encode("def add(self, value):\n    self.items")
    drafted, plain = greedy_with(stored, verify_policy(name, stored), prompt, 6)
    assert drafted == plain


def test_a_compiled_pass_compiles_once_for_many_offsets_and_again_when_the_buffer_grows(packed, monkeypatch):
    policy = verify_policy("compiled", packed)  # tried once already, on a buffer of the same length
    caches = new_cache(packed)
    prefill(packed, [i % 90 for i in range(250)], caches)
    fresh = new_cache(packed)
    prefill(packed, [i % 90 for i in range(250)], fresh)
    traced = []
    original = type(packed.model).__call__
    monkeypatch.setattr(
        type(packed.model), "__call__", lambda self, *a, **k: traced.append(1) or original(self, *a, **k)
    )
    counts = []
    for _ in range(4):  # 250, 252, 254 and, in a larger buffer, 256
        _, logits = policy(packed, mx.array([[7, 8]]), caches, False)
        counts.append(len(traced))
        expected = original(packed.model, mx.array([[7, 8]]), cache=fresh)
        np.testing.assert_allclose(np.array(logits), np.array(expected), atol=CLOSE)
    assert counts == [0, 0, 0, 1]


def test_a_compiled_pass_keeps_only_its_latest_graphs(packed, monkeypatch):
    monkeypatch.setattr("specview.engine.compiled_pass.MOST_GRAPHS", 2)
    policy = verify_policy("compiled", packed)
    caches = new_cache(packed)
    prefill(packed, PROMPT, caches)
    made = []
    original = policy._compiled
    monkeypatch.setattr(policy, "_compiled", lambda hidden: made.append(hidden) or original(hidden))
    for width in (1, 3, 1, 3, 4, 3, 1):
        mx.eval(policy(packed, mx.array([COMING[:width]]), caches, False)[1])
    assert len(made) == 4 and len(policy._graphs) == 2


def test_dense_copies_keep_within_their_limit_the_largest_first(packed):
    need = dense_bytes(packed)
    assert need.largest_bytes < need.all_bytes
    whole = DensePass(packed)
    assert (whole.kept_bytes, whole.matrices) == (need.all_bytes, need.matrices)
    some = DensePass(packed, limit_bytes=need.largest_bytes)
    assert 0 < some.kept_bytes <= need.largest_bytes and some.matrices < need.matrices
    assert DensePass(packed, keep=False).kept_bytes == 0
    _, expected, _ = verified(packed, one_pass)
    np.testing.assert_allclose(np.array(verified(packed, some)[1]), np.array(expected), atol=CLOSE)
    with pytest.raises(DenseError, match="1 may be used: free some memory"):
        DensePass(packed, limit_bytes=1)


def test_one_position_stays_quantised_and_the_product_is_given_back(packed):
    original = mx.quantized_matmul
    policy = DensePass(packed)
    policy._dense = {key: replace(dense, copy=dense.copy * 0) for key, dense in policy._dense.items()}
    _, expected, _ = verified(packed, one_pass, tokens=[9])
    assert mx.array_equal(verified(packed, policy, tokens=[9])[1], expected)
    assert not mx.array_equal(verified(packed, policy, tokens=[9, 21])[1][:, :1], expected)
    assert mx.quantized_matmul is original


def test_dense_always_multiplies_one_position_dense_too(packed):
    always = verify_policy("dense always", packed)
    _, expected, _ = verified(packed, one_pass, tokens=[9])
    np.testing.assert_allclose(np.array(verified(packed, always, tokens=[9])[1]), np.array(expected), atol=CLOSE)
    always._dense = {key: replace(dense, copy=dense.copy * 0) for key, dense in always._dense.items()}
    assert not mx.array_equal(verified(packed, always, tokens=[9])[1], expected)


def test_dense_copies_take_at_most_half_of_the_free_memory(packed):
    need = dense_bytes(packed).all_bytes
    assert verify_policy("dense", packed, 2 * need).kept_bytes == need
    assert verify_policy("dense", packed, need).kept_bytes <= need // 2


def test_what_a_target_cannot_run_is_a_sentence(bundled):
    policies, reasons = policies_for(bundled)
    assert set(policies) == {"one pass", "single passes"}
    assert "keeps ArraysCache" in reasons["compiled"] and "no quantised matrices" in reasons["dense"]
    with pytest.raises(PolicyError, match="choose one of one pass, single passes"):
        verify_policy("magic", bundled)


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [
        ("afm7", "reads positions off the length of its buffers"),
        ("phi3small", "gives other logits"),
        ("gpt_bigcode", "MLX cannot compile a pass of gpt_bigcode"),
        ("deepseek_v32", "keeps CacheList"),
        ("gemma3", "keeps RotatingKVCache"),
    ],
)
def test_a_pass_that_cannot_be_compiled_is_found_out_when_the_policy_is_made(model_type, reason):
    with pytest.raises(CompiledError, match=reason):
        verify_policy("compiled", tiny_target(model_type))


@pytest.mark.parametrize("model_type", ["nemotron-nas", "gpt2"])
def test_layers_without_keys_are_no_obstacle(model_type):
    target = tiny_target(model_type)
    _, expected, _ = verified(target, one_pass)
    _, logits, _ = verified(target, verify_policy("compiled", target))
    np.testing.assert_allclose(np.array(logits), np.array(expected), atol=CLOSE)


def test_a_policy_of_one_target_refuses_another(packed):
    other = tiny_target("llama", seed=1)
    for name, error in (("dense", DenseError), ("compiled", CompiledError)):
        with pytest.raises(error, match="make one for llama"):
            verify_policy(name, packed)(other, mx.array([[1, 2]]), new_cache(other), False)


def test_a_compiled_pass_refuses_quantised_caches(packed):
    caches = [cache.to_quantized(group_size=32, bits=8) for cache in new_cache(packed)]
    with pytest.raises(CompiledError, match="quantised caches"):
        verify_policy("compiled", packed)(packed, mx.array([[1, 2]]), caches, False)
