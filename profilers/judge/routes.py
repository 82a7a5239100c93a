"""What the routes say: how many distinct experts n positions touched, against independent routing and against n·K."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, quantiles, stdev

from ..record.records import Routes
from ..record.session import Session
from .economics import expected_experts


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRow:
    """The distinct experts that one place of blocks touched at `width` positions, over `counts` passes and layers.

    `deviation` is between single counts (None for one), `quartiles` the middle half of them. Counts of one pass are
    not independent, so there is no interval of the mean. `independent` is X · (1 − (1 − K/X)^n), `without_sharing`
    what a kernel reads that fetches each position's experts anew, n·K. `from_independent` and `from_without_sharing`
    are mean ÷ those.
    """

    block: str
    width: int
    experts: int
    active: int
    counts: int
    mean: float
    deviation: float | None
    quartiles: tuple[float, float] | None
    least: int
    most: int
    independent: float
    without_sharing: int

    @property
    def from_independent(self) -> float:
        """Below 1: neighbouring positions share experts more than chance would have it."""
        return self.mean / self.independent

    @property
    def from_without_sharing(self) -> float:
        """The part of the n·K expert reads that are needed."""
        return self.mean / self.without_sharing


def route_rows(session: Session) -> tuple[RouteRow, ...]:
    """One row for each place and width that was recorded, by place and then width; records of a place are pooled."""
    groups: dict[tuple[str, int, int, int], list[int]] = {}
    for record in session.routes:
        key = (record.block, record.width, record.experts, record.active)
        groups.setdefault(key, []).extend(_possible(record))
    return tuple(_row(*key, counts) for key, counts in sorted(groups.items()) if counts)


@dataclass(frozen=True, slots=True)
class ExpertsTouched:
    """The distinct experts at one width for a floor; `recorded` says whether routes of that width were counted."""

    distinct: float
    recorded: bool


def experts_touched(routes: Iterable[Routes], block: str, experts: int, active: int, width: int) -> ExpertsTouched:
    """The mean distinct experts of a place at `width` positions, by its recorded routes, else by independent routing.

    One position touches `active`. More positions touch no fewer than fewer do, so a mean is never below that of a
    smaller width, and the independent expectation stays between the means recorded on either side of it. Routes of
    places with another name but the same experts stand in for a place without any.
    """
    if width <= 1:
        return ExpertsTouched(float(active), True)
    alike = [r for r in routes if (r.experts, r.active) == (experts, active) and r.width > 1]
    own = [r for r in alike if r.block == block] or alike
    counts: dict[int, list[int]] = {}
    for record in own:
        counts.setdefault(record.width, []).extend(_possible(record))
    means = _rising({n: fmean(found) for n, found in counts.items() if found}, active)
    if width in means:
        return ExpertsTouched(means[width], True)
    below = max((mean for n, mean in means.items() if n < width), default=float(active))
    above = min((mean for n, mean in means.items() if n > width), default=float(experts))
    return ExpertsTouched(min(max(expected_experts(experts, active, width), below), above), False)


def _rising(mean_by_width: Mapping[int, float], active: int) -> dict[int, float]:
    widths = sorted(mean_by_width)
    raised = accumulate((max(mean_by_width[n], float(active)) for n in widths), max)
    return dict(zip(widths, raised, strict=True))


def _possible(record: Routes) -> list[int]:
    """The counts that such routing can give; a file may hold anything."""
    if not 1 <= record.active <= record.experts or record.width < 1:
        return []
    most = min(record.experts, record.width * record.active)
    return [n for n in record.distinct if record.active <= n <= most]


def _row(block: str, width: int, experts: int, active: int, counts: list[int]) -> RouteRow:
    several = len(counts) > 1
    low, _, high = quantiles(counts, n=4, method="inclusive") if several else (0.0, 0.0, 0.0)
    return RouteRow(
        block=block,
        width=width,
        experts=experts,
        active=active,
        counts=len(counts),
        mean=fmean(counts),
        deviation=stdev(counts) if several else None,
        quartiles=(low, high) if several else None,
        least=min(counts),
        most=max(counts),
        independent=expected_experts(experts, active, width),
        without_sharing=width * active,
    )
