"""Graphs of a pass as text and numbers: the exported one with shapes, and the one that is really built, by name.

The exported graph has every shape, but equal parts are merged in it, and compiled functions lie open. The built graph
(DOT text) has neither fault and no shapes. Both have the same outputs, so walking them side by side from the outputs
says how often each exported primitive is really there.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .costs import VIEWS, Cost, Value, cost_of

_NODE = re.compile(r'\{ (\d+) \[label ="([^"]*)"')
_INTO = re.compile(r'"([^"]*)" -> (\d+)')
_OUT_OF = re.compile(r'(\d+) -> "([^"]*)"')

# Nodes of a built graph that do nothing and that an export leaves out.
UNEXPORTED_VIEWS = frozenset({"StopGradient"})

# Elementwise primitives, which `mx.compile` fuses where one feeds another.
FUSED = frozenset(
    {
        "Abs", "Add", "ArcCos", "ArcCosh", "ArcSin", "ArcSinh", "ArcTan", "ArcTan2", "ArcTanh", "AsType",
        "BitwiseBinary", "BitwiseInvert", "Ceil", "Cos", "Cosh", "Divide", "Equal", "Erf", "ErfInv",
        "Exp", "Expm1", "Floor", "Greater", "GreaterEqual", "Less", "LessEqual", "Log", "Log1p", "LogAddExp",
        "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Multiply", "Negative", "NotEqual", "Power",
        "Remainder", "Round", "Select", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Square", "Subtract", "Tan", "Tanh",
    }
)  # fmt: skip

FUSED_VIEWS = frozenset({"Broadcast"})  # a fused loop reads past them


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One primitive: names of the arrays that go in and come out. `count`: how often the built graph has it."""

    primitive: str
    arguments: tuple[object, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    count: int = 1
    stand_in: bool = False
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Primitives in an order in which they can run, the arrays by name, and the names of the outputs."""

    ops: tuple[Op, ...]
    value_by_name: Mapping[str, Value]
    outputs: tuple[str, ...]

    def maker_by_name(self) -> dict[str, Op]:
        """The primitive that each array comes out of; inputs and constants have none."""
        return {name: op for op in self.ops for name in op.outputs}

    def asked_for(self) -> set[Op]:
        """The primitives that the outputs need."""
        maker = self.maker_by_name()
        asked: set[Op] = set()
        names = deque(self.outputs)
        while names:
            op = maker.get(names.popleft())
            if op is not None and op not in asked:
                asked.add(op)
                names.extend(op.inputs)
        return asked


def names_in(dot: str) -> Counter[str]:
    """How often each primitive is in a graph of DOT text, those left out that do nothing."""
    return Counter(label for _, label in _NODE.findall(dot) if label not in UNEXPORTED_VIEWS)


def graph_of_dot(dot: str, outputs: Sequence[str]) -> Graph:
    """The graph of DOT text as MLX writes it, without shapes."""
    inputs_by_node: dict[str, list[str]] = {}
    outputs_by_node: dict[str, list[str]] = {}
    for name, node in _INTO.findall(dot):
        inputs_by_node.setdefault(node, []).append(name)
    for node, name in _OUT_OF.findall(dot):
        outputs_by_node.setdefault(node, []).append(name)
    ops = tuple(
        Op(label, (), tuple(inputs_by_node.get(node, ())), tuple(outputs_by_node.get(node, ())))
        for node, label in _NODE.findall(dot)
    )
    return Graph(ops, {}, tuple(outputs))


@dataclass(frozen=True, slots=True)
class Counted:
    """An exported graph with the counts of the built one; `aligned` is false where the two ran apart somewhere."""

    graph: Graph
    aligned: bool


def counted(exported: Graph, built: Graph) -> Counted:
    """Walk both graphs from their outputs and count how often each exported primitive is really there.

    Where they run apart the walk goes no further, and what is exported beyond counts once.
    """
    maker, built_maker = exported.maker_by_name(), built.maker_by_name()
    op_by_built: dict[Op, Op] = {}
    named = {name for op in built.ops for name in (*op.inputs, *op.outputs)}
    # an array that is given out twice has one name only
    pairs = deque(pair for pair in zip(exported.outputs, built.outputs, strict=True) if pair[1] in named)
    apart = False
    while pairs:
        name, built_name = pairs.popleft()
        op, other = maker.get(name), built_maker.get(built_name)
        while (
            other is not None
            and other.primitive in UNEXPORTED_VIEWS
            and (op is None or op.primitive != other.primitive)
        ):
            other = built_maker.get(other.inputs[0])
        if op is None or other is None:
            apart = apart or op is not other
            continue
        if other in op_by_built:
            continue
        if len(op.inputs) != len(other.inputs) or len(op.outputs) != len(other.outputs):
            apart = True
            continue
        op_by_built[other] = op
        pairs.extend(zip(op.inputs, other.inputs, strict=True))
    counts = Counter(op_by_built.values())
    asked = exported.asked_for()
    ops = (replace(op, count=counts[op] or 1) for op in exported.ops if counts[op] or (apart and op in asked))
    return Counted(replace(exported, ops=tuple(ops)), not apart)


def with_views(graph: Graph) -> Graph:
    """The graph whose views know how many bytes lie behind them."""
    value_by_name = dict(graph.value_by_name)
    for op in graph.ops:
        if op.primitive in VIEWS and op.inputs:
            behind = value_by_name[op.inputs[0]].unique_bytes
            for name in op.outputs:
                value_by_name[name] = replace(value_by_name[name], held_bytes=behind)
    return replace(graph, value_by_name=value_by_name)


def cost_in(op: Op, graph: Graph) -> Cost:
    """The cost of one call of a primitive of a graph; an array given twice is read once."""
    if op.cost is not None:
        return op.cost
    inputs = [
        replace(graph.value_by_name[name], held_bytes=0) if name in op.inputs[:i] else graph.value_by_name[name]
        for i, name in enumerate(op.inputs)
    ]
    return cost_of(op.primitive, op.arguments, inputs, [graph.value_by_name[name] for name in op.outputs])


@dataclass(frozen=True, slots=True)
class CompiledCall:
    """A call of a compiled function: the arrays that went in and came out."""

    inputs: frozenset[str]
    outputs: tuple[str, ...]


def compiled_together(graph: Graph, calls: Iterable[CompiledCall]) -> Graph:
    """The graph with the elementwise primitives of each compiled call as one, as `mx.compile` runs them."""
    maker = graph.maker_by_name()
    done: set[Op] = set()  # equal calls are merged in the export
    for call in calls:
        inside: dict[Op, None] = {}
        names = deque(call.outputs)
        while names:
            name = names.popleft()
            op = None if name in call.inputs else maker.get(name)
            if op is not None and op not in inside:
                inside[op] = None
                names.extend(op.inputs)
        source_by_view = {op.outputs[0]: op.inputs[0] for op in inside if op.primitive in FUSED_VIEWS}
        for group in _connected([op for op in inside if op.primitive in FUSED and op not in done], source_by_view):
            reads_views = any(name in source_by_view for op in group for name in op.inputs)
            if len(group) > 1 or reads_views:
                done.update(group)
                graph = _fused(graph, group, source_by_view)
    asked = graph.asked_for()
    return replace(graph, ops=tuple(op for op in graph.ops if op in asked))


def _source(name: str, source_by_view: Mapping[str, str]) -> str:
    while name in source_by_view:
        name = source_by_view[name]
    return name


def _connected(ops: Sequence[Op], source_by_view: Mapping[str, str]) -> list[list[Op]]:
    """The primitives in groups in which one feeds another, views between them not minded."""
    groups: list[list[Op]] = []
    made_by_op = {op: set(op.outputs) for op in ops}
    read_by_op = {op: {_source(name, source_by_view) for name in op.inputs} for op in ops}
    for op in ops:
        joined = [
            group
            for group in groups
            if any(read_by_op[op] & made_by_op[o] or read_by_op[o] & made_by_op[op] for o in group)
        ]
        groups = [group for group in groups if group not in joined] + [[op, *(o for group in joined for o in group)]]
    return groups


def _fused(graph: Graph, group: Sequence[Op], source_by_view: Mapping[str, str]) -> Graph:
    chosen = set(group)
    made = {name for op in group for name in op.outputs}
    views = {name for name in source_by_view if _source(name, source_by_view) in made}
    outside = {name for op in graph.ops if op not in chosen and not set(op.outputs) & views for name in op.inputs}
    used = outside | set(graph.outputs)
    ordered = [op for op in graph.ops if op in chosen]
    read = (_source(name, source_by_view) for op in ordered for name in op.inputs)
    inputs = tuple(dict.fromkeys(name for name in read if name not in made))
    outputs = tuple(name for op in ordered for name in op.outputs if name in used)
    values = graph.value_by_name
    cost = Cost(
        sum(values[name].unique_bytes for name in inputs),
        sum(values[name].nbytes for name in outputs),
        sum(cost_in(op, graph).flops for op in ordered),
    )
    fused = Op("Compiled", (), inputs, outputs, max(op.count for op in ordered), False, cost)
    # where the last of them stood, so that all inputs are there
    ops = tuple(fused if op is ordered[-1] else op for op in graph.ops if op not in chosen or op is ordered[-1])
    return replace(graph, ops=ops)
