"""How older records become records of this schema: each migration lifts a raw object one schema up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...engine.errors import SpecviewError
from .records import SCHEMA

Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]

# By the schema a migration lifts from. Schema 1 is the first, so there is nothing older yet.
MIGRATION_BY_SCHEMA: Mapping[int, Migration] = {}


class MigrationError(SpecviewError):
    """An object of an older schema that cannot be lifted."""


def is_liftable(schema: int, migrations: Mapping[int, Migration], target: int = SCHEMA) -> bool:
    """Say whether there is a migration for every schema from `schema` up to the target."""
    # every migration is a key, so more missing steps than keys need no walk: `schema` is a stranger's number
    return target - schema <= len(migrations) and all(step in migrations for step in range(schema, target))


def lift(
    raw: dict[str, Any], schema: int, migrations: Mapping[int, Migration], target: int = SCHEMA
) -> dict[str, Any] | None:
    """Lift one raw object of any kind from `schema` to the target, one migration at a time.

    A migration returns the new object, or None for a record that has no place in the next schema. A missing
    migration, or one that fails on the object, is a MigrationError.
    """
    current = raw
    for step in range(schema, target):
        if step not in migrations:
            raise MigrationError(f"There is no way from schema {step} to schema {step + 1}.")
        try:
            lifted = migrations[step](dict(current))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise MigrationError(f"It cannot be lifted from schema {step} to {step + 1}.") from error
        if lifted is None:
            return None
        current = lifted
        if current.get("kind") == "header":
            current["schema"] = step + 1
    return current
