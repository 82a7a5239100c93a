"""Judged numbers as plain values for JSON: dataclasses become objects, rulers their names, and NaN becomes null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """The value in dicts, lists, texts, numbers and None; a class stands for a ruler and gives its name."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, type):
        return value.__name__.lower()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
