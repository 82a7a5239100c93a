"""The times that the gap is made of, read from a session: means with standard errors, in ms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..measure.census.costs import VIEWS
from ..record.records import Calibration, Step
from ..record.session import Session
from .alike_probes import Alike, alike, at_contexts, first_times, in_order, times_of
from .event_rows import Ns, in_ms, plain_ns
from .interruptions import uninterrupted
from .manners import is_usual
from .numbers import MS
from .parts import Part, part_from, weighted_sum
from .places import Place, half_widths_of, is_hot, place_of, queueable, slopes_of
from .remembered import remembered
from .shown import at_one_context, shown_passes, shown_slopes

SCALE_BY_UNIT = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0}
SLOPE_FREEDOM = 4.0  # of one slope, about: three repeats of two or three graphs

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GapTimes:
    """The measured times behind the gap at one width by name, in ms, and counts.

    `parts` holds "evaluation" and "queued", and where known "build", "queued pass" (a whole pass among others),
    "fence", "boundary" (one dispatch) and "unqueued" (containers, by fences). `submit` lies within the evaluation.
    """

    parts: Mapping[str, Part]
    passes: int
    interrupted: int
    submit: Part | None
    pipelined: Part | None
    unqueued_fences: int
    dispatches: int
    dispatches_outside: int

    def sum(self, weights: Weights) -> Part:
        """Σ weight · time over those names."""
        return weighted_sum([(w, self.parts[name]) for name, w in weights.items() if w])


def gap_times(session: Session, width: int, context: int | None = None) -> GapTimes | None:
    """The times at one width, of one context or all that blocks were timed at; None before wall and sum are whole."""
    return remembered(session, f"gap times {width} {context}", lambda: _gap_times(session, width, context))


def _gap_times(session: Session, width: int, context: int | None) -> GapTimes | None:
    if context is None:
        session = at_one_context(session)
    here = [each for each in alike(session.probes) if each.one.part in ("decode", "verify")]
    if context is not None:
        here = list(at_contexts(here, lambda each: each == context))
    probes = [(each, each.one) for each in here if each.one.width == width]
    whole = [
        each
        for each, one in probes
        if one.ruler == "whole" and one.part == "verify" and not one.pipelined and is_usual(one)
    ]
    parts, passes, interrupted = _whole_times(whole)
    queued, unqueued, fences = _blocks(
        [each for each, one in probes if one.ruler != "whole" and one.category is not None]
    )
    if not parts or queued is None or queued.mean <= 0:
        return None
    parts["queued"] = queued
    if unqueued is not None:
        parts["unqueued"] = unqueued
    whole_queued = shown_slopes(
        [each for each, one in probes if one.ruler == "queued" and one.category is None and one.block is None]
    )
    if whole_queued:
        parts["queued pass"] = _slopes_part(whole_queued)
    for what in ("fence", "boundary"):
        calibrated = _calibrated(session.calibrations, what)
        if calibrated is not None:
            parts[what] = calibrated
    in_blocks, outside = _dispatches(session, width)
    return GapTimes(
        parts,
        passes,
        interrupted,
        _samples(times_of(whole, "submit_ns")),
        _pipelined(here, session.steps if context is None else ()) if width == 1 else None,
        fences,
        in_blocks,
        outside,
    )


def _whole_times(probes: Sequence[Alike]) -> tuple[dict[str, Part], int, int]:
    """Build and evaluation of whole passes, how many passes, and how many more were interrupted."""
    shown = shown_passes(probes)
    totals = shown.totals_ns
    if len(totals) < 2:
        return {}, 0, 0
    parts = {"evaluation": part_from([ns * MS for ns in shown.evaluations_ns or totals])}
    if shown.builds_ns:
        parts["build"] = part_from([ns * MS for ns in shown.builds_ns])
    return parts, len(totals), shown.left_out


def _samples(values_ns: Sequence[int]) -> Part | None:
    """The mean of at least two, those that were interrupted left out."""
    values = np.asarray(in_ms(values_ns))
    return part_from(values[uninterrupted(values)]) if len(values) >= 2 else None


def _pipelined(probes: Sequence[Alike], steps: Sequence[Step]) -> Part | None:
    """Pipelined steps timed beside the passes, else those of the plain arm."""
    beside = times_of([p for p in probes if p.one.ruler == "whole" and p.one.pipelined and p.one.width == 1])
    return _samples(beside or plain_ns(steps))


def _blocks(probes: Sequence[Alike]) -> tuple[Part | None, Part | None, int]:
    """Σ of the queued places, what only fences saw of containers (evaluation), and how many fences that took.

    There is no sum before every place that can be queued was: a sum of some would show a false gap.
    """
    queued: dict[Place, list[Alike]] = {}
    fenced: dict[Place, list[Alike]] = {}
    for each in shown_slopes(probes):
        if each.one.slope_ns is not None and each.one.ruler == "queued":
            queued.setdefault(place_of(each.one), []).append(each)
        elif each.one.samples_ns and each.one.ruler == "fenced":
            fenced.setdefault(place_of(each.one), []).append(each)
    if not queued or queueable(probes) - set(queued):
        return None, None, 0
    total = weighted_sum([(1.0, _slopes_part(_cycled(each))) for each in queued.values()])
    left = [each for place, each in fenced.items() if place not in queued]
    unqueued = [(1.0, part) for each in left if (part := _fenced_part(each)) is not None]
    return total, weighted_sum(unqueued) if unqueued else None, sum(each[0].one.layers or 1 for each in left)


def _cycled(probes: Sequence[Alike]) -> Sequence[Alike]:
    """Copies that stayed at one layer are too fast where others went round all of them."""
    return [p for p in probes if not is_hot(p.one)] or probes


def _slopes_part(probes: Sequence[Alike]) -> Part:
    """Mean over the slopes of one place, all its layers, in ms; its error is their own or their spread, if larger."""
    rows = in_order(probes)
    values = np.nan_to_num(slopes_of(rows) * MS)
    halves = half_widths_of(rows)
    n = len(values)
    own = math.sqrt(math.fsum((half / 2) ** 2 for half in halves[~np.isnan(halves)].tolist())) / n
    spread = part_from(values, serial=False).se if n > 1 else 0.0
    return Part(math.fsum(values.tolist()) / n, max(own, spread), 1 + SLOPE_FREEDOM * n)


def _fenced_part(probes: Sequence[Alike]) -> Part | None:
    """Evaluation of one place by fences, in ms; builds are in the wall's build already."""
    values = first_times(in_order(probes), "eval_ns", "samples_ns")
    return Part(int(values[0]) * MS, 0.0, 2.0) if len(values) == 1 else _samples(Ns(values))


def _calibrated(calibrations: Sequence[Calibration], what: str) -> Part | None:
    """The last constant of that name, in ms; a 95% interval is about four standard errors wide."""
    known = [c for c in calibrations if c.what == what and c.unit in SCALE_BY_UNIT]
    if not known:
        return None
    last, scale = known[-1], SCALE_BY_UNIT[known[-1].unit]
    width = 0.0 if last.low is None or last.high is None else last.high - last.low
    return Part(last.value * scale, width * scale / 4, 30.0)


def _dispatches(session: Session, width: int) -> tuple[int, int]:
    """Primitives in blocks at that width that are dispatched, so no views, and how many of a pass lie in no block.

    A census taken again says the same again, so the last one counts.
    """
    census = [c for c in session.census if c.width == width]
    last = {
        (c.block, c.category, c.primitive, c.inputs, c.outputs): c for c in census if c.context == census[-1].context
    }
    inside = sum(c.count for c in last.values() if c.primitive not in VIEWS)
    coverage = census[-1].coverage if census else 0.0
    return inside, round(inside / coverage - inside) if 0 < coverage < 1 else 0
