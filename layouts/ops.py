"""The Ops screen: the census with times, floors and what is avoidable, sorted, filtered, and one row in full."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..engine.errors import SpecviewError
from ..profilers.judge.amortisation import AmortisationRow
from ..profilers.judge.floor import FloorRow
from ..profilers.judge.floors import NoFloor
from ..profilers.judge.ops import OpsRow, OpsTable, ops_table, ops_widths
from ..profilers.record.session import Session
from . import figures
from .lines import Line, line, wrapped
from .tables import Column, TableRow, TableView, sorted_rows, table_lines

By = Literal["place", "primitive"]
EMPTY = TableView()
NOTHING = (
    "This session holds no census and no timed blocks. y surveys the same model and opens what it finds here; "
    "without the screen: specview survey, or specview census for the counts alone."
)
COLUMNS = (
    Column("block", "block", text=True, tail=True),
    Column("category", "category", 3, text=True),
    Column("primitive", "primitive", text=True),
    Column("count", "count", 5),
    Column("dispatches", "disp.", 7),
    Column("bytes", "moved", 4),
    Column("flops", "flops", 6),
    Column("decode", "decode", 2),
    Column("verify", "verify", 1),
    Column("ratio", "÷ dec.", 1),
    Column("floor", "floor", 2),
    Column("avoidable", "avoid.", 0),
)
SORTS = tuple(column.key for column in COLUMNS)


@dataclass(frozen=True, slots=True)
class OpsAsk:
    """How the table is asked for; `width` None is the width that most blocks were timed at."""

    by: By = "place"
    sort: str = "avoidable"
    needle: str = ""
    width: int | None = None


@dataclass(frozen=True, slots=True)
class OpsFacts:
    """All tables of a session by width; `first` is the width shown first, `message` stands for no table."""

    table_by_width: tuple[tuple[int, OpsTable], ...] = ()
    first: int | None = None
    message: str = ""

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths there are tables for."""
        return tuple(width for width, _ in self.table_by_width)

    def table(self, ask: OpsAsk) -> OpsTable | None:
        """The table asked for."""
        wanted = self.first if ask.width is None else ask.width
        return next((table for width, table in self.table_by_width if width == wanted), None)


@dataclass(frozen=True, slots=True)
class OpsView:
    """One table as shown: its titles, rows, and how many were left out by the filter."""

    title: str = "Ops"
    subtitle: str = ""
    table: TableView = EMPTY
    notes: tuple[str, ...] = ()


def ops_facts(session: Session) -> OpsFacts:
    """Every table of a session; an unfit session is a message, not a crash."""
    try:
        first = ops_table(session)
        if first is None:
            return OpsFacts(message=NOTHING)
        others = [ops_table(session, width) for width in ops_widths(session) if width != first.width]
    except SpecviewError as error:
        return OpsFacts(message=str(error))
    except (ArithmeticError, ValueError) as error:
        return OpsFacts(message=f"The records of this session do not fit together ({error}).")
    tables = sorted((t.width, t) for t in (first, *others) if t is not None)
    return OpsFacts(tuple(tables), first.width)


def moved_width(facts: OpsFacts, ask: OpsAsk, by: int) -> OpsAsk:
    """The table of the next width, to the ends."""
    now = facts.first if ask.width is None else ask.width
    if now not in facts.widths:
        return ask
    at = facts.widths.index(now) + by
    return replace(ask, width=facts.widths[max(0, min(at, len(facts.widths) - 1))])


def moved_sort(ask: OpsAsk) -> OpsAsk:
    """Sorted by the next column, round and round; a column that is not there in this mode is passed over."""
    keys = [key for key in SORTS if ask.by == "primitive" or key != "primitive"]
    at = keys.index(ask.sort) if ask.sort in keys else len(keys) - 1
    return replace(ask, sort=keys[(at + 1) % len(keys)])


def ops_view(facts: OpsFacts, ask: OpsAsk) -> OpsView:
    """The table as asked for."""
    table = facts.table(ask)
    if table is None:
        return OpsView(table=TableView(message=facts.message or NOTHING))
    rows = table.places if ask.by == "place" else table.primitives
    keys = [key for key in SORTS if ask.by == "primitive" or key != "primitive"]
    kept = [row for row in rows if _found(row, ask.needle)]
    values = [(_value(row, ask.sort), _row(row, keys)) for row in kept]
    numeric = ask.sort not in ("block", "category", "primitive")
    message = ""
    if not rows:
        message = "No census was taken at this width, so primitives are not known: ( ) change the width."
    elif not kept:
        message = f"Nothing here is named {ask.needle!r}: esc shows everything again."
    view = TableView(
        tuple(column for column in COLUMNS if column.key in keys), sorted_rows(values, numeric), ask.sort, message
    )
    mode = "by place" if ask.by == "place" else "by primitive"
    shown = f"{len(kept)} of {len(rows)} " if len(kept) != len(rows) else f"{len(rows)} "
    words = f"/{ask.needle} · " if ask.needle else ""
    title = f"Ops · {mode} · {words}{shown}· a pass over {figures.count(table.width, 'position')}"
    if table.extrapolated:
        title += " · extrapolated to all layers"
    return OpsView(title, _subtitle(table, ask), view, _notes(table))


