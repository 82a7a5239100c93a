"""A table of figures that a person wrote down: one stretch a row, columns named like the fields of Counters."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..codec import LARGEST
from ..records import Counters
from .imported import Imported, Importer, ImportFailed
from .model_names import name_without_path
from .object_source import ObjectSource
from .written_numbers import LINE_CHARACTERS, number, number_with_point, plain_line, whole

N = TypeVar("N", int, float)

ENGINE = "a table"
FORM = "CSV table"

_TEXTS = ("source", "label", "drafter", "rule")
_COUNTS = ("k", "batch", "rounds", "drafted", "accepted", "tokens")
_NUMBERS = ("tokens_per_second", "tokens_per_round", "temperature")
_TIMES = ("elapsed", "draft", "verify", "rest")
_NS_BY_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME_COLUMNS = {f"{name}_{unit}": (name, ns) for name in _TIMES for unit, ns in _NS_BY_UNIT.items()}
COLUMNS = frozenset(("arm", "model", "accepted_by_position", *_TEXTS, *_COUNTS, *_NUMBERS, *_TIME_COLUMNS))
_DELIMITERS = (",", ";", "\t")
_REMEDY = (
    "its first line must name the columns (arm, tokens, elapsed_s, rounds, accepted, …), see docs/importing-csv.md."
)


@dataclass(slots=True)
class _Row:
    """One row's cells by column; what cannot be used is kept in `wrong`.

    Where columns are separated by `,` a number has a decimal point, and commas stand between its thousands.
    """

    cells: dict[str, str]
    delimiter: str
    wrong: list[str] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        return self.cells.get(name) or None

    def count(self, name: str) -> int | None:
        return self._read(name, whole)

    def number(self, name: str) -> float | None:
        return self._read(name, number_with_point if self.delimiter == "," else number)

    def counts(self, name: str) -> tuple[int, ...] | None:
        text = self.cells.get(name, "")
        if not text:
            return None
        parts = [whole(part) for part in re.split(r"[\s|/]+", text.strip("[]() "))]
        usable = tuple(part for part in parts if part is not None)
        if len(usable) != len(parts):
            self.wrong.append(f"{name}: {text}")
            return None
        return usable

    def _read(self, name: str, read: Callable[[str], N | None]) -> N | None:
        text = self.cells.get(name, "")
        if not text:
            return None
        value = read(text)
        if value is None or value > LARGEST:
            self.wrong.append(f"{name}: {text}")
            return None
        return value


def likely(head: str) -> float:
    """Whether the head of a text is a table with columns of this name."""
    for line in head.splitlines():
        plain = plain_line(line).removeprefix("\ufeff")
        if plain.strip() and not plain.lstrip().startswith("#"):
            known = [name for name in _header(plain)[1] if name in COLUMNS]
            return 0.9 if "arm" in known and len(known) >= 2 else 0.0
    return 0.0


def read(lines: Iterable[str]) -> Imported:
    """Read one stretch a row, with `,` and decimal points, or `;` or tabs and decimal commas or points."""
    source = ObjectSource(ENGINE, FORM)
    delimiter = ""
    names: list[str] = []
    sources: set[str] = set()
    for line in lines:
        plain = plain_line(line[: LINE_CHARACTERS + 1]).removeprefix("\ufeff")
        if len(plain) > LINE_CHARACTERS:
            source.tally.puzzle(plain)
        elif not plain.strip() or plain.lstrip().startswith("#"):
            source.tally.ignore()
        elif not names:
            delimiter, names = _header(plain)
            _take_header(source, plain, names)
        else:
            _read_row(source, plain, names, delimiter, sources)
    if not names:
        raise ImportFailed(f"This table is empty; {_REMEDY}")
    if len(sources) == 1:
        source.engine = next(iter(sources))
    return source.imported("each row needs its arm (plain or drafting) and a figure, see docs/importing-csv.md.")


def _header(line: str) -> tuple[str, list[str]]:
    """The delimiter that gives most known columns, and the columns by their lower-case names."""
    choices = []
    for delimiter in _DELIMITERS:
        names = [re.sub(r"[\s-]+", "_", cell.strip().lower()) for cell in _cells(line, delimiter)]
        choices.append((sum(name in COLUMNS for name in names), delimiter, names))
    _, delimiter, names = max(choices, key=lambda choice: choice[0])
    return delimiter, names


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _take_header(source: ObjectSource, line: str, names: list[str]) -> None:
    if "arm" not in names:
        raise ImportFailed(f"This table has no column named arm; {_REMEDY}")
    twice = sorted({name for name in names if name in COLUMNS and names.count(name) > 1})
    if twice:
        raise ImportFailed(f"This table has more than one column named {twice[0]}; leave one of them out.")
    times = [_TIME_COLUMNS[name][0] for name in names if name in _TIME_COLUMNS]
    twice = sorted({name for name in times if times.count(name) > 1})
    if twice:
        raise ImportFailed(f"This table has the time {twice[0]} in more than one unit; leave one of them out.")
    source.tally.understand()
    for name in names:
        if name and name not in COLUMNS:
            source.tally.puzzle(f"column {name}")


def _read_row(source: ObjectSource, line: str, names: list[str], delimiter: str, sources: set[str]) -> None:
    cells = _cells(line, delimiter)
    if len(cells) > len(names) and any(cells[len(names) :]):
        source.tally.puzzle(line)
        return
    row = _Row(dict(zip(names, cells, strict=False)), delimiter)
    arm = (row.text("arm") or "").lower()
    if arm not in ("plain", "drafting"):
        source.tally.puzzle(line)
        return
    counts = {name: row.count(name) for name in _COUNTS}
    numbers = {name: row.number(name) for name in _NUMBERS}
    times: dict[str, int | None] = dict.fromkeys(_TIMES)
    for column, (name, unit_ns) in _TIME_COLUMNS.items():
        value = row.number(column)
        if value is not None and value * unit_ns > LARGEST:
            row.wrong.append(f"{column}: {value}")
        elif value:
            times[name] = round(value * unit_ns)
    positions = row.counts("accepted_by_position")
    if positions is not None and len(positions) > 1024:
        row.wrong.append(f"accepted_by_position: {len(positions)} positions")
        positions = None
    rounds = counts["rounds"]
    if positions is not None and rounds is not None and max(positions) > rounds:
        row.wrong.append(f"accepted_by_position: {max(positions):,} of {rounds:,} rounds")
        positions = None
    for wrong in row.wrong:
        source.tally.puzzle(wrong)
    if numbers["tokens_per_second"] == 0:
        numbers["tokens_per_second"] = None
    if all(counts[name] is None for name in ("rounds", "drafted", "accepted", "tokens")) and not any(
        (numbers["tokens_per_second"], numbers["tokens_per_round"], times["elapsed"], positions)
    ):
        source.tally.puzzle(line)
        return
    source.name_model(row.text("model"))
    named = name_without_path(row.text("source") or "") or "table"
    sources.add(named)
    source.keep(_with_means(arm, named, row, counts, numbers, times, positions))


def _with_means(
    arm: str,
    named: str,
    row: _Row,
    counts: dict[str, int | None],
    numbers: dict[str, float | None],
    times: dict[str, int | None],
    positions: tuple[int, ...] | None,
) -> Counters:
    derived = []
    tokens, rounds, accepted = counts["tokens"], counts["rounds"], counts["accepted"]
    if accepted is None and positions is not None:
        accepted = counts["accepted"] = min(sum(positions), LARGEST)
        derived.append("accepted")
    if numbers["tokens_per_second"] is None and tokens and times["elapsed"]:
        numbers["tokens_per_second"] = tokens * 1e9 / times["elapsed"]
        derived.append("tokens_per_second")
    if numbers["tokens_per_round"] is None and rounds and accepted is not None:
        numbers["tokens_per_round"] = 1 + accepted / rounds
        derived.append("tokens_per_round")
    values: dict[str, Any] = {**counts, **numbers, **{f"{name}_ns": ns for name, ns in times.items()}}
    return Counters(
        t_ns=0,
        arm="plain" if arm == "plain" else "drafting",
        source=named,
        label=row.text("label"),
        drafter=name_without_path(row.text("drafter") or "") or None,
        rule=row.text("rule"),
        accepted_by_position=positions,
        derived=tuple(derived),
        **values,
    )


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
