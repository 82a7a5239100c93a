"""Objects in a text of JSON: one document, a list, one a line, a stream of events, cut off or among other lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

DEPTH = 64
DOCUMENT_CHARACTERS = 64 << 20
_INTEGER_CHARACTERS = 30

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")
# a list of anything but objects and lists is of no use here, and often a log line that begins with "[INFO]"
_BEGINS = re.compile(r"\{|\[\s*(?:[\[{\]]|$)")
_EVENT = re.compile(r"^data:\s*")


@dataclass(frozen=True, slots=True)
class Repeated:
    """What stands for a value whose name occurs twice in its object with two values: nobody can say which holds."""


@dataclass(frozen=True, slots=True)
class Found:
    """One object of the text (`event`: it came in a stream of server events), or the text that is none.

    `broken`: it looks like JSON and is not, or is too deep or too long; else it is a line of something else.
    """

    value: dict[str, Any] | None
    text: str = ""
    broken: bool = False
    event: bool = False


def documents(lines: Iterable[str]) -> Iterator[Found]:
    """Yield every object of the text in order, the items of lists one by one; never more than one document is held."""
    pending: list[str] = []
    level = size = 0
    event = False
    for line in lines:
        stripped = line.strip().removeprefix("\ufeff")
        if not stripped:
            continue
        if not pending:
            event = _EVENT.match(stripped) is not None
            stripped = _EVENT.sub("", stripped)
            if not _BEGINS.match(stripped):
                if stripped not in ("[DONE]", ","):
                    yield Found(None, stripped)
                continue
        elif line[:1] == "{" and pending[-1][-1] not in ",[:" and (whole := _parsed(stripped)) is not None:
            # a torn line of a file that has one object a line: the next one must not vanish in it
            yield from _salvaged(" ".join(pending), event)
            pending, level, size = [], 0, 0
            yield from _objects(whole, event)
            continue
        pending.append(stripped)
        level += _rise(stripped)
        size += len(stripped)
        if level <= 0:
            yield from _complete("\n".join(pending), event)
            pending, level, size = [], 0, 0
        elif size > DOCUMENT_CHARACTERS:
            yield Found(None, pending[0], broken=True)
            pending, level, size = [], 0, 0
    if pending:
        yield from _salvaged("\n".join(pending), event)


def _rise(line: str) -> int:
    brackets = _NOT_BRACKETS.sub("", _STRINGS.sub("", line))
    return sum(1 if bracket in "[{" else -1 for bracket in brackets)


def _complete(text: str, event: bool) -> Iterator[Found]:
    """All values of a text whose brackets are closed: usually one, several where nothing stands between them."""
    value = _parsed(text)
    if value is not None:
        yield from _objects(value, event)
    else:
        yield from _salvaged(text, event)


def _salvaged(text: str, event: bool) -> Iterator[Found]:
    """The whole objects of a text that is cut off or damaged, and then the rest as broken."""
    at, end = 0, len(text)
    if not _is_shallow(text):
        at, end = 0, 0
        yield Found(None, text, broken=True)
    elif text[:1] == "[":
        at = 1
    while at < end:
        while at < end and text[at] in " \n\r\t,":
            at += 1
        if at >= end or text[at] == "]":
            return
        if text[at] not in "{[":
            break
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        yield from _objects(value, event)
    if at < end:
        yield Found(None, text[at:], broken=True)


def _objects(value: Any, event: bool) -> Iterator[Found]:
    if isinstance(value, dict):
        yield Found(value, event=event)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                yield from _objects(item, event)
            else:
                yield Found(None, str(item)[:200], broken=True)


def _parsed(text: str) -> Any:
    if not _is_shallow(text):
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _is_shallow(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEPTH:
        return True
    level = 0
    for bracket in _NOT_BRACKETS.sub("", _STRINGS.sub("", text)):
        level += 1 if bracket in "[{" else -1
        if level > DEPTH:
            return False
    return True


def _integer(literal: str) -> int | float:
    # int() of a long literal takes quadratic time, and no count has so many digits
    return int(literal) if len(literal) <= _INTEGER_CHARACTERS else float("inf")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = Repeated() if name in found and found[name] != value else value
    return found


_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=_pairs)
