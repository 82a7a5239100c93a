"""The canary: one fixed matmul whose time tells whether the machine still runs as fast as at the start."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import mlx.core as mx

SIDE = 384
REPEATS = 5
SLOW = 1.05  # a reading so much above the first one calls for a pause
NAP_S = 0.5


class Canary:
    """Times the same float32 matmul [384, 384] × [384, 384]; each reading is the median of a few, in ns."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._a = mx.random.normal((SIDE, SIDE), key=mx.random.key(0))
        self._b = mx.random.normal((SIDE, SIDE), key=mx.random.key(1))
        mx.eval(self._a, self._b)
        self.read_ns()

    def cool_down(self, base_ns: float, longest_s: float, nap: Callable[[float], bool]) -> float:
        """Wait in short naps until the canary is back near `base_ns`; returns the seconds waited.

        `nap` sleeps that many seconds and returns False when it was woken for something more urgent.

        Back-to-back work slows wide passes on a hot machine while single steps
        still look well, so measuring on would lie.
        """
        waited = 0.0
        while waited < longest_s and self.read_ns() > base_ns * SLOW:
            seconds = min(NAP_S, longest_s - waited)
            waited += seconds
            if not nap(seconds):
                break
        return waited

    def read_ns(self) -> int:
        """One reading."""
        times = []
        for _ in range(REPEATS):
            began = self._clock()
            mx.eval(self._a @ self._b)
            times.append(self._clock() - began)
        return int(median(times))
