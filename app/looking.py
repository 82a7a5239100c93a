"""What looking costs: this process's share of all cores."""

from __future__ import annotations

import os
from collections.abc import Callable

LEAST_S = 1.0


class LookingMeter:
    """Counts from its first reading on, so that starting up is left out. Clocks are in seconds."""

    def __init__(self, clock: Callable[[], float], processor_clock: Callable[[], float]) -> None:
        self._clock, self._processor_clock = clock, processor_clock
        self._from: tuple[float, float] | None = None

    def restart(self) -> None:
        """Count anew from the next reading."""
        self._from = None

    def read(self) -> float | None:
        """The share of all cores, 0 to 1; None before a second has passed."""
        now = (self._clock(), self._processor_clock())
        if self._from is None:
            self._from = now
        wall, busy = now[0] - self._from[0], now[1] - self._from[1]
        return busy / wall / (os.cpu_count() or 1) if wall > LEAST_S else None
