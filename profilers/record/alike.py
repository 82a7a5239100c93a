"""Lines that differ only in their numbers, flags and texts, read many at a time with numpy.

A shape is learned from one line that the careful reader took: what stands between its values has to be the same, byte
for byte, in every line of that shape, and every value has to be plain: whole numbers of at most 18 digits, true or
false, texts whose JSON a pattern has checked. A line that is anything else is left to the careful reader, so both give
the same records. Eight bytes are looked at in one step; digits become numbers as in Lemire 2019.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .columns import Plan

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
SlotKind = Literal["count", "flag", "text"]

MOST_DIGITS = 18
WORD = 8
# A cursor stops at the first thing it does not expect, at most one value and one literal behind the last line.
BEHIND_BYTES = 4096
LONGEST_LITERAL = 1024

_SPACE = rb"[ \t]*"
_STRING = rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"'
_LIST = rb"\[" + _SPACE + rb"(?:" + _STRING + rb"(?:" + _SPACE + rb"," + _SPACE + _STRING + rb")*+)?+" + _SPACE + rb"\]"
_PIECES = _SPACE.join(
    (rb"\{", rb'"committed"', rb":", _LIST, rb",", rb'"rejected"', rb":", _LIST, rb"\}"),
)
_TEXT = re.compile(rb"(?:" + _LIST + rb"|" + _PIECES + rb")")
_OPENING = re.compile(rb"[ \t]*\{[ \t]*")
_NAME = re.compile(rb'"([a-z_]+)"[ \t]*:[ \t]*')
_NUMBER = re.compile(rb"(?:0|[1-9][0-9]{0,17})(?![0-9.eE])")
_FLAG = re.compile(rb"true|false")
_KIND = re.compile(rb'"[a-z]+"')
_VALUE_BY_KIND = {"count": _NUMBER, "optional": _NUMBER, "flag": _FLAG, "text": _TEXT}
_BETWEEN = re.compile(rb"[ \t]*,[ \t]*")
_CLOSING = re.compile(rb"[ \t]*\}[ \t\r]*")

_ZEROS = np.uint64(0x3030303030303030)
_NINES = np.uint64(0x7676767676767676)
_HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_TRUE, _TRUE_MASK = np.uint64(int.from_bytes(b"true", "little")), np.uint64(0xFFFFFFFF)
_FALSE, _FALSE_MASK = np.uint64(int.from_bytes(b"false", "little")), np.uint64(0xFFFFFFFFFF)
_TENS = np.array([10**n for n in range(WORD + 1)], np.uint64)


class Block:
    """Whole lines in memory; `starts` and `ends` (of the newline) by line. Raises ValueError unless it is UTF-8."""

    def __init__(self, data: bytes) -> None:
        if not data.isascii():
            data.decode("utf-8")
        padded = data + bytes(BEHIND_BYTES)
        self.data = padded
        self.words: Words = np.ndarray((len(data) + BEHIND_BYTES - WORD,), "<u8", padded, 0, (1,))
        self.ends: Ints = np.flatnonzero(np.frombuffer(padded, np.uint8, len(data)) == ord("\n")).astype(np.int64)
        self.starts: Ints = np.concatenate((np.zeros(1, np.int64), self.ends[:-1] + 1))

    def line(self, number: int) -> bytes:
        """One line without its newline."""
        return self.data[self.starts[number] : self.ends[number]]


@dataclass(frozen=True, slots=True)
class Found:
    """The lines of one shape in a block, and their values by field."""

    lines: Ints
    values: dict[str, Ints]
    texts: list[bytes] | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What the lines of one shape have between their values: a literal before each slot, and one at the end."""

    cls: type[Any]
    literals: tuple[bytes, ...]
    slots: tuple[tuple[str, SlotKind], ...]
    end: bytes

    def found(self, block: Block, lines: Ints) -> Found:
        """Those of some lines that have this shape."""
        at = block.starts[lines]
        values: dict[str, Ints] = {}
        texts: NDArray[Any] | None = None
        for literal, (name, kind) in zip(self.literals, self.slots, strict=True):
            kept = _stands(block.words, at, literal)
            at = at + len(literal)
            if kind == "text":
                ends = _text_ends(block.data, at, kept)
                kept = ends > 0
                texts = np.stack((at, ends), axis=1)
                at = ends
            elif kind == "flag":
                word = block.words[at]
                value, no = (word & _TRUE_MASK) == _TRUE, (word & _FALSE_MASK) == _FALSE
                kept &= value | no
                values[name] = value.view(np.int8)
                at = at + 5 - value
            else:
                values[name], lengths = _counts(block.words, at)
                kept &= lengths > 0
                at = at + lengths
            if not kept.all():
                at, lines = at[kept], lines[kept]
                values = {name: each[kept] for name, each in values.items()}
                texts = None if texts is None else texts[kept]
            if not lines.size:
                break
        kept = _stands(block.words, at, self.end) & (at + len(self.end) == block.ends[lines])
        if not kept.all():
            lines = lines[kept]
            values = {name: each[kept] for name, each in values.items()}
            texts = None if texts is None else texts[kept]
        cut = None if texts is None else [block.data[start:end] for start, end in texts.tolist()]
        return Found(lines, values, cut)


