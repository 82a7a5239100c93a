"""How well each weight matrix serves n positions for one read: a row a matrix, a column a width, costs ÷ n = 1.

Rows are written as public threads on small-M quantised matmul write them: the matrix as K→N, the widths across, each
cost as a multiple of the row's own cost at one position. 1.00x is one read for all positions, n x one for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ..record.records import Replay
from ..record.session import Session
from .cliffs import Bump, Cliff, Staircase, staircase
from .economics import gap
from .numbers import MS, whole_probes
from .spans import Queued, Span, Synchronous
from .statistics import LEVEL, Interval, ratio_of_intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class AmortisationCell:
    """One matrix at one width: a call in ms by the queued ruler, and as a multiple of the call at one position.

    `ratio` is None where noise leaves no quotient, or the row lacks one position. `gigabytes_per_second` is what a
    call reads at least ÷ its time: the weights' bytes once, not once a position, so it falls where they are read
    again. `share` is the part that all `count` calls have of everything replayed at that width, on the same ruler;
    `share_of_pass` the part of the synchronous whole-graph pass, None where none was timed.
    """

    width: int
    ms: Interval
    per_position_ms: float
    ratio: Interval | None
    gigabytes_per_second: float | None
    cached: bool | None
    share: float
    share_of_pass: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AmortisationRow:
    """One weight matrix (or cache) over the widths it was replayed at; a pass calls it `count` times."""

    primitive: str
    weight: str
    category: str
    detail: str | None
    shape: str
    dtype: str
    count: int
    cells: tuple[AmortisationCell, ...]
    stairs: Staircase

    @property
    def cliffs(self) -> tuple[Cliff, ...]:
        """Jumps between two replayed widths, in ms a call."""
        return self.stairs.cliffs

    @property
    def bumps(self) -> tuple[Bump, ...]:
        """Widths that cost more than a wider one, in ms a call."""
        return self.stairs.bumps

    def cell(self, width: int) -> AmortisationCell | None:
        """The cell of a width, None where it was not replayed."""
        return next((cell for cell in self.cells if cell.width == width), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmortisationTable:
    """All replayed matrices, those that take most of a pass at the widest width first; `widths` are the columns.

    `replayed_ms` is what all calls of a pass take by width, over the rows that have it.
    """

    widths: tuple[int, ...]
    rows: tuple[AmortisationRow, ...]
    replayed_ms: Mapping[int, float]


Key = tuple[str, str, str, str | None, str, str]


def amortisation_of(session: Session) -> AmortisationTable | None:
    """The table of a session's replays, None without any; several replays of one matrix and width are pooled."""
    by_key: dict[Key, dict[int, list[Replay]]] = {}
    for replay in session.replays:
        key = (replay.primitive, replay.weight, replay.category, replay.detail, replay.shape, replay.dtype)
        by_key.setdefault(key, {}).setdefault(replay.width, []).append(replay)
    if not by_key:
        return None
    replayed: dict[int, float] = {}
    for by_width in by_key.values():
        for width, replays in by_width.items():
            replayed[width] = replayed.get(width, 0.0) + _pooled_ms(replays).estimate * replays[-1].count
    walls = {width: fmean(values) * MS for width, values in whole_probes(session, "verify").items() if values}
    rows = [_row(key, by_width, replayed, walls) for key, by_width in by_key.items()]
    rows.sort(key=lambda row: -row.cells[-1].ms.estimate * row.count)
    return AmortisationTable(widths=tuple(sorted(replayed)), rows=tuple(rows), replayed_ms=replayed)


def _row(
    key: Key, by_width: Mapping[int, Sequence[Replay]], replayed: Mapping[int, float], walls: Mapping[int, float]
) -> AmortisationRow:
    costs = {width: _pooled_ms(replays) for width, replays in sorted(by_width.items())}
    cells = []
    for width, cost in costs.items():
        last = by_width[width][-1]
        whole = cost.estimate * last.count
        cells.append(
            AmortisationCell(
                width=width,
                ms=cost,
                per_position_ms=cost.estimate / width,
                ratio=_ratio(width, cost, costs.get(1)),
                gigabytes_per_second=last.bytes_read / cost.estimate * 1e-6 if cost.estimate > 0 else None,
                cached=last.cached,
                share=whole / replayed[width] if replayed[width] > 0 else 0.0,
                share_of_pass=_of_wall(whole, walls.get(width)),
            )
        )
    primitive, weight, category, detail, shape, dtype = key
    return AmortisationRow(
        primitive=primitive,
        weight=weight,
        category=category,
        detail=detail,
        shape=shape,
        dtype=dtype,
        count=next(iter(by_width.values()))[-1].count,
        cells=tuple(cells),
        stairs=staircase(costs),
    )


def _of_wall(calls_ms: float, wall_ms: float | None) -> float | None:
    """What is not gap when the calls are all there is."""
    return None if wall_ms is None else 1 - gap(Span(wall_ms, Synchronous), Span(calls_ms, Queued)).of_wall


def _pooled_ms(replays: Sequence[Replay]) -> Interval:
    """The mean slope of independent replays in ms; its half width is their root mean square ÷ √m."""
    m = len(replays)
    estimate = fmean(r.slope_ns for r in replays) * MS
    down = (sum((r.slope_ns - r.slope_low_ns) ** 2 for r in replays) ** 0.5) / m * MS
    up = (sum((r.slope_high_ns - r.slope_ns) ** 2 for r in replays) ** 0.5) / m * MS
    return Interval(estimate, estimate - down, estimate + up, LEVEL, m)


def _ratio(width: int, cost: Interval, single: Interval | None) -> Interval | None:
    if single is None or min(cost.low, single.low) <= 0:
        return None
    return Interval(1.0, 1.0, 1.0, LEVEL, single.n) if width == 1 else ratio_of_intervals(cost, single)
