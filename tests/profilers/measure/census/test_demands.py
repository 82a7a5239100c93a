"""Demands of the bundled model's places against its shapes."""

from __future__ import annotations

import pytest

from specview.engine.decode import start
from specview.engine.trees import nbytes
from specview.profilers.measure.blocks import split_into_blocks
from specview.profilers.measure.census.demands import demands_of

PROMPT = list(range(1, 12))


@pytest.fixture(scope="module")
def generation(stored):
    return start(stored, PROMPT)


@pytest.fixture(scope="module")
def demands(generation):
    return demands_of(generation.target, split_into_blocks(generation.target), generation.cache, generation.context)


def test_every_weight_is_demanded_once_but_the_tied_head(stored, demands):
    total = sum(d.weight_bytes + d.expert_bytes for d in demands)
    assert total == nbytes(stored.model.parameters())


def test_an_embedding_demands_no_weights_and_the_tied_head_all_of_them(stored, demands):
    by_category = {d.category: d for d in demands}
    assert by_category["embedding"].weight_bytes == 0
    assert by_category["output head"].weight_bytes == nbytes(stored.inner.embed_tokens.parameters())


def test_routed_experts_are_apart(demands):
    routed = [d for d in demands if d.expert_bytes]
    assert [(d.category, d.experts, d.active, d.layers, d.weight_bytes) for d in routed] == [("MoE", 8, 2, 8, 0)]


def test_keys_and_values_grow_with_the_context_and_states_do_not(generation, demands):
    blocks = split_into_blocks(generation.target)
    later = demands_of(generation.target, blocks, generation.cache, 10 * generation.context)
    kv, states = sum(d.kv_bytes for d in demands), sum(d.state_bytes for d in demands)
    assert kv > 0 and states > 0
    assert sum(d.kv_bytes for d in later) == 10 * kv
    assert sum(d.state_bytes for d in later) == states


def test_flops_of_the_head_are_two_a_weight(demands):
    head = next(d for d in demands if d.category == "output head")
    assert head.flops == 2 * 4096 * 256
    assert head.dtype == "float32"
