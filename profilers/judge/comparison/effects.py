"""A change with its interval over prompts: leaving one prompt out at a time, whatever is reckoned from their sums.

Prompts that both sessions measured are left out of both at once, so that what is special about a prompt cancels;
else each session's prompts are left out by themselves and the two errors add, with Welch's degrees of freedom.
Source: Efron and Stein 1981 (the jackknife); Welch 1947.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..statistics import LEVEL, Floats, effective_size, t_chance, t_quantile

Finding = Literal["real", "maybe", "noise", "unknown"]
LEAST_UNITS = 3
POWER = 0.80
# Sums over the units of both sessions and the fewest units a mean may rest on in, one column each for whatever is
# reckoned out; leading axes are kept.
Reckoner = Callable[[Floats, Floats, int], Floats]


@dataclass(frozen=True, slots=True)
class Effect:
    """A change with its 95% interval, in whatever unit; without an interval `low` and `high` are None.

    `visible` is the smallest change that data like these show in four of five tries: what *noise* leaves possible.
    `stands` is False where the interval by itself says more than one change among many can (see `many`).
    """

    estimate: float
    low: float | None = None
    high: float | None = None
    visible: float | None = None
    freedom: float = 0.0
    stands: bool = True

    @property
    def finding(self) -> Finding:
        """Noise where the interval holds no change; where it leaves that out real, or maybe if it does not stand."""
        if self.low is None or self.high is None:
            return "unknown"
        if self.low <= 0 <= self.high:
            return "noise"
        return "real" if self.stands else "maybe"

    @property
    def chance(self) -> float | None:
        """How likely so large a change or a larger is where there is none, either way; None without an interval."""
        error = error_of(self)
        if not math.isfinite(error):
            return None
        return t_chance(self.estimate / error, self.freedom) if error > 0 else float(self.estimate == 0)

    def scaled(self, factor: float) -> Effect:
        """The same change in another unit; a factor below zero turns it round."""
        if self.low is None or self.high is None or self.visible is None:
            return Effect(self.estimate * factor)
        ends = sorted((self.low * factor, self.high * factor))
        return Effect(self.estimate * factor, ends[0], ends[1], self.visible * abs(factor), self.freedom, self.stands)


def effect_of(estimate: float, error: float, freedom: float) -> Effect:
    """An effect from its standard error; without an interval where that is not known."""
    if not (math.isfinite(error) and freedom >= 1):
        return Effect(estimate)
    quantile = t_quantile(0.5 + LEVEL / 2, freedom)
    half = quantile * error
    visible = (quantile + t_quantile(POWER, freedom)) * error
    return Effect(estimate, estimate - half, estimate + half, visible, freedom)


def error_of(effect: Effect) -> float:
    """The standard error of an effect, NaN where it is not known."""
    if effect.low is None or effect.high is None or effect.freedom < 1:
        return math.nan
    return (effect.high - effect.low) / 2 / t_quantile(0.5 + LEVEL / 2, effect.freedom)


def difference_of(base: tuple[float, float, float], other: tuple[float, float, float]) -> Effect:
    """Other − base of two independent means, each with its standard error and how many values it rests on (Welch)."""
    variances = [(error * error, max(n - 1, 1.0)) for _, error, n in (base, other)]
    total = sum(v for v, _ in variances)
    spread = sum(v * v / freedom for v, freedom in variances)
    freedom = total * total / spread if spread > 0 else min(f for _, f in variances)
    return effect_of(other[0] - base[0], math.sqrt(total) if total >= 0 else math.nan, freedom)


def jackknifed(reckon: Reckoner, base: Floats, other: Floats, *, paired: bool, serial: bool) -> list[Effect]:
    """The effects that `reckon` makes of the sums over units (rows), with their intervals over the units.

    `paired`: row i of both is the same prompt or segment. `serial`: the units are neighbours in time, so that a
    series that resembles itself counts for less. Fewer than three units give no interval.
    """
    totals = base.sum(axis=0), other.sum(axis=0)
    with np.errstate(all="ignore"):
        whole = reckon(*totals, 1)
        if paired:
            left_out = [reckon(totals[0] - base, totals[1] - other, 2)]
        else:
            left_out = [reckon(totals[0] - base, totals[1], 2), reckon(totals[0], totals[1] - other, 2)]
    return [_effect(float(estimate), [each[:, i] for each in left_out], serial) for i, estimate in enumerate(whole)]


def _effect(estimate: float, left_out: list[Floats], serial: bool) -> Effect:
    if not math.isfinite(estimate):
        return Effect(math.nan)
    if any(len(each) < LEAST_UNITS or not np.isfinite(each).all() for each in left_out):
        return Effect(estimate)
    variances = []
    for each in left_out:
        n = len(each)
        counted = max(2.0, effective_size((each.mean() - each).tolist())) if serial else float(n)
        variance = (n - 1) / n * float(((each - each.mean()) ** 2).sum())
        variances.append((variance * n / counted, counted - 1))
    total = sum(v for v, _ in variances)
    spread = sum(v * v / freedom for v, freedom in variances)
    freedom = total * total / spread if spread > 0 else min(f for _, f in variances)
    return effect_of(estimate, math.sqrt(total), freedom)
