"""The primitives that a pass spends itself on, one for each weight matrix: what is worth replaying alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..timings import Category
from .costs import ATTENTION, GATHER_MATMULS, MATMULS
from .rows import CensusRow, CensusTaken

RECURRENCE = "recurrence"
CACHE, STATE = "keys and values", "recurrent state"
_RECURRENT_KERNELS = frozenset({"CustomKernel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyPrimitive:
    """One matrix product, attention or recurrence of a place; `count` calls a pass, bytes and flops of one call.

    `weight` names what it works on with the layer left open; `weights` are the parameters themselves, one a layer, to
    go round (none for attention and recurrences). `shape` is that of the weight, the keys or the state, as text.
    """

    primitive: str
    place: str
    category: Category
    detail: str | None
    weight: str
    weights: tuple[str, ...]
    shape: str
    dtype: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    count: int
    bytes_read: int
    flops: int
    width: int


def heavy(taken: CensusTaken) -> tuple[HeavyPrimitive, ...]:
    """The heavy primitives of a census, those that read most first.

    Products of activations with each other (attention that is not one primitive) count as attention. A recurrence
    that a backend runs as many primitives is added up to one for each place: everything that touches a state.
    """
    found = [_one(row, taken.width) for row in taken.rows if row.inputs and _is_heavy(row)]
    recurrent: dict[tuple[str, str | None], list[CensusRow]] = {}
    for row in taken.rows:
        touches = set(taken.state_shapes) & set(row.inputs) and max(map(_dimensions, row.inputs)) == 4
        if touches and row.category == "linear attention" and not _is_heavy(row):
            recurrent.setdefault((row.place, row.detail), []).append(row)
    found += [_recurrence(rows, taken) for rows in recurrent.values() if any(row.flops for row in rows)]
    return tuple(sorted(found, key=lambda h: -h.bytes_read * h.count))


def _is_heavy(row: CensusRow) -> bool:
    return row.primitive in MATMULS | GATHER_MATMULS | ATTENTION | _RECURRENT_KERNELS


def _dimensions(text: str) -> int:
    return text.count(",") + 1


def _one(row: CensusRow, width: int) -> HeavyPrimitive:
    at = 2 if row.primitive in _RECURRENT_KERNELS else 1
    shape = row.inputs[min(at, len(row.inputs) - 1)]
    recurrent = row.primitive in _RECURRENT_KERNELS
    return HeavyPrimitive(
        primitive=row.primitive, place=row.place, category=row.category, detail=row.detail,
        weight=row.weight or (STATE if recurrent else CACHE), weights=row.weights, shape=shape,
        dtype=row.inputs[0].partition("[")[0], inputs=row.inputs, outputs=row.outputs, count=row.count,
        bytes_read=row.bytes_read // row.count, flops=row.flops // row.count, width=width,
    )  # fmt: skip


def _recurrence(rows: Iterable[CensusRow], taken: CensusTaken) -> HeavyPrimitive:
    rows = list(rows)
    first = rows[0]
    state = max((s for s in taken.state_shapes if any(s in row.inputs for row in rows)), key=_dimensions)
    return HeavyPrimitive(
        primitive=RECURRENCE, place=first.place, category=first.category, detail=first.detail, weight=STATE,
        weights=(), shape=state, dtype=state.partition("[")[0], inputs=(state,), outputs=(state,),
        count=first.layers, bytes_read=sum(row.bytes_read for row in rows) // first.layers,
        flops=sum(row.flops for row in rows) // first.layers, width=taken.width,
    )  # fmt: skip
