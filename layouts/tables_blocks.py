"""The answer to `specview blocks`: three rulers side by side, the gap with its parts, verify ÷ decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from ..profilers.judge.alike_probes import alike
from ..profilers.judge.gap_parts import GapParts, gap_parts
from ..profilers.judge.ruler_sentences import ruler_sentences
from ..profilers.judge.rulers import Reading, RulerRow, RulerTable, ruler_table
from ..profilers.judge.shown import at_one_context
from ..profilers.judge.spans import ratio
from ..profilers.judge.statistics import Interval
from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn, head, listed, spread, table_of, titled
from .plain import plain

WIDTHS_BESIDE = 4  # verify ÷ decode of so many widths fits 80 columns with their intervals


def blocks(session: Session) -> Drawn:
    """Three rulers side by side, verify ÷ decode by category, and the gap with its parts."""
    session = at_one_context(session)
    if not block_widths(session):
        return [head(session), Text("No block was timed in this session; specview blocks times them.")]
    drawn: Drawn = [head(session)]
    for width in block_widths(session):
        table = ruler_table(session, width)
        if table is None:
            continue
        drawn += _rulers(table)
        parts = gap_parts(session, width)
        if parts is not None:
            drawn += _gap(parts)
        drawn += [*(Text(sentence) for sentence in ruler_sentences(session, width)), Text()]
    return [*drawn, *_ratios(session)]


def blocks_object(session: Session) -> dict[str, Any]:
    """The same by width: rulers, gap and sentences."""
    session = at_one_context(session)
    return {
        "widths": {
            str(width): {
                "rulers": plain(ruler_table(session, width)),
                "gap": plain(gap_parts(session, width)),
                "sentences": list(ruler_sentences(session, width)),
            }
            for width in block_widths(session)
        },
        "ratios": {str(width): _ratio_object(session, width) for width in block_widths(session) if width > 1},
    }


def block_widths(session: Session) -> list[int]:
    """The widths that blocks were timed at."""
    return sorted({p.one.width for p in alike(session.probes) if p.one.category is not None})


def _reading(reading: Reading[Any]) -> str:
    return figures.NONE if reading.ms is None else f"{figures.bare_ms(reading.ms)}{spread(reading.interval)}"


def _rulers(table: RulerTable) -> Drawn:
    drawn = table_of("category", "blocks", "fenced", "queued, cycled", "queued, hot")
    for row in table.categories:
        details = [d for d in table.details if d.category == row.category]
        drawn.add_row(*_ruler_cells(row, row.category))
        for detail in details:
            if len(details) > 1:
                drawn.add_row(*_ruler_cells(detail, f"  {detail.detail}"), style="dim")
            else:
                drawn.add_row(f"  {detail.detail}", style="dim")  # its numbers are those of the row above
    drawn.add_section()
    sums = (_reading(table.fenced), _reading(table.queued_cycled), _reading(table.queued_hot))
    drawn.add_row("sum", str(table.blocks), *sums)
    drawn.add_row("whole, synchronous", "", _reading(table.synchronous), "", "")
    if table.width == 1:
        drawn.add_row("whole, pipelined", "", _reading(table.pipelined), "", "")
    fence = [] if table.fence_ms is None else [f"A fence costs {table.fence_ms * 1e3:.0f} µs by itself."]
    missing = dict.fromkeys(m for m in (r.missing for r in _all_readings(table)) if m)
    title = f"One pass over {figures.count(table.width, 'position')}, ms by ruler (± half of the 95% interval)"
    return [*titled(title, drawn), *(Text(sentence) for sentence in (*fence, *missing, *_left_out(table)))]


def _all_readings(table: RulerTable) -> Sequence[Reading[Any]]:
    last = (table.pipelined,) if table.width == 1 else ()
    return (table.synchronous, table.fenced, table.queued_cycled, table.queued_hot, *last)


def _left_out(table: RulerTable) -> list[str]:
    """What was interrupted, in one sentence; none where nothing was."""
    named = (
        ("whole passes", table.synchronous),
        ("cycled slopes", table.queued_cycled),
        ("hot slopes", table.queued_hot),
    )
    told = [
        f"{reading.left_out} of {reading.n + reading.left_out} {name}" for name, reading in named if reading.left_out
    ]
    return [f"Left out as interrupted: {', '.join(told)}."] if told else []


def _ruler_cells(row: RulerRow, name: str) -> tuple[str, ...]:
    return name, str(row.blocks), _reading(row.fenced), _reading(row.queued_cycled), _reading(row.queued_hot)


def _gap(parts: GapParts) -> Drawn:
    drawn = table_of("part", "ms", "95%", "of the wall")
    out = f", {parts.interrupted} interrupted left out" if parts.interrupted else ""
    drawn.add_row(
        f"wall: {parts.passes} passes{out}", figures.bare_ms(parts.wall.estimate), figures.span(parts.wall), "100.0%"
    )
    drawn.add_row("queued sum", figures.bare_ms(parts.queued.estimate), figures.span(parts.queued), "")
    drawn.add_section()
    for part in (*parts.parts, parts.rest):
        drawn.add_row(
            f"{part.name} ({part.count})" if part.count is not None else part.name,
            figures.bare_ms(part.ms),
            figures.span(part.interval),
            figures.percent(part.of_wall, signed=True),
        )
    drawn.add_section()
    drawn.add_row(
        "gap",
        figures.bare_ms(parts.gap.ms),
        figures.span(parts.interval),
        figures.percent(parts.gap.of_wall, signed=True),
    )
    title = f"The gap over {figures.count(parts.width, 'position')}: whole graph − queued sum, and its parts"
    notes = [f"{part.name}: {part.note}" for part in (*parts.parts, parts.rest)]
    return [*titled(title, drawn), *(Text(f"· {note}") for note in notes), Text(parts.sentence)]


def _ratios(session: Session) -> Drawn:
    """Verify ÷ decode of every category on the queued ruler, else the fenced one, and of the whole graph."""
    columns = [(n, found) for n in block_widths(session) if n > 1 and (found := _ratios_at(session, n)) is not None]
    drawn: Drawn = []
    for start in range(0, len(columns), WIDTHS_BESIDE):
        beside = columns[start : start + WIDTHS_BESIDE]
        table = table_of("category", *(f"n = {width}" for width, _ in beside))
        for name in dict.fromkeys(name for _, found in beside for name in found.by_category):
            table.add_row(name, *(_quotient(found.by_category.get(name)) for _, found in beside))
        table.add_section()
        table.add_row("whole graph", *(_quotient(found.whole) for _, found in beside))
        used = dict.fromkeys(found.ruler for _, found in beside)
        rulers = ", ".join(
            f"{ruler}{'' if len(used) == 1 else ' at n = ' + listed(w for w, f in beside if f.ruler == ruler)}"
            for ruler in used
        )
        drawn += [
            *titled("Verify ÷ decode by category, each on one ruler", table),
            Text(f"Blocks by ruler: {rulers}. The whole graph is synchronous."),
        ]
    return drawn


def _quotient(interval: Interval | None) -> str:
    if interval is None:
        return figures.NONE
    known = interval.low == interval.low
    return f"{interval.estimate:.2f}{spread(interval) if known else ''}"


@dataclass(frozen=True, slots=True)
class _Ratios:
    """T(n) ÷ T(1) by category and of the whole graph; None where one side is missing or noise."""

    ruler: str
    by_category: dict[str, Interval | None]
    whole: Interval | None


def _ratios_at(session: Session, width: int) -> _Ratios | None:
    top, bottom = ruler_table(session, width), ruler_table(session, 1)
    if top is None or bottom is None or not bottom.categories:
        return None
    queued = top.queued_cycled.ms is not None and bottom.queued_cycled.ms is not None
    below = {row.category: row for row in bottom.categories}
    by_category = {
        row.category: _over(row.queued_cycled, below[row.category].queued_cycled)
        if queued
        else _over(row.fenced, below[row.category].fenced)
        for row in top.categories
        if row.category in below
    }
    return _Ratios("queued" if queued else "fenced", by_category, _over(top.synchronous, bottom.synchronous))


def _ratio_object(session: Session, width: int) -> dict[str, Any] | None:
    found = _ratios_at(session, width)
    return None if found is None else plain(found)


def _over(wide: Reading[Any], single: Reading[Any]) -> Interval | None:
    """T(n) ÷ T(1) by one ruler; None where either is missing or noise."""
    if wide.span is None or single.span is None or min(wide.span.ms, single.span.ms) <= 0:
        return None
    return ratio(wide.span, single.span)
