"""Where a cost by width jumps, and which widths cost more than a wider one. Never a guess across a jump.

A step between two measured widths is a cliff when what it adds a position, less its own noise, is above the typical
marginal cost by more than TOO_FAR standard deviations, and when what it adds beyond the typical is at least LEAST_SHARE
of the cost of one position. Typical is the median, so that up to half of the steps may be cliffs and still stand out;
the deviation is 1.4826 × MAD of all marginal costs, but no less than their own usual standard error, because a few
steps agree by chance. Steps are judged on the padded cost, the least that a width costs when it may be padded to a
wider one: a width that costs more than a wider one is a bump, not a cliff.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ...engine.errors import SpecviewError
from .statistics import Interval, median_and_mad

TOO_FAR = 3.0
SIGMA_PER_MAD = 1.4826
LEAST_SHARE = 0.10
LEAST_SAVING = 0.05  # of the bump's own cost, so that padding is worth its trouble
FEWEST_STEPS = 3
ERRORS_WIDE = 4.0  # a 95% interval is about four standard errors wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Cliff:
    """A jump between two neighbouring measured widths, in the unit of the costs.

    `marginal` is what each position costs on the way, `typical` what one costs elsewhere, `extra` what the step adds
    beyond the typical.
    """

    below: int
    above: int
    marginal: float
    typical: float
    extra: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """A width that costs more than a wider one: pad it to `pad_to` and save `saved`, in the unit of the costs."""

    width: int
    pad_to: int
    saved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase:
    """Costs by measured width with their cliffs and bumps; `typical` marginal cost is None with too few widths."""

    costs: Mapping[int, Interval]
    typical: float | None
    cliffs: tuple[Cliff, ...]
    bumps: tuple[Bump, ...]

    def at(self, width: int) -> Interval:
        """The cost at a width that was measured; SpecviewError for another."""
        if width not in self.costs:
            raise SpecviewError(
                f"Width {width} was not measured: measure it, or ask for a value between its neighbours."
            )
        return self.costs[width]

    def between(self, width: int) -> Interval:
        """The cost at a measured width, or on the straight line between its neighbours.

        Raises SpecviewError outside the measured widths, across a cliff, beside a bump, and where the widths are too
        few to tell whether there is one.
        """
        if width in self.costs:
            return self.costs[width]
        below, above = (
            max((w for w in self.costs if w < width), default=None),
            min((w for w in self.costs if w > width), default=None),
        )
        if below is None or above is None:
            raise SpecviewError(f"Width {width} lies outside the measured widths: measure it.")
        why = None
        if self.typical is None:
            why = f"{len(self.costs)} measured widths cannot tell where there is one"
        elif any(c.below <= below and above <= c.above for c in self.cliffs):
            why = f"there is one between {below} and {above}"
        elif any(b.width in (below, above) for b in self.bumps):
            why = f"the cost goes up and down between {below} and {above}"
        if why:
            raise SpecviewError(f"Width {width} cannot be guessed across a cliff, and {why}: measure it.")
        low, high, part = self.costs[below], self.costs[above], (width - below) / (above - below)

        def line(a: float, b: float) -> float:
            return a + part * (b - a)

        estimate = line(low.estimate, high.estimate)
        return Interval(estimate, line(low.low, high.low), line(low.high, high.high), low.level, min(low.n, high.n))


def staircase(costs: Mapping[int, Interval]) -> Staircase:
    """Cliffs and bumps of costs by width (any unit, positive), by the rule above."""
    ordered = dict(sorted(costs.items()))
    bumps = _bumps(ordered)
    padded = dict(ordered)
    for bump in bumps:
        padded[bump.width] = ordered[bump.pad_to]
    steps = {(a, b): difference(padded[b], padded[a], b - a) for a, b in pairwise(padded)}
    if len(steps) < FEWEST_STEPS:
        return Staircase(costs=ordered, typical=None, cliffs=(), bumps=bumps)
    spread = median_and_mad([step.estimate for step in steps.values()])
    error = median((step.high - step.low) / ERRORS_WIDE for step in steps.values())
    far = spread.median + TOO_FAR * max(SIGMA_PER_MAD * spread.mad, error)
    least = LEAST_SHARE * next(iter(ordered.values())).estimate
    cliffs = tuple(
        Cliff(below=a, above=b, marginal=step.estimate, typical=spread.median, extra=extra)
        for (a, b), step in steps.items()
        if step.low > far and (extra := (step.estimate - spread.median) * (b - a)) >= least
    )
    return Staircase(costs=ordered, typical=spread.median, cliffs=cliffs, bumps=bumps)


def difference(wide: Interval, narrow: Interval, positions: int = 1) -> Interval:
    """(wide − narrow) ÷ positions, for independent costs of one level (MOVER; Zou and Donner 2008)."""
    centre = wide.estimate - narrow.estimate
    down = math.hypot(wide.estimate - wide.low, narrow.high - narrow.estimate)
    up = math.hypot(wide.high - wide.estimate, narrow.estimate - narrow.low)
    n = min(wide.n, narrow.n)
    return Interval(centre / positions, (centre - down) / positions, (centre + up) / positions, wide.level, n)


def _bumps(costs: Mapping[int, Interval]) -> tuple[Bump, ...]:
    """Widths for which a wider one is cheaper by more than twice the noise of both; the cheapest of those is named."""
    found = []
    for width, cost in costs.items():
        wider = [w for w in costs if w > width]
        if not wider:
            continue
        best = min(wider, key=lambda w: costs[w].estimate)
        saved = difference(cost, costs[best])
        # twice the interval: the cheapest of many wider widths is picked, and noise picks it too
        if saved.estimate > 2 * (saved.estimate - saved.low) and saved.estimate >= LEAST_SAVING * cost.estimate:
            found.append(Bump(width=width, pad_to=best, saved=saved.estimate))
    return tuple(found)
