"""Which timings something else on the machine broke into: those far off the others, left out of a mean and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .statistics import Values

FEWEST = 5
FAR = 5.0  # robust standard deviations; in a normal sample of a thousand not one lies as far out
SIGMA_BY_MAD = 1.4826
LEAST_SPREAD = 0.01  # of the median: values that hardly differ are not told apart by a hair


def uninterrupted(*series: Values) -> list[int]:
    """Which places of equally long series hold no value far off its own series: all of them below five values.

    A burst of other work lengthens a pass several times over, and one such pass would make a mean of what it was not.
    Both ends are cut alike. Source: Rousseeuw and Croux 1993, the median absolute deviation as a rule.
    """
    if len(series[0]) < FEWEST:
        return list(range(len(series[0])))
    kept = np.ones(len(series[0]), bool)
    for values in series:
        array = np.asarray(values)
        low, high = _limits(array)
        kept &= (low <= array) & (array <= high)
    found: list[int] = np.flatnonzero(kept).tolist()
    return found


def _limits(values: NDArray[Any]) -> tuple[float, float]:
    middle = float(np.median(values))
    deviation = SIGMA_BY_MAD * float(np.median(np.abs(values - middle)))
    reach = FAR * max(deviation, LEAST_SPREAD * abs(middle))
    return middle - reach, middle + reach
