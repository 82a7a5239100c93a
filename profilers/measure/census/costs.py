"""What one primitive must read, write and compute, from its name and shapes alone.

The figures are what the operation needs in the form in which MLX runs it, before any cache: each array once, views
nothing, a gather only what its indices name. A primitive that is in no table is taken for elementwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BITS_BY_DTYPE = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16, "int32": 32,
    "uint32": 32, "float32": 32, "int64": 64, "uint64": 64, "float64": 64, "complex64": 64,
}  # fmt: skip

# They make another array out of the same buffer. A reshape of strided data is the exception, and is not counted.
VIEWS = frozenset(
    {
        "AsStrided", "Broadcast", "BroadcastAxes", "Copy", "CustomTransforms", "Depends", "ExpandDims", "Flatten",
        "Reshape", "Slice", "Split", "Squeeze", "StopGradient", "Transpose", "Unflatten", "View",
    }
)  # fmt: skip

MATMULS = frozenset({"Matmul", "AddMM", "QuantizedMatmul", "QQMatmul", "BlockMaskedMM", "SegmentedMM"})
GATHER_MATMULS = frozenset({"GatherMM", "GatherQMM"})
ATTENTION = frozenset({"ScaledDotProductAttention"})
GATHERS = frozenset({"Gather", "GatherAxis"})
UPDATES = frozenset({"SliceUpdate", "DynamicSliceUpdate", "Scatter", "ScatterAxis", "MaskedScatter"})
# They move or make data and compute nothing.
MOVERS = GATHERS | UPDATES | frozenset(
    {"Arange", "AsType", "Concatenate", "Contiguous", "DynamicSlice", "Full", "NumberOfElements", "Pad", "RandomBits",
     "Load"}
)  # fmt: skip
# Operations for each element of the input that is worked through; reductions, sorts and scans look at each once.
FLOPS_BY_INPUT_ELEMENT = {
    "Reduce": 1, "ArgReduce": 1, "Scan": 1, "Sort": 1, "ArgSort": 1, "Partition": 1, "ArgPartition": 1, "LogSumExp": 3,
}  # fmt: skip
# Operations for each element of the output: softmax subtracts, exponentiates, adds, divides; RMSNorm squares, adds,
# scales and weighs; LayerNorm takes the mean off besides; RoPE multiplies twice and adds for each element.
FLOPS_BY_OUTPUT_ELEMENT = {"Softmax": 4, "RMSNorm": 4, "LayerNorm": 7, "RoPE": 3}
# Decay, two inner products and one outer product a state element and position; for one position of all heads.
DELTA_FLOPS = 7


@dataclass(frozen=True, slots=True)
class Value:
    """An array as its shape and dtype; `held_bytes` is what lies behind it where that is less (a broadcast view)."""

    shape: tuple[int, ...]
    dtype: str
    held_bytes: int | None = None

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * BITS_BY_DTYPE.get(self.dtype, 32) // 8

    @property
    def unique_bytes(self) -> int:
        """Bytes that have to be read to know all elements."""
        return self.nbytes if self.held_bytes is None else min(self.nbytes, self.held_bytes)

    @property
    def text(self) -> str:
        """For a record: `float32[1,2,256]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes and flops of one call."""

    bytes_read: int
    bytes_written: int
    flops: int


Values = Sequence[Value]


def cost_of(primitive: str, arguments: Sequence[object], inputs: Values, outputs: Values) -> Cost:
    """The cost of one call; `inputs` hold each array once where it is given twice.

    Attention reads keys and values at the length that it is given, an update writes its slice only (the buffer is
    donated in generation), a gather reads the rows or experts of its indices, each as often as it is named.
    """
    if primitive in VIEWS:
        return Cost(0, 0, 0)
    return Cost(
        _read(primitive, inputs, outputs),
        _written(primitive, inputs, outputs),
        _flops(primitive, arguments, inputs, outputs),
    )


def _bytes(values: Values) -> int:
    return sum(value.unique_bytes for value in values)


def _read(primitive: str, inputs: Values, outputs: Values) -> int:
    if primitive in GATHERS:
        return outputs[0].nbytes + _bytes(inputs[1:])
    if primitive == "DynamicSlice":
        return outputs[0].nbytes
    if primitive in UPDATES:
        return _bytes(inputs[1:])
    if primitive in GATHER_MATMULS:
        x, *weight, _, chosen = inputs
        experts = math.prod(weight[0].shape[:-2])
        return x.unique_bytes + chosen.size * _bytes(weight) // max(experts, 1) + _bytes(inputs[-2:])
    return _bytes(inputs)


def _written(primitive: str, inputs: Values, outputs: Values) -> int:
    if primitive in ("SliceUpdate", "DynamicSliceUpdate"):
        return inputs[1].nbytes
    if primitive in UPDATES:
        return inputs[-1].nbytes
    return sum(value.nbytes for value in outputs)


def _flops(primitive: str, arguments: Sequence[object], inputs: Values, outputs: Values) -> int:
    for names, count in _COUNTS:
        if primitive in names:
            return count(inputs, outputs)
    if primitive == "CustomKernel" and any("gated_delta" in str(argument) for argument in arguments):
        return _recurrence(inputs, outputs)
    if primitive in FLOPS_BY_INPUT_ELEMENT:
        return FLOPS_BY_INPUT_ELEMENT[primitive] * inputs[0].size
    return FLOPS_BY_OUTPUT_ELEMENT.get(primitive, 1) * sum(value.size for value in outputs)


def _product(inputs: Values, outputs: Values) -> int:
    return 2 * outputs[0].size * inputs[0].shape[-1]


def _attention(inputs: Values, outputs: Values) -> int:
    queries, keys, values = inputs[:3]
    return 2 * math.prod(queries.shape[:-1]) * keys.shape[-2] * (queries.shape[-1] + values.shape[-1])


def _convolution(inputs: Values, outputs: Values) -> int:
    weight = inputs[1]
    return 2 * outputs[0].size * weight.size // max(weight.shape[0], 1)


def _hadamard(inputs: Values, outputs: Values) -> int:
    return outputs[0].size * math.ceil(math.log2(max(outputs[0].shape[-1], 1)))


def _recurrence(inputs: Values, outputs: Values) -> int:
    queries, state = inputs[0], outputs[-1]
    return DELTA_FLOPS * state.size * queries.shape[1]


_COUNTS: tuple[tuple[frozenset[str], Callable[[Values, Values], int]], ...] = (
    (MATMULS | GATHER_MATMULS, _product),
    (ATTENTION, _attention),
    (frozenset({"Convolution"}), _convolution),
    (frozenset({"Hadamard"}), _hadamard),
    (MOVERS, lambda inputs, outputs: 0),
)
