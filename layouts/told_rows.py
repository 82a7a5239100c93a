"""A table in groups, made row by row, with what is said of each row beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .tables import Column, TableRow, TableView


@dataclass(slots=True)
class ToldRows:
    """Rows of these columns so far, and the remarks on them by key."""

    columns: Sequence[Column]
    rows: list[TableRow] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)

    def heading(self, key: str, text: str, said: str, tone: str = "") -> None:
        """A row that begins a group."""
        self.put(key, (f"── {text}", *[""] * (len(self.columns) - 1)), said, tone)

    def put(self, key: str, cells: tuple[str, ...], said: str, tone: str = "") -> None:
        """One more row."""
        self.rows.append(TableRow(key, cells, tone))
        self.remarks.append((key, said))

    def view(self, message: str) -> TableView:
        """The table; `message` stands for no rows."""
        return TableView(tuple(self.columns), tuple(self.rows), message=message)


def remark_of(remarks: Sequence[tuple[str, str]], key: str | None) -> str:
    """What is said of the row of that key."""
    return next((said for known, said in remarks if known == key), "")
