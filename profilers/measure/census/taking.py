"""Takes the census of a pass, block by block, and holds it against the pass as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from ....engine.decode import Generation
from ..blocks import Block
from .graphs import cost_in, names_in
from .rows import CensusRow, CensusTaken, Coverage, merged
from .seen import SeenPass, modules_of
from .tracing import Traced, Tracer, tracing


def take_census(generation: Generation, blocks: Sequence[Block], tokens: Sequence[int]) -> CensusTaken:
    """The census of a pass over `tokens` on the warm cache of a generation, which stays as it is.

    One pass is computed on throw-away caches, the rest is tracing. Layers that are built alike are traced once. What
    a pass leaves in its caches belongs to it, also where only the next pass asks for it.
    """
    seen = SeenPass(generation, blocks, tokens).take()
    model = generation.target.model
    layers_by_place: dict[Any, int] = {}
    for block in seen.call_by_block:
        layers_by_place[_place(block)] = layers_by_place.get(_place(block), 0) + 1
    rows: list[CensusRow] = []
    with tracing(model) as tracer:
        traced_by_build: dict[Any, tuple[Block, Traced]] = {}
        for block, call in seen.call_by_block.items():
            build = (_place(block), block.part, block.method, block.nth, _build_of(block.module), _build_of(call))
            if build not in traced_by_build:
                flow, arrays = seen.of(block)
                traced_by_build[build] = block, tracer.trace(flow, arrays, modules_of(block, model))
            first, traced = traced_by_build[build]
            rows += _rows(block, first, traced, layers_by_place[_place(block)])
        kept = merged(rows)
        coverage = _coverage(kept, seen, tracer)
    return CensusTaken(width=len(tokens), context=generation.context, rows=kept, coverage=coverage)


def _place(block: Block) -> tuple[str, str, str | None]:
    return block.place, block.category, getattr(block, "detail", None)


def _build_of(item: Any) -> Any:
    """What must be equal for two calls to give the same graph: types, shapes and plain settings, not values."""
    if isinstance(item, mx.array):
        return str(item.dtype), tuple(item.shape)
    if isinstance(item, nn.Module):
        settings = (type(item).__qualname__, _build_of(vars(item)))
        return settings, tuple((key, _build_of(part)) for key, part in item.items())
    if isinstance(item, list | tuple):
        return tuple(_build_of(part) for part in item)
    if isinstance(item, dict):
        return tuple((key, _build_of(part)) for key, part in item.items())
    if isinstance(item, int | float | str | bool | None):
        return item
    if "cache" in type(item).__name__.lower() and hasattr(item, "__dict__"):
        return type(item).__qualname__, _build_of(vars(item))
    if hasattr(item, "args") and hasattr(item, "kwargs"):
        return _build_of(item.args), _build_of(item.kwargs)
    return type(item).__qualname__


def _rows(block: Block, first: Block, traced: Traced, layers: int) -> Iterator[CensusRow]:
    """The rows of one block from the trace of the first block that is built like it."""
    detail = getattr(block, "detail", None)
    if traced.graph is None:
        for name, count in traced.names.items():
            yield CensusRow(
                place=block.place, category=block.category, detail=detail, layers=layers,
                primitive="Compiled" if name.startswith("Compiled") else name, count=count, inputs=(), outputs=(),
                bytes_read=0, bytes_written=0, flops=0, method="names",
            )  # fmt: skip
        return
    graph = traced.graph
    roots = _weight_roots(traced)
    for op in graph.ops:
        cost = cost_in(op, graph)
        weight = next((roots[name] for name in op.inputs if name in roots), None)
        own = None if weight is None else _moved(weight, first, block)
        yield CensusRow(
            place=block.place, category=block.category, detail=detail, layers=layers, primitive=op.primitive,
            count=op.count, inputs=tuple(graph.value_by_name[name].text for name in op.inputs),
            outputs=tuple(graph.value_by_name[name].text for name in op.outputs),
            bytes_read=cost.bytes_read * op.count, bytes_written=cost.bytes_written * op.count,
            flops=cost.flops * op.count, method="stand-in" if op.stand_in else "exported",
            weight=None if own is None else _open(own, block), weights=() if own is None else (own,),
        )  # fmt: skip


def _weight_roots(traced: Traced) -> dict[str, str]:
    """The parameters behind arrays, seen through views."""
    assert traced.graph is not None
    roots = dict(traced.weight_by_array)
    for op in traced.graph.ops:
        if op.primitive in _SEEN_THROUGH and op.inputs and op.inputs[0] in roots:
            roots |= dict.fromkeys(op.outputs, roots[op.inputs[0]])
    return roots


_SEEN_THROUGH = frozenset({"Transpose", "Reshape", "Flatten", "Unflatten", "ExpandDims", "Squeeze", "Broadcast"})


def _moved(weight: str, first: Block, block: Block) -> str:
    """The name of a weight of one layer in another layer."""
    if first.layer is None or block.layer is None or first.layer == block.layer:
        return weight
    return weight.replace(f".{first.layer}.", f".{block.layer}.", 1)


def _open(weight: str, block: Block) -> str:
    return weight if block.layer is None else weight.replace(f".{block.layer}.", ".*.", 1)


def _coverage(rows: Sequence[CensusRow], seen: SeenPass, tracer: Tracer) -> Coverage:
    flow, arrays = seen.whole()
    model = seen.generation.target.model
    built = sum(names_in(tracer.built(flow, arrays)).values())
    whole = tracer.trace(flow, arrays, [model])
    of_bytes = of_flops = None
    if whole.graph is not None and all(row.method != "names" for row in rows):
        costs = [(op.count, cost_in(op, whole.graph)) for op in whole.graph.ops]
        all_bytes = sum(n * (cost.bytes_read + cost.bytes_written) for n, cost in costs)
        all_flops = sum(n * cost.flops for n, cost in costs)
        of_bytes = sum(row.bytes_read + row.bytes_written for row in rows) / max(all_bytes, 1)
        of_flops = sum(row.flops for row in rows) / max(all_flops, 1)
    return Coverage(primitives=sum(row.count for row in rows) / max(built, 1), bytes=of_bytes, flops=of_flops)
