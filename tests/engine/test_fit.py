"""Estimates of memory: caches of every known class to the byte, and a sentence where they do not fit."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import pytest
from tiny_models import model_types, tiny_target

from specview.engine.cache import cache_bytes, new_cache
from specview.engine.fit import Fit, FitError, check_fits, fit
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.prompt_cache import read_prompt
from specview.engine.trees import nbytes

KV8 = KvQuantisation(bits=8)


def read(target, context, kv=None):
    caches = new_cache(target)
    read_prompt(target, [i % 90 for i in range(context)], caches, kv=kv)
    return caches


@pytest.mark.parametrize("model_type", ["llama", "gpt2", "deepseek_v3", "mamba2", "lfm2"])
@pytest.mark.parametrize("context", [1, 256, 300])
def test_the_estimate_is_what_the_caches_then_hold(model_type, context):
    target = tiny_target(model_type)
    estimate = fit(target, context)
    assert estimate.cache_bytes == cache_bytes(read(target, context))
    assert estimate.weight_bytes == nbytes(target.model.parameters())
    assert not estimate.unknown


@pytest.mark.parametrize("model_type", ["gemma3", "gpt_oss", "olmo3"])
def test_a_window_is_bounded_by_its_size_and_a_chunk(model_type):
    target = tiny_target(model_type)
    held = cache_bytes(read(target, 700))
    assert held <= fit(target, 700).cache_bytes
    assert fit(target, 100_000).cache_bytes < 100_000 / 512 * fit(target, 512).cache_bytes


@pytest.mark.parametrize("context", [200, 300])
def test_quantised_keys_and_values_are_estimated_to_the_byte(bundled, context):
    estimate = fit(bundled, context, KV8)
    assert estimate.cache_bytes == cache_bytes(read(bundled, context, KV8)) < fit(bundled, context).cache_bytes
    late = fit(bundled, context, KvQuantisation(bits=8, start=1000))
    assert late == fit(bundled, context)


def test_attention_scores_and_the_copy_of_a_growing_cache_are_counted():
    target = tiny_target("llama")
    short, long = fit(target, 1024), fit(target, 4096)
    assert long.scores_bytes == 4 * short.scores_bytes == 4 * 512 * 4096 * 4
    assert long.growing_bytes == long.cache_bytes // 4
    assert long.needed_bytes == long.weight_bytes + long.cache_bytes + long.growing_bytes + long.scores_bytes


@pytest.mark.parametrize(("named", "heads"), [(None, 0), ([], 0), ("x", 0), ({}, 0), ([2, None, 4], 4)])
def test_a_config_that_names_no_number_of_heads_is_estimated_without_scores(named, heads):
    target = tiny_target("llama")
    odd = replace(target, config=target.config | {"num_attention_heads": named})
    assert fit(odd, 1024).scores_bytes == heads * 512 * 1024 * 4


def test_a_batch_needs_its_caches_once_a_sequence():
    target = tiny_target("qwen3_next")
    one, four = fit(target, 300), fit(target, 300, batch=4)
    assert (four.cache_bytes, four.weight_bytes) == (4 * one.cache_bytes, one.weight_bytes)
    assert "for 4 sequences" in four.sentence


@pytest.mark.parametrize("model_type", model_types())
def test_every_architecture_can_be_estimated(model_type):
    estimate = fit(tiny_target(model_type), 1000)
    assert estimate.needed_bytes > estimate.weight_bytes > 0


def test_nothing_is_computed_for_an_estimate():
    target = tiny_target("llama")
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    fit(target, 1_000_000)
    assert mx.get_peak_memory() <= before + 1000


def test_what_does_not_fit_is_a_sentence_with_the_numbers():
    estimate = Fit(
        name="org/model", context=32768, batch=1, weight_bytes=3_000_000_000, cache_bytes=1_500_000_000,
        growing_bytes=50_000_000, scores_bytes=600_000_000,
    )  # fmt: skip
    check_fits(estimate, 5_150_000_000)
    expected = "org/model at 32,768 positions needs 5.2 GB: 3.0 GB of weights, 1.6 GB for caches, 0.6 GB for attention"
    with pytest.raises(FitError, match=f"^{expected}; 4.0 GB are free: choose a shorter context"):
        check_fits(estimate, 4_000_000_000)
    assert "not counting OddCache." in replace(estimate, unknown=("OddCache",)).sentence
