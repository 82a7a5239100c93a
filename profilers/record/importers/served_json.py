"""JSON as servers and benchmarks save it: one document a line, one over many lines, or many in a list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ..codec import LARGEST
from .imported import Tally

DOCUMENT_CHARACTERS = 1 << 24
DEPTH = 64
# the field of a parsed object that lists the names it was given more than once; the last value is the one kept
TWICE = "(given twice)"

# A quote without an end takes the rest of the text, so that no position is scanned twice.
_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")
_INTEGER_CHARACTERS = 20


@dataclass(slots=True)
class Fields:
    """One object's fields, read by name: what is there and unusable is kept in `wrong`, never taken for missing."""

    values: dict[str, Any]
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wrong += [f"{name} is given more than once" for name in self.values.get(TWICE, ())]

    def number(self, name: str) -> float | None:
        """Return a finite number that is not negative; a text that is one counts ("12.5")."""
        value = self.values.get(name)
        if value is None:
            return None
        number = _as_number(value)
        if number is None:
            self.wrong.append(f"{name}: {str(value)[:80]}")
        return number

    def count(self, name: str) -> int | None:
        """Return a whole number that is not negative (12.0 counts)."""
        number = self.number(name)
        if number is not None and number != int(number):
            self.wrong.append(f"{name}: {number}")
            return None
        value = self.values.get(name)
        # beyond 2^53 a float is not the number that was written
        return None if number is None else value if type(value) is int else int(number)

    def counts(self, name: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers."""
        numbers = self.numbers(name)
        if numbers is not None and any(number != int(number) for number in numbers):
            self.wrong.append(f"{name}: {str(self.values.get(name))[:80]}")
            return None
        return None if numbers is None else tuple(int(number) for number in numbers)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of finite numbers that are not negative."""
        value = self.values.get(name)
        if value is None:
            return None
        numbers = [_as_number(item) for item in value] if isinstance(value, list) else [None]
        usable = [number for number in numbers if number is not None]
        if len(usable) != len(numbers):
            self.wrong.append(f"{name}: {str(value)[:80]}")
            return None
        return tuple(usable)

    def text(self, name: str) -> str | None:
        """Return a text that is not empty."""
        value = self.values.get(name)
        return value if isinstance(value, str) and value.strip() else None


def documents(lines: Iterable[str], tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the objects of a source: top-level ones and the items of top-level lists; `data:` before them is fine.

    What is not JSON, too long (16 million characters), nested more than 64 deep, or cut off at the end is puzzled or
    ignored in `tally`; the caller says what became of the objects.
    """
    held: list[str] = []
    characters = depth = 0
    for line in lines:
        text = line.strip().lstrip("\ufeff")
        if not held:
            text = text.removeprefix("data:").strip()
            if text in ("", "[", "]", ",", "[DONE]") or not text.startswith(("{", "[")):
                # a list opened alone on its line is read item by item
                if text and text[0] not in "[],":
                    tally.ignore()
                continue
            if text.startswith("[{") and not text.rstrip(",").endswith("]"):
                text = text[1:]
        if text.startswith("{") and held and depth and not line[:1].isspace() and _parsed(text) is not None:
            # a whole object at the left margin inside an open one: the open one was cut off
            tally.puzzle(held[0])
            held, characters, depth = [], 0, 0
        held.append(text)
        characters += len(text)
        if characters > DOCUMENT_CHARACTERS:
            tally.puzzle(held[0])
            held, characters, depth = [], 0, 0
            continue
        depth += _depth_change(text)
        if depth <= 0:
            yield from _objects("\n".join(held), tally)
            held, characters, depth = [], 0, 0
    if held:
        tally.puzzle(held[0])


def objects_with(value: Any, name: str) -> Iterator[tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """Yield every object in `value` that has a field `name`, each with the objects around it, innermost first."""
    stack: list[tuple[Any, tuple[dict[str, Any], ...]]] = [(value, ())]
    while stack:
        item, around = stack.pop()
        if isinstance(item, dict):
            if name in item:
                yield item, around
            stack += [(part, (item, *around)) for part in reversed(item.values()) if isinstance(part, dict | list)]
        elif isinstance(item, list):
            stack += [(part, around) for part in reversed(item) if isinstance(part, dict | list)]


def _objects(text: str, tally: Tally) -> Iterator[dict[str, Any]]:
    parsed = _parsed(text)
    if isinstance(parsed, dict):
        yield parsed
    elif isinstance(parsed, list):
        for item in parsed:
            if isinstance(item, dict):
                yield item
            elif isinstance(item, list):
                yield from (part for part in item if isinstance(part, dict))
    elif not text.startswith("[") and isinstance(several := _parsed(f"[{text.rstrip().rstrip(',]')}]"), list):
        yield from (item for item in several if isinstance(item, dict))
    else:
        tally.puzzle(text)


def _parsed(text: str) -> Any:
    """Parse a document whose last comma may be left over from the list it stood in; None if that fails."""
    text = text.rstrip().removesuffix(",")
    for attempt in (text, text.removesuffix("]")):
        level = 0
        for bracket in _BRACKETS.findall(_STRINGS.sub("", attempt)):
            level += 1 if bracket in "[{" else -1
            if level > DEPTH:
                return None
        try:
            return _DECODER.decode(attempt)
        except (ValueError, RecursionError):
            continue
    return None


def _depth_change(text: str) -> int:
    brackets = _BRACKETS.findall(_STRINGS.sub("", text))
    opened = sum(bracket in "[{" for bracket in brackets)
    return 2 * opened - len(brackets)


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value) if len(value) <= 40 and value.isascii() and "_" not in value else None
        except ValueError:
            return None
    if not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < LARGEST:
        return None
    return float(value)


def _integer(literal: str) -> int | float:
    # int() of a long literal takes quadratic time
    return int(literal) if len(literal) <= _INTEGER_CHARACTERS else float(literal[:400])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: dict[str, Any] = {}
        made[TWICE] = sorted({name for name, value in pairs if name in seen or seen.update({name: value})})
    return made


_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=_object)
