"""The arrays that columns are made of while a file is read: they grow and widen; what a view shows never changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

NOT_THERE = -1
FIRST_ROWS = 1024
GROWTH = 1.5
WIDTHS = (np.int8, np.int16, np.int32, np.int64)


class Growing:
    """A column of whole numbers as narrow as they allow, or one of floats."""

    def __init__(self, width: type[np.generic] = np.int8) -> None:
        self._values: Numbers = np.empty(FIRST_ROWS, width)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: Numbers) -> None:
        """Add values."""
        if not values.size:
            return
        needed = self._size + values.size
        width = self._width_for(values)
        if needed > self._values.size or width != self._values.dtype:
            room = self._values.size if needed <= self._values.size else int(needed * GROWTH)
            wider = np.empty(room, width)
            wider[: self._size] = self._values[: self._size]
            self._values = wider
        self._values[self._size : needed] = values
        self._size = needed

    def _width_for(self, values: Numbers) -> np.dtype[Any]:
        width = self._values.dtype
        if width.kind == "f":
            return width
        low, high = int(values.min()), int(values.max())
        limits = np.iinfo(width)
        if low >= limits.min and high <= limits.max:
            return width
        return next(
            np.dtype(w)
            for w in WIDTHS
            if low >= np.iinfo(w).min and high <= np.iinfo(w).max and w(0).itemsize > width.itemsize
        )

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
class Ragged:
    """Lists of whole numbers: the length of each, -1 for none at all, and their values one after another."""

    lengths: Numbers
    values: Numbers

    @property
    def starts(self) -> Numbers:
        """Where each list starts among the values."""
        sizes = np.maximum(self.lengths, 0).astype(np.int64)
        return np.cumsum(sizes) - sizes

    @property
    def owners(self) -> Numbers:
        """Of each value, which list it is in."""
        return np.repeat(np.arange(self.lengths.size), np.maximum(self.lengths, 0))

    def taken(self, flags: NDArray[np.bool_]) -> Ragged:
        """The lists that are flagged."""
        return Ragged(self.lengths[flags], self.values[flags[self.owners]])


class Words:
    """The different texts of one field by number, in order of first use; `choices` are all there may be."""

    def __init__(self, choices: Sequence[str] = ()) -> None:
        self.known: list[str] = list(choices)
        self.is_closed = bool(choices)
        self._number_by_word = {word: number for number, word in enumerate(self.known)}

    def __len__(self) -> int:
        return len(self.known)

    def number(self, word: str | None) -> int:
        """The number of a word, a new one for one that is new; -1 for None."""
        if word is None:
            return NOT_THERE
        number = self._number_by_word.setdefault(word, len(self.known))
        if number == len(self.known):
            self.known.append(word)
        return number

    def found(self, word: str | None) -> int | None:
        """The number of a word, -1 for None; None for one that stands nowhere."""
        return NOT_THERE if word is None else self._number_by_word.get(word)
