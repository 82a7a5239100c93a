"""Quantised keys and values: as mlx-lm makes them, rewound as others are, refused where a model cannot have them."""

from __future__ import annotations

from dataclasses import fields
from unittest import mock

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import KVCache, QuantizedKVCache
from tiny_models import TINY_CONFIGS, tiny_target

from specview.engine.cache import arrays_of, new_cache, prefill, restore, take_snapshot
from specview.engine.decode import Generation, decode, speculate
from specview.engine.drafters.choose import choose_drafter
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.none import NoDrafter
from specview.engine.drafters.protocol import Draft
from specview.engine.kv_quantisation import KvQuantisation, KvQuantisationError, check_quantisable, quantise_caches
from specview.engine.probe import FreeProbe
from specview.engine.prompt_cache import read_prompt

KV = KvQuantisation(bits=8)


@pytest.fixture(scope="module")
def prompt(bundled):
    return bundled.tokenizer.encode(
        "def push(self, item):\n    self.items.append(item)\n    return len(self.items)\n" * 2
    )


def quantised_generation(target, prompt, kv=KV):
    caches = new_cache(target)
    read_prompt(target, prompt[:-1], caches, kv=kv)
    return Generation(target, list(prompt), caches)


def test_greedy_text_equals_that_of_mlx_lm_with_the_same_bits(bundled, prompt):
    ours = [s.token for s in decode(quantised_generation(bundled, prompt), 10, lambda: 0)]
    theirs = generate_step(
        mx.array(prompt), bundled.model, max_tokens=10, kv_bits=8, kv_group_size=64, quantized_kv_start=0
    )
    assert ours == [int(token) for token, _ in theirs]


def test_drafts_change_nothing_on_quantised_caches(bundled, prompt):
    plain = [s.token for s in decode(quantised_generation(bundled, prompt), 14, lambda: 0)]
    drafter = PromptLookup()
    drafter.begin(prompt, None)
    generation = quantised_generation(bundled, prompt)
    rounds = list(speculate(generation, drafter, 3, 14, FreeProbe(lambda: 0)))
    assert [t for r in rounds for t in r.tokens][:14] == plain
    assert any(0 < r.accepted < len(r.drafted) or r.accepted == 0 < len(r.drafted) for r in rounds)


def test_caches_are_quantised_once_they_reach_the_start_and_recurrent_state_stays(bundled, prompt):
    caches = new_cache(bundled)
    kinds = [type(c) for c in caches]
    kv = KvQuantisation(bits=4, start=20)
    read_prompt(bundled, prompt[:19], caches, kv=kv)
    assert [type(c) for c in caches] == kinds and quantise_caches(caches, kv) == 0
    read_prompt(bundled, prompt[19:21], caches, kv=kv)
    assert [QuantizedKVCache if k is KVCache else k for k in kinds] == [type(c) for c in caches]
    assert quantise_caches(caches, kv) == 0


def test_snapshots_of_quantised_caches_stay_what_they_were(bundled, prompt):
    generation = quantised_generation(bundled, prompt)
    snapshot = take_snapshot(generation.cache)
    first = bundled.logits(mx.array([prompt[:3]]), generation.cache)
    mx.eval(first, arrays_of(generation.cache))
    restore(generation.cache, snapshot)
    again = bundled.logits(mx.array([prompt[:3]]), generation.cache)
    np.testing.assert_array_equal(np.array(first), np.array(again))


def test_what_can_be_quantised_is_found_out_by_a_tiny_pass(bundled):
    check_quantisable(bundled, KV)
    with pytest.raises(KvQuantisationError) as refused:
        check_quantisable(bundled, KvQuantisation(bits=8, group_size=128))
    assert str(refused.value) == (
        f"Keys and values are quantised in groups of 128, and the heads of {bundled.name} are 64 wide: leave "
        "--kv-bits out, or choose a model whose head size is a multiple of 128."
    )


def test_attention_that_takes_no_quantised_keys_says_why_and_what_to_do(bundled):
    class Picky(type(bundled)):
        def logits(self, tokens, caches):
            if any(isinstance(cache, QuantizedKVCache) for cache in caches):
                raise ValueError("quantised caches have no sinks")
            return super().logits(tokens, caches)

    picky = Picky(**{field.name: getattr(bundled, field.name) for field in fields(bundled)})
    with pytest.raises(KvQuantisationError, match=r"in 8 bits \(quantised caches have no sinks\): leave --kv-bits out"):
        check_quantisable(picky, KV)


