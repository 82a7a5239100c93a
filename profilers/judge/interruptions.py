"""Which timings something else on the machine broke into: those far off the others, left out of a mean and counted."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

FEWEST = 5
FAR = 5.0  # robust standard deviations; in a normal sample of a thousand not one lies as far out
SIGMA_BY_MAD = 1.4826
LEAST_SPREAD = 0.01  # of the median: values that hardly differ are not told apart by a hair


def uninterrupted(*series: Sequence[float]) -> list[int]:
    """Which places of equally long series hold no value far off its own series: all of them below five values.

    A burst of other work lengthens a pass several times over, and one such pass would make a mean of what it was not.
    Both ends are cut alike. Source: Rousseeuw and Croux 1993, the median absolute deviation as a rule.
    """
    kept = range(len(series[0]))
    if len(series[0]) < FEWEST:
        return list(kept)
    limits = [_limits(values) for values in series]
    return [
        i for i in kept if all(low <= values[i] <= high for values, (low, high) in zip(series, limits, strict=True))
    ]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    middle = median(values)
    deviation = SIGMA_BY_MAD * median(abs(v - middle) for v in values)
    reach = FAR * max(deviation, LEAST_SPREAD * abs(middle))
    return middle - reach, middle + reach
