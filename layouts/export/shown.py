"""Tables as a screen shows them, as a document: for screens that have no raw numbers at hand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import figures
from ..tables import TableView
from .document import Document, Table, Value, column_name, one_line, unlike

NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
WITH_UNIT = re.compile(rf"({NUMBER.pattern})\s?(%|x|ms|tok/s|steps|MB|GB)")
UNIT_NAMES = {"%": "percent", "tok/s": "tokens_per_second", "MB": "megabytes", "GB": "gigabytes"}
EMPTY = ("", figures.NONE)


def shown_document(
    screen: str,
    title: str,
    tables: Sequence[tuple[str, TableView]],
    sentences: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Document:
    """Titled tables and sentences; a column of numbers that all have one unit is read as numbers of that unit."""
    drawn = [(name, view) for name, view in tables if view.rows]
    missing = [view.message for _, view in tables if not view.rows and view.message]
    names = unlike(column_name(name.split(" · ")[0]) or "table" for name, _ in drawn)
    return Document(
        screen=screen,
        title=title,
        sentences=tuple(sentences) or tuple(dict.fromkeys(missing)),
        tables=tuple(shown_table(key, name, view) for key, (name, view) in zip(names, drawn, strict=True)),
        notes=tuple(notes),
        as_shown=True,
    )


def shown_table(name: str, title: str, view: TableView) -> Table:
    """A table whose raw values are read back from what is shown, digits and all."""
    keys, columns = [], []
    for index, column in enumerate(view.columns):
        cells = [one_line(row.cells[index]) for row in view.rows]
        unit, values = _numbers(cells)
        key = column_name(column.title) or column_name(column.key)
        keys.append(f"{key}_{unit}" if unit and not key.endswith(unit) else key)
        columns.append(values)
    rows = tuple(zip(*columns, strict=True)) if columns else ()
    return Table(name, title, unlike(keys), rows, view)


def _numbers(cells: Sequence[str]) -> tuple[str, list[Value]]:
    """The unit and the values of a column, its texts where it is not all numbers of one unit."""
    filled = [cell for cell in cells if cell not in EMPTY]
    units = set()
    for cell in filled:
        found = WITH_UNIT.fullmatch(cell)
        if found is None and NUMBER.fullmatch(cell) is None:
            return "", list(cells)
        units.add("" if found is None else found[2])
    if len(units) != 1:
        return "", list(cells)
    unit = units.pop()
    values: list[Value] = [None if cell in EMPTY else _value(cell.removesuffix(unit).strip()) for cell in cells]
    return UNIT_NAMES.get(unit, unit), values


def _value(text: str) -> float | int:
    plain = text.replace(",", "").replace("−", "-")
    return float(plain) if "." in plain else int(plain)
