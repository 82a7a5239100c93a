"""The answer to `specview floor`: measured against the least possible, and the experts that were touched."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from ..engine.errors import SpecviewError
from ..profilers.judge.floor import FloorRow, FloorTable, floor_table
from ..profilers.judge.floors import NoFloor, floors_of
from ..profilers.judge.ledger import ledger_of
from ..profilers.judge.places_timed import scale_in_full
from ..profilers.judge.reachable import Reachable, reachable
from ..profilers.judge.routes import route_rows
from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn, flowing, head, small_ms, table_of, titled
from .plain import plain
from .tables_blocks import block_widths


def floor(session: Session) -> Drawn:
    """Measured against the least possible, most avoidable first, and the experts that were touched."""
    drawn: Drawn = [head(session)]
    for table in _floors(session):
        if isinstance(table, NoFloor):
            return [*drawn, Text(table.reason)]
        drawn += [*_floor(table), *(Text(sentence) for sentence in _floor_sentences(table))]
    sentences = [*_reachable_sentences(_reachable(session)), *_remarks(session)]
    return [*drawn, *(Text(sentence) for sentence in sentences), *_routes(session)]


def floor_object(session: Session) -> dict[str, Any]:
    """The same, by width."""
    tables = _floors(session)
    found = {
        str(table.width): {**plain(table), "rows": [_floor_object(row) for row in table.rows]}
        for table in tables
        if not isinstance(table, NoFloor)
    }
    reasons = [table.reason for table in tables if isinstance(table, NoFloor)]
    return {
        "widths": found,
        "reason": reasons[0] if reasons else None,
        "reachable": plain(_reachable(session)),
        "remarks": _remarks(session),
        "routes": plain(route_rows(session)),
    }


def _floors(session: Session) -> list[FloorTable | NoFloor]:
    """One for each width above one that blocks were timed at, at least one."""
    scale, widths = scale_in_full(session), [width for width in block_widths(session) if width > 1]
    return [floor_table(session, width, layer_scale=scale) for width in widths or (None,)]


def _remarks(session: Session) -> list[str]:
    """What there is to tell of the calibration that floors are made of, such as that the machine was busy."""
    told = (note.text for note in session.notes if "calibration" in note.tags)
    return [text for text in dict.fromkeys(told) if not text.startswith("Calibrated:")]


def _reachable(session: Session) -> Reachable | None:
    """The best speedup at the acceptance that was measured; None in a survey, which accepts nothing."""
    floors = floors_of(session)
    if not session.rounds or isinstance(floors, NoFloor):
        return None
    try:
        found = reachable(session, ledger_of(session), floors)
    except SpecviewError:  # too little was recorded for a ledger
        return None
    return None if isinstance(found, NoFloor) else found


def _reachable_sentences(found: Reachable | None) -> list[str]:
    if found is None:
        return []
    best, now = figures.times(found.speedup.estimate), ""
    if found.now is not None:
        now = f"; it is {figures.times(found.now)} now"
    return [
        f"With verify at its floor and the rest as measured, drafting would run at {best} "
        f"{figures.span(found.speedup)} of plain decode{now}: a bound, since no kernel reaches a floor."
    ]


def _floor_object(row: FloorRow) -> dict[str, Any]:
    return {
        **plain(row),
        "avoidable_ms": row.avoidable_ms,
        "floor_ratio": row.floor_ratio,
        "measured_ratio": row.measured_ratio,
        "details": [_floor_object(detail) for detail in row.details],
    }


def _floor(table: FloorTable) -> Drawn:
    ruler = "not timed" if table.ruler is None else f"{table.ruler} ruler"
    drawn = table_of("category", "measured", "floor", "avoidable", "÷ decode", "at best", "bound")
    for row in table.rows:
        drawn.add_row(*_floor_cells(row, row.category))
        for detail in row.details:
            drawn.add_row(*_floor_cells(detail, f"  {detail.detail or 'other'}"), style="dim")
    drawn.add_section()
    avoidable = None if table.measured_verify_ms is None else max(0.0, table.measured_verify_ms - table.verify.ms)
    drawn.add_row(
        "all",
        small_ms(table.measured_verify_ms),
        small_ms(table.verify.ms),
        small_ms(avoidable),
        figures.ratio(_quotient_of(table.measured_verify_ms, table.measured_decode_ms)),
        figures.ratio(_quotient_of(table.verify.ms, table.decode.ms)),
        table.verify.binds,
    )
    return titled(f"Verify at {figures.count(table.width, 'position')} against its floor, ms ({ruler})", drawn)


def _quotient_of(top_ms: float | None, bottom_ms: float | None) -> float | None:
    """Both on one ruler."""
    return top_ms / bottom_ms if top_ms is not None and bottom_ms is not None and bottom_ms > 0 else None


def _floor_cells(row: FloorRow, name: str) -> tuple[str, ...]:
    nothing = row.verify.ms == 0
    return (
        name,
        small_ms(row.measured_verify_ms),
        figures.NONE if nothing else small_ms(row.verify.ms),
        small_ms(row.avoidable_ms),
        figures.ratio(row.measured_ratio),
        figures.ratio(row.floor_ratio),
        figures.NONE if nothing else row.verify.binds,
    )


def _floor_sentences(table: FloorTable) -> list[str]:
    rate = table.bandwidth
    sentences = [
        f"The floor is bytes ÷ {rate.value / 1e9:.1f} GB/s measured"
        f"{' from the last-level cache' if table.from_cache else ''}, or flops ÷ measured peak where that is more."
    ]
    if table.without_peak:
        sentences.append(f"No peak was calibrated for {', '.join(table.without_peak)}: only its bytes count.")
    if table.verify_steps is not None:
        sentences.append(
            f"At its floor a verify pass over {table.width} positions would take as long as {table.verify_steps:.2f} "
            "decode steps take now; decode has a floor of its own, and “at best” is floor ÷ floor."
        )
    if table.extrapolated:
        sentences.append("Extrapolated from the layers that were built to all of the architecture's.")
    for row in table.rows:
        for each in (row, *row.details):
            if each.experts is not None and (each.detail is not None or not row.details):
                found = each.experts
                how = "by the routes that occurred" if found.recorded else "no routes were recorded"
                sentences.append(
                    f"Routed experts: {found.distinct:.2f} distinct {how}, {found.independent:.2f} under independent "
                    f"routing, {found.without_sharing} read by a kernel that shares none."
                )
    return list(dict.fromkeys(sentences))


def _routes(session: Session) -> Drawn:
    rows = route_rows(session)
    if not rows:
        return []
    drawn = table_of("block", "n", "mean", "from … to", "independent", "n·K")
    flowing(drawn, 0)
    for row in rows:
        drawn.add_row(
            row.block,
            str(row.width),
            f"{row.mean:.2f}",
            f"{row.least} … {row.most}",
            f"{row.independent:.2f}",
            str(row.without_sharing),
        )
    return titled("Distinct experts that n positions touch, of one layer", drawn)
