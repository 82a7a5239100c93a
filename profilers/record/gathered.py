"""Columns under construction: whole blocks of lines read together, and records that were read one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .columns import Kept, Plan, Shared, plan_of
from .growing import NOT_THERE, Growing, Numbers, Ragged, Texts, Words

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Rows:
    """Values of records by field, with each record's place in `orders`.

    A field without values has its default everywhere, and an empty text is none.
    """

    orders: Numbers
    values: Mapping[str, Numbers]
    texts: list[bytes] | None = None
    lists: Mapping[str, Ragged] = field(default_factory=dict)

    def taken(self, flags: NDArray[np.bool_]) -> Rows:
        """The records that are flagged."""
        texts = self.texts
        if texts is not None:
            texts = [text for text, keep in zip(texts, flags.tolist(), strict=True) if keep]
        values = {name: each[flags] for name, each in self.values.items()}
        return Rows(self.orders[flags], values, texts, {name: each.taken(flags) for name, each in self.lists.items()})


class RecordColumns(Generic[R]):
    """The columns of one class of records, which grow."""

    def __init__(self, cls: type[R]) -> None:
        self.plan: Plan[R] = plan_of(cast(Any, cls))
        reals = self.plan.fields_of("real")
        placed = [f"{name} {what}" for name in (*self.plan.counts, "text") for what in ("start", "length")]
        self._columns = {
            name: Growing(np.float64 if name in reals else np.int8) for name in (*self.plan.singles, *placed)
        }
        self._values = {name: Growing() for name in self.plan.counts}
        self._texts = Texts()
        self.words = {name: Words(self.plan.choices_by_field.get(name, ())) for name in self.plan.fields_of("word")}
        self._waiting: list[tuple[int, R]] = []
        self._blocks: list[Rows] = []
        self._kept: Kept[R] | None = None

    def add(self, record: R, order: int = 0) -> None:
        """Add one record; `order` is its place among what is added before the next `settle`."""
        self._waiting.append((order, record))

    def add_block(self, rows: Rows) -> None:
        """Add many."""
        self._blocks.append(rows)

    def settle(self) -> None:
        """Put what was added into the columns, by its order."""
        blocks = self._blocks
        if self._waiting:
            blocks = [*blocks, self._as_rows(self._waiting)]
        self._waiting, self._blocks = [], []
        blocks = [block for block in blocks if block.orders.size]
        if not blocks:
            return
        self._kept = None
        orders = np.concatenate([block.orders for block in blocks])
        turn = None if len(blocks) == 1 else np.argsort(orders, kind="stable")
        for name in self.plan.singles:
            self._append(name, [self._single(block, name) for block in blocks], turn)
        for name in self.plan.counts:
            self._settle_lists(name, blocks, turn)
        self._settle_texts(blocks, turn)

    def view(self) -> Kept[R]:
        """All records so far; the same object until there are more."""
        self.settle()
        if self._kept is None:
            columns = {name: column.view() for name, column in self._columns.items()}
            values = {name: each.view() for name, each in self._values.items()}
            size = len(columns[self.plan.singles[0]])
            self._kept = Kept(self.plan, columns, Shared(self._texts, self.words, values), size)
        return self._kept

    def _append(self, name: str, parts: list[Numbers], turn: Numbers | None) -> None:
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self._columns[name].append(joined if turn is None else joined[turn])

    def _single(self, block: Rows, name: str) -> Numbers:
        found = block.values.get(name)
        if found is not None:
            return found
        if self.plan.kind_by_field[name] == "real":
            return np.full(block.orders.size, np.nan)
        return np.full(block.orders.size, self.plan.default_by_field.get(name, 0), np.int8)

    def _settle_lists(self, name: str, blocks: list[Rows], turn: Numbers | None) -> None:
        starts, lengths = [], []
        for block in blocks:
            lists = block.lists.get(name)
            if lists is None:
                lists = Ragged(np.full(block.orders.size, NOT_THERE, np.int8), np.empty(0, np.int64))
            starts.append(len(self._values[name]) + lists.starts)
            lengths.append(lists.lengths)
            self._values[name].append(lists.values)
        self._append(f"{name} start", starts, turn)
        self._append(f"{name} length", lengths, turn)

    def _settle_texts(self, blocks: list[Rows], turn: Numbers | None) -> None:
        size = sum(block.orders.size for block in blocks)
        if all(block.texts is None for block in blocks):
            empty = np.zeros(size, np.int8)
            self._columns["text start"].append(empty)
            self._columns["text length"].append(empty)
            return
        texts: list[bytes] = []
        for block in blocks:
            texts += [b""] * block.orders.size if block.texts is None else block.texts
        lengths = np.fromiter(map(len, texts), np.int64, size)
        starts = self._texts.append(b"".join(texts)) + np.cumsum(lengths) - lengths
        self._append("text start", [starts], turn)
        self._append("text length", [lengths], turn)

    def _as_rows(self, waiting: list[tuple[int, R]]) -> Rows:
        values: dict[str, Numbers] = {}
        lists: dict[str, Ragged] = {}
        for name, kind in self.plan.kind_by_field.items():
            given = [getattr(record, name) for _, record in waiting]
            if kind == "counts":
                lengths = np.array([NOT_THERE if each is None else len(each) for each in given], np.int64)
                lists[name] = Ragged(lengths, np.array([v for each in given for v in each or ()], np.int64))
            elif kind == "real":
                values[name] = np.array([np.nan if each is None else each for each in given], np.float64)
            elif kind == "word":
                values[name] = np.array([self.words[name].number(each) for each in given], np.int64)
            elif kind != "text":
                values[name] = np.array([NOT_THERE if each is None else each for each in given], np.int64)
        texts: list[bytes] | None = None
        if self.plan.text is not None:
            texts = [self._text_of(getattr(record, self.plan.text)) for _, record in waiting]
        return Rows(np.array([order for order, _ in waiting], np.int64), values, texts, lists)

    def _text_of(self, value: object) -> bytes:
        if value is None:
            return b""
        return json.dumps(self.plan.write_text(value), separators=(",", ":")).encode()
