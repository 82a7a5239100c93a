"""CSV: raw numbers, and no text that a spreadsheet would run."""

from __future__ import annotations

import csv
import io

import pytest

from specview.layouts.export.csv_text import csv_cell, csv_lines, csv_text
from specview.layouts.export.document import Document, Table
from specview.layouts.tables import TableView


def table(name: str, keys: tuple[str, ...], *rows: tuple[object, ...]) -> Table:
    return Table(name, name, keys, rows, TableView())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-cmd", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\x00=1"])
def test_a_text_that_begins_like_a_formula_is_marked_as_text(text: str) -> None:
    cell = str(csv_cell(text))
    assert cell.startswith("'") or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


def test_numbers_stay_numbers_and_nothing_stays_nothing() -> None:
    assert [csv_cell(v) for v in (-1.5, 3, None, float("nan"), float("inf"), True)] == [-1.5, 3, "", "", "", "true"]


def test_one_table_has_its_own_columns_and_several_say_which_a_row_is_of() -> None:
    one, two = table("a", ("x_ms", "n"), (1.25, 2)), table("b", ("n", "name"), (3, "it"))
    assert csv_text(Document(screen="s", title="t", tables=(one,))) == "x_ms,n\r\n1.25,2\r\n"
    rows = list(csv.DictReader(io.StringIO(csv_text(Document(screen="s", title="t", tables=(one, two))))))
    assert rows == [
        {"table": "a", "x_ms": "1.25", "n": "2", "name": ""},
        {"table": "b", "x_ms": "", "n": "3", "name": "it"},
    ]


def test_rows_are_made_one_by_one() -> None:
    taken = []

    def rows():
        for i in range(1000):
            taken.append(i)
            yield (i,)

    lines = csv_lines(("i",), rows())
    assert next(lines) == "i\r\n" and next(lines) == "0\r\n"
    assert len(taken) == 1
