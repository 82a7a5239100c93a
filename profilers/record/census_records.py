"""Turns a census and demands into records of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..measure.census.place_demand import PlaceDemand
from ..measure.census.rows import CensusTaken, without_weights
from . import records


def census_records(taken: CensusTaken, context: int | None = None) -> Iterator[records.Census]:
    """A record for each kind of primitive in a place; `context` defaults to that of the census.

    `coverage` is the share of the pass's primitives that lie in some block, at most 1.
    """
    for row in without_weights(taken.rows):
        yield records.Census(
            width=taken.width,
            block=row.place,
            category=row.category,
            primitive=row.primitive,
            count=row.count,
            bytes_read=row.bytes_read,
            bytes_written=row.bytes_written,
            flops=row.flops,
            coverage=min(1.0, taken.coverage.primitives),
            context=taken.context if context is None else context,
            detail=row.detail,
            layers=row.layers,
            inputs=row.inputs,
            outputs=row.outputs,
            method=row.method,
        )


def demand_records(demands: Iterable[PlaceDemand]) -> Iterator[records.Demand]:
    """A record for each place."""
    for demand in demands:
        yield records.Demand(
            block=demand.place,
            category=demand.category,
            detail=demand.detail,
            layers=demand.layers,
            context=demand.context,
            dtype=demand.dtype,
            weight_bytes=demand.weight_bytes,
            expert_bytes=demand.expert_bytes,
            experts=demand.experts,
            active=demand.active,
            kv_bytes=demand.kv_bytes,
            state_bytes=demand.state_bytes,
            flops=demand.flops,
        )
