"""The verify curve of a session: T_verify(n) by context, what each further position costs, and where it jumps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from ..record.records import Probe
from ..record.session import Session
from .alike_probes import alike, in_order
from .cliffs import Bump, Cliff, Staircase, difference, staircase
from .economics import round_in_decode_steps
from .event_rows import plain_ns
from .manners import Manners, loop_manner
from .numbers import MS, Number, number
from .shown import ShownPasses, shown_passes
from .sided import one_side
from .spans import Pipelined, Span, Synchronous
from .statistics import Interval, median_and_mad, ratio_of_intervals, t_interval
from .visits import switch_of

FEWEST_PROBES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """T_verify at one width in ms, and T(n) ÷ T(1), both synchronous whole-graph passes.

    `left_out` more passes were interrupted. `marginal_ms` is what each position since `after`, the measured width
    before, adds; `marginal_steps` the same in pipelined decode steps, None where the session holds no plain decoding.
    All None at the first width.
    """

    width: int
    ms: Number
    ratio: Interval
    left_out: int = 0
    after: int | None = None
    marginal_ms: Interval | None = None
    marginal_steps: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCurve:
    """The points at one context in order of width, with cliffs and bumps; costs are in ms.

    `contexts` are the least and the most positions that the cache held. `decode` is T_decode, pipelined. `side` says
    which side of a start of quantised keys and values they are of.
    """

    contexts: tuple[int, int]
    points: tuple[CurvePoint, ...]
    stairs: Staircase
    decode: Number | None
    side: str = ""

    @property
    def cliffs(self) -> tuple[Cliff, ...]:
        """Jumps between two measured widths."""
        return self.stairs.cliffs

    @property
    def bumps(self) -> tuple[Bump, ...]:
        """Widths that cost more than a wider one."""
        return self.stairs.bumps

    @property
    def left_out(self) -> str:
        """How many passes were left out and where, in words; empty for none."""
        where = [f"{p.left_out} at n = {p.width}" for p in self.points if p.left_out]
        sentences = [f"Interrupted passes, far off the others, are left out: {', '.join(where)}."] if where else []
        return " ".join([*([self.side] if self.side else []), *sentences])

    def between(self, width: int) -> Interval:
        """T_verify in ms at a width, on a straight line where nothing jumps; SpecviewError where something might."""
        return self.stairs.between(width)


def verify_curves(session: Session) -> tuple[VerifyCurve, ...]:
    """A curve for each context with passes of one position and of others, at least two each; in order of context."""
    by_context: dict[int, list[Probe]] = {}
    for probe in _passes(session):
        by_context.setdefault(probe.context, []).append(probe)
    found = (_curve(session, probes) for _, probes in sorted(by_context.items()))
    return tuple(curve for curve in found if curve is not None)


def pooled_curve(session: Session) -> VerifyCurve | None:
    """One curve over all contexts, for sessions that probe a few widths at each; None without enough passes.

    Attention grows with the context, so a long run's widths are comparable only where they met the same contexts.
    """
    return _curve(session, _passes(session))


def _passes(session: Session) -> list[Probe]:
    """Passes as the session's drafting makes and reads them; in one go and greedily where nothing was drafted."""
    manner, manners = loop_manner(session), Manners(session)
    groups = [(each, each.one) for each in alike(one_side(session).probes)]
    passes = in_order([p for p, one in groups if one.ruler == "whole" and one.part == "verify" and not one.pipelined])
    return [p for p in passes if manners.of(p) == manner]


def _curve(session: Session, probes: Sequence[Probe]) -> VerifyCurve | None:
    shown = {n: shown_passes([p for p in probes if p.width == n]) for n in sorted({p.width for p in probes})}
    timed = {width: found for width, passes in shown.items() if (found := _timed(passes)) is not None}
    if 1 not in timed or len(timed) < 2:
        return None
    decode = number(plain_ns(one_side(session).steps))
    points = [CurvePoint(width=1, ms=timed[1], ratio=_one(timed[1].mean), left_out=shown[1].left_out)]
    for (a, narrow), (b, wide) in pairwise(timed.items()):
        marginal = difference(wide.mean, narrow.mean, b - a)
        points.append(
            CurvePoint(
                width=b,
                ms=wide,
                ratio=_ratio(wide.mean, timed[1].mean),
                left_out=shown[b].left_out,
                after=a,
                marginal_ms=marginal,
                marginal_steps=None if decode is None else _in_steps(marginal, decode.mean),
            )
        )
    contexts, switch = [p.context for p in probes], switch_of(session)
    return VerifyCurve(
        contexts=(min(contexts), max(contexts)),
        points=tuple(points),
        stairs=staircase({width: found.mean for width, found in timed.items()}),
        decode=decode,
        side="" if switch is None else switch.sentence,
    )


def _timed(passes: ShownPasses) -> Number | None:
    """T_verify at one width from at least two values: a probe is the unit, since its samples are back to back.

    Probes of a curve come in random order, so they count as independent; fewer than three lend their samples instead.
    """
    values = [ns * MS for ns in passes.totals_ns]
    units = [fmean(each) * MS for each in passes.by_probe_ns]
    units = units if len(units) >= FEWEST_PROBES else values
    return Number(t_interval(units), median_and_mad(values)) if len(values) >= 2 else None


def _one(single: Interval) -> Interval:
    return Interval(1.0, 1.0, 1.0, single.level, single.n)


def _ratio(wide: Interval, single: Interval) -> Interval:
    """T(n) ÷ T(1), both synchronous; where noise takes an interval below zero, by the delta method."""
    if min(wide.low, single.low) > 0:
        return ratio_of_intervals(wide, single)
    return _by_delta(wide.estimate / single.estimate, wide, single)


def _in_steps(cost: Interval, decode: Interval) -> Interval:
    """A part of a round, which noise may make negative, in decode steps."""
    steps = round_in_decode_steps(Span(cost.estimate, Synchronous), Span(decode.estimate, Pipelined))
    return _by_delta(steps, cost, decode)


def _by_delta(ratio: float, top: Interval, bottom: Interval) -> Interval:
    """The interval of a quotient of any sign over something positive."""
    relative = max(bottom.high - bottom.estimate, bottom.estimate - bottom.low) / bottom.estimate
    down = math.hypot((top.estimate - top.low) / bottom.estimate, ratio * relative)
    up = math.hypot((top.high - top.estimate) / bottom.estimate, ratio * relative)
    return Interval(ratio, ratio - down, ratio + up, top.level, min(top.n, bottom.n))
