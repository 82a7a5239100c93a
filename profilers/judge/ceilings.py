"""What the machine of a session could do at most: bytes a second, and flops a second by dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..record.records import Calibration
from ..record.session import Session


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate per second with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Bytes a second from memory and from the last-level cache of `cache_bytes`, and flops a second by dtype.

    The cache's are None where it was not calibrated, as on a GPU.
    """

    memory: Rate
    cache: Rate | None
    cache_bytes: float | None
    peak_by_dtype: Mapping[str, Rate]

    def bandwidth(self, swept_bytes: float) -> tuple[Rate, bool]:
        """The rate for bytes that every pass sweeps over, and whether it is the cache's: what fits may stay there."""
        if self.cache is not None and self.cache_bytes is not None and swept_bytes <= self.cache_bytes:
            return (self.cache if self.cache.value > self.memory.value else self.memory), True
        return self.memory, False


def ceilings_of(session: Session) -> Ceilings | None:
    """The last calibration of each kind in a session; None where no bandwidth was calibrated."""
    last: dict[tuple[str, str | None], Rate] = {}
    for record in session.calibrations:
        rate = _rate(record)
        if rate is not None:
            last[record.what, record.dtype] = rate
    memory, size = last.get(("bandwidth", None)), last.get(("cache size", None))
    if memory is None:
        return None
    return Ceilings(
        memory=memory,
        cache=last.get(("cache bandwidth", None)),
        cache_bytes=None if size is None else size.value,
        peak_by_dtype={dtype: rate for (what, dtype), rate in last.items() if what == "peak" and dtype is not None},
    )


def _rate(record: Calibration) -> Rate | None:
    units = {"bandwidth": "B/s", "cache bandwidth": "B/s", "cache size": "B", "peak": "flop/s"}
    if units.get(record.what) != record.unit or record.value <= 0:
        return None
    low = record.value if record.low is None or record.low <= 0 else min(record.low, record.value)
    high = record.value if record.high is None else max(record.high, record.value)
    return Rate(record.value, low, high)
