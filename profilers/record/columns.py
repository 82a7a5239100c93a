"""Records of one kind kept as columns, for sessions of a million rounds: a record is made when it is asked for.

Numbers lie in arrays as narrow as their values allow; a field that is None is -1, a flag 0 or 1. Texts stay the JSON
they were in the file until somebody reads them.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from itertools import islice
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_type_hints, overload

import numpy as np
from numpy.typing import NDArray

from .codec import value_reader, value_writer

R = TypeVar("R")
Numbers = NDArray[Any]
FieldKind = Literal["count", "optional", "flag", "text"]

NOT_THERE = -1
FIRST_ROWS = 1024
GROWTH = 1.5
WIDTHS = (np.int8, np.int16, np.int32, np.int64)
MADE_AT_ONCE = 2048  # records, when all are gone through
FEW = 20_000  # so many records are kept once they were made


class Growing:
    """A column that grows and widens; what a view shows never changes."""

    def __init__(self) -> None:
        self._values: Numbers = np.empty(FIRST_ROWS, np.int8)
        self._size = 0

    def append(self, values: Numbers) -> None:
        """Add values."""
        if not values.size:
            return
        needed = self._size + values.size
        width = self._values.dtype
        low, high = int(values.min()), int(values.max())
        limits = np.iinfo(width)
        if low < limits.min or high > limits.max:
            width = next(
                np.dtype(w)
                for w in WIDTHS
                if low >= np.iinfo(w).min and high <= np.iinfo(w).max and w(0).itemsize > width.itemsize
            )
        if needed > self._values.size or width != self._values.dtype:
            room = self._values.size if needed <= self._values.size else int(needed * GROWTH)
            wider = np.empty(room, width)
            wider[: self._size] = self._values[: self._size]
            self._values = wider
        self._values[self._size : needed] = values
        self._size = needed

    def view(self) -> Numbers:
        """All values so far."""
        shown = self._values[: self._size]
        shown.flags.writeable = False
        return shown


class Texts:
    """Pieces of JSON one after another, found by where they start; it only grows, so views may share it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._starts: list[int] = []
        self.size = 0

    def append(self, part: bytes) -> int:
        """Add a stretch of texts and return where it starts."""
        start = self.size
        if part:
            self._starts.append(start)
            self._parts.append(part)
            self.size += len(part)
        return start

    def at(self, start: int, length: int) -> bytes:
        """One text; it never reaches over two stretches."""
        part = bisect_right(self._starts, start) - 1
        offset = start - self._starts[part]
        return self._parts[part][offset : offset + length]


