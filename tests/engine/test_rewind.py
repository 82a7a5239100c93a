"""Rewinding recurrent state: the short way for gated delta layers and the general one agree with a fresh cache."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache, RotatingKVCache

from specview.engine import rewind as module
from specview.engine.cache import CacheError, arrays_of, check_rewindable, new_cache, prefill
from specview.engine.drafters import choose as choosing
from specview.engine.drafters.choose import choose_drafter
from specview.engine.models import Target
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


# ---------------------------------------------------- which module keeps which state, on scripted models


class Keeper(nn.Module):
    """A recurrent mixer: its state is the running sum of what its projection gives."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def __call__(self, x, cache=None):
        before = mx.zeros((1, 1, 8)) if cache[0] is None else cache[0]
        sums = mx.cumsum(self.proj(x), axis=1) + before
        cache[0] = sums[:, -1:]
        return x + sums


class Block(nn.Module):
    """A layer with one mixer."""

    def __init__(self):
        super().__init__()
        self.mixer = Keeper()

    def __call__(self, x, cache=None):
        return self.mixer(x, cache=cache)


class Nested(Block):
    """A layer whose mixer sits two modules down, and is given its cache by position."""

    def __init__(self):
        super().__init__()
        self.mixer = Block()
        self.extras = nn.Module()

    def __call__(self, x, cache=None):
        return self.mixer(x, cache)


class Shared(Block):
    """A layer with two mixers on one cache: going back would need to know who wrote last."""

    def __init__(self):
        super().__init__()
        self.other = Keeper()

    def __call__(self, x, cache=None):
        return self.other(self.mixer(x, cache=cache), cache=cache)


class Hidden(nn.Module):
    """A layer that takes its cache under another name, so that nobody can be taught."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def __call__(self, x, state=None):
        state[0] = self.proj(x)[:, -1:]
        return x


class Scripted(nn.Module):
    """A tiny recurrent language model over 16 tokens."""

    def __init__(self, *layers):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.layers = list(layers)

    def make_cache(self):
        return [ArraysCache(1) for _ in self.layers]

    def __call__(self, tokens, cache=None):
        h = self.embed(tokens)
        for layer, own in zip(self.layers, cache, strict=True):
            h = layer(h, own)
        return self.embed.as_linear(h)


def scripted(*layers):
    mx.random.seed(0)
    return Target("scripted", "scripted", Path(), Scripted(*(layer() for layer in layers)), None, {})


@pytest.mark.parametrize("layer", [Block, Nested])
@pytest.mark.parametrize("kept", range(WIDTH + 1))
def test_the_module_that_uses_a_cache_is_found_however_deep(layer, kept):
    target = scripted(layer, layer)
    check_rewindable(target)
    caches = new_cache(target)
    target.logits(mx.array([[1, 2, 3]]), caches)
    start_tape(caches)
    mx.eval(target.logits(mx.arange(4, 4 + WIDTH)[None], caches))
    rewind(caches, WIDTH, kept)
    fresh = new_cache(target)
    target.logits(mx.array([[1, 2, 3, *range(4, 4 + kept)]]), fresh)
    for a, b in zip(caches, fresh, strict=True):
        np.testing.assert_allclose(np.array(a.cache[0]), np.array(b.cache[0]), atol=1e-5)


def test_only_the_module_that_hands_the_cache_to_none_below_is_taught():
    target = scripted(Nested)
    new_cache(target)
    taught = [type(m).__mro__[1].__name__ for m in target.model.modules() if isinstance(m, module._TapedMixer)]
    assert taught == ["_TapedMixer"]
    assert isinstance(target.model.layers[0].mixer.mixer, module._TapedMixer)


@pytest.mark.parametrize("layers", [(Shared,), (Block, Shared), (Hidden,), (Block, Hidden)])
def test_a_cache_that_not_exactly_one_mixer_uses_is_refused(layers):
    with pytest.raises(CacheError, match="does not know which of its layers keep which recurrent state"):
        check_rewindable(scripted(*layers))


@pytest.mark.parametrize("wish", ["lookup", "none", "mtp", "some-folder"])
def test_such_a_model_is_refused_before_any_drafter_is_loaded(wish):
    with pytest.raises(CacheError, match="scripted cannot be drafted for"):
        choose_drafter(wish, scripted(Shared))


def test_a_draft_model_that_cannot_go_back_is_refused(monkeypatch):
    draft = scripted(Shared)
    monkeypatch.setattr(choosing, "load_target", lambda *_: draft)
    monkeypatch.setattr(choosing, "check_same_tokens", lambda *_: None)
    with pytest.raises(CacheError, match="cannot be drafted for"):
        choose_drafter("some-folder", scripted(Block))


def test_a_draft_model_whose_window_the_text_outgrows_is_refused(monkeypatch):
    draft = scripted()
    draft.model.make_cache = lambda: [RotatingKVCache(64)]
    draft.model.__class__ = type("NoLayers", (Scripted,), {"__call__": lambda self, tokens, cache=None: tokens})
    monkeypatch.setattr(choosing, "load_target", lambda *_: draft)
    monkeypatch.setattr(choosing, "check_same_tokens", lambda *_: None)
    assert choose_drafter("some-folder", scripted(Block), longest=63).kind == "model"
    with pytest.raises(CacheError, match="window of 64 positions is shorter than this run"):
        choose_drafter("some-folder", scripted(Block), longest=64)
