"""The least that one place, or several, can cost at n positions: bytes ÷ bandwidth or flops ÷ peak, what is larger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..record.records import Demand
from .ceilings import Rate

MS_PER_S = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMoves:
    """How often a recurrent state crosses the memory in one pass over n positions.

    As the engine does it: read once, written once. It rewinds from the state before the pass, which is kept by
    reference, by running the recurrence again over the accepted positions; that is a part of T_rest. With
    `each_position` an engine keeps the state after every position instead, and writes n of them, the last one included.
    """

    each_position: bool = False

    def times(self, positions: int) -> int:
        """Reads and writes together."""
        return 1 + (positions if self.each_position else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The least cost of a pass over n positions; `ms` adds, over places, the larger of `bytes_ms` and `flops_ms`.

    Places run one after another, so what one waits for memory another cannot compute. `low_ms` and `high_ms` are what
    the ends of the machine's intervals give. Bytes are floats, because a mean number of experts is.
    """

    weight_bytes: float = 0.0
    expert_bytes: float = 0.0
    kv_bytes: float = 0.0
    state_bytes: float = 0.0
    flops: float = 0.0
    bytes_bound_ms: float = 0.0
    flops_bound_ms: float = 0.0
    low_ms: float = 0.0
    high_ms: float = 0.0

    @property
    def ms(self) -> float:
        """The floor."""
        return self.bytes_bound_ms + self.flops_bound_ms

    @property
    def moved_bytes(self) -> float:
        """All bytes that must move."""
        return self.weight_bytes + self.expert_bytes + self.kv_bytes + self.state_bytes

    @property
    def binds(self) -> Literal["bytes", "flops"]:
        """Which of the two makes the larger part of the floor."""
        return "flops" if self.flops_bound_ms > self.bytes_bound_ms else "bytes"

    def __add__(self, other: Least) -> Least:
        return Least(
            weight_bytes=self.weight_bytes + other.weight_bytes,
            expert_bytes=self.expert_bytes + other.expert_bytes,
            kv_bytes=self.kv_bytes + other.kv_bytes,
            state_bytes=self.state_bytes + other.state_bytes,
            flops=self.flops + other.flops,
            bytes_bound_ms=self.bytes_bound_ms + other.bytes_bound_ms,
            flops_bound_ms=self.flops_bound_ms + other.flops_bound_ms,
            low_ms=self.low_ms + other.low_ms,
            high_ms=self.high_ms + other.high_ms,
        )


def least_of(
    demand: Demand,
    positions: int,
    *,
    experts_read: float,
    bandwidth: Rate,
    peak: Rate | None,
    state: StateMoves,
    scale: float = 1.0,
) -> Least:
    """The least of one place at `positions`, all its layers together, times `scale`.

    `experts_read` are the distinct experts whose weights must move, of the demand's `experts`. Without a `peak` flops
    never bind.
    """
    share = min(1.0, experts_read / demand.experts) if demand.experts else 1.0
    weights, experts = demand.weight_bytes * scale, demand.expert_bytes * share * scale
    kv, states = demand.kv_bytes * scale, demand.state_bytes * state.times(positions) * scale
    moved, flops = weights + experts + kv + states, float(demand.flops) * positions * scale
    bytes_ms, flops_ms = moved / bandwidth.value * MS_PER_S, 0.0 if peak is None else flops / peak.value * MS_PER_S
    by_flops = flops_ms > bytes_ms
    return Least(
        weight_bytes=weights,
        expert_bytes=experts,
        kv_bytes=kv,
        state_bytes=states,
        flops=flops,
        bytes_bound_ms=0.0 if by_flops else bytes_ms,
        flops_bound_ms=flops_ms if by_flops else 0.0,
        low_ms=MS_PER_S * max(moved / bandwidth.high, 0.0 if peak is None else flops / peak.high),
        high_ms=MS_PER_S * max(moved / bandwidth.low, 0.0 if peak is None else flops / peak.low),
    )


def total(costs: Iterable[Least]) -> Least:
    """The sum of some costs; nothing costs nothing."""
    return sum(costs, Least())