def _subtitle(table: OpsTable, ask: OpsAsk) -> str:
    if ask.by == "primitive":
        return "ms: replays, queued"
    return "not timed" if table.ruler is None else f"ms, {table.ruler}"


def _notes(table: OpsTable) -> tuple[str, ...]:
    notes = [] if table.totals is None else [table.totals.sentence]
    if isinstance(table.floor, NoFloor):
        notes += [table.floor.reason, "y surveys this model: census, floors and replays."]
    return tuple(notes)


def _found(row: OpsRow, needle: str) -> bool:
    if not needle:
        return True
    text = f"{row.place.block} {row.place.category} {row.place.detail or ''} {row.primitive}".casefold()
    return all(word in text for word in needle.casefold().split())


def _value(row: OpsRow, key: str) -> object:
    return {
        "block": row.place.block,
        "category": f"{row.place.category} {row.place.detail or ''}",
        "primitive": row.primitive,
        "count": row.count,
        "dispatches": row.dispatches,
        "bytes": row.moved_bytes,
        "flops": row.flops,
        "decode": row.decode_ms,
        "verify": row.verify_ms,
        "ratio": row.ratio,
        "floor": row.floor_ms,
        "avoidable": row.avoidable_ms,
    }[key]


def row_key(row: OpsRow) -> str:
    """What tells a row apart from the others of its table."""
    return "\n".join((row.place.block, row.place.category, row.place.detail or "", row.primitive))


def _row(row: OpsRow, keys: list[str]) -> TableRow:
    category = row.place.category if row.place.detail is None else f"{row.place.category}, {row.place.detail}"
    text_by_key = {
        "block": row.place.block,
        "category": category,
        "primitive": row.primitive,
        "count": figures.grouped(row.count),
        "dispatches": figures.grouped(row.dispatches),
        "bytes": figures.size(row.moved_bytes) if row.known else figures.NONE,
        "flops": figures.NONE if row.flops is None or not row.known else figures.flops(row.flops),
        "decode": figures.bare_ms(row.decode_ms),
        "verify": figures.bare_ms(row.verify_ms),
        "ratio": figures.ratio(row.ratio),
        "floor": figures.bare_ms(row.floor_ms),
        "avoidable": figures.bare_ms(row.avoidable_ms),
    }
    return TableRow(row_key(row), tuple(text_by_key[key] for key in keys))


@dataclass(frozen=True, slots=True)
class DetailView:
    """One row in full: what it is, its category's floor, and how its matrices amortise; `lines` for a width."""

    row: OpsRow | None = None
    floor: FloorRow | None = None
    width: int = 2
    notes: tuple[str, ...] = ()


def detail_view(facts: OpsFacts, ask: OpsAsk, key: str | None) -> DetailView:
    """The row of that key, or an empty view with what is known of the whole pass."""
    table = facts.table(ask)
    if table is None:
        return DetailView()
    rows = table.places if ask.by == "place" else table.primitives
    row = next((row for row in rows if row_key(row) == key), None)
    return DetailView(row, None if row is None else table.floor_of(row.place), table.width, _notes(table))


def detail_lines(view: DetailView, width: int) -> list[Line]:
    """The row in full, in lines of that width."""
    row = view.row
    if row is None:
        return [each for note in view.notes for each in wrapped(note, width, "quiet")]
    lines = [line((row.place.block, "strong"), f" {row.primitive}".rstrip())]
    lines += _shapes(row, width)
    if view.floor is not None:
        lines += wrapped(_floor_sentence(view.floor, view.width), width)
    lines += _amortisation(row, width)
    lines += [each for note in view.notes for each in wrapped(note, width, "quiet")]
    return lines


def _shapes(row: OpsRow, width: int) -> list[Line]:
    if not row.inputs:
        return []
    return wrapped(f"{' '.join(row.inputs)} → {' '.join(row.outputs)}", width, "quiet", indent=2)


