"""Rewinding: each way back, class of cache by class of cache; `test_rewind_everywhere` holds the architectures."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.cache import (
    ArraysCache,
    BatchKVCache,
    BatchRotatingKVCache,
    CacheList,
    ConcatenateKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)

from specview.engine import recurrence
from specview.engine import replay as module
from specview.engine.cache import CacheError, arrays_of, check_rewindable, new_cache, prefill, restore, take_snapshot
from specview.engine.cache_contents import arrays_in, contents, parts
from specview.engine.drafters import choose as choosing
from specview.engine.drafters.choose import choose_drafter
from specview.engine.models import Target
from specview.engine.rewind import TapedCache, rewind, start_tape, stop_tape, with_tapes

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


@pytest.mark.parametrize("way", ["states of the pass", "recurrence again", "general"])
@pytest.mark.parametrize("kept", range(WIDTH + 1))
def test_every_way_back_ends_where_a_fresh_cache_is(bundled, tokens, monkeypatch, way, kept):
    if way == "general":
        monkeypatch.setattr(module, "states_after", lambda *_: None)
    if way == "recurrence again":  # as where one kernel does all positions, or mlx-lm has another name for a step
        monkeypatch.setattr(recurrence, "STEP", "gone")
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


@pytest.mark.parametrize(
    ("before", "named", "masked"),
    [
        ((), {}, False),
        ((), {"mask": None}, False),
        ((), {"mask": 1}, True),
        ((None, 1), {}, True),
        ((None,), {}, False),
    ],
)
def test_a_mask_is_seen_however_it_is_given(before, named, masked):
    args = (*"qkvab", "A_log", "dt_bias", *before)
    assert recurrence.DeltaCall(lambda: None, args, named, mx.zeros(1), []).masked is masked


def test_where_the_pass_stepped_no_state_is_recomputed(bundled, tokens):
    caches = taped_pass(bundled, tokens)
    call = next(c for c in caches if isinstance(c, TapedCache)).tape.passes[0].seen[0].calls[0]
    assert len(call.passed) == WIDTH
    assert call.state_after(2) is call.passed[1]


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

    step = gated_delta._gated_delta_step_ops
    rewind(taped_pass(bundled, tokens), WIDTH, 3)
    assert qwen3_next.gated_delta_update is gated_delta.gated_delta_update
    assert gated_delta._gated_delta_step_ops is step


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
    """A layer with two mixers on one cache, which keep their states beside each other."""

    def __init__(self):
        super().__init__()
        self.other = Second()

    def __call__(self, x, cache=None):
        return self.other(hidden=self.mixer(x, cache=cache), cache=cache)


class Second(Keeper):
    """Keeps its state in the second place, and is called by keywords only."""

    def __call__(self, *, hidden, cache):
        before = mx.zeros((1, 1, 8)) if cache[1] is None else cache[1]
        sums = mx.cumsum(self.proj(hidden), axis=1) + before
        cache[1] = sums[:, -1:]
        return hidden + sums


class Renamed(nn.Module):
    """A layer that takes its cache under another name."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def __call__(self, x, state=None):
        state[0] = self.proj(x)[:, -1:]
        return x


class Wraps(Block):
    """A layer that writes state of its own around the mixer that it hands the cache to."""

    def __call__(self, x, cache=None):
        y = self.mixer(x, cache=cache)
        cache[1] = y[:, -1:] if cache[1] is None else cache[1] + y[:, -1:]
        return y


class Outside(nn.Module):
    """A layer that is handed the state, not the cache: the model puts the new state back itself."""

    def __call__(self, x, state=None):
        return x


class Scripted(nn.Module):
    """A tiny recurrent language model over 16 tokens."""

    def __init__(self, *layers):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.layers = list(layers)

    def make_cache(self):
        return [ArraysCache(2) for _ in self.layers]

    def __call__(self, tokens, cache=None):
        h = self.embed(tokens)
        for layer, own in zip(self.layers, cache or self.make_cache(), strict=True):
            if isinstance(layer, Outside):
                h = layer(h, own[0])
                own[0] = h[:, -1:]
            else:
                h = layer(h, own)
        return self.embed.as_linear(h)


def scripted(*layers):
    mx.random.seed(0)
    return Target("scripted", "scripted", Path(), Scripted(*(layer() for layer in layers)), None, {})


@pytest.mark.parametrize("layer", [Block, Nested, Shared, Renamed, Wraps])
@pytest.mark.parametrize("kept", range(WIDTH + 1))
def test_the_modules_that_write_a_cache_are_found_however_they_are_handed_it(layer, kept):
    target = scripted(layer, layer)
    check_rewindable(target)
    caches = new_cache(target)
    mx.eval(target.logits(mx.array([[1, 2, 3]]), caches))
    start_tape(caches)
    mx.eval(target.logits(mx.arange(4, 4 + WIDTH)[None], caches))
    rewind(caches, WIDTH, kept)
    fresh = new_cache(target)
    mx.eval(target.logits(mx.array([[1, 2, 3]]), fresh))
    if kept:
        target.logits(mx.arange(4, 4 + kept)[None], fresh)
    assert all(mx.array_equal(a, b).item() for a, b in zip(arrays_of(caches), arrays_of(fresh), strict=True))


