"""One pass by three rulers side by side: whole graph, fenced sum and queued sum, in all, by category and by detail.

They stand beside each other and are never divided: `gap` and `round_in_decode_steps` are where two may meet. Why they
differ is told by `ruler_sentences`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic

from ..measure.timings import CATEGORIES
from ..record.records import Calibration, Probe
from ..record.session import Session
from .alike_probes import Alike, alike, times_of
from .event_rows import joined
from .numbers import MS
from .places import Arrangement, Place, block_probes, counts_as, fenced_sum, is_hot, place_of, queueable, queued_places
from .readings import Samples, pipelined_steps, samples, shown_wall
from .shown import at_one_context, never_queued, shown_slopes, why_never_queued
from .sided import one_side
from .spans import Fenced, Pipelined, Queued, R, Span, Synchronous, combined
from .statistics import Interval
from .visits import settings_of, visits_of

SCALE_BY_UNIT = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[R]):
    """What one ruler says: a mean in ms, its 95% interval, and the timings behind it (`n`: samples, passes or slopes).

    `left_out` more whole passes or slopes were interrupted. `missing` is a sentence on why there is no number, or no
    interval.
    """

    ruler: type[R]
    span: Span[R] | None = None
    n: int = 0
    missing: str = ""
    left_out: int = 0

    @property
    def ms(self) -> float | None:
        """The mean, for showing."""
        return None if self.span is None else self.span.ms

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the mean in ms; None for a single timing."""
        return None if self.span is None else self.span.interval()


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerRow:
    """One category, or one kind (`detail`) of it, by the rulers that see blocks; `blocks` counts those of a pass.

    `hot_cached` and `cycled_cached`: the weights of all those copies fit the last-level cache; None if unknown.
    """

    category: str
    detail: str | None
    blocks: int
    fenced: Reading[Fenced]
    queued_hot: Reading[Queued]
    queued_cycled: Reading[Queued]
    hot_cached: bool | None
    cycled_cached: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerTable:
    """The same pass over `width` positions by every ruler, and what a single fence costs by itself, in ms.

    `categories` stand in a fixed order; `details` has a row for each kind of a category that names any. `blocks` is
    how many blocks a fenced pass waits for.
    """

    width: int
    synchronous: Reading[Synchronous]
    pipelined: Reading[Pipelined]
    fenced: Reading[Fenced]
    queued_hot: Reading[Queued]
    queued_cycled: Reading[Queued]
    categories: tuple[RulerRow, ...]
    details: tuple[RulerRow, ...]
    blocks: int
    fence_ms: float | None
    fence: Interval | None


def ruler_table(session: Session, width: int = 1) -> RulerTable | None:
    """The table at a width; None where no pass and no block was timed at it."""
    session = at_one_context(session)
    probes = block_probes(session, width)
    fixed = never_queued(session, probes)
    synchronous = _synchronous(session, width)
    if not probes and synchronous.span is None:
        return None
    by_category: dict[str, list[Alike]] = {}
    for each in probes:
        by_category.setdefault(each.one.category or "", []).append(each)
    order = [c for c in CATEGORIES if c in by_category] + sorted(set(by_category) - set(CATEGORIES))
    fence_ms, fence = fence_cost(session.calibrations)
    return RulerTable(
        width=width,
        synchronous=synchronous,
        pipelined=_pipelined(session, width),
        fenced=_fenced(probes, width),
        queued_hot=_queued(probes, "hot", width, fixed),
        queued_cycled=_queued(probes, "cycled", width, fixed),
        categories=tuple(_row(by_category[category], fixed, category, width) for category in order),
        details=tuple(
            _row(by_category[category], fixed, category, width, detail)
            for category in order
            for detail in _details(by_category[category], category)
        ),
        blocks=blocks_in(probes),
        fence_ms=fence_ms,
        fence=fence,
    )


def fence_cost(calibrations: Sequence[Calibration]) -> tuple[float | None, Interval | None]:
    """What one fence costs by itself in ms, as calibrated last, with its interval where one was kept."""
    known = [c for c in calibrations if c.what == "fence" and c.unit in SCALE_BY_UNIT]
    if not known:
        return None, None
    last, scale = known[-1], SCALE_BY_UNIT[known[-1].unit]
    if last.low is None or last.high is None:
        return last.value * scale, None
    return last.value * scale, Interval(last.value * scale, last.low * scale, last.high * scale, 0.95, len(known))


def blocks_in(probes: Sequence[Alike]) -> int:
    """How many blocks a pass has, over all the places of some probes."""
    layers: dict[Place, int] = {}
    singly: dict[Place, set[int]] = {}
    for one in (each.one for each in probes):
        place = place_of(one)
        layers[place] = max(layers.get(place, 1), one.layers or 1)
        if one.layer is not None:
            singly.setdefault(place, set()).add(one.layer)
    return sum(max(count, len(singly.get(place, ()))) for place, count in layers.items())


