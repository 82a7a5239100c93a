"""What a survey found, as tables for a terminal and as plain objects for programs; pure, and without Textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..profilers.judge.amortisation import AmortisationRow, amortisation_of
from ..profilers.judge.census_table import CensusLine, census_totals, lines_by_primitive
from ..profilers.judge.curve import VerifyCurve, verify_curves
from ..profilers.judge.experiments import experiment_rows
from ..profilers.judge.floor import FloorRow, FloorTable, floor_table
from ..profilers.judge.floors import NoFloor
from ..profilers.judge.gap_parts import GapParts, gap_parts
from ..profilers.judge.places_timed import scale_in_full
from ..profilers.judge.routes import route_rows
from ..profilers.judge.ruler_sentences import ruler_sentences
from ..profilers.judge.rulers import Reading, RulerRow, RulerTable, ruler_table
from ..profilers.judge.statistics import Interval
from ..profilers.record.session import Session
from . import figures
from .plain import plain

Drawn = list[RenderableType]
MOST_LINES = 40


def as_drawn(question: str, session: Session) -> Drawn:
    """The answer to a survey question (blocks, census, curve, floor, experiment, survey) as tables and sentences."""
    return _ANSWERS[question][0](session)


def as_object(question: str, session: Session) -> dict[str, Any]:
    """The same as plain values."""
    return _ANSWERS[question][1](session)


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
    return Text(f"{model.id} ({model.architecture}, {stored}, {layers}{shape}) on {machine.device} with {machine.blas}")


def blocks(session: Session) -> Drawn:
    """Three rulers side by side, verify ÷ decode by category, and the gap with its parts."""
    drawn: Drawn = [head(session)]
    for width in _widths(session):
        table = ruler_table(session, width)
        if table is None:
            continue
        drawn.append(_rulers(table))
        parts = gap_parts(session, width)
        if parts is not None:
            drawn += [_gap(parts), Text(parts.sentence)]
        drawn += [Text(sentence) for sentence in ruler_sentences(session, width)]
    ratios = _ratios(session)
    return [*drawn, ratios] if ratios is not None else drawn


def blocks_object(session: Session) -> dict[str, Any]:
    """The same by width: rulers, gap and sentences."""
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


def _widths(session: Session) -> list[int]:
    return sorted({p.width for p in session.probes if p.category is not None})


def _table(title: str, *columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="ellipsis", no_wrap=True)
    return table


def _flowing(table: Table, index: int) -> None:
    """Let a column of words break over lines."""
    column = table.columns[index]
    column.justify, column.no_wrap, column.overflow = "left", False, "fold"


def _spread(interval: Interval | None) -> str:
    return "" if interval is None else f" {figures.plus_minus(interval)}"


def _reading(reading: Reading[Any]) -> str:
    return figures.NONE if reading.ms is None else f"{figures.bare_ms(reading.ms)}{_spread(reading.interval)}"


def _rulers(table: RulerTable) -> Table:
    title = f"One pass over {figures.count(table.width, 'position')}, ms by ruler"
    drawn = _table(title, "category", "blocks", "fenced", "queued, cycled", "queued, hot")
    for row in table.categories:
        drawn.add_row(*_ruler_cells(row, row.category))
        for detail in (d for d in table.details if d.category == row.category):
            drawn.add_row(*_ruler_cells(detail, f"  {detail.detail}"), style="dim")
    drawn.add_section()
    drawn.add_row(
        "sum",
        str(table.blocks),
        _reading(table.fenced),
        _reading(table.queued_cycled),
        _reading(table.queued_hot),
    )
    drawn.add_row("whole graph, synchronous", "", _reading(table.synchronous), "", "")
    if table.width == 1:
        drawn.add_row("whole graph, pipelined", "", _reading(table.pipelined), "", "")
    fence = "" if table.fence_ms is None else f"A fence costs {table.fence_ms * 1e3:.0f} µs by itself. "
    missing = " ".join(dict.fromkeys(m for m in (r.missing for r in _all_readings(table)) if m))
    drawn.caption = f"{fence}{missing}" or None
    drawn.caption_justify = "left"
    return drawn


def _all_readings(table: RulerTable) -> Sequence[Reading[Any]]:
    last = (table.pipelined,) if table.width == 1 else ()
    return (table.synchronous, table.fenced, table.queued_cycled, table.queued_hot, *last)


def _ruler_cells(row: RulerRow, name: str) -> tuple[str, ...]:
    return name, str(row.blocks), _reading(row.fenced), _reading(row.queued_cycled), _reading(row.queued_hot)


def _gap(parts: GapParts) -> Table:
    drawn = _table("The gap: whole graph − queued sum, ms", "part", "ms", "of the wall", "what it is")
    _flowing(drawn, 3)
    for part in (*parts.parts, parts.rest):
        drawn.add_row(
            part.name if part.count is None else f"{part.name} ({part.count})",
            figures.bare_ms(part.ms),
            figures.percent(part.of_wall, signed=True),
            part.note,
        )
    drawn.add_section()
    drawn.add_row(
        "gap",
        figures.bare_ms(parts.gap.ms),
        figures.percent(parts.gap.of_wall, signed=True),
        f"{figures.percent(parts.gap.of_sum, signed=True)} of the sum",
    )
    return drawn


def _ratios(session: Session) -> Table | None:
    """Verify ÷ decode of every category on the queued ruler, else the fenced one, and of the whole graph."""
    wide = [width for width in _widths(session) if width > 1]
    single = ruler_table(session, 1)
    if not wide or single is None:
        return None
    columns = [(width, _ratio_object(session, width)) for width in wide]
    drawn = _table("Verify ÷ decode by category, one ruler each", "category", *(f"n = {width}" for width, _ in columns))
    names = [name for name in columns[0][1] if name != "ruler"]
    for name in names:
        drawn.add_row(name, *(figures.ratio(ratios.get(name)) for _, ratios in columns))
    drawn.caption = f"Blocks by the {columns[0][1]['ruler']} ruler; the whole graph synchronous."
    drawn.caption_justify = "left"
    return drawn


def _ratio_object(session: Session, width: int) -> dict[str, Any]:
    top, bottom = ruler_table(session, width), ruler_table(session, 1)
    if top is None or bottom is None:
        return {}
    queued = top.queued_cycled.ms is not None and bottom.queued_cycled.ms is not None
    below = {row.category: row for row in bottom.categories}
    found: dict[str, Any] = {"ruler": "queued" if queued else "fenced"}
    for row in top.categories:
        other = below.get(row.category)
        if other is not None:
            found[row.category] = (
                _over(row.queued_cycled, other.queued_cycled) if queued else _over(row.fenced, other.fenced)
            )
    found["whole graph"] = _over(top.synchronous, bottom.synchronous)
    return found


def _over(wide: Reading[Any], single: Reading[Any]) -> float | None:
    """T(n) ÷ T(1) by one ruler; None where either is missing or noise."""
    if wide.span is None or single.span is None or single.span.ms <= 0:
        return None
    quotient: float = wide.span / single.span
    return quotient


def census(session: Session) -> Drawn:
    """Totals by width, primitives by what they move, and the amortisation of the heavy ones."""
    drawn: Drawn = [head(session)]
    for totals in census_totals(session):
        drawn.append(Text(totals.sentence))
        lines = lines_by_primitive(session, totals.width)
        drawn.append(_census(lines[:MOST_LINES], totals.width))
        if len(lines) > MOST_LINES:
            drawn.append(Text(f"… and {len(lines) - MOST_LINES} smaller ones; --json has them all."))
    return [*drawn, *_amortisation(session)]


def census_object(session: Session) -> dict[str, Any]:
    """The same, all lines."""
    return {
        "totals": plain(census_totals(session)),
        "primitives": {str(t.width): plain(lines_by_primitive(session, t.width)) for t in census_totals(session)},
        "amortisation": plain(amortisation_of(session)),
    }


def _census(lines: Iterable[CensusLine], width: int) -> Table:
    drawn = _table(
        f"A pass over {figures.count(width, 'position')}, by block and primitive",
        "block",
        "primitive",
        "count",
        "read",
        "written",
        "flops",
        "inputs of one",
        left=2,
    )
    _flowing(drawn, 6)
    for each in lines:
        drawn.add_row(
            each.block,
            each.primitive,
            str(each.count),
            figures.size(each.bytes_read),
            figures.size(each.bytes_written),
            figures.flops(each.flops),
            " ".join(each.inputs),
        )
    return drawn


def _amortisation(session: Session) -> Drawn:
    table = amortisation_of(session)
    if table is None:
        return []
    drawn = _table(
        "Heavy primitives alone: a call over n positions ÷ a call over one (queued)",
        "weight",
        "shape",
        "stored",
        "a pass",
        "n = 1, ms",
        *(str(w) for w in table.widths if w > 1),
        left=3,
    )
    for row in table.rows:
        drawn.add_row(*_amortisation_cells(row, table.widths))
    cliffs = [f"{row.weight}: cliff {c.below}→{c.above}" for row in table.rows for c in row.cliffs]
    cliffs += [f"{row.weight}: {b.width} costs more than {b.pad_to}" for row in table.rows for b in row.bumps]
    note = "1.00 would be free positions, n that everything is read again for each."
    return [drawn, Text(note), *(Text(cliff) for cliff in cliffs)]


def _amortisation_cells(row: AmortisationRow, widths: Sequence[int]) -> list[str]:
    single = row.cell(1)
    cells = [row.weight, row.shape, row.dtype, str(row.count), figures.NONE]
    if single is not None:
        cells[-1] = f"{single.ms.estimate:.3f}"
    edges = {c.above for c in row.cliffs}
    for width in (w for w in widths if w > 1):
        cell = row.cell(width)
        ratio = None if cell is None or cell.ratio is None else cell.ratio.estimate
        cells.append(f"{figures.ratio(ratio)}{'▲' if width in edges else ''}")
    return cells


def curve(session: Session) -> Drawn:
    """T_verify(n) at every context."""
    curves = verify_curves(session)
    if not curves:
        return [head(session), Text("No width was measured often enough for a curve.")]
    return [head(session), *(drawing for each in curves for drawing in _curve(each))]


def curve_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"curves": plain(verify_curves(session))}


def _curve(found: VerifyCurve) -> Drawn:
    low, high = found.contexts
    where = str(low) if low == high else f"{low} to {high}"
    drawn = _table(f"T_verify(n), {where} positions in the cache", "n", "ms", "÷ T(1)", "each position more, ms", "n =")
    for point in found.points:
        marginal = point.marginal_ms
        drawn.add_row(
            str(point.width),
            f"{figures.bare_ms(point.ms.mean.estimate)} {figures.plus_minus(point.ms.mean)}",
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
    return [drawn, *(Text(sentence) for sentence in sentences)]


def floor(session: Session) -> Drawn:
    """Measured against the least possible, most avoidable first, and the experts that were touched."""
    table = floor_table(session, layer_scale=scale_in_full(session))
    if isinstance(table, NoFloor):
        return [head(session), Text(table.reason)]
    return [head(session), _floor(table), *(Text(s) for s in _floor_sentences(table)), *_routes(session)]


def floor_object(session: Session) -> dict[str, Any]:
    """The same."""
    table = floor_table(session, layer_scale=scale_in_full(session))
    if isinstance(table, NoFloor):
        return {"floor": None, "reason": table.reason, "routes": plain(route_rows(session))}
    rows = [_floor_object(row) for row in table.rows]
    return {"floor": {**plain(table), "rows": rows}, "reason": None, "routes": plain(route_rows(session))}


def _floor_object(row: FloorRow) -> dict[str, Any]:
    return {
        **plain(row),
        "avoidable_ms": row.avoidable_ms,
        "floor_ratio": row.floor_ratio,
        "measured_ratio": row.measured_ratio,
        "details": [_floor_object(detail) for detail in row.details],
    }


def _floor(table: FloorTable) -> Table:
    ruler = "not timed" if table.ruler is None else f"{table.ruler} ruler"
    drawn = _table(
        f"Verify at {figures.count(table.width, 'position')} against its floor, ms ({ruler})",
        "category",
        "measured",
        "floor",
        "avoidable",
        "÷ decode",
        "its floor",
        "bound by",
    )
    for row in table.rows:
        drawn.add_row(*_floor_cells(row, row.category))
        for detail in row.details:
            drawn.add_row(*_floor_cells(detail, f"  {detail.detail or 'other'}"), style="dim")
    drawn.add_section()
    drawn.add_row(
        "all",
        figures.bare_ms(table.measured_verify_ms),
        figures.bare_ms(table.verify.ms),
        figures.bare_ms(table.avoidable_ms),
        "",
        figures.ratio(table.floor_ratio),
        "",
    )
    return drawn


def _floor_cells(row: FloorRow, name: str) -> tuple[str, ...]:
    return (
        name,
        figures.bare_ms(row.measured_verify_ms),
        figures.bare_ms(row.verify.ms),
        figures.bare_ms(row.avoidable_ms),
        figures.ratio(row.measured_ratio),
        figures.ratio(row.floor_ratio),
        "flops" if row.verify.flops_bound_ms > row.verify.bytes_bound_ms else "bytes",
    )


def _floor_sentences(table: FloorTable) -> list[str]:
    rate = table.bandwidth
    sentences = [
        f"The floor is bytes ÷ {rate.value / 1e9:.1f} GB/s measured"
        f"{' from the last-level cache' if table.from_cache else ''}, or flops ÷ measured peak where that is more."
    ]
    if table.verify_steps is not None:
        sentences.append(
            f"At best a verify round of {table.width} positions costs {table.verify_steps:.2f} decode steps."
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
    drawn = _table("Distinct experts a layer", "block", "n", "mean", "from … to", "independent", "n·K")
    for row in rows:
        drawn.add_row(
            row.block,
            str(row.width),
            f"{row.mean:.2f}",
            f"{row.least} … {row.most}",
            f"{row.independent:.2f}",
            str(row.without_sharing),
        )
    return [drawn]


def experiment(session: Session) -> Drawn:
    """Each switch against the control."""
    rows = experiment_rows(session)
    if not rows:
        return [head(session), Text("No experiment is in this session.")]
    columns = ("switch", "setting", "n", "÷ control", "judged", "peak memory")
    drawn = _table("Switches of MLX, each against a process as it is", *columns, left=2)
    for row in rows:
        change = row.peak_difference_bytes
        memory = figures.NONE if change is None else f"{'+' if change >= 0 else '−'}{figures.size(abs(change))}"
        drawn.add_row(row.name, row.arm, str(row.width), figures.with_span(row.ratio, 3), row.judged, memory)
    return [head(session), drawn, *(Text(row.sentence) for row in rows)]


def experiment_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"experiments": [{**plain(row), "sentence": row.sentence} for row in experiment_rows(session)]}


def everything(session: Session) -> Drawn:
    """All tables of a whole survey."""
    parts = (blocks(session), census(session)[1:], floor(session)[1:], curve(session)[1:])
    return [Padding(drawing, (0, 0)) for part in parts for drawing in part]


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
