"""Untrusted bytes as lines, and a line as one JSON object or the reason why not, in time linear in bytes."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from ...engine.errors import SpecviewError

LINE_BYTES = 1 << 20
DEPTH = 16

# A quote without an end takes the rest of the line, so that no position is scanned twice.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# "-9223372036854775808", the longest integer a record may hold
_INTEGER_CHARACTERS = 20


class LineError(SpecviewError):
    """A line that is no JSON object within the limits; the text says what is wrong with it."""


class LineSplitter:
    """Cuts a stream of bytes at its newlines, and holds at most `limit_bytes` of a line that goes on."""

    def __init__(self, limit_bytes: int = LINE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._number = 1
        self._partial = bytearray()
        self._inside_long_line = False

    @property
    def pending_bytes(self) -> int:
        """The length of the last line so far, which has no newline yet."""
        return len(self._partial)

    @property
    def between_lines(self) -> bool:
        """Whether the next byte begins a line."""
        return not self._partial and not self._inside_long_line

    def pass_by(self, count: int) -> int:
        """Count whole lines that somebody else cuts, between two lines; returns the number of the first."""
        first = self._number
        self._number += count
        return first

    def feed(self, data: bytes) -> list[tuple[int, bytes | None]]:
        """Return the lines that `data` completes, numbered from 1; None, once, for a line too long."""
        lines: list[tuple[int, bytes | None]] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if not self._inside_long_line:
                fits = len(self._partial) + end - start <= self._limit_bytes
                lines.append((self._number, bytes(self._partial) + data[start:end] if fits else None))
            self._inside_long_line = False
            self._partial.clear()
            self._number += 1
            start = end + 1
        if not self._inside_long_line:
            self._partial += memoryview(data)[start:]
            if len(self._partial) > self._limit_bytes:
                self._partial.clear()
                self._inside_long_line = True
                lines.append((self._number, None))
        return lines

    def take_pending(self) -> tuple[int, bytes]:
        """Return the partial last line with its number, and forget it."""
        line = bytes(self._partial)
        self._partial.clear()
        return self._number, line


def read_line(line: bytes, depth: int = DEPTH) -> dict[str, Any]:
    """Parse one line, without its newline, into an object with finite numbers; else LineError."""
    if not _is_shallow(line, depth):
        raise LineError(f"It is nested more than {depth} deep.")
    try:
        parsed = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise LineError("It is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise LineError("It is not valid JSON.") from None
    if not isinstance(parsed, dict):
        raise LineError("It is not a JSON object.")
    return parsed


def _is_shallow(line: bytes, depth: int) -> bool:
    """Say whether no bracket outside a string is nested deeper; asked before parsing, which recurses."""
    if line.count(b"[") + line.count(b"{") <= depth:
        return True
    level = 0
    for bracket in _STRINGS.sub(b"", line).translate(None, _NOT_BRACKETS):
        level += 1 if bracket in b"[{" else -1
        if level > depth:
            return False
    return True


def _integer(literal: str) -> int:
    # int() of a long literal takes quadratic time
    if len(literal) > _INTEGER_CHARACTERS:
        raise LineError("It holds a whole number beyond 64 bits.")
    return int(literal)


def _finite(literal: str) -> float:
    number = float(literal)
    if not isfinite(number):
        raise LineError("It holds a number too large for a float.")
    return number


def _constant(literal: str) -> float:
    raise LineError(f"It holds {literal}, which is not a finite number.")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_finite, parse_constant=_constant)
