"""Block probes as a table: time per op category by two rulers, the gap they leave, and verify ÷ decode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..measure.timings import CATEGORIES
from ..record.session import Session
from .alike_probes import Alike, alike
from .economics import Gap, gap, width_ratio
from .gap_parts import gap_parts
from .numbers import MS
from .places import Place, fenced_places, fenced_sum, queueable, queued_places
from .readings import samples
from .rulers import fence_cost
from .shown import (
    ShownPasses,
    at_one_context,
    never_queued,
    shown_slopes,
    shown_verify,
    why_never_queued,
)
from .spans import Fenced, Queued, R, Ruler, Span, Synchronous, combined, ratio
from .statistics import Interval


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One op category, or one kind (`detail`) of it: a decode pass and a verify pass by ruler; None where not timed.

    `ratio` is verify ÷ decode, both synchronous and on one ruler, which `ratio_ruler` names; it is the same one in all
    rows of a table, queued once both sides have timed every place.
    """

    category: str
    decode_queued: Span[Queued] | None
    decode_fenced: Span[Fenced] | None
    verify_queued: Span[Queued] | None
    verify_fenced: Span[Fenced] | None
    ratio: float | None
    ratio_ruler: Ruler | None
    ratio_interval: Interval | None = None
    detail: str | None = None

    @property
    def decode_queued_ms(self) -> float | None:
        """The queued decode pass, for showing."""
        return None if self.decode_queued is None else self.decode_queued.ms

    @property
    def decode_fenced_ms(self) -> float | None:
        """The fenced decode pass, for showing."""
        return None if self.decode_fenced is None else self.decode_fenced.ms

    @property
    def verify_queued_ms(self) -> float | None:
        """The queued verify pass, for showing."""
        return None if self.verify_queued is None else self.verify_queued.ms

    @property
    def verify_fenced_ms(self) -> float | None:
        """The fenced verify pass, for showing."""
        return None if self.verify_fenced is None else self.verify_fenced.ms


@dataclass(frozen=True, slots=True)
class BlocksTable:
    """Categories in a fixed order, their kinds (`details`), their sums, and the gap to the synchronous wall.

    `width` is how many positions the verify blocks had. `fence_ms` is what one fence costs by itself.
    The queued ruler times one place after another, between segments: until it has timed all that it can
    (`queued_places` of `places`) there is no queued sum, because a sum of some blocks would show a false gap. What
    containers do between their blocks (misc) has no copies to queue: only the fenced ruler sees it, and it is part
    of the gap. `unqueueable` says in words what never will be queued, empty for nothing.
    The wall is the mean of `passes` whole ones, `left_out` more were interrupted, slopes likewise; the gap is that of
    `gap_parts`.
    """

    rows: tuple[CategoryRow, ...]
    details: tuple[CategoryRow, ...]
    width: int | None
    wall: Span[Synchronous] | None
    build_ms: float | None
    queued: Span[Queued] | None
    fenced: Span[Fenced] | None
    gap: Gap | None
    fence_ms: float | None
    places: int
    queued_places: int
    passes: int = 0
    left_out: int = 0
    unqueueable: str = ""

    @property
    def wall_ms(self) -> float | None:
        """The synchronous whole-graph pass over one position, for showing."""
        return None if self.wall is None else self.wall.ms

    @property
    def waiting(self) -> str:
        """What the queued sum and the gap still wait for, or that they never come; empty where there is a sum."""
        if self.queued is not None:
            return ""
        if self.unqueueable:
            return f"No queued sum and no gap: {self.unqueueable}."
        return f"The gap waits for the queued ruler: {self.queued_places} of {self.places} places timed so far."

    @property
    def queued_ms(self) -> float | None:
        """The queued sum, for showing."""
        return None if self.queued is None else self.queued.ms

    @property
    def fenced_ms(self) -> float | None:
        """The fenced sum, for showing."""
        return None if self.fenced is None else self.fenced.ms


@dataclass(frozen=True, slots=True)
class _Pass:
    """The places of one pass by ruler; hot copies count only where none went round all layers, being too fast."""

    queued: Mapping[Place, Span[Queued]]
    fenced: Mapping[Place, Span[Fenced]]

    def of(self, category: str, detail: str | None = None) -> _Pass:
        def inside(place: Place) -> bool:
            return place.category == category and detail in (None, place.detail)

        return _Pass(
            {place: span for place, span in self.queued.items() if inside(place)},
            {place: span for place, span in self.fenced.items() if inside(place)},
        )


