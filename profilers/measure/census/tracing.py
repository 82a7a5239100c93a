"""Traces a function of arrays to a graph with shapes, counts as built, compiled parts as one; nothing is computed.

MLX exports a graph to a callback. What it cannot export (some primitives have no state to write down, a few models
evaluate in mid-pass) gets a stand-in, or is taken from the DOT text by name alone.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map

from ....engine.trees import named_arrays
from .costs import Value
from .graphs import CompiledCall, Graph, Op, compiled_together, counted, graph_of_dot, names_in, with_views

# Functions of mlx.core whose primitive mlx 0.32 cannot export ("Unable to get state"), with the primitive's name.
UNEXPORTABLE = {
    "contiguous": "Contiguous",
    "to_fp8": "ToFP8",
    "from_fp8": "FromFP8",
    "logcumsumexp": "Scan",
}
_MARK = 0x5BEC  # first element of the constants by which marks are found again
_INTO, _OUT_OF, _INSTEAD = range(3)
_COMPILED = type(mx.compile(lambda x: x))

Flow = Callable[[Sequence[mx.array]], list[mx.array]]


@dataclass(frozen=True, slots=True)
class Traced:
    """What was seen of a function: a graph with shapes and the weights' names, or `names` alone.

    `aligned` is false where the exported graph could not be laid beside the built one, so that merged parts count once.
    """

    graph: Graph | None
    names: Counter[str]
    weight_by_array: dict[str, str] = field(default_factory=dict)
    aligned: bool = True


@dataclass(slots=True)
class Tracer:
    """Traces functions of one model; to be used within `tracing`."""

    model: nn.Module
    compiles: bool
    marking: bool = False
    within: int = 0
    calls: int = 0
    primitives: list[str] = field(default_factory=list)

    def trace(self, flow: Flow, arrays: Sequence[mx.array], modules: Sequence[nn.Module]) -> Traced:
        """The graph of `flow(arrays)`; the arrays of `modules` become known by their names in the model.

        `arrays` must be evaluated. `flow` is called up to three times and must leave no trace of itself.
        """
        try:
            graph, weight_by_array, calls = self._exported(flow, arrays, modules)
        except Exception:  # a model may do in mid-pass what no tracer can follow
            return Traced(None, names_in(self.built(flow, arrays)))
        with self._uncompiled():
            outputs, dot = _dot_of(flow, arrays)
        laid = counted(graph, graph_of_dot(dot, outputs))
        return Traced(compiled_together(with_views(laid.graph), calls), Counter(), weight_by_array, laid.aligned)

    def built(self, flow: Flow, arrays: Sequence[mx.array]) -> str:
        """DOT text of the graph as it is built in generation, compiled parts as one."""
        return _dot_of(flow, arrays)[1]

    def _exported(
        self, flow: Flow, arrays: Sequence[mx.array], modules: Sequence[nn.Module]
    ) -> tuple[Graph, dict[str, str], list[CompiledCall]]:
        seen: list[dict[str, Any]] = []
        slots = _weights_of(self.model, modules)
        # shapes are enough, and an array that `flow` itself holds must not be among the examples
        given = [mx.zeros(array.shape, array.dtype) for array in arrays]
        examples = {name: mx.zeros(array.shape, array.dtype) for name, (array, _) in slots.items()}

        def function(*inputs: mx.array, **weights: mx.array) -> list[mx.array]:
            with _swapped(slots, weights):
                return flow(inputs)

        self.marking = True
        try:
            with self._uncompiled(), self._instead_of_unexportable():
                export: Any = mx.export_function  # its stub has no arrays by keyword
                export(seen.append, function, *given, **examples)
        finally:
            self.marking = False
        return self._read(seen)

    def _read(self, seen: Sequence[dict[str, Any]]) -> tuple[Graph, dict[str, str], list[CompiledCall]]:
        value_by_name: dict[str, Value] = {}
        ops: list[Op] = []
        outputs: tuple[str, ...] = ()
        weight_by_array: dict[str, str] = {}
        mark_by_constant: dict[str, tuple[int, int]] = {}
        same_as: dict[str, str] = {}
        into: dict[int, set[str]] = {}
        out_of: dict[int, list[str]] = {}

        def known(triples: Sequence[tuple[str, Any, Any]]) -> tuple[str, ...]:
            for name, shape, dtype in triples:
                value_by_name[name] = Value(tuple(shape), _dtype(dtype))
            return tuple(same_as.get(name, name) for name, _, _ in triples)

        for item in seen:
            if item["type"] == "inputs":
                known(item["inputs"])
            elif item["type"] == "outputs":
                outputs = known(item["outputs"])
            elif item["type"] == "keyword_inputs":
                weight_by_array |= {array: name for name, array in item["keywords"]}
            elif item["type"] == "constants":
                for name, array in item["constants"]:
                    value_by_name[name] = Value(tuple(array.shape), _dtype(array.dtype))
                    if array.dtype == mx.int32 and array.shape == (3,) and array[0].item() == _MARK:
                        mark_by_constant[name] = (int(array[1].item()), int(array[2].item()))
            elif item["type"] == "primitive":
                inputs, made = known(item["inputs"]), known(item["outputs"])
                kind, number = mark_by_constant.get(inputs[-1], (None, 0)) if inputs else (None, 0)
                if kind == _INSTEAD:
                    ops.append(Op(self.primitives[number], (), inputs[1:-1], made, stand_in=True))
                elif kind is not None:
                    same_as[made[0]] = inputs[0]
                    if kind == _INTO:
                        into.setdefault(number, set()).add(inputs[0])
                    else:
                        out_of.setdefault(number, []).append(inputs[0])
                else:
                    ops.append(Op(item["name"], tuple(item["arguments"]), inputs, made))
        outputs = tuple(same_as.get(name, name) for name in outputs)
        calls = [CompiledCall(frozenset(into.get(n, ())), tuple(names)) for n, names in out_of.items()]
        return Graph(tuple(ops), value_by_name, outputs), weight_by_array, calls

    def mark(self, array: mx.array, kind: int, number: int) -> mx.array:
        """The array behind a primitive that the export shows and nothing else makes."""
        marked: mx.array = mx.depends([array], [mx.array([_MARK, kind, number], dtype=mx.int32)])[0]
        return marked

    @contextmanager
    def _uncompiled(self) -> Iterator[None]:
        mx.disable_compile()
        try:
            yield
        finally:
            if self.compiles:
                mx.enable_compile()

    @contextmanager
    def _instead_of_unexportable(self) -> Iterator[None]:
        own = {name: getattr(mx, name) for name in UNEXPORTABLE if hasattr(mx, name)}
        try:
            for name, function in own.items():
                setattr(mx, name, self._stand_in(UNEXPORTABLE[name], function))
            yield
        finally:
            for name, function in own.items():
                setattr(mx, name, function)

    def _stand_in(self, primitive: str, function: Callable[..., mx.array]) -> Callable[..., mx.array]:
        def instead(*args: Any, **kwargs: Any) -> mx.array:
            like = function(*args, **kwargs)  # its shape is known, and nothing will ask for it
            self.primitives.append(primitive)
            mark = mx.array([_MARK, _INSTEAD, len(self.primitives) - 1], dtype=mx.int32)
            inputs = [array for _, array in named_arrays((args, kwargs))]
            stands: mx.array = mx.depends([mx.zeros(like.shape, like.dtype)], [*inputs, mark])[0]
            return stands

        return instead


@dataclass(frozen=True, slots=True)
class _Marking:
    """Stands in for a compiled function and marks what goes in and comes out while the tracer asks for it."""

    function: Any
    tracer: Tracer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = self.tracer
        if not tracer.marking or tracer.within:
            return self.function(*args, **kwargs)
        number, tracer.calls = tracer.calls, tracer.calls + 1

        def marked(kind: int) -> Callable[[Any], Any]:
            return lambda leaf: tracer.mark(leaf, kind, number) if isinstance(leaf, mx.array) else leaf

        args, kwargs = tree_map(marked(_INTO), (args, kwargs))
        tracer.within += 1
        try:
            result = self.function(*args, **kwargs)
        finally:
            tracer.within -= 1
        return tree_map(marked(_OUT_OF), result)


@contextmanager
def tracing(model: nn.Module) -> Iterator[Tracer]:
    """A tracer for functions of a model; while it lasts, compiled functions of mlx-lm go through a stand-in."""
    tracer = Tracer(model, _compiles())
    taken: list[tuple[dict[str, Any], str, Any]] = []
    homes = {type(module).__module__ for module in model.modules()}
    spaces = [
        vars(module)
        for name, module in list(sys.modules.items())
        if module is not None and (name in homes or name.startswith(("mlx.nn", "mlx_lm.models")))
    ]
    spaces += [vars(module) for module in model.modules()]
    try:
        for space in spaces:
            for name, item in list(space.items()):
                if type(item) is _COMPILED:
                    taken.append((space, name, item))
                    space[name] = _Marking(item, tracer)
        yield tracer
    finally:
        for space, name, item in reversed(taken):
            space[name] = item


def _compiles() -> bool:
    """Whether `mx.compile` is in force, which a variable of the environment may have turned off."""
    x = mx.zeros((2,))
    mx.eval(x)
    return "Compiled" in _dot_of(lambda arrays: [mx.compile(lambda y: mx.exp(mx.exp(y)))(*arrays)], [x])[1]


def _dot_of(flow: Flow, arrays: Sequence[mx.array]) -> tuple[list[str], str]:
    """Names of the outputs and the DOT text of a function's graph."""
    results = flow(arrays)
    names = {f"in{i}": array for i, array in enumerate(arrays)}
    names |= {f"out{i}": array for i, array in enumerate(results)}
    text = io.StringIO()
    mx.export_to_dot(text, **names)
    return [f"out{i}" for i in range(len(results))], text.getvalue()


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("mlx.core.")


Slots = dict[str, tuple[mx.array, list[tuple[nn.Module, str]]]]


def _weights_of(model: nn.Module, modules: Sequence[nn.Module]) -> Slots:
    """The parameters in `modules` by their name in the model, and where they are kept; each array once."""
    path_by_id = {id(array): name for name, array in reversed(named_arrays(model.parameters()))}
    slots: Slots = {}
    for module in {id(m): m for top in modules for m in top.modules()}.values():
        for key, item in module.items():
            if isinstance(item, mx.array) and id(item) in path_by_id:
                slots.setdefault(path_by_id[id(item)], (item, []))[1].append((module, key))
    return slots


@contextmanager
def _swapped(slots: Slots, weights: dict[str, mx.array]) -> Iterator[None]:
    try:
        for name, (_, places) in slots.items():
            for module, key in places:
                dict.__setitem__(module, key, weights[name])
        yield
    finally:
        for array, places in slots.values():
            for module, key in places:
                dict.__setitem__(module, key, array)
