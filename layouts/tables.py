"""A table as plain values: columns, rows of text, and which columns fit a width; no Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from .lines import Line, Span, left, right

BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column: numbers stand at the right, texts at the left and may be cut, at their start where `tail` counts.

    Where not all columns fit, those of the highest `rank` go first; rank 0 always stays. A text keeps `least` cells.
    """

    key: str
    title: str
    rank: int = 0
    text: bool = False
    tail: bool = False
    least: int = 13


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of one row, a text for each column; `key` tells rows apart when they are sorted anew."""

    key: str
    cells: tuple[str, ...]
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """Columns and rows as they are to be shown; `sorted_by` is the key of a column, `message` stands for no rows."""

    columns: tuple[Column, ...] = ()
    rows: tuple[TableRow, ...] = ()
    sorted_by: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Which columns are shown, by index, how many cells each has, and how many stand before the last one."""

    indices: tuple[int, ...]
    widths: tuple[int, ...]
    last_gap: int = BETWEEN

    def at(self, cell: int) -> int | None:
        """The index of the column in which a cell of a row lies; None between columns and beside them."""
        for index, width in zip(self.indices, self.widths, strict=True):
            cell -= self.before(index)
            if 0 <= cell < width:
                return index
            cell -= width
        return None

    def before(self, index: int) -> int:
        """How many cells part a column from the one before."""
        if index == self.indices[0]:
            return 0
        return self.last_gap if index == self.indices[-1] else BETWEEN


def fitted(view: TableView, width: int, free: int = 0) -> Fitted:
    """The columns that fit so many cells: texts give way first, then whole columns by rank.

    `free` cells of them stay empty at the end; rather than a whole column the last gap gives way to those.
    """
    needed = [_needed(view, index) for index in range(len(view.columns))]
    least = [
        min(cells, column.least) if column.text else cells for cells, column in zip(needed, view.columns, strict=True)
    ]
    kept = list(range(len(needed)))
    while len(kept) > 1 and sum(least[i] + BETWEEN for i in kept) - BETWEEN > width:
        going = max(kept, key=lambda i: (view.columns[i].rank, i))
        if view.columns[going].rank == 0:
            break
        kept.remove(going)
    spare = width - free - sum(least[i] + BETWEEN for i in kept) + BETWEEN
    last_gap = max(1, BETWEEN + min(0, spare))
    widths = {i: least[i] for i in kept}
    cut = [i for i in kept if widths[i] < needed[i]]
    while spare > 0 and cut:  # cell by cell to the narrowest text that is cut
        widths[min(cut, key=lambda i: (widths[i], i))] += 1
        spare -= 1
        cut = [i for i in cut if widths[i] < needed[i]]
    return Fitted(tuple(kept), tuple(widths[i] for i in kept), last_gap)


def _needed(view: TableView, index: int) -> int:
    title = cell_len(view.columns[index].title) + (1 if view.columns[index].key == view.sorted_by else 0)
    return max([title, *(_length(row.cells[index]) for row in view.rows)])


def _length(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def header_line(view: TableView, fit: Fitted) -> Line:
    """The titles; the sorted column is marked by a sign, not only by a tone."""
    spans: list[Span] = []
    for index, width in zip(fit.indices, fit.widths, strict=True):
        column = view.columns[index]
        marked = column.key == view.sorted_by
        title = f"{column.title}▾" if marked else column.title
        _put(spans, title, width, column, "strong" if marked else "quiet", fit.before(index))
    return tuple(spans)


def row_line(view: TableView, row: TableRow, fit: Fitted) -> Line:
    """One row in the widths of its columns."""
    spans: list[Span] = []
    for index, width in zip(fit.indices, fit.widths, strict=True):
        _put(spans, row.cells[index], width, view.columns[index], row.tone, fit.before(index))
    return tuple(spans)


def _put(spans: list[Span], text: str, width: int, column: Column, tone: str, gap: int) -> None:
    if gap:
        spans.append(Span(" " * gap))
    length = _length(text)
    if length > width and column.tail and text.isascii():
        text = f"…{text[length - width + 1 :]}"
    shown = left(text, width) if column.text else right(left(text, min(width, max(1, length))), width)
    spans.append(Span(shown, tone))


def table_lines(view: TableView, width: int) -> list[Line]:
    """A small table whole, a cell before the scrollbar free, for a panel that scrolls."""
    fit = fitted(view, width, 1)
    return [header_line(view, fit), *(row_line(view, row, fit) for row in view.rows)]


def sorted_rows(rows: Sequence[tuple[object, TableRow]], numeric: bool) -> tuple[TableRow, ...]:
    """Rows by a key each: numbers from large to small with missing ones last, texts by the alphabet."""
    if numeric:
        known = [(value, row) for value, row in rows if isinstance(value, int | float)]
        known.sort(key=lambda each: -each[0])
        return (*(row for _, row in known), *(row for value, row in rows if not isinstance(value, int | float)))
    return tuple(row for _, row in sorted(rows, key=lambda each: str(each[0])))
