"""One parsed object's fields, read by name and type; what is there and of no use is never taken for missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from .imported import Tally
from .json_documents import Found, Repeated
from .written_numbers import LARGEST_COUNT, LARGEST_NUMBER


@dataclass(slots=True)
class Fields:
    """The fields of `values`; `wrong` names those that were asked for and hold something else."""

    values: dict[str, Any]
    wrong: list[str] = field(default_factory=list)

    def number(self, name: str) -> float | None:
        """Return a finite number that is not negative; a text that is one counts ("12.5")."""
        value = self.values.get(name)
        number = _as_number(value)
        if number is None and value is not None:
            self._complain(name)
        return number

    def count(self, name: str) -> int | None:
        """Return a whole number that is not negative; 12.0 counts."""
        number = self.number(name)
        if number is None:
            return None
        if number != int(number) or number > LARGEST_COUNT:
            self._complain(name)
            return None
        return int(number)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of finite numbers that are not negative."""
        value = self.values.get(name)
        if value is None:
            return None
        numbers = [_as_number(item) for item in value] if isinstance(value, list) else [None]
        usable = tuple(number for number in numbers if number is not None)
        if len(usable) != len(numbers):
            self._complain(name)
            return None
        return usable

    def counts(self, name: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers."""
        numbers = self.numbers(name)
        if numbers is None:
            return None
        if any(number != int(number) or number > LARGEST_COUNT for number in numbers):
            self._complain(name)
            return None
        return tuple(int(number) for number in numbers)

    def text(self, name: str) -> str | None:
        """Return a text that is not empty."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            self._complain(name)
        return value.strip() or None if isinstance(value, str) else None

    def settle(self, tally: Tally) -> None:
        """Count the object as understood, and each of its unusable fields as not."""
        tally.understand()
        for wrong in self.wrong:
            tally.puzzle(wrong)

    def _complain(self, name: str) -> None:
        value = self.values[name]
        shown = "two different values" if isinstance(value, Repeated) else str(value)[:80]
        self.wrong.append(f"{name}: {shown}")


def objects_with(value: Any, name: str) -> Iterator[tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """Yield every object in `value` that has a field `name`, each with the objects around it, innermost first."""
    stack: list[tuple[Any, tuple[dict[str, Any], ...]]] = [(value, ())]
    while stack:
        item, around = stack.pop()
        if isinstance(item, dict):
            if name in item:
                yield item, around
            inner = [part for part in item.values() if isinstance(part, dict | list)]
            stack += [(part, (item, *around)) for part in reversed(inner)]
        elif isinstance(item, list):
            stack += [(part, around) for part in reversed(item) if isinstance(part, dict | list)]


def count_loose(found: Found, tally: Tally) -> None:
    """Count a text that is no object: as not understood where it looks like a damaged one, else as ignored."""
    if found.broken:
        tally.puzzle(found.text)
    else:
        tally.ignore()


def _as_number(value: Any) -> float | None:
    if isinstance(value, str) and len(value) <= 40 and value.isascii() and "_" not in value:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and 0 <= value <= LARGEST_NUMBER else None
