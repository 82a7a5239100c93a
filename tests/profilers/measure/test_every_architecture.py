"""Every architecture of mlx-lm: a pass in blocks is the plain pass, every op in its place, nothing is left behind."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter

import mlx.core as mx
import pytest
from mlx.utils import tree_map
from mlx_lm.models.cache import KVCache, QuantizedKVCache
from tiny_models import model_types, tiny_target, vocabulary

from specview.engine.trees import named_arrays
from specview.profilers.measure.blocks import run_blocks, split_into_blocks
from specview.profilers.measure.fenced import _Fences, fenced_pass
from specview.profilers.measure.measuring import measuring_generation
from specview.profilers.measure.queued import alone, capture, copy_of, does_nothing
from specview.profilers.measure.restoring import as_before, copied
from specview.profilers.measure.routes import distinct_experts, routes_in
from specview.profilers.measure.rulers import BlockProbe
from specview.profilers.measure.timings import CATEGORIES
from specview.profilers.measure.trace import single_caches
from specview.profilers.measure.whole import verify_pass

CONTEXT = 21  # longer than the windows of the tiny models
EXPERTS = {"dbrx"}  # holds its experts as a list of modules


@functools.cache
def built(model_type):
    target = tiny_target(model_type)
    return target, split_into_blocks(target)


def text(model_type, count):
    source = random.Random(5)
    return [source.randrange(vocabulary(model_type)) for _ in range(count)]


@functools.cache
def warm(model_type):
    return measuring_generation(built(model_type)[0], text(model_type, CONTEXT))


def classes_of(model):
    return [(name, type(module)) for name, module in model.named_modules()]


def state_of(caches):
    """What the caches hold, in buffers of their own; of keys and values that are trimmed, up to the offset."""
    states = []
    for cache in single_caches(list(caches)):
        held = vars(cache)
        if isinstance(cache, KVCache | QuantizedKVCache) and cache.keys is not None:
            cut = tree_map(lambda a: a[..., : cache.offset, :], (held["keys"], held["values"]))  # noqa: B023
            held = {**held, "keys": cut[0], "values": cut[1]}
        states.append(copied(held))
    return states


def assert_same(a, b):
    if isinstance(a, mx.array):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert mx.array_equal(a, b)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        assert a == b


def plain_logits(generation, width):
    tokens = mx.array([text(generation.target.name, CONTEXT + width)[CONTEXT:]])
    with as_before(generation.cache):
        logits = generation.target.logits(tokens, generation.cache)
        mx.eval(logits)
    return tokens, logits


@pytest.mark.parametrize("model_type", model_types())
@pytest.mark.parametrize("width", [1, 3])
def test_a_pass_in_blocks_is_the_plain_pass_bit_for_bit_and_every_block_occurs_once(model_type, width):
    target, blocks = built(model_type)
    generation = warm(model_type)
    before = classes_of(target.model)
    tokens, plain = plain_logits(generation, width)
    ended = []

    def watch(block, call):
        output = call.run()
        ended.append(block)
        return output

    with as_before(generation.cache):
        watched, _ = run_blocks(target, blocks, tokens, generation.cache, watch)
        mx.eval(watched)
    assert not mx.any(mx.isnan(plain)).item()
    assert mx.array_equal(plain, watched)
    assert [b.name for b in ended] == [b.name for b in blocks]

    ticks = itertools.count()
    fences = _Fences(lambda: next(ticks))
    with as_before(generation.cache):
        fenced, _ = run_blocks(target, blocks, tokens, generation.cache, fences)
        mx.eval(fenced)
    assert mx.array_equal(plain, fenced)
    assert set(fences.eval_ns) == set(blocks)
    assert classes_of(target.model) == before


@pytest.mark.parametrize("model_type", model_types())
def test_nothing_is_called_in_two_blocks_and_nothing_stays_after_an_error(model_type):
    target, blocks = built(model_type)
    assert len({b.name for b in blocks}) == len(blocks)
    assert len({(id(b.module), b.method, b.nth) for b in blocks}) == len(blocks)
    before = classes_of(target.model)
    generation = warm(model_type)
    state = state_of(generation.cache)

    def fail(block, call):
        if block.layer == 1 and block.part == "call":
            call.run()
            raise RuntimeError("in the middle")
        return call.run()

    with pytest.raises(RuntimeError, match="in the middle"), as_before(generation.cache):
        run_blocks(target, blocks, mx.array([[1]]), generation.cache, fail)
    assert classes_of(target.model) == before
    assert_same(state_of(generation.cache), state)


@pytest.mark.parametrize("model_type", model_types())
def test_a_weight_that_a_pass_reads_is_in_one_block_and_one_in_no_block_is_never_read(model_type):
    target = tiny_target(model_type)
    blocks = split_into_blocks(target)
    counts = Counter(name for b in blocks for name in b.weights if b.nth == 0)
    names = [name for name, _ in named_arrays(target.model.parameters())]
    methods = Counter((name, id(b.module)) for b in blocks for name in b.weights if b.nth == 0)
    tied = {name for name, n in counts.items() if n > max(methods[name, id(b.module)] for b in blocks)}
    embeddings = {name for b in blocks if b.category == "embedding" for name in b.weights}
    assert set(counts) <= set(names)
    assert tied <= embeddings and all(counts[name] == 2 for name in tied)
    generation = measuring_generation(target, text(model_type, CONTEXT))
    _, plain = plain_logits(generation, 3)
    unread = set(names) - set(counts)

    def spoilt(path, module):
        for key, value in module.items():
            if isinstance(value, mx.array) and f"{path}.{key}".lstrip(".") in unread:
                module[key] = value * float("nan") if mx.issubdtype(value.dtype, mx.floating) else value * 0

    for path, module in target.model.named_modules():
        spoilt(path, module)
    _, after = plain_logits(generation, 3)
    assert mx.array_equal(plain, after)


@pytest.mark.parametrize("model_type", model_types())
def test_every_architecture_has_an_embedding_mixers_and_a_head_and_its_experts(model_type):
    target, blocks = built(model_type)
    kinds = {(b.category, b.detail) for b in blocks}
    categories = {category for category, _ in kinds}
    assert {"embedding", "output head", "sampling"} <= categories <= set(CATEGORIES)
    assert categories & {"full attention", "linear attention"}
    assert all(detail for category, detail in kinds if category in ("full attention", "linear attention", "MoE"))
    assert not any(
        detail for category, detail in kinds if category not in ("full attention", "linear attention", "MoE")
    )
    has_experts = any(type(m).__name__ in ("SwitchGLU", "SwitchMLP") for m in target.model.modules())
    assert (("MoE", "routed experts") in kinds) == (has_experts or model_type in EXPERTS)
    assert (("MoE", "router") in kinds) == has_experts
    for block in blocks:
        if block.detail == "routed experts":
            assert (block.category, block.part) == ("MoE", "call")
            assert block.experts == 4 and block.active in (1, 2)
    layers = {b.layer for b in blocks if b.layer is not None}
    assert layers == set(range(len(target.model.layers)))
    mixing = {b.layer for b in blocks if b.category in ("full attention", "linear attention")}
    assert model_type in ("nemotron-nas", "nemotron_h") or mixing == layers


@pytest.mark.parametrize("model_type", model_types())
@pytest.mark.parametrize("width", [1, 3])
def test_measuring_by_every_ruler_leaves_the_cache_bit_for_bit_as_it_was(model_type, width):
    target, _ = built(model_type)
    generation = warm(model_type)
    ticks = itertools.count(0, 1_000_000)
    clock = lambda: next(ticks)  # noqa: E731
    state = state_of(generation.cache)
    _, logits = plain_logits(generation, 1)
    coming = text(model_type, CONTEXT + 3)[CONTEXT:]
    tokens = coming[:width]
    probe = BlockProbe(target, random.Random(0), cache_bytes=1)
    seen = capture(generation, probe.blocks, tokens)
    assert set(seen) == set(probe.blocks)
    assert_same(state_of(generation.cache), state)
    fenced_pass(generation, probe.blocks, tokens, clock)
    assert_same(state_of(generation.cache), state)
    verify_pass(generation, tokens, clock)
    assert_same(state_of(generation.cache), state)
    timings = list(probe.measure_all(generation, tokens, clock, budget_ns_per_place=1))
    assert_same(state_of(generation.cache), state)
    _, after = plain_logits(generation, 1)
    assert mx.array_equal(logits, after)
    assert not probe.incomplete(width)

    places = {b.place for b in probe.blocks if b.part == "call"}
    cycled = {t.block for t in timings if t.ruler == "queued" and t.arrangement in ("cycled", None)}
    hot = {t.block for t in timings if t.ruler == "queued" and t.arrangement in ("hot", None)}
    assert cycled == hot
    assert model_type in EXPERTS or places <= cycled
    assert {t.block for t in timings if t.ruler == "fenced"} == {b.name for b in probe.blocks}
    for block, what in seen.items():
        routes = routes_in(block, what)
        if block.detail == "routed experts" and model_type not in EXPERTS:
            assert routes.shape[-1] == block.active and routes.size == width * block.active
            distinct, experts, active = distinct_experts(block, what)
            assert (experts, active) == (block.experts, block.active)
            assert 1 <= distinct <= min(experts, width * active)
        else:
            assert routes is None


def test_what_a_container_feeds_to_its_blocks_is_queued_with_it():
    _, blocks = built("gemma")  # it scales the embedding and hands it to the first layer only
    seen = capture(warm("gemma"), blocks, [3, 1, 2])
    rest = next(b for b in blocks if b.name == "model rest")
    assert not does_nothing(rest, blocks, seen)
    with alone([rest], blocks, seen) as fed:
        copy_of(rest, [seen[rest]], fed).run(seen[rest].x)
        mx.eval(fed)
    scaled = seen[next(b for b in blocks if b.name == "model.layers.0.input_layernorm")].x
    assert any(mx.array_equal(a, scaled) for a in fed)
    handing_on = next(b for b in blocks if b.name == "Model rest")
    assert does_nothing(handing_on, blocks, seen)


def test_layers_that_run_again_are_copied_with_their_own_turns():
    _, blocks = built("nanbeige")
    seen = capture(warm("nanbeige"), blocks, [3, 1])
    for nth in (0, 1):
        rest = next(b for b in blocks if b.layer == 1 and b.part == "rest" and b.nth == nth)
        with alone([rest], blocks, seen) as fed:
            output = copy_of(rest, [seen[rest]], fed).run(seen[rest].x)
        assert mx.array_equal(output, seen[rest].output)