def shape_of(line: bytes, plan_by_kind: Mapping[bytes, Plan[Any]]) -> Shape | None:
    """The shape of a line that the careful reader took; None where it is not plain enough to have one."""
    opening = _OPENING.match(line)
    plan: Plan[Any] | None = None
    if opening is None:
        return None
    at, last = opening.end(), 0
    literals: list[bytes] = []
    slots: list[tuple[str, SlotKind]] = []
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
            value = None if known is None else _VALUE_BY_KIND[known].match(line, at)
            if value is not None and known is not None:
                literals.append(line[last:at])
                slots.append((field, "count" if known == "optional" else known))
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


def _stands(words: Words, at: Ints, literal: bytes) -> NDArray[np.bool_]:
    """Where a literal stands."""
    stands = np.ones(at.size, bool)
    for offset in range(0, len(literal), WORD):
        piece = literal[offset : offset + WORD]
        found = words[at + offset]
        if len(piece) < WORD:
            found &= np.uint64((1 << (8 * len(piece))) - 1)
        stands &= found == np.uint64(int.from_bytes(piece, "little"))
    return stands


def _counts(words: Words, at: Ints) -> tuple[Ints, Ints]:
    """Whole numbers and how many digits they have; 0 digits where there is none, or one that JSON does not allow."""
    values, digits, leads = _eight_digits(words, at)
    lengths = digits
    longer = np.flatnonzero(digits == WORD)
    while longer.size:
        more, digits, _ = _eight_digits(words, at[longer] + lengths[longer])
        fits = lengths[longer] + digits <= MOST_DIGITS
        # a number too long is no number here, and must not overflow
        values[longer] = np.where(fits, values[longer] * _TENS[digits] + more, values[longer])
        lengths[longer] = np.where(fits, lengths[longer] + digits, 0)
        longer = longer[fits & (digits == WORD)]
    lengths[leads & (lengths > 1)] = 0
    return values.view(np.int64), lengths


def _eight_digits(words: Words, at: Ints) -> tuple[Words, Ints, NDArray[np.bool_]]:
    """The number that up to eight digits from `at` on make, how many there are, and whether the first is a zero."""
    x = words[at] ^ _ZEROS
    others = ((x + _NINES) | x) & _HIGH
    first = others & (~others + np.uint64(1))
    digits = ((((first - np.uint64(1)) & _ONES) * _ONES) >> np.uint64(56)) - np.uint64(1) + (others == 0)
    leads = (x & np.uint64(0xFF)) == 0
    # digits to the upper end, so that what is shifted in counts as leading zeros
    x <<= (np.uint64(WORD) - digits) << np.uint64(3)
    x = (x * np.uint64(2561)) >> np.uint64(8)
    x = ((x & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    x = ((x & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
    return x, digits.view(np.int64), leads


def _text_ends(data: bytes, at: Ints, wanted: NDArray[np.bool_]) -> Ints:
    """Where the lists of texts that begin there end; 0 for none."""
    match = _TEXT.match
    ends = [
        0 if not asked or (text := match(data, start)) is None else text.end()
        for start, asked in zip(at.tolist(), wanted.tolist(), strict=True)
    ]
    return np.array(ends, np.int64)