@pytest.mark.parametrize("model_type", ["mamba", "rwkv7"])
def test_models_without_keys_and_values_are_refused_with_their_caches_name(model_type):
    with pytest.raises(KvQuantisationError, match="keeps ArraysCache, which mlx-lm cannot quantise"):
        check_quantisable(tiny_target(model_type), KV)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"bits": 7}, "in 7 bits: choose bits from 2, 3, 4, 5, 6, 8"),
        ({"bits": 4, "group_size": 48}, "in groups of 48: choose groups of 32, 64, 128"),
        ({"bits": 4, "start": -1}, "from position -1 on: choose a start from 0"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name(asked, said):
    with pytest.raises(KvQuantisationError, match=said):
        KvQuantisation(**asked)


def late_generation(target, prompt, after, longest=None):
    """Quantised from `after` generated positions on."""
    return quantised_from(target, prompt, KvQuantisation(bits=4, start=len(prompt) - 1 + after), longest)


def quantised_from(target, prompt, kv, longest=None):
    caches = new_cache(target, longest)
    read_prompt(target, prompt[:-1], caches, kv=kv)
    return Generation(target, list(prompt), caches, kv)


@pytest.mark.parametrize("after", [1, 5, 9])
def test_a_start_beyond_the_prompt_is_where_mlx_lm_has_it(bundled, prompt, after):
    generation = late_generation(bundled, prompt, after)
    ours = [s.token for s in decode(generation, 14, lambda: 0)]
    theirs = generate_step(
        mx.array(prompt),
        bundled.model,
        max_tokens=14,
        kv_bits=4,
        kv_group_size=64,
        quantized_kv_start=generation.kv.start,
    )
    assert ours == [int(token) for token, _ in theirs]
    assert any(type(c) is QuantizedKVCache for c in generation.cache)


@pytest.mark.parametrize("drafter", ["lookup", "model", "mtp"])
@pytest.mark.parametrize("after", [2, 3, 7])
@pytest.mark.parametrize("k", [1, 4])
def test_drafts_change_no_text_around_the_start_of_quantisation(bundled, prompt, drafter, after, k):
    plain = [s.token for s in decode(late_generation(bundled, prompt, after), 16, lambda: 0)]
    generation = late_generation(bundled, prompt, after)
    chosen = choose_drafter(
        {"model": "bundled"}.get(drafter, drafter), bundled, "float32", "float32", longest=len(prompt) + 40
    )
    chosen.begin(prompt, prompt_states(bundled, prompt) if chosen.needs_hidden else None)
    rounds = list(speculate(generation, chosen, k, 16, FreeProbe(lambda: 0)))
    assert [t for r in rounds for t in r.tokens][:16] == plain
    start = generation.kv.start
    assert all(r.context >= start or r.context + r.width <= start for r in rounds)
    assert any(type(c) is QuantizedKVCache for c in generation.cache)


def prompt_states(target, prompt):
    return prefill(target, prompt[:-1], new_cache(target), keep_hidden=True)


def test_a_snapshot_from_before_the_start_brings_the_unquantised_caches_back(bundled, prompt):
    generation = late_generation(bundled, prompt, 3)
    snapshot, tokens = take_snapshot(generation.cache), list(generation.tokens)
    first = [s.token for s in decode(generation, 8, lambda: 0)]
    kinds = [type(c) for c in generation.cache]
    restore(generation.cache, snapshot)
    generation.tokens[:] = tokens
    assert QuantizedKVCache in kinds and all(type(c) is not QuantizedKVCache for c in generation.cache)
    assert [s.token for s in decode(generation, 8, lambda: 0)] == first
    assert [type(c) for c in generation.cache] == kinds


def test_a_snapshot_from_after_the_start_brings_the_quantised_caches_back(bundled, prompt):
    generation = late_generation(bundled, prompt, 3)
    early = take_snapshot(generation.cache)
    list(decode(generation, 8, lambda: 0))
    late, tokens = take_snapshot(generation.cache), list(generation.tokens)
    expected = [s.token for s in decode(generation, 4, lambda: 0)]
    restore(generation.cache, early)
    restore(generation.cache, late)
    generation.tokens[:] = tokens
    assert [s.token for s in decode(generation, 4, lambda: 0)] == expected


class Foreseeing(NoDrafter):
    """Drafts what it was told will come, every third token wrong."""

    def __init__(self, coming):
        self.coming = coming

    def draft(self, tokens, k):
        places = range(len(tokens), min(len(tokens) + k, len(self.coming)))
        return Draft(mx.array([(self.coming[i] + (i % 3 == 0)) % 90 for i in places], dtype=mx.int32), 0)


@pytest.fixture(scope="module", params=[128, 256])
def wide(request):
    """A tiny llama with heads as wide as large models have them."""
    changed = {"llama": TINY_CONFIGS["llama"] | {"head_dim": request.param, "num_hidden_layers": 2}}
    with mock.patch.dict(TINY_CONFIGS, changed):
        return tiny_target("llama")


@pytest.mark.parametrize("bits", [3, 5, 6])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_wide_heads_in_odd_bits_are_kept_from_the_first_position_on(wide, bits, length):
    prompt, kv = [5, 17, 3, 60, 42, 8, 1, 33, 5][:length], KvQuantisation(bits=bits, group_size=32)
    check_quantisable(wide, kv)
    plain = [s.token for s in decode(quantised_from(wide, prompt, kv), 9, lambda: 0)]
    generation = quantised_from(wide, prompt, kv)
    rounds = list(speculate(generation, Foreseeing(prompt + plain), 3, 9, FreeProbe(lambda: 0)))
    assert [t for r in rounds for t in r.tokens][:9] == plain
    assert any(r.accepted for r in rounds) and all(type(c) is QuantizedKVCache for c in generation.cache)


def test_empty_caches_wait_and_the_first_pass_on_them_has_no_drafts():
    caches = new_cache(tiny_target("llama"))
    assert quantise_caches(caches, KV) == 0 and all(type(c) is KVCache for c in caches)
    assert [KV.longest_draft(context, 4) for context in (0, 1, 7)] == [0, 4, 4]
