"""Replays: the calls a pass really makes, made again alone, timed by slope with widths in random order."""

from __future__ import annotations

import itertools
import random
import sys

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from tiny_models import tiny_target

from specview.engine.decode import decode, start
from specview.profilers.measure.blocks import split_into_blocks
from specview.profilers.measure.replay_jobs import ReplayCall, ReplayError, ReplayJob, replays_of
from specview.profilers.measure.replays import measure_replays, timed_together
from specview.profilers.measure.slope import Design

PROMPT = list(range(1, 9))
COMING = list(range(20, 36))


def jobs_of(target, widths=(1, 2, 4)):
    generation = start(target, PROMPT)
    return generation, replays_of(generation, split_into_blocks(target), COMING, widths)


def by_end(jobs):
    """Jobs by the last part of what they multiply by."""
    return {job.weight.rpartition(".")[2]: job for job in jobs}


@pytest.fixture(scope="module")
def hybrid():
    """A gated delta model with routed experts, and its jobs."""
    return jobs_of(tiny_target("qwen3_next"))


def test_every_matrix_of_a_place_is_one_job_with_a_call_for_each_layer():
    _, jobs = jobs_of(tiny_target("llama"))
    assert [job.weight for job in jobs] == [
        "model.layers.*.self_attn.q_proj",
        "model.layers.*.self_attn.k_proj",
        "model.layers.*.self_attn.v_proj",
        "model.layers.*.self_attn keys and values",
        "model.layers.*.self_attn.o_proj",
        "model.layers.*.mlp.gate_proj",
        "model.layers.*.mlp.up_proj",
        "model.layers.*.mlp.down_proj",
        "lm_head",
    ]
    up = jobs[6]
    assert (up.primitive, up.shape, up.dtype, up.category) == ("Matmul", "64→96", "float32", "MLP")
    assert {width: len(calls) for width, calls in up.calls_by_width.items()} == {1: 4, 2: 4, 4: 4}
    assert {call.bytes_read for call in up.calls_by_width[4]} == {64 * 96 * 4}
    assert up.calls_by_width[4][0].x.shape == (1, 4, 64)
    assert jobs[8].category == "output head" and len(jobs[8].calls_by_width[1]) == 1


def test_a_tied_head_is_a_product_with_the_embedding(bundled):
    _, jobs = jobs_of(bundled, (1,))
    head = next(job for job in jobs if job.category == "output head")
    assert head.weight == "model.embed_tokens" and head.primitive == "Matmul"
    assert not any(job.category == "embedding" for job in jobs)


def test_routed_experts_keep_the_routes_of_the_pass_and_read_only_what_those_name(hybrid):
    _, jobs = hybrid
    job = next(job for job in jobs if job.weight.endswith("switch_mlp.up_proj"))
    assert (job.primitive, job.shape, job.category) == ("GatherMM", "64→32 × 4 experts", "MoE")
    expert = 64 * 32 * 4
    assert {call.bytes_read for call in job.calls_by_width[1]} == {2 * expert}
    assert {call.bytes_read for call in job.calls_by_width[4]} <= {2 * expert, 3 * expert, 4 * expert}


def test_attention_reads_the_cache_and_the_positions_of_its_width(hybrid):
    _, jobs = hybrid
    job = next(job for job in jobs if job.primitive == "ScaledDotProductAttention")
    assert job.shape == "4 heads over 2 of 16, 7 positions" and job.category == "full attention"
    position = 2 * 2 * 16 * 4
    assert [job.calls_by_width[n][0].bytes_read for n in (1, 4)] == [8 * position, 11 * position]


def test_the_gated_delta_recurrence_is_heard_where_the_model_calls_it(hybrid):
    _, jobs = hybrid
    job = next(job for job in jobs if job.primitive == "GatedDelta")
    assert (job.shape, job.category) == ("4 states of 32×32, 2 keys", "linear attention")
    assert len(job.calls_by_width[2]) == 3
    assert job.calls_by_width[2][0].run(job.calls_by_width[2][0].x).shape == (1, 2, 4, 32)


@pytest.mark.parametrize("model_type", ["llama", "qwen3_moe", "qwen3_next", "deepseek_v3", "minicpm3", "afm7"])
def test_a_call_made_again_gives_what_it_gave_in_the_pass(model_type):
    target = tiny_target(model_type)
    generation, jobs = jobs_of(target, (3,))
    calls = {job.weight: job.calls_by_width[3][0] for job in jobs}
    for weight, call in calls.items():
        assert mx.isfinite(call.run(call.x)).all().item(), weight
    head = next(job.calls_by_width[3][0] for job in jobs if job.category == "output head")
    want = target.logits(mx.array(COMING[:3])[None], generation.cache)
    np.testing.assert_allclose(np.array(head.run(head.x)), np.array(want), atol=1e-4)
    if model_type in ("llama", "qwen3_moe", "minicpm3"):  # nothing lies between attention and its last matrix
        attention, last = calls["model.layers.*.self_attn keys and values"], calls["model.layers.*.self_attn.o_proj"]
        output = attention.run(attention.x).transpose(0, 2, 1, 3).reshape(1, 3, -1)
        np.testing.assert_allclose(np.array(output), np.array(last.x), atol=1e-5)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "4-bit"])
