"""What the blocks of each place cost in one pass, by the fenced ruler and by the queued one, hot and cycled.

A place is where blocks lie that differ only in their layer. A category may have several (router, routed experts and
shared expert are all MoE), and older sessions name no detail: sums by category take whatever places there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Literal, NamedTuple

import numpy as np

from ..record.records import Probe
from ..record.session import Session
from .alike_probes import Alike, Probes, alike, in_order, layers_of, times_of
from .event_rows import Rows, in_ms, totals_by_group
from .numbers import MS
from .parts import part_from
from .sided import one_side
from .spans import Fenced, Queued, Span, combined
from .statistics import Floats, Values

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


def block_probes(session: Session, width: int) -> tuple[Alike, ...]:
    """The block timings of target passes at a width."""
    return tuple(
        each
        for each in alike(one_side(session).probes)
        if each.one.category is not None
        and each.one.ruler != "whole"
        and each.one.width == width
        and each.one.part in ("decode", "verify")
    )


def place_of(probe: Probe) -> Place:
    """The place a block probe stands for."""
    return Place(probe.category or "", probe.detail, probe.block or "")


def queueable(probes: Probes) -> set[Place]:
    """The places a queued sum must hold: all that any ruler saw, but for what cannot be queued."""
    known = {(place_of(each.one), each.one.ruler) for each in alike(probes)}
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


def queued_places(probes: Probes, arrangement: Arrangement) -> dict[Place, Span[Queued]]:
    """Each place by slope, all its layers together."""
    by_place: dict[Place, list[Alike]] = {}
    for each in alike(probes):
        if each.one.ruler == "queued" and counts_as(each.one, arrangement):
            by_place.setdefault(place_of(each.one), []).append(each)
    return {place: _slopes(in_order(groups)) for place, groups in by_place.items()}


def slopes_of(rows: Rows[Probe]) -> Floats:
    """The slope of each, all its layers together, in ns; NaN where there is none."""
    with np.errstate(over="ignore"):  # a file may hold any number; infinite is what it comes to
        found: Floats = rows.column("slope_ns") * layers_of(rows)
    return found


def half_widths_of(rows: Rows[Probe]) -> Floats:
    """Half the interval of each slope, all its layers together, in ms; NaN where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        halves: Floats = (rows.column("slope_high_ns") - rows.column("slope_low_ns")) / 2 * layers_of(rows) * MS
    return halves


def _slopes(rows: Rows[Probe]) -> Span[Queued]:
    """Mean over the slopes of one place, all its layers: with their own intervals or their spread, if wider."""
    values = slopes_of(rows) * MS
    halves = half_widths_of(rows)
    se = math.hypot(*halves.tolist()) / len(halves) / NORMAL_95
    own = Span(fmean(values.tolist()), Queued, se, SLOPE_VALUES)
    if len(values) < LEAST_REPEATS:
        return own
    part = part_from(values)
    spread = Span(part.mean, Queued, part.se, part.n)
    alone, between = own.interval(), spread.interval()
    wider = alone is None or (between is not None and between.high > alone.high)
    return spread if wider else own


def fenced_places(probes: Probes) -> dict[Place, Span[Fenced]]:
    """Each place between fences, all its layers together; layers that were timed singly add up."""
    by_place: dict[Place, dict[int | None, list[Alike]]] = {}
    for each in _fenced_with_samples(probes):
        by_place.setdefault(place_of(each.one), {}).setdefault(each.one.layer, []).append(each)
    return {
        place: combined([(1.0, _fenced(in_ms(times_of(groups)))) for groups in layers.values()])
        for place, layers in by_place.items()
    }


def fenced_sum(probes: Probes) -> Span[Fenced] | None:
    """Σ over the places; its error is that of whole passes where passes can be told apart, else places are independent.

    A fenced pass leaves one record a place, all at one time.
    """
    mine = _fenced_with_samples(probes)
    if not mine:
        return None
    passes = _whole_sums(mine)
    if len(passes) > 1:
        return _fenced(np.array(passes) * MS)
    return combined([(1.0, span) for span in fenced_places(mine).values()])


def _fenced_with_samples(probes: Probes) -> tuple[Alike, ...]:
    return tuple(each for each in alike(probes) if each.one.ruler == "fenced" and each.one.samples_ns)


def _whole_sums(groups: Sequence[Alike]) -> list[float]:
    """The sums of the fenced passes that have every place once, in ns; none where there is only one place."""
    number_by_key: dict[tuple[Place, int | None], int] = {}
    keys = [number_by_key.setdefault((place_of(g.one), g.one.layer), len(number_by_key)) for g in groups]
    width = len(number_by_key)
    if width < 2:
        return []
    rows = in_order(groups)
    turn = np.argsort(np.concatenate([g.rows.places for g in groups]))
    key_by_row = np.repeat(keys, [len(g.rows) for g in groups])[turn]
    samples = rows.lists("samples_ns")
    means = np.array(totals_by_group(samples.values, samples.starts), np.float64) / samples.lengths
    _, firsts, passes, sizes = np.unique(
        rows.column("t_ns"), return_index=True, return_inverse=True, return_counts=True
    )
    by_pass = np.argsort(passes, kind="stable")
    by_pass = by_pass[sizes[passes[by_pass]] == width].reshape(-1, width)
    whole = (np.sort(key_by_row[by_pass], axis=1) == np.arange(width)).all(axis=1)
    sums = [sum(each) for each in means[by_pass[whole]].tolist()]
    starts = firsts[passes[by_pass[whole][:, 0]]]
    return [sums[at] for at in np.argsort(starts).tolist()]


def _fenced(values: Values) -> Span[Fenced]:
    if len(values) < 2:
        return Span(float(values[0]), Fenced)
    part = part_from(values)
    return Span(part.mean, Fenced, part.se, part.n)
