"""Costs of primitives against numbers worked out by hand."""

from __future__ import annotations

import pytest

from specview.profilers.measure.census.costs import Cost, Value, cost_of


def f32(*shape):
    return Value(shape, "float32")


def u32(*shape):
    return Value(shape, "uint32")


def test_a_value_knows_its_bytes_and_its_text():
    assert f32(1, 2, 256).nbytes == 2048
    assert f32(1, 2, 256).text == "float32[1,2,256]"
    assert Value((4,), "bfloat16").nbytes == 8
    assert Value((2, 8), "float32", held_bytes=4).unique_bytes == 4


@pytest.mark.parametrize("view", ["Reshape", "Transpose", "Broadcast", "Slice", "ExpandDims", "Squeeze", "AsStrided"])
def test_views_move_nothing(view):
    assert cost_of(view, (), [f32(8, 8)], [f32(64)]) == Cost(0, 0, 0)


def test_a_matmul_reads_both_and_computes_two_a_product():
    cost = cost_of("Matmul", (), [f32(2, 256), f32(256, 8)], [f32(2, 8)])
    assert cost == Cost((2 * 256 + 256 * 8) * 4, 2 * 8 * 4, 2 * 2 * 8 * 256)


def test_a_batched_matmul_counts_its_batch():
    cost = cost_of("Matmul", (), [f32(1, 3, 2, 64), f32(1, 3, 64, 7)], [f32(1, 3, 2, 7)])
    assert cost.flops == 2 * 3 * 2 * 7 * 64


def test_a_quantised_matmul_reads_packed_weights_scales_and_biases():
    weight = [u32(768, 64), f32(768, 4), f32(768, 4)]
    cost = cost_of("QuantizedMatmul", (64, 8, 0, True), [f32(1, 2, 256), *weight], [f32(1, 2, 768)])
    assert cost.bytes_read == (2 * 256 + 768 * 64 + 2 * 768 * 4) * 4
    assert cost.flops == 2 * 2 * 768 * 256


def test_a_gather_matmul_reads_as_many_experts_as_its_indices_name():
    inputs = [f32(1, 2, 1, 1, 256), f32(8, 256, 128), u32(1, 2, 1), u32(1, 2, 2)]
    cost = cost_of("GatherMM", (), inputs, [f32(1, 2, 2, 1, 128)])
    assert cost.bytes_read == (2 * 256 + 4 * 256 * 128 + 2 + 4) * 4
    assert cost.flops == 2 * 4 * 128 * 256


def test_a_quantised_gather_matmul_reads_its_experts_with_scales_and_biases():
    weight = [u32(8, 128, 64), f32(8, 128, 4), f32(8, 128, 4)]
    inputs = [f32(1, 2, 1, 1, 256), *weight, u32(1, 2, 1), u32(1, 2, 2)]
    cost = cost_of("GatherQMM", (), inputs, [f32(1, 2, 2, 1, 128)])
    assert cost.bytes_read == (2 * 256 + 4 * (128 * 64 + 2 * 128 * 4) + 2 + 4) * 4
    assert cost.flops == 2 * 4 * 128 * 256


def test_attention_reads_keys_and_values_at_their_length():
    inputs = [f32(1, 8, 2, 64), f32(1, 4, 100, 64), f32(1, 4, 100, 64)]
    cost = cost_of("ScaledDotProductAttention", (), inputs, [f32(1, 8, 2, 64)])
    assert cost.bytes_read == (8 * 2 * 64 + 2 * 4 * 100 * 64) * 4
    assert cost.flops == 4 * 2 * 100 * 64 * 8


def test_an_update_writes_its_slice_only():
    cost = cost_of("SliceUpdate", (), [f32(1, 2, 256, 64), f32(1, 2, 1, 64)], [f32(1, 2, 256, 64)])
    assert cost == Cost(2 * 64 * 4, 2 * 64 * 4, 0)


def test_a_gather_reads_the_rows_it_looks_up():
    cost = cost_of("Gather", (), [f32(4096, 64), Value((1, 2), "int32")], [f32(1, 2, 1, 64)])
    assert cost == Cost(2 * 64 * 4 + 8, 2 * 64 * 4, 0)


@pytest.mark.parametrize(
    ("primitive", "inputs", "outputs", "flops"),
    [
        ("Add", [f32(2, 8), f32(2, 8)], [f32(2, 8)], 16),
        ("SomethingNew", [f32(2, 8)], [f32(2, 8)], 16),
        ("Reduce", [f32(2, 8)], [f32(2, 1)], 16),
        ("Softmax", [f32(2, 8)], [f32(2, 8)], 64),
        ("RMSNorm", [f32(2, 8), f32(8)], [f32(2, 8)], 64),
        ("AsType", [f32(2, 8)], [Value((2, 8), "float16")], 0),
        ("Arange", [], [f32(8)], 0),
        ("Hadamard", [f32(2, 8)], [f32(2, 8)], 48),
        ("Convolution", [f32(1, 5, 512), f32(512, 4, 1)], [f32(1, 2, 512)], 2 * 2 * 512 * 4),
    ],
)
def test_flops_of_others(primitive, inputs, outputs, flops):
    assert cost_of(primitive, (), inputs, outputs).flops == flops


def test_a_gated_delta_kernel_is_seven_operations_a_state_element_and_position():
    q, v, state = f32(1, 2, 4, 64), f32(1, 2, 8, 32), f32(1, 8, 32, 64)
    inputs = [q, q, v, f32(1, 2, 8), f32(1, 2, 8), state]
    cost = cost_of("CustomKernel", ("custom_kernel_gated_delta_step",), inputs, [v, state])
    assert cost.flops == 7 * 8 * 32 * 64 * 2