def test_other_dtypes_and_quantised_weights_tell_what_they_are(kind):
    target = tiny_target("qwen3_moe" if kind == "4-bit" else "llama")
    if kind == "4-bit":
        nn.quantize(target.model, 32, 4)
    else:
        target.model.set_dtype(getattr(mx, kind))
    generation, jobs = jobs_of(target, (1, 2))
    found = by_end(jobs)
    if kind == "4-bit":
        assert found["q_proj"].primitive == "QuantizedMatmul" and found["q_proj"].shape == "64→64"
        assert found["q_proj"].dtype == "4-bit, groups of 32, float32"
        assert found["q_proj"].calls_by_width[1][0].bytes_read == 64 * 64 // 2 + 2 * 4 * 64 * 2
        routed = next(job for job in jobs if job.primitive == "GatherQMM")
        assert routed.dtype == "4-bit, groups of 32, float32"
    else:
        assert found["q_proj"].dtype == kind == found["self_attn keys and values"].dtype
    rows = list(measure_replays(jobs, (1, 2), steps(), 1, random.Random(0)))
    assert len(rows) == 2 * len(jobs)
    assert generation.context == len(PROMPT) - 1


def steps():
    """A clock of a millisecond a call, so that graphs are as short as they can be."""
    ticks = itertools.count(0, 1_000_000)
    return lambda: next(ticks)


def test_generation_goes_on_as_if_nothing_had_been_replayed(hybrid):
    generation, jobs = hybrid
    rows = list(measure_replays(jobs, (1, 4), steps(), 1, random.Random(0), cache_bytes=1))
    assert len(rows) == 2 * len(jobs)
    quiet = start(generation.target, PROMPT)
    assert [s.token for s in decode(generation, 5, steps())] == [s.token for s in decode(quiet, 5, steps())]
    home = sys.modules["mlx_lm.models.qwen3_next"]
    assert home.gated_delta_update.__name__ == "gated_delta_update"
    assert home.scaled_dot_product_attention.__name__ == "scaled_dot_product_attention"


def test_a_row_counts_the_calls_of_a_pass_and_tells_whether_its_weights_fit_the_cache(hybrid):
    _, jobs = hybrid
    job = next(j for j in jobs if j.weight.endswith("linear_attn.out_proj"))
    (row,) = measure_replays([job], (2,), steps(), 1, random.Random(0), cache_bytes=10**9)
    assert (row.width, row.count, row.bytes_read, row.cached) == (2, 3, 128 * 64 * 4, True)
    (row,) = measure_replays([job], (2,), steps(), 1, random.Random(0), cache_bytes=128 * 64 * 4)
    assert row.cached is False
    (row,) = measure_replays([job], (2,), steps(), 1, random.Random(0))
    assert row.cached is None


class Machine:
    """A clock that moves only when calls are evaluated: each has its cost and tells which weights it used."""

    def __init__(self):
        self.now, self.ran = 0, []

    def call(self, name, cost_ns):
        def run(x):
            self.ran.append(name)
            self.now += cost_ns
            return x

        return ReplayCall(run=run, x=mx.ones((1, 1)), bytes_read=100)

    def clock(self):
        return self.now


def job_of(calls_by_width):
    return ReplayJob(
        primitive="Matmul",
        weight="w",
        category="MLP",
        detail=None,
        shape="1→1",
        dtype="float32",
        calls_by_width=calls_by_width,
    )


@pytest.mark.parametrize(("room", "layers"), [(None, 2), (100, 3), (10_000, 2)])
def test_a_long_cycle_is_thinned_evenly_but_not_into_the_cache(room, layers):
    machine = Machine()
    calls = {n: tuple(machine.call(layer, 1) for layer in range(8)) for n in (1, 2)}
    list(measure_replays([job_of(calls)], (1, 2), steps(), 1, random.Random(0), room))
    assert set(machine.ran) == {i * 8 // layers for i in range(layers)}


class Costs:
    """A clock and a wait that costs what a graph says: a fence, and so much for each copy of its width and link."""

    def __init__(self):
        self.now, self.order = 0, []

    def chain(self, width, copy_ns):
        def build(r):
            self.now += 77 * r
            self.order.append(width)
            return (copy_ns + 400) * r

        return build

    def wait(self, cost):
        self.now += 50_000 + cost


def test_each_width_gets_its_slope_without_fence_links_and_build_and_repeats_mix_widths_and_lengths():
    machine = Costs()
    copy_ns_by_width = {1: 1_300, 2: 1_900}
    slopes = timed_together(
        {width: machine.chain(width, ns) for width, ns in copy_ns_by_width.items()},
        dict.fromkeys(copy_ns_by_width, lambda r: 400 * r),
        {1: Design((1, 2, 4), 3), 2: Design((1, 2), 4, 5)},
        lambda: machine.now,
        machine.wait,
        random.Random(2),
    )
    for width, ns in copy_ns_by_width.items():
        found = slopes[width]
        assert (found.ns, found.low_ns, found.high_ns) == pytest.approx((ns, ns, ns))
    assert machine.order.count(1) == 9 and machine.order.count(2) == 8
    assert machine.order[:5] != sorted(machine.order[:5]) and machine.order[-2:] == [2, 2]


def test_widths_that_were_not_listened_to_and_too_few_tokens_are_refused(hybrid):
    generation, jobs = hybrid
    with pytest.raises(ReplayError, match="width 16 was listened"):
        list(measure_replays(jobs, (1, 16), steps(), 1, random.Random(0)))
    blocks = split_into_blocks(generation.target)
    with pytest.raises(ReplayError, match="3 tokens are at hand, and replays of widths 1, 4"):
        replays_of(generation, blocks, COMING[:3], (1, 4))
    with pytest.raises(ReplayError, match="none"):
        replays_of(generation, blocks, COMING, ())
