"""Every architecture goes back to any prefix of a pass, and then is where a cache is that never saw the rest."""

from __future__ import annotations

from functools import cache as once
from itertools import accumulate

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache, make_prompt_cache
from tiny_models import model_types, tiny_target

from specview.engine.cache import arrays_of, new_cache, restore, take_snapshot
from specview.engine.cache_contents import arrays_in, parts
from specview.engine.rewind import rewind, start_tape

BEFORE = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]  # longer than the tiny sliding windows of 8
PASS = [5, 8, 9, 7]
OTHERS = [11, 12, 13, 14]
NEXT = [9, 3]
TOLERANCE = 1e-5

# A position's own numbers differ with the width of its pass, before anything is taken back. Of these types in a pass
# over one position only: latent attention is absorbed, and a window that is full is written in another order.
ONE_APART = {
    *("afmoe", "baichuan_m1", "cohere2", "deepseek_v3", "deepseek_v32", "exaone4", "exaone_moe", "gear", "gemma3"),
    *("gemma3_text", "gemma3n", "gemma4", "gemma4_text", "glm4_moe_lite", "glm_moe_dsa", "gpt_oss", "iquestloopcoder"),
    *("kimi_k25", "kimi_vl", "laguna", "longcat_flash", "longcat_flash_ngram", "mellum", "mimo_v2_flash"),
    *("ministral3", "mistral4", "muse_glimmer", "olmo3", "plamo3", "recurrent_gemma", "spark2_5", "step3p5"),
}
EVERY_WIDTH_APART = {"bailing_hybrid"}  # its head-wise projections are matmuls over all positions at once
NOT_CAUSAL = {"phi3small"}  # kept positions saw the rejected ones, which no rewind undoes


@once
def warm(model_type):
    """A tiny model and a snapshot of its caches after `BEFORE`, whose last position was read alone."""
    target = tiny_target(model_type)
    caches = new_cache(target)
    for tokens in (BEFORE[:-1], BEFORE[-1:]):
        read(target, caches, tokens)
    return target, take_snapshot(caches)


def read(target, caches, tokens):
    logits = target.logits(mx.array([tokens]), caches)
    mx.eval(logits, arrays_of(caches))
    return logits


def at_start(model_type):
    target, snapshot = warm(model_type)
    caches = new_cache(target)
    restore(caches, snapshot)
    return target, caches


def told(cache):
    """What a cache tells the next pass: its arrays, of keys and values only those in sight, in order of time."""
    if isinstance(cache, KVCache) or not hasattr(cache, "keys") or cache.keys is None:
        live = slice(0, getattr(cache, "offset", None))
        return [a[..., live, :] if isinstance(cache, KVCache) else a for a in arrays_in([cache])]
    if hasattr(cache, "max_size"):
        sight = min(cache.max_size - 1, cache.offset)
        ordered = [cache._temporal_order(a) for a in (cache.keys, cache.values)]
        return [a[..., : cache.offset, :][..., a.shape[2] - sight :, :] for a in ordered]
    end, in_chunk = cache.offset - cache.start_position, cache.offset % cache.chunk_size
    return [a[..., end - in_chunk : end, :] for a in (cache.keys, cache.values)]


def outcome(target, caches, next_width):
    """Positions and arrays of the caches, and the logits of a pass over the next tokens, all evaluated."""
    states = [(getattr(cache, "offset", None), told(cache)) for cache in parts(caches)]
    mx.eval(states)
    return states, read(target, caches, NEXT[:next_width])


def assert_same(got, expected, tolerance):
    for (offset, arrays), (fresh_offset, fresh_arrays) in zip(got[0], expected[0], strict=True):
        assert offset == fresh_offset
        for a, b in zip(arrays, fresh_arrays, strict=True):
            assert a.shape == b.shape
            assert same(a, b, tolerance)
    assert same(got[1], expected[1], tolerance)


def same(a, b, tolerance):
    if tolerance == 0:
        return mx.array_equal(a, b).item()
    return mx.allclose(a, b, rtol=0, atol=tolerance).item()


@once
def fresh(model_type, kept, next_width):
    """What a cache comes to that only ever saw the kept tokens, in one pass."""
    target, caches = at_start(model_type)
    if kept:
        read(target, caches, PASS[:kept])
    return outcome(target, caches, next_width)


def taken_back(model_type, passes, kept, next_width):
    target, caches = at_start(model_type)
    start_tape(caches)
    for tokens in passes:
        mx.eval(target.logits(mx.array([tokens]), caches))
    mx.eval(rewind(caches, sum(map(len, passes)), kept))
    return outcome(target, caches, next_width)


@pytest.mark.parametrize("model_type", sorted(set(model_types()) - NOT_CAUSAL))
def test_after_any_prefix_of_a_pass_caches_and_next_logits_are_those_of_a_fresh_cache(model_type):
    for width in range(1, 5):
        for kept in range(width + 1):
            next_width = 1 + (width + kept) % 2
            got = taken_back(model_type, [PASS[:width]], kept, next_width)
            apart = kept < width and (model_type in EVERY_WIDTH_APART or (kept == 1 and model_type in ONE_APART))
            assert_same(got, fresh(model_type, kept, next_width), TOLERANCE if apart and kept else 0)


@pytest.mark.parametrize("model_type", sorted(ONE_APART | EVERY_WIDTH_APART))
def test_what_was_rejected_leaves_no_trace_where_widths_are_told_apart(model_type):
    for width in range(2, 5):
        for kept in range(1, width):
            some = taken_back(model_type, [PASS[:width]], kept, 2)
            other = taken_back(model_type, [PASS[:kept] + OTHERS[kept:width]], kept, 2)
            assert_same(some, other, 0)


def keeps_more_than_growing_keys(model_type):
    caches = make_prompt_cache(tiny_target(model_type).model)
    return any(type(cache) is not KVCache for cache in parts(caches))


@pytest.mark.parametrize("model_type", [m for m in model_types() if keeps_more_than_growing_keys(m)])
def test_several_passes_on_one_tape_are_taken_back_to_any_position(model_type):
    widths = (2, 1, 1)
    passes = [PASS[end - width : end] for width, end in zip(widths, accumulate(widths), strict=True)]
    for kept in range(4):
        got = taken_back(model_type, passes, kept, 2)
        target, caches = at_start(model_type)
        for tokens in {0: [], 1: [PASS[:1]], 2: [PASS[:2]], 3: [PASS[:2], PASS[2:3]]}[kept]:
            read(target, caches, tokens)
        apart = kept == 1 and model_type in ONE_APART | EVERY_WIDTH_APART
        assert_same(got, outcome(target, caches, 2), TOLERANCE if apart else 0)
