"""Rewinding recurrent state: the short way for gated delta layers and the general one agree with a fresh cache."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from specview.engine import rewind as module
from specview.engine.cache import arrays_of, new_cache, prefill
from specview.engine.rewind import TapedCache, rewind, start_tape

WIDTH = 5


def taped_pass(target, tokens):
    caches = new_cache(target)
    prefill(target, tokens[:12], caches)
    start_tape(caches)
    mx.eval(target.logits(mx.array(tokens[12 : 12 + WIDTH])[None], caches))
    return caches


@pytest.fixture
def tokens(bundled):
    return bundled.tokenizer.encode("def push(self, item):\n    self.items.append(item)\n    return len(self.items)\n")


@pytest.mark.parametrize("way", ["short", "general"])
@pytest.mark.parametrize("kept", range(WIDTH + 1))
def test_both_ways_back_end_where_a_fresh_cache_is(bundled, tokens, monkeypatch, way, kept):
    if way == "general":
        monkeypatch.setattr(module, "states_after", lambda *_: None)
    caches = taped_pass(bundled, tokens)
    rewind(caches, WIDTH, kept)
    fresh = new_cache(bundled)
    prefill(bundled, tokens[:12], fresh)
    if kept:
        mx.eval(bundled.logits(mx.array(tokens[12 : 12 + kept])[None], fresh), arrays_of(fresh))
    for a, b in zip(caches, fresh, strict=True):
        if isinstance(a, TapedCache):
            for x, y in zip(a.cache, b.cache, strict=True):
                np.testing.assert_allclose(np.array(x), np.array(y), atol=1e-4, rtol=1e-4)
        else:
            assert a.offset == b.offset


def test_the_gated_delta_layers_of_the_bundled_model_go_the_short_way(bundled, tokens, monkeypatch):
    found = []
    original = module.states_after
    monkeypatch.setattr(module, "states_after", lambda *given: found.append(original(*given)) or found[-1])
    rewind(taped_pass(bundled, tokens), WIDTH, 2)
    assert len(found) == 6
    assert all(states is not None for states in found)


def test_the_general_way_reads_no_projection_again(bundled, tokens, monkeypatch):
    monkeypatch.setattr(module, "states_after", lambda *_: None)
    caches = taped_pass(bundled, tokens)
    mixer = bundled.inner.layers[0].linear_attn
    weight = mixer.in_proj_qkvz.weight
    mixer.in_proj_qkvz.weight = weight * float("nan")
    try:
        again = rewind(caches, WIDTH, 1)
        assert not any(bool(mx.isnan(a).any().item()) for a in again)
    finally:
        mixer.in_proj_qkvz.weight = weight


def test_after_a_pass_nothing_of_mlx_lm_stays_patched(bundled, tokens):
    from mlx_lm.models import gated_delta, qwen3_next

    rewind(taped_pass(bundled, tokens), WIDTH, 3)
    assert qwen3_next.gated_delta_update is gated_delta.gated_delta_update


def test_taping_adds_no_parameters(bundled):
    names = {name for name, _ in nn.utils.tree_flatten(bundled.model.parameters())}
    new_cache(bundled)
    assert {name for name, _ in nn.utils.tree_flatten(bundled.model.parameters())} == names
    assert not any("note" in name or "last_input" in name for name in names)
