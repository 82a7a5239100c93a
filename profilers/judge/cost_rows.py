"""Rows of what passes cost by ruler, and of what makes a session doubtful; every session may have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.errors import SpecviewError
from ..record.session import Session
from .blocks_table import blocks_table
from .counted import counted
from .ledger_rows import LedgerRow, Source, row_of
from .numbers import number, whole_probes
from .readings import shown_wall
from .rulers import Reading, ruler_table
from .shown import at_one_context

SHOWN_GUARDS = 50


def cost_rows(session: Session, widths: Sequence[int], source: Source = "measured") -> list[LedgerRow]:
    """The whole graph by width, each pass by every ruler, in all and by category, the gap, the machine's constants."""
    rows = _verify(session, source)
    for width in dict.fromkeys(widths):
        rows += _rulers(session, width, source)
    return [*rows, *_gap(session), *_constants(session)]


def _verify(session: Session, source: Source) -> list[LedgerRow]:
    rows: list[LedgerRow] = []
    for width in sorted(whole_probes(at_one_context(session), "verify")):
        taken = shown_wall(session, width)
        found = number(taken.ns)
        name = f"T_verify({width})"
        said = f"Whole graph over {counted(width, 'position')}, waited for.{_left_out(taken.left_out)}"
        if found is not None:
            rows += row_of("costs", name, found, ruler="synchronous", source=source, remark=said)
        elif taken.ns:
            rows.append(_once(name, taken.ns[0] / 1e6, "synchronous", source, said))
    return rows


def _left_out(count: int) -> str:
    return f" {count} more interrupted and left out." if count else ""


def _once(name: str, ms: float, ruler: str, source: Source, said: str) -> LedgerRow:
    return LedgerRow(
        group="costs", name=name, value=ms, unit="ms", n=1, ruler=ruler, source=source, remark=f"{said} Timed once."
    )


def _rulers(session: Session, width: int, source: Source) -> list[LedgerRow]:
    try:
        table = ruler_table(session, width)
    except (SpecviewError, ArithmeticError, ValueError):
        return []
    if table is None:
        return []
    at = f"({width})"
    rows = _reading(f"pipelined step {at}", table.pipelined, source, "Whole graph, the next submitted before.")
    rows += _reading(f"fenced sum {at}", table.fenced, source, "Σ of blocks, each timed between fences.")
    rows += _reading(f"queued sum {at}", table.queued_cycled, source, "Σ of blocks by slope, layers cycled.")
    rows += _reading(f"queued hot {at}", table.queued_hot, source, "Σ of blocks by slope, one hot layer.")
    for category in table.categories:
        for reading in (category.fenced, category.queued_cycled, category.queued_hot):
            if reading.ms is not None:
                hot = " One hot layer." if reading is category.queued_hot else ""
                blocks = f"{counted(category.blocks, 'block')}."
                rows += _reading(f"{category.category} {at}", reading, source, f"{blocks}{hot}")
                if reading is category.queued_cycled:
                    break
    return rows


def _reading(name: str, reading: Reading[Any], source: Source, said: str) -> list[LedgerRow]:
    if reading.ms is None:
        return []
    return [
        LedgerRow(
            group="costs",
            name=name,
            value=reading.ms,
            unit="ms",
            interval=reading.interval,
            n=reading.n,
            ruler=str(reading.ruler.word),
            source=source,
            remark=f"{said}{_left_out(reading.left_out)} {reading.missing}".strip(),
        )
    ]


def _gap(session: Session) -> list[LedgerRow]:
    try:
        table = blocks_table(session)
    except (SpecviewError, ArithmeticError, ValueError):
        return []
    if table is None or table.gap is None:
        return []
    gap = table.gap
    said = f"{gap.of_sum:.1%} of the sum, {gap.of_wall:.1%} of the wall."
    row = LedgerRow(
        group="costs", name="gap", value=gap.ms, unit="ms", interval=gap.interval, ruler="sync − queued",
        source="inferred", remark=f"Synchronous whole graph − queued sum. {said}",
    )  # fmt: skip
    return [row]


def _constants(session: Session) -> list[LedgerRow]:
    """Each constant of the machine as calibrated last."""
    last = {(c.what, c.dtype): c for c in session.calibrations if c.what != "canary"}
    return [
        LedgerRow(
            group="costs", name=f"{c.what} {c.dtype or ''}".strip(), value=c.value, unit=c.unit,
            n=1, ruler="calibration", remark="A constant of this machine.",
        )
        for c in last.values()
    ]  # fmt: skip


def guard_rows(session: Session) -> list[LedgerRow]:
    """What the recorder warned of, each code once, and lines of the file that could not be read."""
    by_code: dict[str, list[str]] = {}
    for guard in session.guards:
        by_code.setdefault(guard.code, []).append(f"{guard.message} {guard.remedy or ''}".strip())
    rows = [
        LedgerRow(group="guards", name=code, value=float(len(said)), unit="times", remark=said[-1])
        for code, said in list(by_code.items())[:SHOWN_GUARDS]
    ]
    if session.problems:
        first = session.problems[0]
        rows.append(
            LedgerRow(
                group="guards", name="unreadable lines", value=float(len(session.problems)), unit="lines",
                remark=f"The first is line {first.line}: {first.text}",
            )
        )  # fmt: skip
    if session.footer is None:
        rows.append(
            LedgerRow(group="guards", name="interrupted", remark="It ends without a footer; all that came is here.")
        )
    return rows
