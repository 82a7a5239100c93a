"""The screens whose raw numbers are at hand, as documents: dashboard, sweep and ops."""

from __future__ import annotations

from collections.abc import Sequence

from ...profilers.judge.ledger_rows import LedgerSheet
from ...profilers.judge.ops import OpsRow
from ...profilers.judge.statistics import Interval
from .. import figures
from ..ledger import ledger_view
from ..ops import OpsAsk, OpsFacts, floors_view, ops_view
from ..sweep import SweepFacts, sweep_view
from ..tables import Column, TableRow, TableView
from ..view_models import DashboardView
from .document import Document, Table, Value, finite, one_line
from .ledger_document import division_sentences, ledger_table
from .shown import shown_table

Rows = tuple[tuple[Value, ...], ...]


def dashboard_document(view: DashboardView, sheets: Sequence[LedgerSheet]) -> Document:
    """The verdict in words, the three cost panels as tables, and the ledger's numbers."""
    head = view.headline
    ledger = ledger_view(sheets)
    tables = [_decode(view), _categories(view), _widths(view), _line(view)]
    if ledger.table.rows:
        tables.append(ledger_table(sheets, ledger.table))
    return Document(
        screen="dashboard",
        title=view.status.title.removeprefix("specview — "),
        sentences=tuple(text for text in (f"{head.word} {head.first}", head.second, head.third) if text)
        + division_sentences(sheets),
        tables=tuple(table for table in tables if table is not None),
        notes=ledger.notes,
    )


def _simple(name: str, title: str, keys: tuple[str, ...], titles: tuple[str, ...], rows: Rows) -> Table | None:
    """A table whose first column is a name and whose others are numbers; None without rows."""
    if not rows:
        return None
    columns = tuple(Column(key, words, text=i == 0) for i, (key, words) in enumerate(zip(keys, titles, strict=True)))
    shown = tuple(TableRow(str(i), tuple(_text(value) for value in row)) for i, row in enumerate(rows))
    return Table(name, title, keys, rows, TableView(columns, shown))


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return figures.significant(value)
    return "" if value is None else str(value)


def _decode(view: DashboardView) -> Table | None:
    decode = view.decode
    named = (
        ("whole graph, synchronous", decode.whole_ms),
        ("pipelined step", decode.pipelined_ms),
        ("graph build", decode.build_ms),
        ("evaluation", decode.eval_ms),
        (f"sum of blocks, {decode.ruler}", decode.sum_ms),
        ("sum of blocks, one hot layer", decode.hot_ms),
        ("sum of blocks, fenced", decode.fenced_ms),
        ("gap", decode.gap_ms),
        *((f"gap: {part.name}", part.ms) for part in decode.gap_parts),
        *((f"blocks: {each.category}", each.ms) for each in decode.categories),
    )
    rows = tuple((name, finite(ms)) for name, ms in named if ms is not None)
    return _simple("decode_step", "Decode step", ("part", "ms"), ("part", "ms"), rows)


def _categories(view: DashboardView) -> Table | None:
    rows = tuple((bar.label, view.verify.width, finite(bar.ratio)) for bar in view.verify.categories)
    keys = ("category", "positions", "verify_per_decode")
    return _simple("verify_by_category", "Verify ÷ decode by op category", keys, ("category", "n", "÷ decode"), rows)


def _widths(view: DashboardView) -> Table | None:
    cliffs = set(view.verify.cliffs)
    rows = tuple(
        (int(bar.label) if bar.label.isdecimal() else bar.label, finite(bar.ratio), bar.marked, bar.label in cliffs)
        for bar in view.verify.widths
    )
    keys = ("positions", "verify_per_single_pass", "of_this_run", "after_a_cliff")
    return _simple(
        "verify_by_positions", "Verify(n) ÷ verify(1)", keys, ("n", "÷ verify(1)", "this run", "cliff"), rows
    )


