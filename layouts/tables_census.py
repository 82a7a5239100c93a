"""The answer to `specview census`: primitives by what they move and compute, and how the heavy ones amortise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from ..profilers.judge.amortisation import AmortisationRow, amortisation_of
from ..profilers.judge.census_table import CensusLine, census_totals, lines_by_primitive
from ..profilers.judge.shown import at_one_context
from ..profilers.record.session import Session
from . import figures
from .drawn import IN_A_LAYER, Drawn, Fitting, flowing, head, short_size, table_of, titled
from .plain import plain

MOST_LINES = 40


def census(session: Session) -> Drawn:
    """Totals by width, primitives by what they move, and the amortisation of the heavy ones."""
    drawn: Drawn = [head(session)]
    if not session.census:
        drawn.append(Text("No census was taken in this session; specview census takes one."))
    for totals in census_totals(session):
        drawn.append(Text(totals.sentence))
        lines = lines_by_primitive(session, totals.width)
        drawn += _census(lines[:MOST_LINES], totals.width)
        if len(lines) > MOST_LINES:
            drawn.append(Text(f"… and {len(lines) - MOST_LINES} smaller ones; --json has them all."))
    return [*drawn, *_amortisation(session)]


def census_object(session: Session) -> dict[str, Any]:
    """The same, all lines."""
    return {
        "totals": plain(census_totals(session)),
        "primitives": {str(t.width): plain(lines_by_primitive(session, t.width)) for t in census_totals(session)},
        "amortisation": plain(amortisation_of(at_one_context(session))),
    }


def _census(lines: Sequence[CensusLine], width: int) -> Drawn:
    columns = ("block", "primitive", "count", "read", "written", "flops")
    wide, narrow = table_of(*columns, "inputs of one", left=2), table_of(*columns, left=2)
    flowing(wide, 0)
    flowing(wide, 6)
    flowing(narrow, 0)
    for each in lines:
        sizes = (
            (short_size(each.bytes_read), short_size(each.bytes_written))
            if each.known
            else (figures.NONE, figures.NONE)
        )
        flops = figures.flops(each.flops) if each.known else figures.NONE
        cells = (each.block, each.primitive, str(each.count), *sizes, flops)
        wide.add_row(*cells, " ".join(each.inputs))
        narrow.add_row(each.block.removeprefix(IN_A_LAYER), *cells[1:])
    title = f"A pass over {figures.count(width, 'position')}, by block and primitive, all layers together"
    return titled(title, Fitting(wide, narrow))


def _amortisation(session: Session) -> Drawn:
    table = amortisation_of(at_one_context(session))
    if table is None:
        return []
    numbers = ("a pass", "1, ms", *(f"{w}" for w in table.widths if w > 1))
    wide, narrow = table_of("weight", "shape, stored", *numbers, left=2), table_of("weight", *numbers)
    flowing(wide, 0)
    flowing(wide, 1)
    flowing(narrow, 0)
    for row in table.rows:
        weight, cells = row.weight.removeprefix(IN_A_LAYER), _amortisation_cells(row, table.widths)
        wide.add_row(row.weight, f"{row.shape}, {row.dtype}", *cells)
        narrow.add_row(weight, *cells)
    cliffs = [f"{row.weight}: cliff {c.below}→{c.above}" for row in table.rows for c in row.cliffs]
    cliffs += [f"{row.weight}: {b.width} costs more than {b.pad_to}" for row in table.rows for b in row.bumps]
    marked = " ▲ stands after a cliff." if any(row.cliffs for row in table.rows) else ""
    note = f"1.00 would be free positions, n that everything is read again for each.{marked}"
    title = "Heavy primitives alone: a call over n positions ÷ a call over one (queued), calls a pass, ms a call"
    return [*titled(title, Fitting(wide, narrow)), Text(note), *(Text(cliff) for cliff in cliffs)]


def _amortisation_cells(row: AmortisationRow, widths: Sequence[int]) -> list[str]:
    single = row.cell(1)
    cells = [str(row.count), figures.NONE if single is None else f"{single.ms.estimate:.3f}"]
    edges = {c.above for c in row.cliffs}
    for width in (w for w in widths if w > 1):
        cell = row.cell(width)
        found = None if cell is None or cell.ratio is None else cell.ratio.estimate
        cells.append(f"{figures.ratio(found)}{'▲' if width in edges else ''}")
    return cells