def test_only_the_module_that_writes_the_cache_is_taught():
    target = scripted(Nested, Wraps)
    new_cache(target)
    taught = [m for m in target.model.modules() if isinstance(m, module.TapedMixer)]
    assert {id(m) for m in taught} == {id(target.model.layers[0].mixer.mixer), id(target.model.layers[1])}


def test_state_that_the_model_writes_between_its_layers_is_refused():
    with pytest.raises(CacheError, match="scripted cannot be drafted for: it writes recurrent state outside"):
        check_rewindable(scripted(Block, Outside))


@pytest.mark.parametrize("wish", ["lookup", "none", "mtp", "some-folder"])
def test_such_a_model_is_refused_before_any_drafter_is_loaded(wish):
    with pytest.raises(CacheError, match="scripted cannot be drafted for"):
        choose_drafter(wish, scripted(Outside))


def test_a_draft_model_that_cannot_go_back_is_refused(monkeypatch):
    draft = scripted(Outside)
    monkeypatch.setattr(choosing, "load_target", lambda *_, **__: draft)
    monkeypatch.setattr(choosing, "check_same_tokens", lambda *_: None)
    with pytest.raises(CacheError, match="cannot be drafted for"):
        choose_drafter("some-folder", scripted(Block))


# ---------------------------------------------------- classes of caches, one by one


def some(width, seed, rows=1):
    return mx.random.normal((rows, 2, width, 64), key=mx.random.key(seed))


def fill(cache, widths, seed=0):
    """Updates of these widths; a position has the same keys and values whatever pass it comes in."""
    position = seed
    for width in widths:
        rows = cache.left_padding.size if hasattr(cache, "left_padding") else 1
        keys = mx.concatenate([some(1, position + i, rows) for i in range(width)], axis=2)
        mx.eval(cache.update_and_fetch(keys, -keys))
        position += width
    return cache


def taped(make):
    (cache,) = with_tapes(nn.Module(), [make()], lambda: [])
    return cache


def next_keys(cache):
    """What the next two positions see, whatever the order they are kept in."""
    keys, values = (
        mx.dequantize(*a, bits=8) if isinstance(a, list | tuple) else a
        for a in cache.update_and_fetch(some(2, 900), some(2, 901))
    )
    mx.eval(keys, values)
    return np.array(keys), np.array(values)


