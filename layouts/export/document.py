"""What a screen says, ready to be written down: sentences and tables, each table raw and as it is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..tables import TableView

Value = str | int | float | bool | None

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
BREAKS = re.compile(r"\s*[\t\n\r\u2028\u2029]+\s*")


@dataclass(frozen=True, slots=True)
class Table:
    """Raw values under `keys` that name their units, and the same table as a person reads it."""

    name: str
    title: str
    keys: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    shown: TableView


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One screen in words and numbers. `facts` are pairs of a name and a value.

    `as_shown`: no raw numbers were at hand, so those of the tables have the digits of the screen.
    """

    screen: str
    title: str
    facts: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    as_shown: bool = False


def one_line(text: str) -> str:
    """A text without line breaks and without anything a terminal or an editor would act on."""
    return CONTROLS.sub("", BREAKS.sub(" ", text)).strip()


def finite(value: Value) -> Value:
    """The value, or None for a number that no JSON can hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def column_name(text: str) -> str:
    """A title as the name of a column: small letters, figures and underscores."""
    for sign, word in (("÷", " per "), ("±", " plus minus "), ("%", " percent "), ("α", " alpha "), ("Σ", " sum ")):
        text = text.replace(sign, word)
    return re.sub(r"\W+", "_", text.strip().casefold()).strip("_")


def unlike(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with a number where one comes again, and a word where there is none."""
    found: list[str] = []
    for name in names:
        name = name or "column"
        same, number = name, 2
        while same in found:
            same, number = f"{name}_{number}", number + 1
        found.append(same)
    return tuple(found)
