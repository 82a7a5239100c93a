"""What the blocks of each place cost in one pass, by the fenced ruler and by the queued one, hot and cycled.

A place is where blocks lie that differ only in their layer. A category may have several (router, routed experts and
shared expert are all MoE), and older sessions name no detail: sums by category take whatever places there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import Literal, NamedTuple

from ..record.records import Probe
from ..record.session import Session
from .numbers import MS
from .parts import part_from
from .spans import Fenced, Queued, Span, combined

NOT_QUEUED = "misc"  # what containers do between their blocks has no copies to queue
Arrangement = Literal["cycled", "hot"]
LEAST_REPEATS = 3
# The interval of a slope is its own t interval, of freedom that no record keeps, so it is carried on as a normal one.
SLOPE_VALUES = 1000.0
NORMAL_95 = NormalDist().inv_cdf(0.975)


class Place(NamedTuple):
    """Where blocks lie that differ only in their layer: their op category, its kind in detail, and the place's name."""

    category: str
    detail: str | None
    block: str


def block_probes(session: Session, width: int) -> list[Probe]:
    """The block timings of target passes at a width."""
    return [
        p
        for p in session.probes
        if p.category is not None and p.ruler != "whole" and p.width == width and p.part in ("decode", "verify")
    ]


def place_of(probe: Probe) -> Place:
    """The place a block probe stands for."""
    return _place(probe.category or "", probe.detail, probe.block or "")


@lru_cache(maxsize=4096)  # a long session asks this for a million probes of some twenty places
def _place(category: str, detail: str | None, block: str) -> Place:
    return Place(category, detail, block)


def queueable(probes: Iterable[Probe]) -> set[Place]:
    """The places a queued sum must hold: all that any ruler saw, but for what cannot be queued."""
    known = {(place_of(p), p.ruler) for p in probes}
    return {place for place, ruler in known if place.category != NOT_QUEUED or ruler == "queued"}


def is_hot(probe: Probe) -> bool:
    """Whether the copies under a slope stayed at one layer; older sessions say so by naming the layer."""
    if probe.slope_ns is None or probe.arrangement is not None:
        return probe.arrangement == "hot"
    return probe.layer is not None and probe.layers != 1


def counts_as(probe: Probe, arrangement: Arrangement) -> bool:
    """Whether a slope is of that arrangement; a place of one block is its own cycle and counts in both."""
    only = probe.arrangement is None and probe.layers == 1
    return probe.slope_ns is not None and (only or is_hot(probe) == (arrangement == "hot"))


def queued_places(probes: Iterable[Probe], arrangement: Arrangement) -> dict[Place, Span[Queued]]:
    """Each place by slope, all its layers together."""
    by_place: dict[Place, list[Probe]] = {}
    for probe in probes:
        if probe.ruler == "queued" and counts_as(probe, arrangement):
            by_place.setdefault(place_of(probe), []).append(probe)
    return {place: _slopes(each) for place, each in by_place.items()}


def _slopes(probes: Sequence[Probe]) -> Span[Queued]:
    """Mean over the slopes of one place, all its layers: with their own intervals or their spread, if wider."""
    values = [(p.slope_ns or 0.0) * (p.layers or 1) * MS for p in probes]
    halves = [
        math.nan
        if p.slope_low_ns is None or p.slope_high_ns is None
        else (p.slope_high_ns - p.slope_low_ns) / 2 * (p.layers or 1) * MS
        for p in probes
    ]
    se = math.hypot(*halves) / len(halves) / NORMAL_95
    own = Span(fmean(values), Queued, se, SLOPE_VALUES)
    if len(values) < LEAST_REPEATS:
        return own
    part = part_from(values)
    spread = Span(part.mean, Queued, part.se, part.n)
    alone, between = own.interval(), spread.interval()
    wider = alone is None or (between is not None and between.high > alone.high)
    return spread if wider else own


def fenced_places(probes: Iterable[Probe]) -> dict[Place, Span[Fenced]]:
    """Each place between fences, all its layers together; layers that were timed singly add up."""
    values: dict[Place, dict[int | None, list[float]]] = {}
    for probe in probes:
        if probe.ruler == "fenced" and probe.samples_ns:
            own = values.setdefault(place_of(probe), {}).setdefault(probe.layer, [])
            own.extend(v * MS for v in probe.samples_ns)
    return {place: combined([(1.0, _fenced(v)) for v in layers.values()]) for place, layers in values.items()}


def fenced_sum(probes: Iterable[Probe]) -> Span[Fenced] | None:
    """Σ over the places; its error is that of whole passes where passes can be told apart, else places are independent.

    A fenced pass leaves one record a place, all at one time.
    """
    mine = [p for p in probes if p.ruler == "fenced" and p.samples_ns]
    if not mine:
        return None
    keys = {(place_of(p), p.layer) for p in mine}
    passes: dict[int, list[Probe]] = {}
    for probe in mine:
        passes.setdefault(probe.t_ns, []).append(probe)
    complete = [
        each for each in passes.values() if len(each) == len(keys) == len({(place_of(p), p.layer) for p in each})
    ]
    if len(complete) > 1 and len(keys) > 1:
        return _fenced([sum(fmean(p.samples_ns or ()) for p in each) * MS for each in complete])
    return combined([(1.0, span) for span in fenced_places(mine).values()])


def _fenced(values: Sequence[float]) -> Span[Fenced]:
    if len(values) < 2:
        return Span(values[0], Fenced)
    part = part_from(values)
    return Span(part.mean, Fenced, part.se, part.n)