def _row(
    probes: Sequence[Alike], fixed: Collection[Place], category: str, width: int, detail: str | None = None
) -> RulerRow:
    mine = [p for p in probes if p.one.category == category and (detail is None or (p.one.detail or "other") == detail)]
    slopes = [p.one for p in mine if p.one.slope_ns is not None]
    return RulerRow(
        category=category,
        detail=detail,
        blocks=blocks_in(mine),
        fenced=_fenced(mine, width),
        queued_hot=_queued(mine, "hot", width, fixed),
        queued_cycled=_queued(mine, "cycled", width, fixed),
        hot_cached=_cached([p for p in slopes if is_hot(p)]),
        cycled_cached=_cached([p for p in slopes if not is_hot(p)]),
    )


def _details(probes: Sequence[Alike], category: str) -> list[str]:
    """The kinds of a category in order of first use; blocks without one are the others."""
    names = [p.one.detail for p in probes if p.one.category == category]
    return list(dict.fromkeys(name or "other" for name in names)) if any(names) else []


def _cached(probes: Sequence[Probe]) -> bool | None:
    flags = [p.cached for p in probes]
    return None if not flags or None in flags else all(flags)


def _synchronous(session: Session, width: int) -> Reading[Synchronous]:
    return _whole(shown_wall(session, width), f"No whole pass over {_positions(width)} was timed.")


def _pipelined(session: Session, width: int) -> Reading[Pipelined]:
    """Plain steps of the last setting, as the ledger counts them, else all of the session, else pipelined probes."""
    if width != 1:
        return Reading(ruler=Pipelined, missing="Plain decoding goes one position at a time, so only one is pipelined.")
    visits = visits_of(session)
    last = settings_of(visits)[-1:]
    paired = joined(s.steps for v in visits if v.setting in last for s in v.pairs())
    steps = paired if len(paired) else joined(s.steps for v in visits for s in v.segments.values() if s.steps)
    if not len(steps):
        mine = [(p, p.one) for p in alike(one_side(session).probes)]
        probed = times_of([p for p, one in mine if one.ruler == "whole" and one.pipelined and one.width == 1])
        return _whole(samples(probed, Pipelined), "No step of plain decoding was timed.")
    taken = pipelined_steps(steps)
    if taken is None:
        return Reading(ruler=Pipelined, missing="Steps of plain decoding were waited for one by one, not pipelined.")
    return _whole(taken, "No step of plain decoding was timed.")


def _whole(taken: Samples[R], why: str) -> Reading[R]:
    if not taken.ns:
        return Reading(ruler=taken.ruler, missing=why)
    span = taken.span() or Span(taken.ns[0] * MS, taken.ruler)
    once = "" if len(taken.ns) > 1 else "It was timed once, so it has no interval."
    return Reading(ruler=taken.ruler, span=span, n=len(taken.ns), missing=once, left_out=taken.left_out)


def _fenced(probes: Sequence[Alike], width: int) -> Reading[Fenced]:
    span = fenced_sum(probes)
    if span is None:
        return Reading(ruler=Fenced, missing=f"No fenced pass over {_positions(width)} was made.")
    per_place: dict[tuple[Place, int | None], int] = {}
    for p in probes:
        if p.one.ruler == "fenced":
            key = (place_of(p.one), p.one.layer)
            per_place[key] = per_place.get(key, 0) + len(times_of([p]))
    once = "" if span.interval() is not None else "A block was timed once, so the sum has no interval."
    return Reading(ruler=Fenced, span=span, n=min(n for n in per_place.values() if n), missing=once)


def _queued(probes: Sequence[Alike], arrangement: Arrangement, width: int, fixed: Collection[Place]) -> Reading[Queued]:
    """The sum over all places, none where some are `fixed` by fences: a sum of some would look like a cheap pass."""
    kept = shown_slopes(probes)
    places, needed = queued_places(kept, arrangement), queueable(probes)
    if not needed:
        return Reading(ruler=Queued, missing="These blocks cannot be queued: they stand between others.")
    left = needed - set(places)
    if left and left <= set(fixed):
        return Reading(ruler=Queued, missing=f"{why_never_queued(left)}, so there is no queued sum.")
    if left:
        return Reading(ruler=Queued, n=0, missing=_waiting(arrangement, places, left, width))
    span = combined([(1.0, each) for each in places.values()])
    slopes, every = (
        sum(len(p.rows) for p in each if p.one.ruler == "queued" and counts_as(p.one, arrangement))
        for each in (kept, probes)
    )
    once = "" if span.interval() is not None else "A slope came without an interval, so the sum has none."
    return Reading(ruler=Queued, span=span, n=slopes, missing=once, left_out=every - slopes)


def _waiting(arrangement: Arrangement, places: Collection[Place], left: set[Place], width: int) -> str:
    how = "at one hot layer" if arrangement == "hot" else "with layers cycled"
    if not places:
        return f"No place was timed {how} over {_positions(width)}."
    names = ", ".join(sorted({p.category for p in left}))
    return f"{len(places)} of {len(places) + len(left)} places were timed {how} so far; missing: {names}."


def _positions(width: int) -> str:
    return "one position" if width == 1 else f"{width} positions"
