"""What a census is made of: one row for each kind of primitive in a place, and how much of the pass the rows cover."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ..timings import Category
from .costs import VIEWS

Method = Literal["exported", "stand-in", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusRow:
    """One primitive with its shapes as the blocks of a place run it, all `layers` and all `count` calls together.

    `inputs` and `outputs` are texts such as `float32[1,2,256]`. Bytes and flops are sums over the calls. `weights` are
    the parameters it works on, one a layer, and `weight` is their name with the layer left open. A row of the method
    `names` has no shapes, and its bytes and flops are 0 and not known.
    """

    place: str
    category: Category
    detail: str | None
    layers: int
    primitive: str
    count: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes_read: int
    bytes_written: int
    flops: int
    method: Method
    weight: str | None = None
    weights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What the blocks hold of a whole pass, each a ratio near 1; None where the whole could not be seen with shapes.

    `primitives` compares with the graph as it is really built, `bytes` and `flops` with the exported whole pass.
    """

    primitives: float
    bytes: float | None
    flops: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusTaken:
    """The census of one pass over `width` positions after `context` others."""

    width: int
    context: int
    rows: tuple[CensusRow, ...]
    coverage: Coverage

    @property
    def primitives(self) -> int:
        """Nodes of the graph, views among them."""
        return sum(row.count for row in self.rows)

    @property
    def dispatches(self) -> int:
        """Primitives that a device really runs: all but views."""
        return sum(row.count for row in self.rows if row.primitive not in VIEWS)

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written."""
        return sum(row.bytes_read + row.bytes_written for row in self.rows)

    @property
    def flops(self) -> int:
        """Floating-point operations, those of elementwise primitives among them."""
        return sum(row.flops for row in self.rows)


def _kind(row: CensusRow) -> Hashable:
    return (row.place, row.category, row.detail, row.primitive, row.inputs, row.outputs, row.method, row.weight)


def _kind_whatever_weight(row: CensusRow) -> Hashable:
    return (row.place, row.category, row.detail, row.primitive, row.inputs, row.outputs, row.method)


def merged(rows: Iterable[CensusRow]) -> tuple[CensusRow, ...]:
    """Rows of one kind added up, in the order in which each kind came first."""
    return _added(rows, _kind)


def without_weights(rows: Iterable[CensusRow]) -> tuple[CensusRow, ...]:
    """Rows that differ in their weight only, added up."""
    nameless = (replace(row, weight=None, weights=()) for row in rows)
    return _added(nameless, _kind_whatever_weight)


def _added(rows: Iterable[CensusRow], key: Callable[[CensusRow], Hashable]) -> tuple[CensusRow, ...]:
    row_by_kind: dict[Hashable, CensusRow] = {}
    for row in rows:
        kind = key(row)
        other = row_by_kind.get(kind)
        row_by_kind[kind] = (
            row
            if other is None
            else replace(
                other,
                count=other.count + row.count,
                bytes_read=other.bytes_read + row.bytes_read,
                bytes_written=other.bytes_written + row.bytes_written,
                flops=other.flops + row.flops,
                weights=tuple(dict.fromkeys((*other.weights, *row.weights))),
            )
        )
    return tuple(row_by_kind.values())
