"""One value of the facts at a time: the type and the range it must have, or a sentence that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .reading import FactsError, shown

# A thousandth of a nanosecond to eleven days: beyond that no step of a language model was timed.
LEAST, MOST = 1e-6, 1e9
MOST_COUNTED = 10**15
LONGEST_DRAFT = 1024
LONGEST_LIST = 65_536
MOST_DRAFT_LENGTHS = 128
MOST_RUNS = 10_000


def number(name: str, value: Any, least: float = 0.0, most: float = MOST) -> float:
    """A finite number from `least` to `most`; raises FactsError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FactsError(f"{shown(name)} must be a number, not {_kind(value)}.")
    if not least <= value <= most:
        raise FactsError(f"{shown(name)} must lie between {least:g} and {most:g}, not {value:g}.")
    return float(value)


def above_zero(name: str, value: Any) -> float:
    """A time in ms or a speed in tok/s, never 0; raises FactsError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
        raise FactsError(f"{shown(name)} must be above zero, not {value:g}.")
    return number(name, value, LEAST)


def share(name: str, value: Any) -> float:
    """A fraction from 0 to 1; raises FactsError."""
    return number(name, value, 0.0, 1.0)


def whole(name: str, value: Any, least: int = 0, most: int = MOST_COUNTED) -> int:
    """A whole number, also written 7.0; raises FactsError."""
    found = number(name, value, least, most)
    if found != int(found):
        raise FactsError(f"{shown(name)} must be a whole number, not {found:g}.")
    return int(found)


def runs(name: str, value: Any) -> tuple[float, ...]:
    """One measured number above zero, or a list of repeated ones; raises FactsError."""
    return tuple(above_zero(name, item) for item in items(name, value, MOST_RUNS))


def items(name: str, value: Any, most: int = LONGEST_LIST) -> list[Any]:
    """A list that is neither empty nor absurdly long; a single value counts as a list of one. Raises FactsError."""
    found = value if isinstance(value, list) else [value]
    if not found:
        raise FactsError(f"{shown(name)} must not be an empty list.")
    if len(found) > most:
        raise FactsError(f"{shown(name)} has {len(found)} entries; at most {most} make sense.")
    return found


def text(name: str, value: Any) -> str:
    """A short text, made safe to print; raises FactsError."""
    if not isinstance(value, str):
        raise FactsError(f"{shown(name)} must be a text, not {_kind(value)}.")
    return shown(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of the words allowed; raises FactsError that lists them."""
    if not isinstance(value, str) or value not in choices:
        raise FactsError(f"{shown(name)} must be one of {', '.join(choices)}, not {shown(str(value))}.")
    return value


def table(name: str, value: Any) -> Mapping[str, Any]:
    """An object; raises FactsError."""
    if not isinstance(value, dict):
        raise FactsError(f"{shown(name)} must be an object, not {_kind(value)}.")
    return value


def width(name: str, key: str) -> int:
    """A number of positions written as a name, "2"; raises FactsError."""
    if not (key.isascii() and key.isdigit() and len(key) <= 5 and int(key) >= 1 and str(int(key)) == key):
        raise FactsError(f'{shown(name)} is by number of positions, such as {{"2": 21.0}}; {shown(key)!r} is none.')
    return int(key)


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "that")
