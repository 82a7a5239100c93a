"""Dataclasses as JSON objects and back: fields checked against their annotations, texts made safe to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ...engine.errors import SpecviewError

T = TypeVar("T")

LARGEST = 2**63 - 1


class RecordError(SpecviewError):
    """A record that breaks the schema; the text names its kind and the field."""


class Mark(Enum):
    """What an annotation adds to its type: a number may be negative, pairs are a JSON object on disk."""

    SIGNED = "signed"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Text:
    """How a text is made safe: at most `limit` characters, and with `lines` newline and tab stay."""

    limit: int = 4096
    lines: bool = False


PLAIN = Text()

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BREAKS = re.compile(r"[\t\n\r\u2028\u2029]+")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNSAFE_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe_text(text: str, rule: Text = PLAIN) -> str:
    """Return `text` without terminal controls (C0, C1, DEL), bidi overrides and lone surrogates.

    Without `rule.lines` a run of tabs and line breaks becomes one space. A text that was too long ends
    with "…". A second call changes nothing.
    """
    if not text.isprintable():
        text = _SURROGATES.sub("\ufffd", text)
        text = _UNSAFE_BUT_LINES.sub("", text) if rule.lines else _UNSAFE.sub("", _BREAKS.sub(" ", text))
    return text if len(text) <= rule.limit else text[: rule.limit - 1] + "…"


class _WrongValue(Exception):
    """What a value must be, and the path of fields that leads to it, outermost first."""

    def __init__(self, must: str) -> None:
        super().__init__(must)
        self.must = must
        self.path: list[str] = []


Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Form:
    """One annotation as two checked conversions: parsed JSON to memory, and memory to JSON values."""

    read: Convert
    write: Convert


def read_fields(cls: type[T], kind: str, raw: dict[str, Any]) -> T:
    """Build a `cls` from a parsed JSON object, unknown fields ignored; RecordError for a bad one."""
    try:
        record: T = _form_of(cast(Any, cls)).read(raw)
    except _WrongValue as wrong:
        raise _record_error(kind, wrong) from None
    return record


def write_fields(kind: str, record: Any) -> dict[str, Any]:
    """Return the JSON object of a dataclass without the fields that are None; RecordError if one is wrong."""
    try:
        written: dict[str, Any] = _form_of(cast(Any, type(record))).write(record)
    except _WrongValue as wrong:
        raise _record_error(kind, wrong) from None
    return written


def value_reader(hint: Any) -> Convert:
    """The conversion of one annotation from parsed JSON, for a value whose line was found right before."""
    return _form_of(hint).read


def value_writer(hint: Any) -> Convert:
    """The conversion of one annotation to JSON values."""
    return _form_of(hint).write


def _record_error(kind: str, wrong: _WrongValue) -> RecordError:
    return RecordError(f"A record of kind {kind} has a wrong field: {'.'.join(wrong.path)} {wrong.must}.")


@cache
def _form_of(hint: Any) -> _Form:
    """Turn an annotation into its conversions; an annotation no record may use is a TypeError at once."""
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        marks = tuple(rest)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is str:
        return _text_form(next((mark for mark in marks if isinstance(mark, Text)), PLAIN))
    if hint is bool:
        return _both(_whether)
    if hint is int:
        return _both(_count)
    if hint is float:
        return _both(_signed_number if Mark.SIGNED in marks else _number)
    if origin is Literal:
        return _choice_form(arguments)
    if origin in (Union, UnionType) and len(arguments) == 2 and arguments[1] is NoneType:
        return _optional_form(_form_of(arguments[0]))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        if Mark.OBJECT in marks:
            return _mapping_form(_form_of(get_args(arguments[0])[1]))
        return _tuple_form(_form_of(arguments[0]))
    if isinstance(hint, type):
        return _dataclass_form(hint)
    raise TypeError(f"no record may have a field of type {hint}")


def _both(check: Convert) -> _Form:
    return _Form(read=check, write=check)


def _whether(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise _WrongValue("must be true or false")


def _count(value: Any) -> int:
    # bool is a subclass of int, so isinstance would let true in
    if type(value) is int and 0 <= value <= LARGEST:
        return value
    raise _WrongValue("must be a whole number from 0 to 2^63 - 1")


def _signed_number(value: Any) -> float:
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return float(value)
    if isinstance(value, float) and isfinite(value):
        return float(value)
    raise _WrongValue("must be a finite number")


def _number(value: Any) -> float:
    number = _signed_number(value)
    if number < 0:
        raise _WrongValue("must not be negative")
    return number


def _text_form(rule: Text) -> _Form:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise _WrongValue("must be text")
        return safe_text(value, rule)

    return _both(check)


def _choice_form(choices: tuple[Any, ...]) -> _Form:
    def check(value: Any) -> Any:
        if isinstance(value, str) and value in choices:
            return value
        raise _WrongValue("must be one of " + ", ".join(choices))

    return _both(check)


def _optional_form(form: _Form) -> _Form:
    return _Form(
        read=lambda value: None if value is None else form.read(value),
        write=lambda value: None if value is None else form.write(value),
    )


def _tuple_form(item: _Form) -> _Form:
    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _WrongValue("must be a list")
        return tuple(map(item.read, value))

    def write(value: Any) -> list[Any]:
        if type(value) is not tuple:
            raise _WrongValue("must be a tuple")
        return list(map(item.write, value))

    return _Form(read, write)


def _mapping_form(item: _Form) -> _Form:
    key = _text_form(PLAIN)

    def read(value: Any) -> tuple[tuple[str, Any], ...]:
        if type(value) is not dict:
            raise _WrongValue("must be an object")
        return tuple({key.read(name): item.read(part) for name, part in value.items()}.items())

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not tuple or any(type(pair) is not tuple or len(pair) != 2 for pair in value):
            raise _WrongValue("must be a tuple of pairs")
        return {key.write(name): item.write(part) for name, part in value}

    return _Form(read, write)


def _dataclass_form(cls: type[Any]) -> _Form:
    hints = get_type_hints(cls, include_extras=True)
    specs = tuple(
        (
            field.name,
            _form_of(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(cls)
    )

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _WrongValue("must be an object")
        given = {}
        for name, form, required in specs:
            try:
                if name in value:
                    given[name] = form.read(value[name])
                elif required:
                    raise _WrongValue("is missing")
            except _WrongValue as wrong:
                wrong.path.insert(0, name)
                raise
        return cls(**given)

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            raise _WrongValue(f"must be {cls.__name__}")
        written = {}
        for name, form, _ in specs:
            try:
                part = form.write(getattr(value, name))
            except _WrongValue as wrong:
                wrong.path.insert(0, name)
                raise
            if part is not None:
                written[name] = part
        return written

    return _Form(read, write)
