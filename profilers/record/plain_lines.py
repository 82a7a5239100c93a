"""Records of one kind and form read line by line with a pattern of their own, learned from one that was read carefully.

Probes come by the hundred thousand and differ only in their numbers. What stands between the numbers has to be the
same, byte for byte; numbers have to be plain. Any other line is left to the careful reader, so both give the same
records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from .codec import Mark
from .records import Calibration, Comparison, Guard, Memory, Probe, Record

MOST_FORMS = 2048
LONGEST_BYTES = 2048
PLAIN_CLASSES = (Probe, Memory, Calibration, Comparison, Guard)

Reader: TypeAlias = Callable[[bytes], Any]

_DIGITS = b"0123456789"
_COUNT = rb"(?:0|[1-9][0-9]{0,17})"
_REAL = rb"-?" + _COUNT + rb"(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?"
_COUNTS = rb"\[(?:" + _COUNT + rb"(?:," + _COUNT + rb")*+)?\]"
_FLAG = rb"true|false"
_FIELD = re.compile(rb'"([a-z_]+)":("[ !#-\[\]-~]*"|\[[0-9,]*\]|[^"\[\]{},]+)([,}])')


class _NotPlain(Exception):
    """A number that the careful reader has to look at."""


def _counts(text: bytes) -> tuple[int, ...]:
    return tuple(map(int, text[1:-1].split(b","))) if len(text) > 2 else ()


def _signed(text: bytes) -> float:
    number = float(text) if b"." in text or b"e" in text or b"E" in text else float(int(text))
    if not isfinite(number):
        raise _NotPlain
    return number


def _real(text: bytes) -> float:
    number = _signed(text)
    if number < 0:
        raise _NotPlain
    return number


def _flag(text: bytes) -> bool:
    return text == b"true"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of line: its pattern, how each of its groups is read, and the fields that are always the same."""

    cls: type[Any]
    pattern: re.Pattern[bytes]
    names: tuple[str, ...]
    readers: tuple[Reader, ...]
    same: Mapping[str, Any]

    def read(self, line: bytes) -> Any:
        """The record of a line; None where it is not of this form."""
        found = self.pattern.fullmatch(line)
        if found is None:
            return None
        try:
            values = {
                name: read(text) for name, read, text in zip(self.names, self.readers, found.groups(), strict=True)
            }
        except _NotPlain:
            return None
        return self.cls(**values, **self.same)


class PlainLines:
    """The forms known so far, by what is left of their lines without digits."""

    def __init__(self) -> None:
        self._form_by_rest: dict[bytes, Form] = {}

    def read(self, line: bytes) -> Any:
        """The record of a line of a known form, else None."""
        form = self._form_by_rest.get(line.translate(None, _DIGITS))
        return None if form is None else form.read(line)

    def learn(self, line: bytes, record: Record) -> None:
        """Take the form of a line that was read carefully, where it is plain."""
        if len(self._form_by_rest) >= MOST_FORMS or len(line) > LONGEST_BYTES or type(record) not in PLAIN_CLASSES:
            return
        rest = line.translate(None, _DIGITS)
        if rest not in self._form_by_rest:
            form = form_of(line, record)
            if form is not None and form.read(line) == record:
                self._form_by_rest[rest] = form


def form_of(line: bytes, record: Record) -> Form | None:
    """The form of the line of a record; None where it is not plain."""
    cls = type(record)
    slot_by_field = _slots_of(cast(Any, cls))
    pattern: list[bytes] = []
    names: list[str] = []
    readers: list[Reader] = []
    seen: set[str] = set()
    at, last = 1, 0
    if not line.startswith(b"{") or not line.endswith(b"}"):
        return None
    while at < len(line):
        found = _FIELD.match(line, at)
        if found is None or (name := found.group(1).decode()) in seen:
            return None
        seen.add(name)
        slot = slot_by_field.get(name)
        if name == "kind" or slot == "same":
            if not found.group(2).startswith(b'"'):
                return None
        elif slot is None:
            return None
        else:
            form, reader = slot
            pattern += [re.escape(line[last : found.start(2)]), rb"(", form, rb")"]
            names.append(name)
            readers.append(reader)
            last = found.end(2)
        at = found.end()
        if (found.group(3) == b"}") is not (at == len(line)):
            return None
    pattern.append(re.escape(line[last:]))
    same = {field.name: getattr(record, field.name) for field in fields(record) if field.name not in names}
    return Form(cls, re.compile(b"".join(pattern)), tuple(names), tuple(readers), same)


@cache
def _slots_of(cls: Any) -> Mapping[str, tuple[bytes, Reader] | Literal["same"]]:
    """How each field of a class is read; texts are always the same, and what is neither is not plain."""
    found: dict[str, tuple[bytes, Reader] | Literal["same"]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) in (Union, UnionType) and get_args(hint)[1:] == (NoneType,):
            hint = get_args(hint)[0]
        signed = get_origin(hint) is Annotated and Mark.SIGNED in get_args(hint)[1:]
        hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        if hint is int:
            found[name] = (_COUNT, int)
        elif hint is bool:
            found[name] = (_FLAG, _flag)
        elif hint is float:
            found[name] = (_REAL, _signed if signed else _real)
        elif hint == tuple[int, ...]:
            found[name] = (_COUNTS, _counts)
        elif hint is str or get_origin(hint) is Literal:
            found[name] = "same"
    return found
