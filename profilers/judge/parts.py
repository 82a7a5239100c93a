"""Means with their errors, and sums and quotients of independent ones; what they are means of is not known here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from .statistics import LEVEL, Interval, Values, effective_size, t_interval, t_quantile

WIDEST_LOG = 300.0  # of half an interval: a mean lost in its noise says nothing, and must not overflow


@dataclass(frozen=True, slots=True)
class Part:
    """A mean with its standard error (same unit) and the independent values it rests on, at least 2."""

    mean: float
    se: float
    n: float

    def interval(self, level: float = LEVEL) -> Interval:
        """The part's t interval."""
        half = t_quantile(0.5 + level / 2, max(self.n - 1, 1.0)) * self.se
        return Interval(self.mean, self.mean - half, self.mean + half, level, round(self.n))


def part_from(values: Values, *, serial: bool = True) -> Part:
    """Mean and standard error of a series in time; raises SpecviewError below two values."""
    interval = t_interval(values)
    n = len(values)
    effective = effective_size(values) if serial else float(n)
    deviation = (interval.high - interval.estimate) / t_quantile(0.5 + LEVEL / 2, n - 1) * math.sqrt(n)
    return Part(interval.estimate, deviation / math.sqrt(effective), max(2.0, effective))


def weighted_sum(terms: Sequence[tuple[float, Part]]) -> Part:
    """Σ weight · part for independent parts, with Welch–Satterthwaite degrees of freedom.

    With `economics.draft_steps` as weights it is the draft of a round at any acceptance.
    """
    mean = math.fsum(weight * part.mean for weight, part in terms)
    variances = [((weight * part.se) ** 2, part.n) for weight, part in terms]
    return Part(mean, math.sqrt(math.fsum(v for v, _ in variances)), _freedom(variances) + 1)


def quotient(tops: Sequence[Part], bottoms: Sequence[Part], scale: float = 1.0) -> Interval:
    """scale · Π tops ÷ Π bottoms for independent positive parts, a 95% t interval by delta on the log."""
    parts = (*tops, *bottoms)
    if any(part.mean <= 0 for part in parts):
        raise SpecviewError("A quotient of parts needs every part above zero; record it again.")
    variances = [((part.se / part.mean) ** 2, part.n) for part in parts]
    estimate = scale * math.prod(p.mean for p in tops) / math.prod(p.mean for p in bottoms)
    freedom = _freedom(variances)
    half = min(t_quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(math.fsum(v for v, _ in variances)), WIDEST_LOG)
    return Interval(estimate, estimate * math.exp(-half), estimate * math.exp(half), LEVEL, max(2, int(freedom) + 1))


def _freedom(variances: Sequence[tuple[float, float]]) -> float:
    total = math.fsum(v for v, _ in variances)
    spread = math.fsum(v * v / max(n - 1, 1.0) for v, n in variances)
    least = min((max(n - 1, 1.0) for _, n in variances), default=1.0)
    return max(1.0, total * total / spread) if spread > 0 else least
