"""Differences of counters that only grow: what was counted between two looks at them, or that they began anew."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Generic[Key]):
    """The counters named by `keys` fell, so whoever counts started again and nothing can be said of the time between.

    What the later look holds was counted since that start.
    """

    keys: tuple[Key, ...]


def differences(before: Mapping[Key, float], after: Mapping[Key, float]) -> Mapping[Key, float] | Reset[Key]:
    """Return how much each counter of `after` grew, or which of them fell.

    A counter new in `after` began at 0; one that is missing there (a look that was cut off) is left out, because its
    growth is not known. Values that are no finite number, or negative, are taken as missing.
    """
    grown: dict[Key, float] = {}
    fallen: list[Key] = []
    for key, value in after.items():
        if not _counts(value):
            continue
        earlier = before.get(key, 0.0)
        if not _counts(earlier):
            continue
        if value < earlier:
            fallen.append(key)
        else:
            grown[key] = value - earlier
    return Reset(keys=tuple(fallen)) if fallen else grown


def _counts(value: float) -> bool:
    return isfinite(value) and value >= 0
