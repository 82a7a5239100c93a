"""What a fence costs by itself: `mx.eval` of a graph with one trivial op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist, median

import mlx.core as mx

REPEATS = 101
WARM_UPS = 10


@dataclass(frozen=True, slots=True)
class FenceCost:
    """Median of a fence in ns with its 95% interval (order statistics, no shape assumed)."""

    median_ns: float
    low_ns: float
    high_ns: float


def fence_cost(clock: Callable[[], int], repeats: int = REPEATS) -> FenceCost:
    """Time `repeats` (at least 6) evaluations of a scalar add, graph build not included."""
    x = mx.array(0.0)
    times = []
    for i in range(WARM_UPS + repeats):
        y = x + 1.0
        began = clock()
        mx.eval(y)
        if i >= WARM_UPS:
            times.append(clock() - began)
    times.sort()
    half = NormalDist().inv_cdf(0.975) * repeats**0.5 / 2
    low, high = max(0, int(repeats / 2 - half)), min(repeats - 1, int(repeats / 2 + half))
    return FenceCost(float(median(times)), float(times[low]), float(times[high]))
