"""Values in a block of lines, read many at a time: plain ones only, which need no second look.

Plain are whole numbers of at most 18 digits, true and false, numbers with a point, lists of whole numbers without
spaces, printable words without escapes, and lists of texts whose JSON a pattern has checked. An end of 0 says that
none of that stands there. Eight bytes are looked at in one step; digits become numbers as in Lemire 2019.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from .columns import FieldKind
from .growing import Ragged, Words

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]

MOST_DIGITS = 18
WORD = 8
MOST_LISTED = 64
MOST_WORDS = 64  # of one field; they are compared one by one
# A cursor stops at the first thing it does not expect, at most one value and one literal behind the last line.
BEHIND_BYTES = 4096

_SPACE = rb"[ \t]*"
_STRING = rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"'
_LIST = rb"\[" + _SPACE + rb"(?:" + _STRING + rb"(?:" + _SPACE + rb"," + _SPACE + _STRING + rb")*+)?+" + _SPACE + rb"\]"
_PIECES = _SPACE.join(
    (rb"\{", rb'"committed"', rb":", _LIST, rb",", rb'"rejected"', rb":", _LIST, rb"\}"),
)
_TEXT = re.compile(rb"(?:" + _LIST + rb"|" + _PIECES + rb")")
_COUNT = rb"(?:0|[1-9][0-9]{0,17})"
_NUMBER = re.compile(_COUNT + rb"(?![0-9.eE])")
_REAL = re.compile(rb"-?" + _COUNT + rb"\.[0-9]{1,40}(?:[eE][+-]?[0-9]{1,3})?(?![0-9.eE+-])")
_COUNTS = re.compile(rb"\[(?:" + _COUNT + rb"(?:," + _COUNT + rb")*+)?\]")
_WORD = re.compile(rb'"[ !#-\[\]-~]{0,56}"')
_FLAG = re.compile(rb"true|false")
PATTERN_BY_KIND: dict[FieldKind, re.Pattern[bytes]] = {
    "count": _NUMBER,
    "flag": _FLAG,
    "real": _REAL,
    "word": _WORD,
    "counts": _COUNTS,
    "text": _TEXT,
}

_ZEROS = np.uint64(0x3030303030303030)
_NINES = np.uint64(0x7676767676767676)
_HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_TRUE, _TRUE_MASK = np.uint64(int.from_bytes(b"true", "little")), np.uint64(0xFFFFFFFF)
_FALSE, _FALSE_MASK = np.uint64(int.from_bytes(b"false", "little")), np.uint64(0xFFFFFFFFFF)
_TENS = np.array([10**n for n in range(WORD + 1)], np.uint64)


class Block:
    """Whole lines in memory; `starts` and `ends` (of the newline) by line.

    `words` are the eight bytes from each place on, `letters` the one byte.
    """

    def __init__(self, data: bytes) -> None:
        self.is_ascii = data.isascii()
        padded = data + bytes(BEHIND_BYTES)
        self.data = padded
        self.letters = np.frombuffer(padded, np.uint8)
        self.words: Bits = np.ndarray((len(data) + BEHIND_BYTES - WORD,), "<u8", padded, 0, (1,))
        self.ends: Ints = np.flatnonzero(self.letters[: len(data)] == ord("\n")).astype(np.int64)
        self.starts: Ints = np.concatenate((np.zeros(1, np.int64), self.ends[:-1] + 1))

    def line(self, number: int) -> bytes:
        """One line without its newline."""
        return self.data[self.starts[number] : self.ends[number]]


class WordReader:
    """Reads the words of one field, and learns new ones as long as they are few."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._written: list[bytes] = []  # as they stand in a line, by number; empty for one that is not plain

    def numbers_at(self, block: Block, at: Ints) -> tuple[Ints, Ints]:
        """The numbers of the words that stand there, and their ends."""
        self._written += map(_written, self._words.known[len(self._written) : MOST_WORDS])
        numbers, ends = np.zeros(at.size, np.int64), np.zeros(at.size, np.int64)
        left = np.arange(at.size)
        number = 0
        while left.size:
            if number == len(self._written) and not self._learned(block.data, int(at[left[0]])):
                break
            written = self._written[number]
            if written:
                here = stands(block.words, at[left], written)
                mine = left[here]
                numbers[mine], ends[mine] = number, at[mine] + len(written)
                left = left[~here]
            number += 1
        return numbers, ends

    def _learned(self, data: bytes, at: int) -> bool:
        """Take in the word that stands there, if it may be one."""
        found = _WORD.match(data, at)
        if found is None or self._words.is_closed or len(self._words) >= MOST_WORDS:
            return False
        self._words.number(found.group()[1:-1].decode())
        self._written.append(found.group())
        return True


