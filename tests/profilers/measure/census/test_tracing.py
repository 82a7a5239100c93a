"""Tracing of small functions: counts as built, compiled parts as one, stand-ins, weights by name."""

from __future__ import annotations

from collections import Counter

import mlx.core as mx
import mlx.nn as nn
import pytest

from specview.profilers.measure.census.graphs import names_in
from specview.profilers.measure.census.tracing import tracing


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8, bias=False)
        self.act = nn.gelu
        mx.eval(self.parameters())


def counts(traced):
    names = Counter()
    for op in traced.graph.ops:
        names[op.primitive] += op.count
    return names


@pytest.fixture
def x():
    x = mx.ones((2, 4))
    mx.eval(x)
    return x


def test_shapes_and_weights_are_known_by_name(x):
    model = Model()
    with tracing(model) as tracer:
        traced = tracer.trace(lambda a: [model.up(a[0])], [x], [model])
    matmul = next(op for op in traced.graph.ops if op.primitive == "Matmul")
    assert [traced.graph.value_by_name[name].text for name in matmul.inputs] == ["float32[2,4]", "float32[4,8]"]
    assert "up.weight" in traced.weight_by_array.values()
    assert isinstance(model.up.weight, mx.array) and model.up.weight.sum().item() is not None


def test_equal_parts_count_as_often_as_they_are_built(x):
    model = Model()
    with tracing(model) as tracer:
        traced = tracer.trace(lambda a: [mx.cos(a[0] + 1.5), mx.sin(a[0] + 1.5)], [x], [model])
    assert traced.aligned
    assert counts(traced)["Add"] == 2


def test_a_compiled_function_counts_as_one(x):
    model = Model()
    with tracing(model) as tracer:
        traced = tracer.trace(lambda a: [model.act(a[0])], [x], [model])
        built = names_in(tracer.built(lambda a: [model.act(a[0])], [x]))
    assert counts(traced)["Compiled"] == sum(n for name, n in built.items() if name.startswith("Compiled")) == 1
    assert type(model.act) is type(mx.compile(lambda x: x))


def test_what_cannot_be_exported_has_a_stand_in_with_its_shapes(x):
    model = Model()
    own = mx.contiguous
    with tracing(model) as tracer:
        traced = tracer.trace(lambda a: [mx.contiguous(a[0].T) + 1], [x], [model])
    op = next(op for op in traced.graph.ops if op.primitive == "Contiguous")
    assert op.stand_in
    assert traced.graph.value_by_name[op.outputs[0]].text == "float32[4,2]"
    assert mx.contiguous is own


def test_a_function_that_evaluates_in_mid_pass_is_known_by_names_only(x):
    def flow(arrays):
        total = arrays[0].sum()
        return [arrays[0] * total.item() + 1]

    model = Model()
    with tracing(model) as tracer:
        traced = tracer.trace(flow, [x], [model])
    assert traced.graph is None
    assert traced.names["Multiply"] == 1
