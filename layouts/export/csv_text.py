"""Tables as CSV: raw numbers, and texts that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from .document import Document, Table, Value, finite, one_line

STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # wide forms count too


def csv_text(document: Document) -> str:
    """All tables in one: `table` says which a row is of where there are several, columns that do not apply are empty.

    The sentences are not in it.
    """
    return "".join(csv_lines(*_joined(document.tables)))


def csv_lines(keys: Sequence[str], rows: Iterable[Sequence[Value]]) -> Iterator[str]:
    """The header and each row, as lines; made one by one, so that a long table needs no room."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for values in chain((keys,), rows):
        writer.writerow([csv_cell(value) for value in values])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def csv_cell(value: Value) -> str | int | float:
    """A value for one cell. A text that begins like a formula gets an apostrophe before it, as spreadsheets do."""
    value = finite(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(STARTS_FORMULA) else text


def _joined(tables: Sequence[Table]) -> tuple[tuple[str, ...], Iterable[Sequence[Value]]]:
    if len(tables) == 1:
        return tables[0].keys, tables[0].rows
    keys = tuple(dict.fromkeys(key for table in tables for key in table.keys))

    def rows() -> Iterator[Sequence[Value]]:
        for table in tables:
            for row in table.rows:
                value_by_key = dict(zip(table.keys, row, strict=True))
                yield (table.name, *(value_by_key.get(key) for key in keys))

    return ("table", *keys), rows()