def _written(word: str) -> bytes:
    written = f'"{word}"'.encode()
    return written if _WORD.fullmatch(written) else b""


def stands(words: Bits, at: Ints, literal: bytes) -> Flags:
    """Where a literal stands."""
    stands = np.ones(at.size, bool)
    for offset in range(0, len(literal), WORD):
        piece = literal[offset : offset + WORD]
        found = words[at + offset]
        if len(piece) < WORD:
            found &= np.uint64((1 << (8 * len(piece))) - 1)
        stands &= found == np.uint64(int.from_bytes(piece, "little"))
    return stands


def flags_at(words: Bits, at: Ints) -> tuple[NDArray[np.int8], Ints]:
    """Flags and their ends."""
    word = words[at]
    yes, no = (word & _TRUE_MASK) == _TRUE, (word & _FALSE_MASK) == _FALSE
    return yes.view(np.int8), np.where(yes | no, at + 5 - yes, 0)


def reals_at(data: bytes, at: Ints) -> tuple[NDArray[np.float64], Ints]:
    """Numbers with a point and their ends."""
    ends = _ends(_REAL, data, at)
    values = np.array(
        [float(data[start:end]) if end else 0.0 for start, end in zip(at.tolist(), ends.tolist(), strict=True)],
        np.float64,
    )
    return values, np.where(np.isfinite(values), ends, 0)


def texts_at(block: Block, at: Ints) -> Ints:
    """The ends of lists of texts, all in UTF-8: nothing else of a line that is alike can be of more than ASCII."""
    ends = _ends(_TEXT, block.data, at)
    if block.is_ascii:
        return ends
    texts = [block.data[start:end] for start, end in zip(at.tolist(), ends.tolist(), strict=True)]
    if _is_utf8(b"".join(texts)):  # every text ends in ASCII, so that none completes another
        return ends
    return np.where([_is_utf8(text) for text in texts], ends, 0)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _ends(pattern: re.Pattern[bytes], data: bytes, at: Ints) -> Ints:
    match = pattern.match
    ends = [0 if (found := match(data, start)) is None else found.end() for start in at.tolist()]
    return np.array(ends, np.int64)


def lists_at(block: Block, at: Ints) -> tuple[Ragged, Ints]:
    """Lists of whole numbers and their ends."""
    letters = block.letters
    lengths, ends = np.zeros(at.size, np.int64), np.zeros(at.size, np.int64)
    opened = letters[at] == ord("[")
    is_empty = opened & (letters[at + 1] == ord("]"))
    ends[is_empty] = at[is_empty] + 2
    going = np.flatnonzero(opened & ~is_empty)
    places = at[going] + 1
    owners, values = [going[:0]], [going[:0]]
    for _ in range(MOST_LISTED):
        value, digits = counts_at(block.words, places)
        places = places + digits
        after = letters[places]
        closed, goes_on = (digits > 0) & (after == ord("]")), (digits > 0) & (after == ord(","))
        owners.append(going)
        values.append(value)
        lengths[going] += 1
        ends[going[closed]] = places[closed] + 1
        going, places = going[goes_on], places[goes_on] + 1
        if not going.size:
            break
    lengths[ends == 0] = 0
    owner, value = np.concatenate(owners), np.concatenate(values)
    turn = np.argsort(owner, kind="stable")
    turn = turn[ends[owner[turn]] > 0]
    return Ragged(lengths, value[turn]), ends


def counts_at(words: Bits, at: Ints) -> tuple[Ints, Ints]:
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


def _eight_digits(words: Bits, at: Ints) -> tuple[Bits, Ints, NDArray[np.bool_]]:
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
