"""The ledger as a document: every number raw with its unit, interval, spread, n, ruler, kind and source."""

from __future__ import annotations

from collections.abc import Sequence

from ...profilers.judge.ledger_rows import Division, LedgerRow, LedgerSheet
from ..ledger import division_text, formula_of, ledger_view, ruler_text
from ..tables import TableView
from .document import Document, Table, Value, finite, one_line

KEYS = (
    "sheet",
    "group",
    "name",
    "value",
    "unit",
    "low_95",
    "high_95",
    "median",
    "median_absolute_deviation",
    "n",
    "ruler",
    "acceptance_kind",
    "source",
    "remark",
)


def ledger_document(sheets: Sequence[LedgerSheet]) -> Document:
    """Every sheet. A row's numbers are all in its `unit`; intervals are of 95%."""
    view = ledger_view(sheets)
    return Document(
        screen="ledger",
        title=view.title,
        sentences=(*view.sentences, *division_sentences(sheets)),
        tables=(ledger_table(sheets, view.table),) if view.table.rows else (),
        notes=view.notes,
    )


def ledger_table(sheets: Sequence[LedgerSheet], shown: TableView) -> Table:
    """The rows of every sheet as one table."""
    return Table(
        "ledger", "Ledger", KEYS, tuple(_values(sheet.title, row) for sheet in sheets for row in sheet.rows), shown
    )


def _values(sheet: str, row: LedgerRow) -> tuple[Value, ...]:
    interval, spread = row.interval, row.spread
    values: tuple[Value, ...] = (
        one_line(sheet),
        row.group,
        one_line(row.name),
        row.value,
        row.unit,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        None if spread is None else spread.median,
        None if spread is None else spread.mad,
        row.n,
        one_line(row.ruler),
        one_line(row.kind),
        row.source,
        one_line(row.remark),
    )
    return tuple(finite(value) for value in values)


def division_sentences(sheets: Sequence[LedgerSheet]) -> tuple[str, ...]:
    """Each division with its numbers in place, and both of them where two rulers were divided."""
    found = [_division(each) for sheet in sheets for each in sheet.divisions]
    for sheet in sheets:
        if sheet.two_rulers is not None:
            found += [
                f"By the wrong ruler: {ruler_text(sheet.two_rulers, wrong=True)}.",
                f"By the right ruler: {ruler_text(sheet.two_rulers, wrong=False)}.",
            ]
    return tuple(dict.fromkeys(found))


def _division(division: Division) -> str:
    return f"{division.title} ({division.source}): {formula_of(division)}: {division_text(division)}."
