"""What was computed from a session once, kept beside its steps for as long as those live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

from ..record.columns import Kept
from ..record.session import Session

T = TypeVar("T")


def remembered(session: Session, name: str, make: Callable[[], T]) -> T:
    """What `make` returns for this session, computed once; only sessions read from files remember.

    A session that shares its steps but differs in anything else is another one. What is kept must not be changed.
    """
    steps = session.steps
    if not isinstance(steps, Kept):
        return make()
    parts: tuple[Any, ...] = tuple(getattr(session, field.name) for field in fields(session) if field.name != "steps")
    if name in steps.memo:
        known_parts, known = steps.memo[name]
        if all(a is b for a, b in zip(parts, known_parts, strict=True)):
            return cast("T", known)
    found = make()
    steps.memo[name] = parts, found
    return found


def kept_beside(records: Kept[Any], name: str, make: Callable[[], T]) -> T:
    """What `make` returns for these records alone, computed once."""
    if name not in records.memo:
        records.memo[name] = make()
    return cast("T", records.memo[name])
