"""Blocks of whole lines: rounds, steps and probes out of them at once, and which lines are left to read one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...engine.errors import SpecviewError
from .alike import Shape, WordReaders, shape_of
from .columns import Plan
from .gathered import RecordColumns, Rows
from .plain_values import Block, Ints, WordReader
from .records import Probe, Record, Round, Step

MOST_SHAPES = 32
MOST_TRIES = 64  # lines that no shape could be learned from; a file of such lines is read one by one
HEAD_BYTES = 40
_KINDS = (b'"round"', b'"step"', b'"probe"')
_OF_MANY = "batch"  # probes of several sequences are kept apart, by whoever reads them one by one

Careful = Callable[[bytes], Record | None]


@dataclass(frozen=True, slots=True)
class Sorted:
    """A block with the events found in it by shape, and the other lines, in order."""

    block: Block
    found: tuple[tuple[Shape, Rows], ...]
    others: Ints

    def before(self, line: int) -> Sorted:
        """Only the events before a line; the ones after it are left to be read one by one."""
        kept, late = [], [self.others]
        for shape, found in self.found:
            early = found.orders < line
            late.append(found.orders[~early])
            kept.append((shape, found.taken(early)))
        return Sorted(self.block, tuple(kept), np.sort(np.concatenate(late)))

    @property
    def events(self) -> int:
        """How many events were found."""
        return sum(found.orders.size for _, found in self.found)


class EventBlocks:
    """The rounds, steps and probes of a file, one by one or in blocks, and the shapes their lines have."""

    def __init__(self) -> None:
        self.columns: Mapping[type[Any], RecordColumns[Any]] = {cls: RecordColumns(cls) for cls in (Round, Step, Probe)}
        self._plan_by_kind = {
            b"round": self.columns[Round].plan,
            b"step": self.columns[Step].plan,
            b"probe": _without(self.columns[Probe].plan, _OF_MANY),
        }
        self._words: Mapping[type[Any], WordReaders] = {
            cls: {name: WordReader(words) for name, words in columns.words.items()}
            for cls, columns in self.columns.items()
        }
        self._shapes: list[Shape] = []
        self._tries = 0

    def sorted_out(self, data: bytes, longest: int, careful: Careful) -> Sorted:
        """Find the events in whole lines; `careful` reads one line the slow way."""
        block = Block(data)
        lines = np.arange(block.starts.size)
        left = lines[block.ends - block.starts <= longest]
        found: list[tuple[Shape, Rows]] = []
        for shape in self._shapes:
            left = self._find(block, shape, left, found)
        starts = block.starts[left].tolist()
        for number, start in zip(left.tolist(), starts, strict=True):
            if len(self._shapes) == MOST_SHAPES or self._tries == MOST_TRIES:
                break
            head = block.data[start : start + HEAD_BYTES]
            if not any(kind in head for kind in _KINDS) or not _has(left, number):
                continue
            line = block.line(number)
            if b'"batch":' in line:
                continue
            shape_here = self._learned(line, careful)
            if shape_here is not None:
                self._shapes.append(shape_here)
                left = self._find(block, shape_here, left, found)
        self._shapes.sort(key=lambda shape: -_lines_of(found, shape))
        taken = np.zeros(lines.size, bool)
        for _, each in found:
            taken[each.orders] = True
        return Sorted(block, tuple(found), lines[~taken])

    def keep(self, sorted_out: Sorted) -> None:
        """Take the events of a block in, in the order of its lines."""
        for shape, found in sorted_out.found:
            self.columns[shape.cls].add_block(found)
        self.settle()

    def settle(self) -> None:
        """End a block: what comes next stands behind it."""
        for columns in self.columns.values():
            columns.settle()

    def _find(self, block: Block, shape: Shape, left: Ints, found: list[tuple[Shape, Rows]]) -> Ints:
        here = shape.found(block, left[shape.may_begin(block, left)], self._words[shape.cls])
        if not here.orders.size:
            return left
        found.append((shape, here))
        kept = np.ones(block.starts.size, bool)
        kept[here.orders] = False
        return left[kept[left]]

    def _learned(self, line: bytes, careful: Careful) -> Shape | None:
        shape = shape_of(line, self._plan_by_kind)
        try:
            if shape is not None and type(careful(line)) is shape.cls:
                return shape
        except SpecviewError:
            pass
        self._tries += 1
        return None


def _without(plan: Plan[Any], field: str) -> Plan[Any]:
    return replace(plan, kind_by_field={name: kind for name, kind in plan.kind_by_field.items() if name != field})


def _has(sorted_lines: Ints, number: int) -> bool:
    at = int(np.searchsorted(sorted_lines, number))
    return at < sorted_lines.size and int(sorted_lines[at]) == number


def _lines_of(found: list[tuple[Shape, Rows]], shape: Shape) -> int:
    return sum(each.orders.size for other, each in found if other is shape)
