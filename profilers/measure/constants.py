"""What a constant of a machine is: a rate or a size that floors are computed from. No MLX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

What = Literal["bandwidth", "cache bandwidth", "cache size", "peak"]
Unit = Literal["B/s", "flop/s", "B"]
STEADY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One constant of a machine in `unit`: the best of several turns, from `low`, their median, to `high`.

    `bandwidth` is what reading memory reaches, `cache bandwidth` what reading a part of the last-level cache reaches,
    `peak` the flops of the largest matmul in `dtype`. `route` names what reached it: a floor is what the chip could
    do, not what the library in use does.
    """

    what: What
    dtype: str | None = None
    value: float
    unit: Unit
    low: float
    high: float
    route: str

    @property
    def steady(self) -> bool:
        """Whether the turns were alike; where they were not, something else ran and the best may fall short."""
        return self.low >= STEADY * self.value