def blocks_table(session: Session, width: int | None = None) -> BlocksTable | None:
    """The table of a session, verify at `width` positions or the width that was probed most; None without blocks."""
    session = at_one_context(session)
    probes = [(p, p.one) for p in alike(session.probes) if p.one.category is not None and p.one.ruler != "whole"]
    decoding = [p for p, one in probes if one.part == "decode" or (one.part == "verify" and one.width == 1)]
    if not decoding:
        return None
    wide = [p for p, one in probes if one.part == "verify" and one.width > 1]
    widths: Counter[int] = Counter()
    for each in wide:
        widths[each.one.width] += len(each.rows)
    if width not in widths:
        width = max(set(widths), key=lambda each: widths[each]) if widths else None
    decode, verify = _pass(decoding), _pass([p for p in wide if p.one.width == width])
    seen = {*decode.queued, *decode.fenced, *verify.queued, *verify.fenced}
    found = {place.category for place in seen}
    order = [c for c in CATEGORIES if c in found] + sorted(found - set(CATEGORIES))
    kinds = sorted({p.detail for p in seen if p.detail is not None})
    needed = queueable(decoding)
    complete = set(decode.queued) == needed
    queued = _total(decode.queued) if complete else None
    ruler = Ruler.QUEUED if complete and set(verify.queued) >= needed else Ruler.FENCED
    shown = shown_verify(session, 1)
    wall, apart = _wall(shown), gap_parts(session)
    left = None if wall is None or queued is None or not queued.ms else gap(wall, queued)
    fixed = never_queued(session, decoding)
    return BlocksTable(
        rows=tuple(_row(decode, verify, complete, ruler, category) for category in order),
        details=tuple(
            _row(decode, verify, complete, ruler, category, detail)
            for category in order
            for detail in kinds
            if any(place.category == category and place.detail == detail for place in seen)
        ),
        width=width,
        wall=wall,
        build_ms=shown.build_ms,
        queued=queued,
        fenced=fenced_sum(decoding),
        gap=left if left is None or apart is None else apart.gap,
        fence_ms=fence_cost(session.calibrations)[0],
        places=len(needed),
        queued_places=len(decode.queued),
        passes=len(shown.totals_ns),
        left_out=shown.left_out,
        unqueueable=why_never_queued(fixed) if fixed and needed - set(decode.queued) <= fixed else "",
    )


def _wall(shown: ShownPasses) -> Span[Synchronous] | None:
    totals = samples(shown.totals_ns, Synchronous)
    return totals.span() or (Span(totals.ns[0] * MS, Synchronous) if totals.ns else None)


def _pass(probes: Sequence[Alike]) -> _Pass:
    mine = shown_slopes(probes)
    return _Pass({**queued_places(mine, "hot"), **queued_places(mine, "cycled")}, fenced_places(mine))


def _row(
    decode: _Pass, verify: _Pass, complete: bool, ruler: Ruler, category: str, detail: str | None = None
) -> CategoryRow:
    below, above = decode.of(category, detail), verify.of(category, detail)
    every = {*below.queued, *below.fenced}
    found = _ratio(above.queued, below.queued, every) if ruler is Ruler.QUEUED else None
    found = _ratio(above.fenced, below.fenced, every) if ruler is Ruler.FENCED else found
    return CategoryRow(
        category,
        _total(below.queued) if complete else None,
        _total(below.fenced),
        _total(above.queued),
        _total(above.fenced),
        None if found is None else found[0],
        None if found is None else ruler,
        None if found is None else found[1],
        detail,
    )


def _ratio(
    tops: Mapping[Place, Span[R]], bottoms: Mapping[Place, Span[R]], every: set[Place]
) -> tuple[float, Interval | None] | None:
    """Verify ÷ decode over the same places only, all of the category's, on one ruler."""
    top, bottom = _total(tops), _total(bottoms)
    if top is None or bottom is None or not set(tops) == set(bottoms) == every or top.ms <= 0 or bottom.ms <= 0:
        return None
    known = top.interval() is not None and bottom.interval() is not None
    return width_ratio(top, bottom), ratio(top, bottom) if known else None


def _total(places: Mapping[Place, Span[R]]) -> Span[R] | None:
    return combined([(1.0, span) for span in places.values()]) if places else None