@dataclass(frozen=True, slots=True)
class Plan(Generic[R]):
    """How the records of one class lie in columns; `text` is the one field of texts, with its two conversions."""

    cls: type[R]
    kind_by_field: Mapping[str, FieldKind]
    default_by_field: Mapping[str, int]
    text: str | None
    read_text: Callable[[Any], Any]
    write_text: Callable[[Any], Any]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The fields that are numbers or flags."""
        return tuple(name for name, kind in self.kind_by_field.items() if kind != "text")


@cache
def plan_of(cls: Any) -> Plan[Any]:
    """The plan of a record class whose fields are counts, flags, and at most one of texts."""
    hints = get_type_hints(cls, include_extras=True)
    kinds: dict[str, FieldKind] = {}
    defaults: dict[str, int] = {}
    text = None
    for field in fields(cls):
        hint = hints[field.name]
        if hint is int:
            kinds[field.name] = "count"
        elif hint is bool:
            kinds[field.name] = "flag"
        elif get_args(hint) == (int, NoneType):
            kinds[field.name] = "optional"
        else:
            kinds[field.name], text = "text", field.name
        if field.default is not MISSING:
            defaults[field.name] = NOT_THERE if field.default is None else int(field.default)
    hint = None if text is None else hints[text]
    reader = (lambda value: value) if hint is None else value_reader(hint)
    writer = (lambda value: value) if hint is None else value_writer(hint)
    return Plan(cls, kinds, defaults, text, reader, writer)


class Kept(Sequence[R]):
    """Records in their order, made one by one from columns; equal to a tuple of the same records.

    `memo` is for what others have computed from them, so that it is not computed twice.
    """

    def __init__(self, plan: Plan[R], columns: Mapping[str, Numbers], texts: Texts, size: int) -> None:
        self._plan, self._columns, self._texts, self._size = plan, columns, texts, size
        self._made: tuple[R, ...] | None = None
        self.memo: dict[str, Any] = {}

    @property
    def cls(self) -> type[R]:
        """The class of the records."""
        return self._plan.cls

    def column(self, name: str) -> Numbers:
        """The values of one field in order; -1 for None, 1 for true."""
        return self._columns[name]

    def has_text(self) -> NDArray[np.bool_]:
        """Which records have a text."""
        found: NDArray[np.bool_] = self._columns["text length"] > 0
        return found

    def backed_by(self, records: tuple[R, ...]) -> Kept[R]:
        """These columns, of records that are there already."""
        self._made = records
        return self

    def taken(self, rows: NDArray[np.intp] | slice) -> Kept[R]:
        """Some of the records, in the order of `rows`."""
        columns = {name: values[rows] for name, values in self._columns.items()}
        return Kept(self._plan, columns, self._texts, len(next(iter(columns.values()))))

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...

    def __getitem__(self, index: int | slice) -> R | Sequence[R]:
        if isinstance(index, slice):
            return self.taken(index)
        if not -self._size <= index < self._size:
            raise IndexError("record index out of range")
        if self._made is not None:
            return self._made[index]
        at = index % self._size
        return next(self._records(at, at + 1))

    def __iter__(self) -> Iterator[R]:
        if self._made is None and self._size <= FEW:
            self._made = tuple(self._records(0, self._size))
        if self._made is not None:
            return iter(self._made)
        return self._records(0, self._size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kept | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"({shown}{', …' if self._size > 3 else ''})"

    def _records(self, start: int, stop: int) -> Iterator[R]:
        """Make the records from `start` to before `stop`, some at a time."""
        plan = self._plan
        for first in range(start, stop, MADE_AT_ONCE):
            rows = slice(first, min(stop, first + MADE_AT_ONCE))
            given: dict[str, list[Any]] = {}
            for name, kind in plan.kind_by_field.items():
                if kind == "text":
                    given[name] = self._texts_of(rows)
                    continue
                values = self._columns[name][rows]
                if kind == "flag":
                    given[name] = (values != 0).tolist()
                elif kind == "optional" and bool((values == NOT_THERE).any()):
                    given[name] = [None if value == NOT_THERE else value for value in values.tolist()]
                else:
                    given[name] = values.tolist()
            names = tuple(given)
            for row in zip(*given.values(), strict=True):
                yield plan.cls(**dict(zip(names, row, strict=True)))

    def _texts_of(self, rows: slice) -> list[Any]:
        starts, lengths = self._columns["text start"][rows].tolist(), self._columns["text length"][rows].tolist()
        read, at = self._plan.read_text, self._texts.at
        return [
            None if length == 0 else read(json.loads(at(start, length)))
            for start, length in zip(starts, lengths, strict=True)
        ]


class RecordColumns(Generic[R]):
    """Columns under construction: whole blocks of lines read together, and records that were read one by one."""

    def __init__(self, cls: type[R]) -> None:
        self.plan: Plan[R] = plan_of(cast(Any, cls))
        self._columns = {name: Growing() for name in (*self.plan.numbers, "text start", "text length")}
        self._texts = Texts()
        self._waiting: list[tuple[int, R]] = []
        self._blocks: list[tuple[Numbers, dict[str, Numbers], list[bytes] | None]] = []
        self._kept: Kept[R] | None = None

    def add(self, record: R, order: int = 0) -> None:
        """Add one record; `order` is its place among what is added before the next `settle`."""
        self._waiting.append((order, record))

    def add_block(self, orders: Numbers, values: dict[str, Numbers], texts: list[bytes] | None) -> None:
        """Add many; a field without values has its default everywhere, and an empty text is none."""
        self._blocks.append((orders, values, texts))

    def settle(self) -> None:
        """Put what was added into the columns, by its order."""
        blocks = self._blocks
        if self._waiting:
            blocks = [*blocks, self._as_block(self._waiting)]
        self._waiting, self._blocks = [], []
        blocks = [block for block in blocks if block[0].size]
        if not blocks:
            return
        self._kept = None
        orders = np.concatenate([block[0] for block in blocks])
        turn = None if len(blocks) == 1 else np.argsort(orders, kind="stable")
        for name in self.plan.numbers:
            parts = [self._values(block, name) for block in blocks]
            joined = parts[0] if turn is None else np.concatenate(parts)[turn]
            self._columns[name].append(joined)
        self._settle_texts(blocks, turn)

    def view(self) -> Kept[R]:
        """All records so far; the same object until there are more."""
        self.settle()
        if self._kept is None:
            columns = {name: column.view() for name, column in self._columns.items()}
            size = len(columns[self.plan.numbers[0]])
            self._kept = Kept(self.plan, columns, self._texts, size)
        return self._kept

    def _values(self, block: tuple[Numbers, dict[str, Numbers], list[bytes] | None], name: str) -> Numbers:
        orders, values, _ = block
        found = values.get(name)
        return np.full(orders.size, self.plan.default_by_field.get(name, 0), np.int8) if found is None else found

    def _settle_texts(
        self, blocks: list[tuple[Numbers, dict[str, Numbers], list[bytes] | None]], turn: Numbers | None
    ) -> None:
        size = sum(block[0].size for block in blocks)
        if all(block[2] is None for block in blocks):
            empty = np.zeros(size, np.int8)
            self._columns["text start"].append(empty)
            self._columns["text length"].append(empty)
            return
        texts: list[bytes] = []
        for orders, _, mine in blocks:
            texts += [b""] * orders.size if mine is None else mine
        lengths = np.fromiter(map(len, texts), np.int64, size)
        starts = self._texts.append(b"".join(texts)) + np.cumsum(lengths) - lengths
        self._columns["text start"].append(starts if turn is None else starts[turn])
        self._columns["text length"].append(lengths if turn is None else lengths[turn])

    def _as_block(self, waiting: list[tuple[int, R]]) -> tuple[Numbers, dict[str, Numbers], list[bytes] | None]:
        values: dict[str, Numbers] = {}
        for name, kind in self.plan.kind_by_field.items():
            if kind == "text":
                continue
            given = [getattr(record, name) for _, record in waiting]
            if kind == "optional":
                given = [NOT_THERE if value is None else value for value in given]
            values[name] = np.array(given, np.int64)
        texts: list[bytes] | None = None
        if self.plan.text is not None:
            texts = [self._text_of(getattr(record, self.plan.text)) for _, record in waiting]
        return np.array([order for order, _ in waiting], np.int64), values, texts

    def _text_of(self, value: object) -> bytes:
        if value is None:
            return b""
        return json.dumps(self.plan.write_text(value), separators=(",", ":")).encode()