KINDS = {
    "KV": KVCache,
    "quantised": QuantizedKVCache,
    "concatenating": ConcatenateKVCache,
    "window": lambda: RotatingKVCache(8),
    "window that keeps its start": lambda: RotatingKVCache(8, keep=2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "before", [(), (3,), (5, 1), (7, 1), (8,), (8, 1), (12,), (12, 1), (12, 1, 1, 1), (6, 1, 1, 1, 4)]
)
@pytest.mark.parametrize("passes", [(1,), (4,), (1, 1, 1), (3, 2), (2, 1, 1, 3), (1,) * 11])
def test_keys_and_values_go_back_to_any_position_and_go_on_as_if_nothing_had_been(kind, before, passes):
    for kept in range(sum(passes) + 1):
        cache = fill(taped(KINDS[kind]), before)
        start_tape([cache])
        fill(cache, passes, seed=sum(before))
        mx.eval(rewind([cache], sum(passes), kept))
        fresh = fill(KINDS[kind](), [*before, *([1] * kept)])
        assert cache.offset == fresh.offset == sum(before) + kept
        for got, expected in zip(next_keys(cache), next_keys(fresh), strict=True):
            assert np.array_equal(np.sort(got, axis=2), np.sort(expected, axis=2))


@pytest.mark.parametrize("make", [lambda: BatchKVCache([0, 2]), lambda: BatchRotatingKVCache(8, [0, 2])])
@pytest.mark.parametrize("before", [(3,), (6, 1), (8, 1, 1), (12,)])
@pytest.mark.parametrize("passes", [(4,), (3, 2), (1, 1)])
def test_a_batch_goes_back_by_the_same_number_in_every_row(make, before, passes):
    for kept in range(sum(passes) + 1):
        cache = fill(taped(make), before)
        start_tape([cache])
        fill(cache, passes, seed=sum(before))
        mx.eval(rewind([cache], sum(passes), kept))
        fresh = fill(make(), [*before, *([1] * kept)])
        assert cache.offset.tolist() == fresh.offset.tolist()
        keys = [np.sort(np.array(c.update_and_fetch(some(2, 9, 2), some(2, 8, 2))[0]), axis=2) for c in (cache, fresh)]
        assert np.array_equal(*keys)
        if sum(before) + kept > 8:
            assert cache.left_padding.tolist() == fresh.left_padding.tolist()


def test_a_full_window_is_held_once_for_many_passes_over_one_position():
    cache = fill(taped(lambda: RotatingKVCache(8)), (8, 1))
    start_tape([cache])
    fill(cache, (1,) * 9, seed=9)
    first, *others, last = cache.tape.passes
    assert "keys" in first.before
    assert all(noted.slot[1] is first.before["keys"] and "keys" not in noted.before for noted in others)
    assert "keys" in last.before  # the ring has come round


def test_a_window_is_refused_what_it_has_overwritten_without_a_tape():
    for cache in (fill(RotatingKVCache(8), (12,)), fill(taped(lambda: RotatingKVCache(8)), (12,))):
        with pytest.raises(CacheError, match="sliding window that is full cannot be taken back without a tape"):
            rewind([cache], 4, 2)
    with pytest.raises(CacheError, match="cannot be trimmed"):
        cache.trim(1)


def test_recurrent_state_without_a_tape_is_refused(bundled):
    caches = new_cache(bundled)
    mx.eval(bundled.logits(mx.array([[5, 6]]), caches))
    with pytest.raises(CacheError, match="Recurrent state cannot be taken back without a tape"):
        rewind(caches, 2, 1)


def test_a_tape_that_saw_another_number_of_positions_is_no_way_back(bundled):
    caches = new_cache(bundled)
    start_tape(caches)
    mx.eval(bundled.logits(mx.array([[5, 6]]), caches))
    with pytest.raises(CacheError, match="another number of positions"):
        rewind(caches[:1], 3, 1)
    window = fill(taped(lambda: RotatingKVCache(8)), (3,))
    start_tape([window])
    fill(window, (2,), seed=3)
    with pytest.raises(CacheError, match="another number of positions"):
        rewind([window], 3, 1)


def test_a_cache_of_no_attributes_is_refused():
    class Closed:
        __slots__ = ()

    with pytest.raises(CacheError, match="its Closed shows nothing of what it holds"):
        taped(Closed)


def test_a_tape_holds_nothing_once_the_pass_stands(bundled):
    caches = new_cache(bundled)
    for end in (lambda: rewind(caches, 2, 2), lambda: rewind(caches, 2, 1), lambda: stop_tape(caches)):
        start_tape(caches)
        mx.eval(bundled.logits(mx.array([[5, 6]]), caches))
        assert any(part.tape.passes for part in parts(caches) if isinstance(part, TapedCache))
        end()
        assert not any(part.tape.passes for part in parts(caches) if isinstance(part, TapedCache))


def test_a_copy_of_a_cache_writes_on_no_tape(bundled):
    import copy

    caches = new_cache(bundled)
    start_tape(caches)
    copies = [copy.copy(cache) for cache in caches]
    mx.eval(bundled.logits(mx.array([[5, 6]]), copies))
    assert not any(cache.tape.passes for cache in caches if isinstance(cache, TapedCache))


def test_restoring_keeps_the_parts_of_a_list_of_caches():
    kept = CacheList(fill(KVCache(), (3,)), fill(RotatingKVCache(8), (3,)))
    objects, snapshot = list(kept.caches), take_snapshot([kept])
    before = [np.array(a) for a in arrays_in([kept])]
    for part in kept.caches:
        fill(part, (1,), seed=7)
    restore([kept], snapshot)
    assert all(a is b for a, b in zip(kept.caches, objects, strict=True))
    assert all(np.array_equal(np.array(a), b) for a, b in zip(arrays_in([kept]), before, strict=True))


@pytest.mark.parametrize("make", [KVCache, QuantizedKVCache, lambda: RotatingKVCache(8), lambda: BatchKVCache([0, 2])])
def test_a_snapshot_stays_what_it_was_and_adds_no_node(make):
    cache = fill(make(), (8, 1))
    snapshot = take_snapshot([cache])
    before = [np.array(a) for _, a in nn.utils.tree_flatten(snapshot.states) if isinstance(a, mx.array)]
    fill(cache, (1, 1, 1), seed=50)
    after = [np.array(a) for _, a in nn.utils.tree_flatten(snapshot.states) if isinstance(a, mx.array)]
    assert len(before) > 0
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    lazy = mx.ones((3,)) + 1
    holder = ArraysCache(1)
    holder[0] = lazy
    (kept,) = contents(holder)["cache"]
    assert kept is not lazy
    mx.eval(lazy)
    assert np.array_equal(np.array(kept), [2, 2, 2])


def test_a_draft_model_with_a_window_that_fills_up_is_taken(monkeypatch):
    draft = scripted()
    draft.model.make_cache = lambda: [RotatingKVCache(64)]
    monkeypatch.setattr(choosing, "load_target", lambda *_, **__: draft)
    monkeypatch.setattr(choosing, "check_same_tokens", lambda *_: None)
    assert choose_drafter("some-folder", scripted(Block), longest=64).kind == "model"
