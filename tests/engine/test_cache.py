"""Caches: what can be rewound, and how a prompt is read in."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import CacheList, ChunkedKVCache, KVCache, QuantizedKVCache, RotatingKVCache

from specview.engine import cache as caching
from specview.engine.cache import arrays_of, cache_bytes, new_cache, prefill, restore, take_snapshot
from specview.engine.rewind import TapedCache
from specview.engine.window_tape import TapedWindow


def target_with(*caches):
    model = SimpleNamespace(layers=[object() for _ in caches], make_cache=lambda: list(caches), modules=list)
    return SimpleNamespace(name="some-model", model=model)


def test_the_bundled_model_has_recurrent_and_growing_caches(bundled):
    kinds = [type(c) for c in new_cache(bundled)]
    assert kinds.count(TapedCache) == 6
    assert kinds.count(KVCache) == 2


@pytest.mark.parametrize("longest", [512, 4096, None])
def test_a_window_that_fills_up_is_taped(longest):
    (cache,) = new_cache(target_with(RotatingKVCache(512)), longest)
    assert isinstance(cache, TapedWindow)


def test_a_window_that_the_run_does_not_fill_needs_no_tape():
    (cache,) = new_cache(target_with(RotatingKVCache(512)), longest=511)
    assert type(cache) is RotatingKVCache


def test_caches_that_only_grow_stay_as_they_are():
    made = (ChunkedKVCache(16), CacheList(KVCache()), QuantizedKVCache())
    assert all(a is b for a, b in zip(new_cache(target_with(*made), longest=16), made, strict=True))
    assert [type(cache) for cache in made] == [ChunkedKVCache, CacheList, QuantizedKVCache]


def test_a_prompt_read_in_chunks_is_the_prompt_read_at_once(bundled, monkeypatch):
    tokens = list(range(30, 53))
    whole, parts = new_cache(bundled), new_cache(bundled)
    hidden = prefill(bundled, tokens, whole, keep_hidden=True)
    monkeypatch.setattr(caching, "PREFILL_STEP", 5)
    in_parts = prefill(bundled, tokens, parts, keep_hidden=True)
    assert hidden.shape == in_parts.shape == (1, 23, 256)
    np.testing.assert_allclose(np.array(hidden), np.array(in_parts), atol=1e-3)
    expected = bundled.logits(mx.array([[7]]), whole)
    np.testing.assert_allclose(np.array(bundled.logits(mx.array([[7]]), parts)), np.array(expected), atol=1e-3)


def test_hidden_states_are_kept_only_when_asked_for(bundled):
    assert prefill(bundled, [5, 6, 7], new_cache(bundled)) is None
    assert prefill(bundled, [], new_cache(bundled), keep_hidden=True) is None


def test_bytes_are_those_of_the_arrays():
    cache = KVCache()
    assert cache_bytes([cache]) == 0
    keys = mx.zeros((1, 2, 3, 4))
    cache.update_and_fetch(keys, keys)
    assert cache_bytes([cache]) == sum(a.nbytes for a in arrays_of([cache])) > 0


def test_a_snapshot_can_be_restored_more_than_once(bundled):
    caches = new_cache(bundled)
    prefill(bundled, [5, 6, 7, 8], caches)
    snapshot = take_snapshot(caches)
    seen = []
    for _ in range(3):
        restore(caches, snapshot)
        seen.append(np.array(bundled.logits(mx.array([[9, 10]]), caches)))
        mx.eval(arrays_of(caches))
    assert np.array_equal(seen[0], seen[1]) and np.array_equal(seen[1], seen[2])


def test_a_snapshot_of_an_empty_cache_is_empty(bundled):
    caches = new_cache(bundled)
    snapshot = take_snapshot(caches)
    before = np.array(bundled.logits(mx.array([[9]]), caches))
    restore(caches, snapshot)
    assert np.array_equal(np.array(bundled.logits(mx.array([[9]]), caches)), before)