def _floor_sentence(floor: FloorRow, width: int) -> str:
    name = floor.category if floor.detail is None else f"{floor.category}, {floor.detail}"
    bound = "flops" if floor.verify.flops_bound_ms > floor.verify.bytes_bound_ms else "bytes"
    text = (
        f"{name}: floor {figures.ms(floor.decode.ms)} at 1, {figures.ms(floor.verify.ms)} at {width} "
        f"({figures.ratio(floor.floor_ratio)}, by {bound})"
    )
    if floor.measured_verify_ms is not None:
        text += f"; measured {figures.ms(floor.measured_verify_ms)} ({figures.ratio(floor.measured_ratio)})"
    if floor.experts is not None:
        text += (
            f"; {floor.experts.distinct:.2f} distinct experts, {floor.experts.without_sharing} without sharing"
            f"{'' if floor.experts.recorded else ', no routes recorded'}"
        )
    return f"{text}."


def _amortisation(row: OpsRow, width: int) -> list[Line]:
    """Each matrix over its widths, a call ÷ a call over one; ▲ marks the upper side of a cliff."""
    if not row.matrices:
        return wrapped("None of its primitives was replayed alone.", width, "quiet")
    widths = sorted({cell.width for each in row.matrices for cell in each.cells})
    columns = (
        Column("weight", "weight", text=True),
        Column("shape", "shape", 3, text=True),
        Column("dtype", "stored", 5, text=True),
        Column("single", "1, ms", 4),
        *(Column(str(n), str(n), 1 if n in (2, 4, 8) else 2) for n in widths if n > 1),
    )
    rows = tuple(TableRow(each.weight, _cells(row, each, widths)) for each in row.matrices)
    lines = table_lines(TableView(columns, rows), width)
    lines += [
        line((f"{each.weight}: {b.width} positions cost more than {b.pad_to}", "warn"))
        for each in row.matrices
        for b in each.bumps
    ]
    return lines


def _cells(row: OpsRow, each: AmortisationRow, widths: list[int]) -> tuple[str, ...]:
    single = each.cell(1)
    base = row.place.block.split(" ")[0]
    name = each.weight.removeprefix(base).lstrip(". ") or each.weight
    edges = {cliff.above for cliff in each.cliffs}
    ratios = []
    for n in (n for n in widths if n > 1):
        cell = each.cell(n)
        ratio = None if cell is None or cell.ratio is None else cell.ratio.estimate
        ratios.append(f"{figures.ratio(ratio)}{'▲' if n in edges else ''}")
    return name, each.shape, each.dtype, figures.NONE if single is None else f"{single.ms.estimate:.3f}", *ratios


@dataclass(frozen=True, slots=True)
class FloorsView:
    """The floors of all categories, or why there are none."""

    table: TableView = EMPTY
    notes: tuple[str, ...] = ()


def floors_view(facts: OpsFacts, ask: OpsAsk) -> FloorsView:
    """Measured against floor by category, most avoidable first."""
    table = facts.table(ask)
    if table is None:
        return FloorsView(TableView(message=facts.message or NOTHING))
    floor = table.floor
    if isinstance(floor, NoFloor):
        return FloorsView(TableView(message=floor.reason))
    columns = (
        Column("category", "category", text=True, least=20),
        Column("measured", "verify", 1),
        Column("floor", "floor", 1),
        Column("avoidable", "avoid.", 0),
        Column("ratio", "÷ dec.", 2),
        Column("least", "at best", 3),
    )
    rows = []
    for row in floor.rows:
        rows.append(TableRow(row.category, _floor_cells(row, row.category)))
        rows += [
            TableRow(f"{row.category} {d.detail}", _floor_cells(d, f"  {d.detail or 'other'}"), "quiet")
            for d in row.details
        ]
    avoidable = None if floor.measured_verify_ms is None else max(0.0, floor.measured_verify_ms - floor.verify.ms)
    ratio = floor.floor_ratio
    cells = (
        "all",
        figures.bare_ms(floor.measured_verify_ms),
        figures.bare_ms(floor.verify.ms),
        figures.bare_ms(avoidable),
        "",
        figures.ratio(ratio),
    )
    notes = [f"Floor: bytes ÷ {floor.bandwidth.value / 1e9:.1f} GB/s{' of the cache' if floor.from_cache else ''}."]
    if floor.verify_steps is not None:
        built = " of the layers that were built" if floor.extrapolated else ""
        notes.append(f"At best a round of {floor.width} costs {floor.verify_steps:.2f} decode steps{built}.")
    return FloorsView(TableView(columns, (*rows, TableRow("all", cells))), tuple(notes))


def _floor_cells(row: FloorRow, name: str) -> tuple[str, ...]:
    return (
        name,
        figures.bare_ms(row.measured_verify_ms),
        figures.bare_ms(row.verify.ms),
        figures.bare_ms(row.avoidable_ms),
        figures.ratio(row.measured_ratio),
        figures.ratio(row.floor_ratio),
    )
