"""What a recording reads of its machine: constants at the start, and after every segment memory, load and the canary.

It pauses while the canary is slower than at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..measure.fence import fence_cost
from ..measure.load import LoadMeter
from . import records

Clock = Callable[[], int]
FIRST_READINGS = 7
COOLING_SHARE = 0.1


class CanaryLike(Protocol):
    """A fixed piece of work whose time tells how fast the machine runs."""

    def read_ns(self) -> int:
        """One reading."""
        ...

    def cool_down(self, base_ns: float, longest_s: float, nap: Callable[[float], bool]) -> float:
        """Wait until it is back near its base; returns the seconds waited."""
        ...


class MachineReadings:
    """Reads and writes them; `nap` sleeps so many seconds unless something more urgent comes."""

    def __init__(
        self,
        append: Callable[[records.Record], None],
        now: Callable[[], int],
        nap: Callable[[float], bool],
    ) -> None:
        self._append, self._now, self._nap = append, now, nap
        self._cooled_s = 0.0

    def calibrate(self, canary: Callable[[Clock], CanaryLike], clock: Clock) -> None:
        """Measure what later readings are held against, and what a fence costs."""
        self._load = LoadMeter()
        self._load.sample()
        self._canary = canary(clock)
        readings = sorted(self._canary.read_ns() for _ in range(FIRST_READINGS))
        self._canary_base_ns = float(readings[3])
        self._append(
            records.Calibration(
                what="canary",
                dtype="float32",
                value=self._canary_base_ns,
                unit="ns",
                low=float(readings[1]),
                high=float(readings[5]),
                t_ns=self._now(),
            )
        )
        fence = fence_cost(clock)
        self._append(
            records.Calibration(
                what="fence",
                value=fence.median_ns,
                unit="ns",
                low=fence.low_ns,
                high=fence.high_ns,
                t_ns=self._now(),
            )
        )

    def between(
        self, active_bytes: int, peak_bytes: int, cache_bytes: int, target_bytes: int, drafter_bytes: int
    ) -> None:
        """After a segment: memory as told, load and the canary; then a pause where the machine needs one."""
        load = self._load.sample()
        self._append(
            records.Memory(
                t_ns=self._now(),
                active_bytes=active_bytes,
                peak_bytes=peak_bytes,
                cache_bytes=cache_bytes,
                target_bytes=target_bytes,
                drafter_bytes=drafter_bytes,
                others_cpu_fraction=load.others_cpu_fraction,
                swap_used_bytes=load.swap_used_bytes,
                available_bytes=load.memory_available_bytes,
            )
        )
        self._append(
            records.Calibration(
                what="canary",
                dtype="float32",
                value=float(self._canary.read_ns()),
                unit="ns",
                t_ns=self._now(),
            )
        )
        self._cool_down()

    def _cool_down(self) -> None:
        """Pause while the machine is slower than at the start, at most a tenth of the time so far."""
        allowed_s = COOLING_SHARE * self._now() * 1e-9 - self._cooled_s
        if allowed_s <= 0:
            return
        waited_s = self._canary.cool_down(self._canary_base_ns, allowed_s, self._nap)
        self._cooled_s += waited_s
        if waited_s > 0:
            self._append(
                records.Guard(
                    t_ns=self._now(),
                    code="cooling",
                    message=f"Paused {waited_s:.1f} s because the canary ran slower than at the start.",
                    value=waited_s,
                    remedy="Let the machine cool, and close what else runs.",
                )
            )
