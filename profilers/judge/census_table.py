"""The op census of a session as a table: primitives by block, totals by width, and how much of the pass they cover."""

from __future__ import annotations

from dataclasses import dataclass

from ..measure.census.costs import VIEWS
from ..record.records import Census
from ..record.session import Session
from .counted import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusLine:
    """One kind of primitive in one place, or summed over what the line does not name; all layers together.

    `dispatches` are the calls that a device really runs: views are none. `inputs` are those of one call, of the
    heaviest shape. `known`: its shapes are known, so that bytes and flops mean something.
    """

    block: str
    category: str
    detail: str | None
    primitive: str
    layers: int
    count: int
    dispatches: int
    bytes_read: int
    bytes_written: int
    flops: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    known: bool

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusTotals:
    """A whole pass over `width` positions: primitives, dispatches, bytes, flops; shares are of the primitives."""

    width: int
    context: int | None
    primitives: int
    dispatches: int
    bytes_read: int
    bytes_written: int
    flops: int
    coverage: float
    with_shapes: float

    @property
    def sentence(self) -> str:
        """The totals in words."""
        positions = counted(self.width, "position")
        return (
            f"A pass over {positions}: {self.primitives:,} primitives, {self.dispatches:,} of them dispatched, "
            f"{self.bytes_read / 1e6:,.1f} MB read, {self.bytes_written / 1e6:,.2f} MB written, "
            f"{self.flops / 1e6:,.1f} Mflop; the blocks cover {self.coverage:.1%} of it, "
            f"{self.with_shapes:.1%} with shapes."
        )


def census_widths(session: Session) -> tuple[int, ...]:
    """The widths a census was taken at."""
    return tuple(sorted({row.width for row in session.census}))


def _latest(session: Session, width: int) -> tuple[Census, ...]:
    """The rows at a width; a census taken again, or at another context, replaces the one before."""
    rows = [r for r in session.census if r.width == width]
    last = {
        (r.block, r.category, r.detail, r.primitive, r.inputs, r.outputs, r.method): r
        for r in rows
        if r.context == rows[-1].context
    }
    return tuple(last.values())


def census_totals(session: Session) -> tuple[CensusTotals, ...]:
    """Totals of every width."""
    return tuple(_totals(width, _latest(session, width)) for width in census_widths(session))


def _totals(width: int, rows: tuple[Census, ...]) -> CensusTotals:
    primitives = sum(r.count for r in rows)
    return CensusTotals(
        width=width,
        context=rows[0].context,
        primitives=primitives,
        dispatches=sum(r.count for r in rows if r.primitive not in VIEWS),
        bytes_read=sum(r.bytes_read for r in rows),
        bytes_written=sum(r.bytes_written for r in rows),
        flops=sum(r.flops for r in rows),
        coverage=min(r.coverage for r in rows),
        with_shapes=sum(r.count for r in rows if r.method != "names") / max(primitives, 1),
    )


def lines_by_primitive(session: Session, width: int) -> tuple[CensusLine, ...]:
    """One line for each kind of primitive in a place, those that move most first."""
    return _lines(session, width, by_primitive=True)


def lines_by_block(session: Session, width: int) -> tuple[CensusLine, ...]:
    """One line for each place, those that move most first; `primitive` is empty."""
    return _lines(session, width, by_primitive=False)


def _lines(session: Session, width: int, by_primitive: bool) -> tuple[CensusLine, ...]:
    groups: dict[tuple[str, str, str | None, str], list[Census]] = {}
    for row in _latest(session, width):
        key = (row.block, row.category, row.detail, row.primitive if by_primitive else "")
        groups.setdefault(key, []).append(row)
    lines = [_line(key, rows) for key, rows in groups.items()]
    return tuple(sorted(lines, key=lambda each: (-each.bytes_moved, -each.flops, each.block, each.primitive)))


def _line(key: tuple[str, str, str | None, str], rows: list[Census]) -> CensusLine:
    block, category, detail, primitive = key
    heaviest = max(rows, key=lambda r: (r.bytes_read + r.bytes_written, r.flops))
    return CensusLine(
        block=block,
        category=category,
        detail=detail,
        primitive=primitive,
        layers=max(r.layers or 1 for r in rows),
        count=sum(r.count for r in rows),
        dispatches=sum(r.count for r in rows if r.primitive not in VIEWS),
        bytes_read=sum(r.bytes_read for r in rows),
        bytes_written=sum(r.bytes_written for r in rows),
        flops=sum(r.flops for r in rows),
        inputs=heaviest.inputs if primitive else (),
        outputs=heaviest.outputs if primitive else (),
        known=all(r.method != "names" for r in rows),
    )
