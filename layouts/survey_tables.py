"""What a survey found, as tables for a terminal and as plain objects for programs; pure, and without Textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..engine.errors import SpecviewError
from ..profilers.judge.amortisation import AmortisationRow, amortisation_of
from ..profilers.judge.census_table import CensusLine, census_totals, lines_by_primitive
from ..profilers.judge.curve import VerifyCurve, pooled_curve, verify_curves
from ..profilers.judge.experiments import ExperimentRow, experiment_rows
from ..profilers.judge.floor import FloorRow, FloorTable, floor_table
from ..profilers.judge.floors import NoFloor, floors_of
from ..profilers.judge.gap_parts import BOUNDARIES, GapParts, gap_parts
from ..profilers.judge.ledger import ledger_of
from ..profilers.judge.places_timed import scale_in_full
from ..profilers.judge.reachable import Reachable, reachable
from ..profilers.judge.routes import route_rows
from ..profilers.judge.ruler_sentences import ruler_sentences
from ..profilers.judge.rulers import Reading, RulerRow, RulerTable, ruler_table
from ..profilers.judge.spans import ratio
from ..profilers.judge.statistics import Interval
from ..profilers.record.session import Session
from . import figures
from .plain import plain

Drawn = list[RenderableType]
MOST_LINES = 40
WIDE_COLUMNS = 110  # from here on shapes find room beside the numbers
WIDTHS_BESIDE = 4  # verify ÷ decode of so many widths fits 80 columns with their intervals
IN_A_LAYER = "model.layers."  # of a place such as model.layers.*.mlp, whose star says enough on a narrow terminal


@dataclass(frozen=True, slots=True)
class Fitting:
    """The full table where the terminal has room for it, else the narrow one."""

    wide: RenderableType
    narrow: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.wide if options.max_width >= WIDE_COLUMNS else self.narrow


def as_drawn(question: str, session: Session) -> Drawn:
    """The answer to a survey question (blocks, census, curve, floor, experiment, survey) as tables and sentences."""
    first, *rest = _ANSWERS[question][0](session)
    return [first, *cautions(session), *rest]


def as_object(question: str, session: Session) -> dict[str, Any]:
    """The same as plain values, with what was measured on what and whether it ran to its end."""
    environment, model = plain(session.header.environment), plain(session.header.model)
    facts = {"status": session.status, "model": model, "environment": environment}
    return {**facts, **_ANSWERS[question][1](session)}


def head(session: Session) -> Text:
    """What was measured on what, in one line."""
    model, machine = session.header.model, session.header.environment
    stored = model.quantisation or model.dtype
    built = sum(count for _, count in model.layers)
    if model.layers_in_full is not None:
        layers = f"{built} of {sum(count for _, count in model.layers_in_full)} layers"
    else:
        layers = figures.count(built, "layer")
    shape = ", random weights" if model.random_weights else ""
    blas = "" if machine.blas is None else f" with {machine.blas}"
    where = f"on {machine.device or 'an unnamed device'}{blas}"
    return Text(f"{model.id} ({model.architecture}, {stored}, {layers}{shape}) {where}")


def cautions(session: Session) -> Drawn:
    """What is wrong with the session as a whole: it did not run to its end, or not all of it could be read."""
    said = []
    if session.status != "finished":
        why = f" ({session.footer.reason})" if session.footer is not None and session.footer.reason else ""
        said.append(f"It was {session.status}{why}: these are the figures of what was measured until then.")
    if session.problems:
        first, lines = session.problems[0], figures.count(len(session.problems), "line")
        said.append(f"{lines} of the file could not be read; the first is line {first.line}: {first.text}")
    return [Text(sentence) for sentence in said]


def blocks(session: Session) -> Drawn:
    """Three rulers side by side, verify ÷ decode by category, and the gap with its parts."""
    session = _at_one_context(session)
    if not _widths(session):
        return [head(session), Text("No block was timed in this session; specview blocks times them.")]
    drawn: Drawn = [head(session)]
    for width in _widths(session):
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
    session = _at_one_context(session)
    return {
        "widths": {
            str(width): {
                "rulers": plain(ruler_table(session, width)),
                "gap": plain(gap_parts(session, width)),
                "sentences": list(ruler_sentences(session, width)),
            }
            for width in _widths(session)
        },
        "ratios": {str(width): _ratio_object(session, width) for width in _widths(session) if width > 1},
    }


def _at_one_context(session: Session) -> Session:
    """A survey with the probes of the context that its blocks were timed at: a curve has passes at others too."""
    contexts = {p.context for p in session.probes if p.category is not None}
    if session.runs or len(contexts) != 1:
        return session
    return replace(session, probes=tuple(p for p in session.probes if p.context in contexts))


def _widths(session: Session) -> list[int]:
    return sorted({p.width for p in session.probes if p.category is not None})


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="ellipsis", no_wrap=True)
    return table


def _titled(title: str, table: RenderableType) -> Drawn:
    """A table under its title, which may be longer than the table is wide."""
    return [Text(title, style="italic"), table]


def _flowing(table: Table, index: int) -> None:
    """Let a column of words break over lines."""
    column = table.columns[index]
    column.justify, column.no_wrap, column.overflow = "left", False, "fold"


def _spread(interval: Interval | None) -> str:
    """Half the interval in percent, as short as a column wants it."""
    if interval is None or interval.estimate == 0:
        return ""
    percent = abs(interval.high - interval.low) / 2 / abs(interval.estimate) * 100
    if not percent < 1000:
        return " ±>999%"
    return f" ±{percent:.0f}%" if percent >= 9.95 else f" ±{percent:.1f}%"


def _small_ms(value: float | None) -> str:
    """Milliseconds with a third decimal below a tenth, since much of a floor lies there."""
    return figures.bare_ms(value) if value is None or abs(value) >= 0.1 else f"{value:.3f}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e3:.1f} kB" if size_bytes < 1e5 else figures.size(size_bytes)


def _reading(reading: Reading[Any]) -> str:
    return figures.NONE if reading.ms is None else f"{figures.bare_ms(reading.ms)}{_spread(reading.interval)}"


def _rulers(table: RulerTable) -> Drawn:
    drawn = _table("category", "blocks", "fenced", "queued, cycled", "queued, hot")
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
    return [*_titled(title, drawn), *(Text(sentence) for sentence in (*fence, *missing))]


def _all_readings(table: RulerTable) -> Sequence[Reading[Any]]:
    last = (table.pipelined,) if table.width == 1 else ()
    return (table.synchronous, table.fenced, table.queued_cycled, table.queued_hot, *last)


def _ruler_cells(row: RulerRow, name: str) -> tuple[str, ...]:
    return name, str(row.blocks), _reading(row.fenced), _reading(row.queued_cycled), _reading(row.queued_hot)


def _gap(parts: GapParts) -> Drawn:
    drawn = _table("part", "ms", "95%", "of the wall")
    out = f", {parts.interrupted} interrupted left out" if parts.interrupted else ""
    drawn.add_row(
        f"wall: {parts.passes} passes{out}", figures.bare_ms(parts.wall.estimate), figures.span(parts.wall), "100.0%"
    )
    drawn.add_row("queued sum", figures.bare_ms(parts.queued.estimate), figures.span(parts.queued), "")
    drawn.add_section()
    for part in (*parts.parts, parts.rest):
        # the count of dispatches is of those inside the blocks, and the note says both
        counted = part.count is not None and part.name != BOUNDARIES
        drawn.add_row(
            f"{part.name} ({part.count})" if counted else part.name,
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
    return [*_titled(title, drawn), *(Text(f"· {note}") for note in notes), Text(parts.sentence)]


def _ratios(session: Session) -> Drawn:
    """Verify ÷ decode of every category on the queued ruler, else the fenced one, and of the whole graph."""
    columns = [(n, found) for n in _widths(session) if n > 1 and (found := _ratios_at(session, n)) is not None]
    drawn: Drawn = []
    for start in range(0, len(columns), WIDTHS_BESIDE):
        beside = columns[start : start + WIDTHS_BESIDE]
        table = _table("category", *(f"n = {width}" for width, _ in beside))
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
            *_titled("Verify ÷ decode by category, each on one ruler", table),
            Text(f"Blocks by ruler: {rulers}. The whole graph is synchronous."),
        ]
    return drawn


def listed(numbers: Iterable[int]) -> str:
    """Numbers with commas between them."""
    return ", ".join(map(str, numbers))


def _quotient(interval: Interval | None) -> str:
    if interval is None:
        return figures.NONE
    known = interval.low == interval.low
    return f"{interval.estimate:.2f}{_spread(interval) if known else ''}"


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
        "amortisation": plain(amortisation_of(_at_one_context(session))),
    }


def _census(lines: Sequence[CensusLine], width: int) -> Drawn:
    columns = ("block", "primitive", "count", "read", "written", "flops")
    wide, narrow = _table(*columns, "inputs of one", left=2), _table(*columns, left=2)
    _flowing(wide, 0)
    _flowing(wide, 6)
    _flowing(narrow, 0)
    for each in lines:
        sizes = (_size(each.bytes_read), _size(each.bytes_written)) if each.known else (figures.NONE, figures.NONE)
        flops = figures.flops(each.flops) if each.known else figures.NONE
        cells = (each.block, each.primitive, str(each.count), *sizes, flops)
        wide.add_row(*cells, " ".join(each.inputs))
        narrow.add_row(each.block.removeprefix(IN_A_LAYER), *cells[1:])
    title = f"A pass over {figures.count(width, 'position')}, by block and primitive, all layers together"
    return _titled(title, Fitting(wide, narrow))


def _amortisation(session: Session) -> Drawn:
    table = amortisation_of(_at_one_context(session))
    if table is None:
        return []
    numbers = ("a pass", "1, ms", *(f"{w}" for w in table.widths if w > 1))
    wide, narrow = _table("weight", "shape, stored", *numbers, left=2), _table("weight", *numbers)
    _flowing(wide, 0)
    _flowing(wide, 1)
    _flowing(narrow, 0)
    for row in table.rows:
        weight, cells = row.weight.removeprefix(IN_A_LAYER), _amortisation_cells(row, table.widths)
        wide.add_row(row.weight, f"{row.shape}, {row.dtype}", *cells)
        narrow.add_row(weight, *cells)
    cliffs = [f"{row.weight}: cliff {c.below}→{c.above}" for row in table.rows for c in row.cliffs]
    cliffs += [f"{row.weight}: {b.width} costs more than {b.pad_to}" for row in table.rows for b in row.bumps]
    marked = " ▲ stands after a cliff." if any(row.cliffs for row in table.rows) else ""
    note = f"1.00 would be free positions, n that everything is read again for each.{marked}"
    title = "Heavy primitives alone: a call over n positions ÷ a call over one (queued), calls a pass, ms a call"
    return [*_titled(title, Fitting(wide, narrow)), Text(note), *(Text(cliff) for cliff in cliffs)]


def _amortisation_cells(row: AmortisationRow, widths: Sequence[int]) -> list[str]:
    single = row.cell(1)
    cells = [str(row.count), figures.NONE if single is None else f"{single.ms.estimate:.3f}"]
    edges = {c.above for c in row.cliffs}
    for width in (w for w in widths if w > 1):
        cell = row.cell(width)
        found = None if cell is None or cell.ratio is None else cell.ratio.estimate
        cells.append(f"{figures.ratio(found)}{'▲' if width in edges else ''}")
    return cells


def curve(session: Session) -> Drawn:
    """T_verify(n) at every context; of a recording, whose contexts grow all the time, at all of them together."""
    curves = _curves(session)
    if not curves:
        return [
            head(session),
            Text("No curve: it takes passes over one position and over more, at least two each; specview curve."),
        ]
    return [head(session), *(drawing for each in curves for drawing in _curve(each))]


def curve_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"curves": plain(_curves(session))}


def _curves(session: Session) -> tuple[VerifyCurve, ...]:
    if not session.runs:
        return verify_curves(session)
    pooled = pooled_curve(session)
    return () if pooled is None else (pooled,)


def _curve(found: VerifyCurve) -> Drawn:
    low, high = found.contexts
    where = str(low) if low == high else f"{low} to {high}"
    drawn = _table("n", "ms", "÷ T(1)", "each position more, ms", "passes")
    for point in found.points:
        marginal = point.marginal_ms
        drawn.add_row(
            str(point.width),
            f"{figures.bare_ms(point.ms.mean.estimate)}{_spread(point.ms.mean)}",
            figures.with_span(point.ratio),
            figures.NONE if marginal is None else figures.with_span(marginal),
            str(point.ms.n),
        )
    sentences = [
        f"Cliff between {c.below} and {c.above}: {figures.ms(c.marginal)} a position, else {figures.ms(c.typical)}."
        for c in found.cliffs
    ]
    sentences += [
        f"{b.width} positions cost more than {b.pad_to}: pad to {b.pad_to} and save {figures.ms(b.saved)}."
        for b in found.bumps
    ]
    if found.stairs.typical is None:
        sentences.append("Too few widths to tell a cliff: ask for more, such as --widths 1-16.")
    title = f"T_verify(n), synchronous whole passes, {where} positions in the cache"
    return [*_titled(title, drawn), *(Text(sentence) for sentence in sentences)]


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
    scale, widths = scale_in_full(session), [width for width in _widths(session) if width > 1]
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
    drawn = _table("category", "measured", "floor", "avoidable", "÷ decode", "at best", "bound")
    for row in table.rows:
        drawn.add_row(*_floor_cells(row, row.category))
        for detail in row.details:
            drawn.add_row(*_floor_cells(detail, f"  {detail.detail or 'other'}"), style="dim")
    drawn.add_section()
    avoidable = None if table.measured_verify_ms is None else max(0.0, table.measured_verify_ms - table.verify.ms)
    drawn.add_row(
        "all",
        _small_ms(table.measured_verify_ms),
        _small_ms(table.verify.ms),
        _small_ms(avoidable),
        figures.ratio(_quotient_of(table.measured_verify_ms, table.measured_decode_ms)),
        figures.ratio(_quotient_of(table.verify.ms, table.decode.ms)),
        table.verify.binds,
    )
    return _titled(f"Verify at {figures.count(table.width, 'position')} against its floor, ms ({ruler})", drawn)


def _quotient_of(top_ms: float | None, bottom_ms: float | None) -> float | None:
    """Both on one ruler."""
    return top_ms / bottom_ms if top_ms is not None and bottom_ms is not None and bottom_ms > 0 else None


def _floor_cells(row: FloorRow, name: str) -> tuple[str, ...]:
    nothing = row.verify.ms == 0
    return (
        name,
        _small_ms(row.measured_verify_ms),
        figures.NONE if nothing else _small_ms(row.verify.ms),
        _small_ms(row.avoidable_ms),
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
    drawn = _table("block", "n", "mean", "from … to", "independent", "n·K")
    _flowing(drawn, 0)
    for row in rows:
        drawn.add_row(
            row.block,
            str(row.width),
            f"{row.mean:.2f}",
            f"{row.least} … {row.most}",
            f"{row.independent:.2f}",
            str(row.without_sharing),
        )
    return _titled("Distinct experts that n positions touch, of one layer", drawn)


def experiment(session: Session) -> Drawn:
    """Each switch against the control."""
    rows = experiment_rows(session)
    if not rows:
        return [head(session), Text("No experiment is in this session; specview experiment runs them.")]
    by_switch: dict[str, list[ExperimentRow]] = {}
    for row in rows:
        by_switch.setdefault(row.name, []).append(row)
    tables = (drawing for name, mine in by_switch.items() for drawing in _switch(name, mine))
    return [head(session), *tables, *(Text(row.sentence) for row in rows)]


def _switch(name: str, rows: Sequence[ExperimentRow]) -> Drawn:
    drawn = _table("setting", "n", "÷ control", "judged", "peak memory")
    _flowing(drawn, 0)
    for row in rows:
        change = row.peak_difference_bytes
        memory = figures.NONE if change is None else f"{'+' if change >= 0 else '−'}{_size(abs(change))}"
        drawn.add_row(row.arm, str(row.width), figures.with_span(row.ratio, 3), row.judged, memory)
    return _titled(f"{name}: passes under a setting ÷ passes of a process as it is", drawn)


def experiment_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"experiments": [{**plain(row), "sentence": row.sentence} for row in experiment_rows(session)]}


def everything(session: Session) -> Drawn:
    """All tables of a whole survey."""
    parts = (blocks(session), census(session)[1:], floor(session)[1:], curve(session)[1:])
    found: Drawn = [drawing for part in parts for drawing in part]
    return [*found, *experiment(session)[1:]] if session.experiments else found


def everything_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {
        "blocks": blocks_object(session),
        "census": census_object(session),
        "floor": floor_object(session),
        "curve": curve_object(session),
    }


_ANSWERS: dict[str, tuple[Callable[[Session], Drawn], Callable[[Session], dict[str, Any]]]] = {
    "blocks": (blocks, blocks_object),
    "census": (census, census_object),
    "curve": (curve, curve_object),
    "floor": (floor, floor_object),
    "experiment": (experiment, experiment_object),
    "survey": (everything, everything_object),
}
