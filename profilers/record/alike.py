"""Lines that differ only in their values, read many at a time with numpy.

A shape is learned from one line that the careful reader took: what stands between its values has to be the same, byte
for byte, in every line of that shape, and every value has to be plain (`plain_values` says what that is). A line that
is anything else is left to the careful reader, so both give the same records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import FieldKind, Plan
from .gathered import Rows
from .growing import Ragged
from .plain_values import (
    PATTERN_BY_KIND,
    WORD,
    Block,
    Ints,
    WordReader,
    counts_at,
    flags_at,
    lists_at,
    reals_at,
    stands,
    texts_at,
)

KIND_AT = len('{"kind":')
LONGEST_LITERAL = 1024  # with one value less than the bytes behind a block

_OPENING = re.compile(rb"[ \t]*\{[ \t]*")
_NAME = re.compile(rb'"([a-z_]+)"[ \t]*:[ \t]*')
_KIND = re.compile(rb'"[a-z]+"')
_BETWEEN = re.compile(rb"[ \t]*,[ \t]*")
_CLOSING = re.compile(rb"[ \t]*\}[ \t\r]*")

WordReaders = Mapping[str, WordReader]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the lines of one shape have between their values: a literal before each slot, and one at the end."""

    cls: type[Any]
    literals: tuple[bytes, ...]
    slots: tuple[tuple[str, FieldKind], ...]
    end: bytes

    def may_begin(self, block: Block, lines: Ints) -> NDArray[np.bool_]:
        """Which lines begin alike as far as eight bytes tell, those that name the kind as a rule."""
        offset = min(KIND_AT, max(0, len(self.literals[0]) - WORD))
        return stands(block.words, block.starts[lines] + offset, self.literals[0][offset : offset + WORD])

    def found(self, block: Block, lines: Ints, words: WordReaders) -> Rows:
        """Those of some lines that have this shape, their numbers as orders."""
        found = _Found(lines)
        at = block.starts[lines]
        for literal, slot in zip(self.literals, self.slots, strict=True):
            kept = stands(block.words, at, literal)
            at = at + len(literal)
            if not kept.all():
                at = at[kept]
                found.keep(kept)
            at, kept = found.read(block, at, slot, words)
            if not kept.all():
                at = at[kept]
                found.keep(kept)
            if not found.lines.size:
                break
        kept = stands(block.words, at, self.end) & (at + len(self.end) == block.ends[found.lines])
        if not kept.all():
            found.keep(kept)
        return found.rows(block)


class _Found:
    """The values of the lines that are of a shape as far as it was compared."""

    def __init__(self, lines: Ints) -> None:
        self.lines = lines
        self._values: dict[str, NDArray[Any]] = {}
        self._lists: dict[str, Ragged] = {}
        self._texts: NDArray[Any] | None = None

    def read(
        self, block: Block, at: Ints, slot: tuple[str, FieldKind], words: WordReaders
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Read one value of each; returns where they end and which of them are plain."""
        name, kind = slot
        if kind == "text":
            ends = texts_at(block, at)
            self._texts = np.stack((at, ends), axis=1)
        elif kind == "counts":
            self._lists[name], ends = lists_at(block, at)
        elif kind == "word":
            self._values[name], ends = words[name].numbers_at(block, at)
        elif kind == "real":
            self._values[name], ends = reals_at(block.data, at)
        elif kind == "flag":
            self._values[name], ends = flags_at(block.words, at)
        else:
            self._values[name], lengths = counts_at(block.words, at)
            ends = np.where(lengths > 0, at + lengths, 0)
        return ends, ends > 0

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Go on with some of the lines only."""
        self.lines = self.lines[kept]
        self._values = {name: each[kept] for name, each in self._values.items()}
        self._lists = {name: each.taken(kept) for name, each in self._lists.items()}
        self._texts = None if self._texts is None else self._texts[kept]

    def rows(self, block: Block) -> Rows:
        """What was found."""
        cut = None if self._texts is None else [block.data[start:end] for start, end in self._texts.tolist()]
        return Rows(self.lines, self._values, cut, self._lists)


def shape_of(line: bytes, plan_by_kind: Mapping[bytes, Plan[Any]]) -> Shape | None:
    """The shape of a line that the careful reader took; None where it is not plain enough to have one."""
    opening = _OPENING.match(line)
    plan: Plan[Any] | None = None
    if opening is None:
        return None
    at, last = opening.end(), 0
    literals: list[bytes] = []
    slots: list[tuple[str, FieldKind]] = []
    seen: set[str] = set()
    while True:
        name = _NAME.match(line, at)
        if name is None or (field := name.group(1).decode()) in seen:
            return None
        seen.add(field)
        at = name.end()
        if field == "kind":
            value = _KIND.match(line, at)
            plan = None if value is None else plan_by_kind.get(value.group()[1:-1])
        else:
            known = None if plan is None else plan.kind_by_field.get(field)
            value = None if known is None else PATTERN_BY_KIND[known].match(line, at)
            if value is not None and known is not None:
                literals.append(line[last:at])
                slots.append((field, known))
                last = value.end()
                if len(literals[-1]) > LONGEST_LITERAL:
                    return None
        if value is None or plan is None:
            return None
        at = value.end()
        between = _BETWEEN.match(line, at)
        if between is not None:
            at = between.end()
            continue
        closing = _CLOSING.fullmatch(line, at)
        if closing is None or not slots:
            return None
        return Shape(plan.cls, tuple(literals), tuple(slots), line[last:])
