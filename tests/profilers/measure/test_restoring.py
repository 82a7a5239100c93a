"""The way back of a measured pass, for every class of cache."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    ConcatenateKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)

from specview.profilers.measure.restoring import as_before, copied, held, mapped


class Homemade:
    """A cache that a model brings along: no base class, no setter of its state."""

    def __init__(self):
        self.offset, self.rows = 0, None

    @property
    def state(self):
        return (self.rows,)

    def is_trimmable(self):
        return False

    def update_and_fetch(self, keys, values):
        self.rows = keys if self.rows is None else mx.concatenate([self.rows, keys], axis=2)[:, :, -4:]
        self.offset += keys.shape[2]
        return self.rows, self.rows


class Recurrent(ArraysCache):
    """Recurrent state behind the interface of the others."""

    def update_and_fetch(self, keys, values):
        state = self[0] if self[0] is not None else mx.zeros_like(keys[:, :, :1])
        self[0] = state * 0.5 + keys.sum(axis=2, keepdims=True)
        return self[0], self[0]


def some(n, seed):
    return mx.random.normal((1, 2, n, 32), key=mx.random.key(seed))


def filled(make, positions):
    cache = make()
    for i, width in enumerate(positions):
        mx.eval(cache.update_and_fetch(some(width, i), some(width, 100 + i)))
    return cache


CACHES = {
    "KV": KVCache,
    "quantised KV": lambda: QuantizedKVCache(group_size=32),
    "concatenated": ConcatenateKVCache,
    "window": lambda: RotatingKVCache(max_size=8),
    "window with a sink": lambda: RotatingKVCache(max_size=8, keep=2),
    "chunked": lambda: ChunkedKVCache(8),
    "recurrent": lambda: Recurrent(1),
    "of the model's own": Homemade,
}
READS = {"not full": (3, 1), "just prefilled": (5,), "full by steps": (5, *(1,) * 9), "full at once": (13, 1)}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("width", [1, 3])
def test_the_next_step_is_that_of_an_undisturbed_cache(kind, reads, width):
    disturbed, quiet = (filled(CACHES[kind], READS[reads]) for _ in range(2))
    with as_before([disturbed]):
        for i in range(4):
            mx.eval(disturbed.update_and_fetch(some(width, 50 + i), some(width, 60 + i)))
    for i, n in enumerate((1, 2, 1)):
        expected = quiet.update_and_fetch(some(n, 80 + i), some(n, 90 + i))
        found = disturbed.update_and_fetch(some(n, 80 + i), some(n, 90 + i))
        if kind == "quantised KV":
            expected, found = [*expected[0], *expected[1]], [*found[0], *found[1]]
        assert all(mx.array_equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("width", [1, 3])
def test_copies_one_after_another_find_the_same_offset_and_give_the_same_shape(kind, reads, width):
    cache = filled(CACHES[kind], READS[reads])
    undo, shapes, offsets = held(cache), set(), set()
    for i in range(4):
        keys, _ = cache.update_and_fetch(some(width, 50 + i), some(width, 60 + i))
        mx.eval(keys)
        shapes.add(str([a.shape for a in (keys if isinstance(keys, tuple | list) else [keys])]))
        undo()
        offsets.add(getattr(cache, "offset", None))
    assert len(shapes) == len(offsets) == 1


def test_the_parts_of_a_list_go_back_and_stay_the_same_objects():
    parts = (filled(KVCache, (3,)), filled(lambda: RotatingKVCache(max_size=4), (6, 1)), filled(Homemade, (3,)))
    both = CacheList(*parts)
    before = copied(vars(parts[1]))
    with as_before([both]):
        for part in both.caches:
            mx.eval(part.update_and_fetch(some(1, 7), some(1, 8)))
    assert all(a is b for a, b in zip(both.caches, parts, strict=True))
    assert [part.offset for part in parts] == [3, 7, 3]
    assert mx.array_equal(parts[1].keys, before["keys"])


def test_caches_go_back_after_an_error_too():
    cache = filled(lambda: RotatingKVCache(max_size=4), (6, 1))
    before = copied(vars(cache))
    with pytest.raises(RuntimeError, match="stop"), as_before([cache]):
        mx.eval(cache.update_and_fetch(some(1, 7), some(1, 8)))
        raise RuntimeError("stop")
    assert cache.offset == before["offset"] and mx.array_equal(cache.keys, before["keys"])


def test_copies_keep_bits_containers_and_identity():
    one = mx.array([-0.0, float("nan"), 1.0])
    tree = {"a": [one, (one, None)], "b": mx.array([True]), "c": "text"}
    again = copied(tree)
    assert again["a"][0] is again["a"][1][0] and again["a"][0] is not one
    assert mx.array_equal(again["a"][0].view(mx.uint32), one.view(mx.uint32))
    assert again["b"].dtype == mx.bool_ and again["a"][1][1] is None and again["c"] == "text"
    assert mapped([one], lambda a: a)[0] is one
