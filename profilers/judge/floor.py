"""The floor table: the least each op category can cost at n positions, beside what it took, and what is avoidable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ..record.records import Demand, Step
from ..record.session import Session
from .alike_probes import alike, at_contexts, times_of
from .ceilings import Rate
from .economics import expected_experts, round_in_decode_steps
from .event_rows import Ns, Rows, columns_of
from .floors import ENGINE_STATE, Floors, NoFloor, floors_of, nearest, place_of_demand, routed
from .least import Least, StateMoves, total
from .places import NOT_QUEUED, Place, block_probes
from .places_timed import PlacesTimed, Scale, as_built, places_timed
from .readings import pipelined_steps, samples
from .sided import one_side
from .spans import Pipelined, Ruler, Span, Synchronous


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFloors:
    """A row of experts by three counts of distinct experts a pass and layer, and the verify floor of each in ms.

    `recorded` says whether `distinct` was counted at this width; where it was not, it follows independent routing
    between the widths that were. `without_sharing` is n·K, as a kernel reads that fetches each position's anew.
    """

    distinct: float
    recorded: bool
    verify_ms: float
    independent: float
    independent_ms: float
    without_sharing: int
    without_sharing_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorRow:
    """One op category, or one detail of it: the least of decode and verify, and what they took, in ms.

    Measured values are of the table's ruler and None where it did not time every place. `details` are the rows of a
    category by detail, empty where there is one only.
    """

    category: str
    detail: str | None
    decode: Least
    verify: Least
    measured_decode_ms: float | None
    measured_verify_ms: float | None
    experts: ExpertFloors | None = None
    details: tuple[FloorRow, ...] = ()

    @property
    def raw_avoidable_ms(self) -> float | None:
        """Measured − floor at n positions; below zero by noise, or because weights came from a cache."""
        return None if self.measured_verify_ms is None else self.measured_verify_ms - self.verify.ms

    @property
    def avoidable_ms(self) -> float | None:
        """The same, never below zero."""
        return None if self.raw_avoidable_ms is None else max(0.0, self.raw_avoidable_ms)

    @property
    def floor_ratio(self) -> float | None:
        """Floor at n ÷ floor at 1: what verify ÷ decode would be at best."""
        return self.verify.ms / self.decode.ms if self.decode.ms > 0 else None

    @property
    def measured_ratio(self) -> float | None:
        """Measured verify ÷ decode, on one ruler."""
        wide, single = self.measured_verify_ms, self.measured_decode_ms
        return wide / single if wide is not None and single is not None and single > 0 and wide > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorTable:
    """Rows by category, most avoidable first, and their sums.

    `ruler` is None without timings. `from_cache`: everything a pass sweeps over fits the last-level cache, and the
    floor is what that gives. `without_peak` are dtypes whose flops no peak was calibrated for, so only bytes count.
    `verify_steps` is the verify floor ÷ T_decode (pipelined), None without plain decode. `extrapolated`: some places
    stand for more layers than were built. What containers do between their blocks (misc) cannot be queued, so it is no
    part of a queued sum; it is a part of the gap.
    """

    width: int
    context: int
    rows: tuple[FloorRow, ...]
    decode: Least
    verify: Least
    measured_decode_ms: float | None
    measured_verify_ms: float | None
    ruler: Ruler | None
    bandwidth: Rate
    from_cache: bool
    without_peak: tuple[str, ...]
    verify_steps: float | None
    extrapolated: bool

    @property
    def floor_ratio(self) -> float | None:
        """Floor at n ÷ floor at 1 of the whole pass."""
        return self.verify.ms / self.decode.ms if self.decode.ms > 0 else None

    @property
    def avoidable_ms(self) -> float | None:
        """Measured − floor of the whole pass, never below zero; None where the ruler did not time every place."""
        return None if self.measured_verify_ms is None else max(0.0, self.measured_verify_ms - self.verify.ms)


def floor_table(
    session: Session,
    width: int | None = None,
    context: int | None = None,
    *,
    state: StateMoves = ENGINE_STATE,
    layer_scale: Scale = as_built,
) -> FloorTable | NoFloor:
    """The floors at `width` positions, or at the width above one that blocks were timed at most, beside timings.

    Arguments as for `floors_of`; `layer_scale` multiplies timings too.
    """
    floors = floors_of(session, context, state=state, layer_scale=layer_scale)
    if isinstance(floors, NoFloor):
        return floors
    width = width or _timed_width(session)
    contexts = sorted({d.context for d in session.demands})
    narrow, wide = (
        at_contexts(block_probes(session, n), lambda each: nearest(contexts, each) == floors.context)
        for n in (1, width)
    )
    needed = {(d.category, d.block) for d in floors.demands if d.category != NOT_QUEUED}
    timed = places_timed(narrow, wide, needed, layer_scale)
    by_category: dict[str, list[Demand]] = {}
    for demand in floors.demands:
        by_category.setdefault(demand.category, []).append(demand)
    rows = [_category_row(floors, width, demands, timed) for demands in by_category.values()]
    decode = pipelined_decode(session)
    verify = total(row.verify for row in rows)
    # T_decode is of the layers that were built, so the floor beside it must be too
    as_it_is = floors_of(session, context, state=state)
    built = verify if isinstance(as_it_is, NoFloor) else as_it_is.verify(width)
    summed = rows if timed is None or timed.ruler is not Ruler.QUEUED else [r for r in rows if r.category != NOT_QUEUED]
    peaks = floors.ceilings.peak_by_dtype
    return FloorTable(
        width=width,
        context=floors.context,
        rows=tuple(sorted(rows, key=_most_avoidable)),
        decode=total(row.decode for row in rows),
        verify=verify,
        measured_decode_ms=_sum([row.measured_decode_ms for row in summed]),
        measured_verify_ms=_sum([row.measured_verify_ms for row in summed]),
        ruler=None if timed is None else timed.ruler,
        bandwidth=floors.bandwidth,
        from_cache=floors.from_cache,
        without_peak=tuple(sorted({d.dtype for d in floors.demands if d.flops and d.dtype not in peaks})),
        verify_steps=None if decode is None else round_in_decode_steps(Span(built.ms, Synchronous), decode),
        extrapolated=any(layer_scale(place_of_demand(d)) != 1.0 for d in floors.demands),
    )


def pipelined_decode(session: Session) -> Span[Pipelined] | None:
    """T_decode: plain pipelined steps that count, else pipelined whole-graph probes of one position."""
    session = one_side(session)
    known = columns_of(session.steps, Step)
    counted = np.flatnonzero((known.column("warm_up") == 0) & (known.column("step_ns") > 0))
    steps = pipelined_steps(Rows(known, counted))
    span = None if steps is None else steps.span()
    if span is not None:
        return span
    probes = [(p, p.one) for p in alike(session.probes) if p.one.ruler == "whole" and p.one.pipelined]
    timed = times_of([p for p, one in probes if one.width == 1 and one.part != "draft"]).array
    return samples(Ns(timed[timed > 0]), Pipelined).span()


def _category_row(floors: Floors, width: int, demands: Sequence[Demand], timed: PlacesTimed | None) -> FloorRow:
    details = sorted({d.detail for d in demands}, key=lambda detail: detail or "")
    if len(details) == 1:
        return _row(floors, width, demands, demands, timed)
    below = [_row(floors, width, [d for d in demands if d.detail == detail], demands, timed) for detail in details]
    return _row(floors, width, demands, demands, timed, tuple(sorted(below, key=_most_avoidable)))


def _row(
    floors: Floors,
    width: int,
    mine: Sequence[Demand],
    category: Sequence[Demand],
    timed: PlacesTimed | None,
    details: tuple[FloorRow, ...] = (),
) -> FloorRow:
    return FloorRow(
        category=mine[0].category,
        detail=None if details else mine[0].detail,
        decode=total(floors.of(d, 1) for d in mine),
        verify=total(floors.of(d, width) for d in mine),
        measured_decode_ms=None if timed is None else _measured(timed.decode, mine, category),
        measured_verify_ms=None if timed is None else _measured(timed.verify, mine, category),
        experts=_experts(floors, mine, width),
        details=details,
    )


def _measured(ms_by_place: Mapping[Place, float], mine: Sequence[Demand], category: Sequence[Demand]) -> float | None:
    """What the places of some demands of a category took; None where one of them was not timed apart."""
    details_by_block: dict[str, set[str | None]] = {}
    for demand in category:
        details_by_block.setdefault(demand.block, set()).add(demand.detail)
    wanted = {(d.block, d.detail) for d in mine}
    whole = {block for block, details in details_by_block.items() if {(block, d) for d in details} <= wanted}
    found = {
        place: ms
        for place, ms in ms_by_place.items()
        if place.category == mine[0].category and (place.block in whole or (place.block, place.detail) in wanted)
    }
    timed_blocks, timed_details = {p.block for p in found}, {(p.block, p.detail) for p in found}
    if all(d.block in timed_blocks if d.block in whole else (d.block, d.detail) in timed_details for d in mine):
        return sum(found.values())
    return None


def _experts(floors: Floors, demands: Sequence[Demand], width: int) -> ExpertFloors | None:
    """Of the routed demands; the mean count is by their expert bytes."""
    mine = [d for d in demands if routed(d)]
    if not mine:
        return None
    touched = [floors.touched(d, width) for d in mine]
    independent = [expected_experts(d.experts or 1, d.active or 1, width) for d in mine]
    separate = [width * (d.active or 1) for d in mine]
    return ExpertFloors(
        distinct=fmean([distinct for distinct, _ in touched], [d.expert_bytes for d in mine]),
        recorded=all(recorded for _, recorded in touched),
        verify_ms=total(floors.of(d, width) for d in mine).ms,
        independent=fmean(independent, [d.expert_bytes for d in mine]),
        independent_ms=total(floors.of(d, width, n) for d, n in zip(mine, independent, strict=True)).ms,
        without_sharing=max(separate),
        without_sharing_ms=total(floors.of(d, width, n) for d, n in zip(mine, separate, strict=True)).ms,
    )


def _timed_width(session: Session) -> int:
    """The width above one that most blocks were timed at; 2 where none was."""
    widths: Counter[int] = Counter()
    for each in alike(session.probes):
        if each.one.ruler != "whole" and each.one.part == "verify" and each.one.width > 1:
            widths[each.one.width] += len(each.rows)
    return max(sorted(widths), key=lambda width: widths[width]) if widths else 2


def _most_avoidable(row: FloorRow) -> tuple[bool, float, str]:
    """Sorts the most avoidable first, and rows without a measurement last, by floor."""
    raw = row.raw_avoidable_ms
    return raw is None, -(row.verify.ms if raw is None else raw), row.detail or row.category


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if any(v is None for v in known) else sum(v for v in known if v is not None)
