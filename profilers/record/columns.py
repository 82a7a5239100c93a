"""Records of one kind kept as columns, for sessions of a million rounds: a record is made when it is asked for.

Numbers lie in arrays as narrow as their values allow; a field that is None is -1 (NaN among floats), a flag 0 or 1, a
word its number among the different ones. Texts stay the JSON they were in the file until somebody reads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from itertools import islice
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from .codec import value_reader, value_writer
from .growing import NOT_THERE, Numbers, Ragged, Texts, Words

R = TypeVar("R")
FieldKind = Literal["count", "flag", "real", "word", "counts", "text"]

MADE_AT_ONCE = 2048  # records, when all are gone through
FEW = 20_000  # so many records are kept once they were made


@dataclass(frozen=True, slots=True)
class Plan(Generic[R]):
    """How the records of one class lie in columns; `text` is the one field of texts, with its two conversions.

    `choices_by_field` are all the words that a field may hold, where that is known.
    """

    cls: type[R]
    kind_by_field: Mapping[str, FieldKind]
    default_by_field: Mapping[str, int]
    choices_by_field: Mapping[str, tuple[str, ...]]
    text: str | None
    read_text: Callable[[Any], Any]
    write_text: Callable[[Any], Any]

    def fields_of(self, *kinds: FieldKind) -> tuple[str, ...]:
        """The fields of some kinds."""
        return tuple(name for name, kind in self.kind_by_field.items() if kind in kinds)

    @property
    def singles(self) -> tuple[str, ...]:
        """The fields that are one number each."""
        return self.fields_of("count", "flag", "real", "word")

    @property
    def counts(self) -> tuple[str, ...]:
        """The fields that are lists of whole numbers."""
        return self.fields_of("counts")


@cache
def plan_of(cls: Any) -> Plan[Any]:
    """The plan of a record class whose fields are numbers, words, lists of counts, and at most one of other texts."""
    hints = get_type_hints(cls, include_extras=True)
    kinds: dict[str, FieldKind] = {}
    defaults: dict[str, int] = {}
    choices: dict[str, tuple[str, ...]] = {}
    text = None
    for field in fields(cls):
        kind = kinds[field.name] = _kind_of(hints[field.name])
        if kind == "text":
            text = field.name
        hint = _bare(hints[field.name])
        if get_origin(hint) is Literal:
            choices[field.name] = get_args(hint)
        if field.default is not MISSING:
            defaults[field.name] = NOT_THERE if field.default is None else int(field.default)
    hint = None if text is None else hints[text]
    reader = (lambda value: value) if hint is None else value_reader(hint)
    writer = (lambda value: value) if hint is None else value_writer(hint)
    return Plan(cls, kinds, defaults, choices, text, reader, writer)


def _bare(hint: Any) -> Any:
    """An annotation without its None and its marks."""
    if get_origin(hint) in (Union, UnionType) and get_args(hint)[1:] == (NoneType,):
        hint = get_args(hint)[0]
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _kind_of(hint: Any) -> FieldKind:
    hint = _bare(hint)
    if hint is int:
        return "count"
    if hint is bool:
        return "flag"
    if hint is float:
        return "real"
    if hint is str or get_origin(hint) is Literal:
        return "word"
    return "counts" if hint == tuple[int, ...] else "text"


@dataclass(frozen=True, slots=True)
class Shared:
    """What views of the same columns share: texts and words, which only grow, and the values of lists by field."""

    texts: Texts
    words: Mapping[str, Words]
    values: Mapping[str, Numbers]


class Kept(Sequence[R]):
    """Records in their order, made one by one from columns; equal to a tuple of the same records.

    `memo` is for what others have computed from them, so that it is not computed twice.
    """

    def __init__(self, plan: Plan[R], columns: Mapping[str, Numbers], shared: Shared, size: int) -> None:
        self._plan, self._columns, self._shared, self._size = plan, columns, shared, size
        self._made: tuple[R, ...] | None = None
        self.memo: dict[str, Any] = {}

    @property
    def cls(self) -> type[R]:
        """The class of the records."""
        return self._plan.cls

    @property
    def plan(self) -> Plan[R]:
        """How their fields lie in columns."""
        return self._plan

    def column(self, name: str) -> Numbers:
        """The values of one field in order; -1 for None (NaN among floats), 1 for true, the number of a word."""
        return self._columns[name]

    def words(self, name: str) -> Words:
        """The words that the numbers of a field stand for."""
        return self._shared.words[name]

    def lists(self, name: str, rows: NDArray[np.intp] | slice) -> Ragged:
        """The lists of one field of some records."""
        lengths = self._columns[f"{name} length"][rows]
        found = Ragged(lengths, lengths[:0])
        shift = self._columns[f"{name} start"][rows] - found.starts
        places = np.arange(int(np.maximum(lengths, 0).sum(dtype=np.int64))) + shift[found.owners]
        return Ragged(lengths, self._shared.values[name][places])

    def has_text(self) -> NDArray[np.bool_]:
        """Which records have a text."""
        found: NDArray[np.bool_] = self._columns["text length"] > 0
        return found

    def backed_by(self, records: tuple[R, ...]) -> Kept[R]:
        """These columns, of records that are there already."""
        self._made = records
        return self

    def taken(self, rows: NDArray[Any] | slice) -> Kept[R]:
        """Some of the records, in the order of `rows`, or those that it flags."""
        columns = {name: values[rows] for name, values in self._columns.items()}
        return Kept(self._plan, columns, self._shared, len(next(iter(columns.values()))))

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
            given = {name: self._given(name, kind, rows) for name, kind in plan.kind_by_field.items()}
            names = tuple(given)
            for row in zip(*given.values(), strict=True):
                yield plan.cls(**dict(zip(names, row, strict=True)))

    def _given(self, name: str, kind: FieldKind, rows: slice) -> list[Any]:
        """The values of one field as a record has them."""
        if kind == "text":
            return self._texts_of(rows)
        if kind == "counts":
            return self._lists_of(name, rows)
        values = self._columns[name][rows]
        if kind == "real":
            return [None if value != value else value for value in values.tolist()]
        if kind == "word":
            known = self._shared.words[name].known
            return [None if value == NOT_THERE else known[value] for value in values.tolist()]
        there = values != NOT_THERE
        given: list[Any] = ((values == 1) if kind == "flag" else values).tolist()
        if there.all():
            return given
        return [value if known else None for value, known in zip(given, there.tolist(), strict=True)]

    def _lists_of(self, name: str, rows: slice) -> list[Any]:
        found = self.lists(name, rows)
        values, starts, lengths = found.values.tolist(), found.starts.tolist(), found.lengths.tolist()
        return [
            None if length == NOT_THERE else tuple(values[start : start + length])
            for start, length in zip(starts, lengths, strict=True)
        ]

    def _texts_of(self, rows: slice) -> list[Any]:
        starts, lengths = self._columns["text start"][rows].tolist(), self._columns["text length"][rows].tolist()
        read, at = self._plan.read_text, self._shared.texts.at
        return [
            None if length == 0 else read(json.loads(at(start, length)))
            for start, length in zip(starts, lengths, strict=True)
        ]