def _line(view: DashboardView) -> Table | None:
    curve = view.break_even.curve
    if curve is None:
        return None
    last = max(1, len(curve.limits_ms) - 1)
    step = max(1, last // 20)
    rows = tuple(
        (round(i / last, 4), curve.k, finite(ms), finite(curve.verify_ms))
        for i, ms in enumerate(curve.limits_ms)
        if i % step == 0
    )
    keys = (view.break_even.symbol.replace("α", "alpha"), "k", "limit_ms", "verify_ms")
    return _simple(
        "break_even", "Break-even line", keys, (view.break_even.symbol, "k", "verify ≤, ms", "verify, ms"), rows
    )


# ------------------------------------------------------------------ sweep


def sweep_document(facts: SweepFacts) -> Document:
    """Every measured width and every draft length."""
    view = sweep_view(facts, None)
    tables = []
    if view.widths.rows:
        tables.append(Table("widths", "Widths", WIDTH_KEYS, _width_rows(facts), view.widths))
    if view.lengths.rows:
        lengths = _length_rows(facts)
        shown = shown_table("lengths", "Draft lengths", view.lengths)
        tables.append(Table("lengths", "Draft lengths", LENGTH_KEYS, lengths, view.lengths) if lengths else shown)
    missing = () if tables else (view.widths.message, view.lengths.message)
    return Document(
        screen="sweep",
        title="Sweep: T_verify(n) and speedup by k",
        sentences=(*view.sentences, *view.rulers, *(text for text in missing if text)),
        tables=tuple(tables),
    )


WIDTH_KEYS = (
    "cache_from_positions",
    "cache_to_positions",
    "positions",
    "verify_ms",
    "verify_low_95_ms",
    "verify_high_95_ms",
    "verify_median_ms",
    "verify_median_absolute_deviation_ms",
    "passes",
    "ratio_to_one_position",
    "ratio_low_95",
    "ratio_high_95",
    "each_more_position_ms",
    "after_a_cliff",
    "ruler",
    "source",
)


def _width_rows(facts: SweepFacts) -> Rows:
    rows = []
    for curve in facts.curves:
        edges = {cliff.above for cliff in curve.cliffs}
        for point in curve.points:
            mean, spread = point.ms.mean, point.ms.spread
            values: tuple[Value, ...] = (
                *curve.contexts,
                point.width,
                *_three(mean),
                spread.median,
                spread.mad,
                point.ms.n,
                *_three(point.ratio),
                None if point.marginal_ms is None else point.marginal_ms.estimate,
                point.width in edges,
                "synchronous",
                "measured",
            )
            rows.append(tuple(finite(value) for value in values))
    return tuple(rows)


def _three(interval: Interval | None) -> tuple[Value, Value, Value]:
    return (None, None, None) if interval is None else (interval.estimate, interval.low, interval.high)


LENGTH_KEYS = (
    "k",
    "measured_speedup",
    "measured_low_95",
    "measured_high_95",
    "formula_speedup",
    "formula_alpha",
    "verify_ms",
    "remark",
)


def _length_rows(facts: SweepFacts) -> Rows:
    """By the last setting's drafter, as the screen does; empty for costs alone, where the screen's table stands."""
    if facts.costs is not None:
        return ()
    last = facts.tried[-1].setting if facts.tried else None
    tried = {t.setting.k: t for t in facts.tried if last is not None and t.setting.drafter == last.drafter}
    by_k = {line.k: line for line in facts.lines}
    rows = []
    for k in sorted(k for k in {*tried, *by_k} if k > 0):
        line, mine = by_k.get(k), tried.get(k)
        alpha = None if line is None else line.alpha.estimate
        values: tuple[Value, ...] = (
            k,
            *_three(None if mine is None else mine.speedup),
            None if line is None else line.speedup(line.alpha.estimate),
            alpha,
            None if line is None else line.verify.ms,
            one_line(mine.why_not if mine is not None else "" if line is None else line.inferred),
        )
        rows.append(tuple(finite(value) for value in values))
    return tuple(rows)


# ------------------------------------------------------------------ ops

OPS_KEYS = (
    "positions",
    "block",
    "category",
    "detail",
    "primitive",
    "layers",
    "count",
    "dispatches",
    "moved_bytes",
    "flops",
    "decode_ms",
    "verify_ms",
    "verify_per_decode",
    "floor_ms",
    "avoidable_ms",
    "ruler",
)


def ops_document(facts: OpsFacts) -> Document:
    """The census by place and by primitive, most avoidable first, and the floors."""
    tables = []
    table = facts.table(OpsAsk())
    places, kinds, floors = (
        ops_view(facts, OpsAsk()),
        ops_view(facts, OpsAsk(by="primitive")),
        floors_view(facts, OpsAsk()),
    )
    if table is not None:
        ruler = "" if table.ruler is None else str(table.ruler)
        for name, title, rows, shown, how in (
            ("places", "By place", table.places, places.table, ruler),
            ("primitives", "By primitive", table.primitives, kinds.table, "queued"),
        ):
            if rows:
                raw = tuple(_ops(row, table.width, how) for row in rows)
                tables.append(Table(name, title, OPS_KEYS, raw, shown))
    if floors.table.rows:
        tables.append(shown_table("floors", "Floors by category, ms", floors.table))
    missing = (facts.message,) if facts.message and not tables else ()
    return Document(
        screen="ops", title=places.title, sentences=(*places.notes, *floors.notes, *missing), tables=tuple(tables)
    )


def _ops(row: OpsRow, width: int, ruler: str) -> tuple[Value, ...]:
    values: tuple[Value, ...] = (
        width,
        one_line(row.place.block),
        one_line(row.place.category),
        one_line(row.place.detail or ""),
        one_line(row.primitive),
        row.layers,
        row.count,
        row.dispatches,
        row.moved_bytes if row.known else None,
        row.flops if row.known else None,
        row.decode_ms,
        row.verify_ms,
        row.ratio,
        row.floor_ms,
        row.avoidable_ms,
        ruler,
    )
    return tuple(finite(value) for value in values)
