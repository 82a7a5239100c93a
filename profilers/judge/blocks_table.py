"""Block probes as a table: ms per op category by two rulers, the gap they leave, and verify ÷ decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from ..measure.timings import CATEGORIES
from ..record.records import Probe
from ..record.session import Session
from .economics import Gap, Ruler, Span, gap, width_ratio

MS = 1e-6


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One op category: ms of a decode pass and of a verify pass by ruler; None where it was not timed.

    `ratio` is verify ÷ decode, both synchronous and on one ruler, which `ratio_ruler` names; it is the same one in all
    rows of a table, queued once both sides have timed every place.
    """

    category: str
    decode_queued_ms: float | None
    decode_fenced_ms: float | None
    verify_queued_ms: float | None
    verify_fenced_ms: float | None
    ratio: float | None
    ratio_ruler: Ruler | None


@dataclass(frozen=True, slots=True)
class BlocksTable:
    """Categories in a fixed order, their sums, and the gap to the synchronous whole-graph wall, in ms.

    `width` is how many positions the verify blocks had. `fence_ms` is what one fence costs by itself.
    The queued ruler times one place after another, between segments: until it has timed all that it can
    (`queued_places` of `places`) there is no queued sum, because a sum of some blocks would show a false gap. What
    containers do between their blocks (misc) has no copies to queue: only the fenced ruler sees it, and it is part
    of the gap.
    """

    rows: tuple[CategoryRow, ...]
    width: int | None
    wall_ms: float | None
    build_ms: float | None
    queued_ms: float | None
    fenced_ms: float | None
    gap: Gap | None
    fence_ms: float | None
    places: int
    queued_places: int


FENCED_ONLY = "misc"
Places = Mapping[tuple[str, str | None], float]


def blocks_table(session: Session, width: int | None = None) -> BlocksTable | None:
    """The table of a session, verify at `width` positions or the width that was probed most; None without blocks."""
    probes = [p for p in session.probes if p.category is not None and p.ruler != "whole"]
    decode = [p for p in probes if p.part == "decode" or (p.part == "verify" and p.width == 1)]
    if not decode:
        return None
    wide = [p for p in probes if p.part == "verify" and p.width > 1]
    widths = [p.width for p in wide]
    if width not in widths:
        width = max(set(widths), key=widths.count) if widths else None
    places = {
        (part, ruler): _places([p for p in chosen if p.ruler == ruler])
        for part, chosen in (("decode", decode), ("verify", [p for p in wide if p.width == width]))
        for ruler in ("queued", "fenced")
    }
    found = {category for each in places.values() for category, _ in each}
    order = [c for c in CATEGORIES if c in found] + sorted(found - set(CATEGORIES))
    wall, build = _whole(session)
    fenced_or_queued = set(places["decode", "queued"]) | set(places["decode", "fenced"])
    all_places = {place for place in fenced_or_queued if place[0] != FENCED_ONLY or place in places["decode", "queued"]}
    complete = set(places["decode", "queued"]) == all_places
    queued = sum(places["decode", "queued"].values()) if complete else None
    ruler = Ruler.QUEUED if complete and set(places["verify", "queued"]) >= all_places else Ruler.FENCED
    return BlocksTable(
        rows=tuple(_row(category, places, complete, ruler) for category in order),
        width=width,
        wall_ms=wall,
        build_ms=build,
        queued_ms=queued,
        fenced_ms=sum(places["decode", "fenced"].values()) or None,
        gap=None if not wall or not queued else gap(Span(wall, Ruler.SYNCHRONOUS), Span(queued, Ruler.QUEUED)),
        fence_ms=_fence(session),
        places=len(all_places),
        queued_places=len(places["decode", "queued"]),
    )


def _row(category: str, places: Mapping[tuple[str, str], Places], complete: bool, ruler: Ruler) -> CategoryRow:
    def of(part: str, ruler: str) -> Places:
        return {place: ms for place, ms in places[part, ruler].items() if place[0] == category}

    # over the same places only, all of the category's, on one ruler
    top, bottom = of("verify", str(ruler)), of("decode", str(ruler))
    every = set(of("decode", "queued")) | set(of("decode", "fenced"))
    divides = set(top) == set(bottom) == every and _total(top) > 0 and _total(bottom) > 0
    return CategoryRow(
        category,
        (_total(of("decode", "queued")) if of("decode", "queued") else None) if complete else None,
        _total(of("decode", "fenced")) if of("decode", "fenced") else None,
        _total(of("verify", "queued")) if of("verify", "queued") else None,
        _total(of("verify", "fenced")) if of("verify", "fenced") else None,
        width_ratio(Span(_total(top), ruler), Span(_total(bottom), ruler)) if divides else None,
        ruler if divides else None,
    )


def _places(probes: list[Probe]) -> Places:
    """What the blocks of each place cost in one pass, in ms: the mean over its probes, Σ over layers timed singly.

    A slope is of one of a place's `layers` blocks. Copies that stayed at one layer (hot) are left out where others
    went round all of them: hot weights are too fast.
    """
    cycled = {p.block for p in probes if p.slope_ns is not None and p.arrangement != "hot" and p.layer is None}
    values: dict[tuple[str, str | None, int | None], list[float]] = {}
    for probe in probes:
        hot = probe.arrangement == "hot" or (probe.slope_ns is not None and probe.layer is not None)
        if probe.category is None or (hot and probe.block in cycled):
            continue
        layer = None if hot else probe.layer
        samples = probe.samples_ns if probe.slope_ns is None else (probe.slope_ns * (probe.layers or 1),)
        if samples:
            values.setdefault((probe.category, probe.block, layer), []).extend(v * MS for v in samples)
    sums: dict[tuple[str, str | None], float] = {}
    for (category, block, _), each in values.items():
        sums[category, block] = sums.get((category, block), 0.0) + fmean(each)
    return sums


def _total(places: Places) -> float:
    return sum(places.values())


def _whole(session: Session) -> tuple[float | None, float | None]:
    """The synchronous whole-graph pass over one position and its graph build, means in ms."""
    chosen = [
        p for p in session.probes if p.ruler == "whole" and p.part == "verify" and p.width == 1 and not p.pipelined
    ]
    walls = [v * MS for p in chosen for v in p.samples_ns or ()]
    builds = [v * MS for p in chosen for v in p.build_ns or ()]
    return (fmean(walls) if walls else None), (fmean(builds) if builds else None)


def _fence(session: Session) -> float | None:
    scale = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0}
    values = [c.value * scale[c.unit] for c in session.calibrations if c.what == "fence" and c.unit in scale]
    return values[-1] if values else None
