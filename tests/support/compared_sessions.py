"""Pairs of built sessions for comparisons: the same but for what is named, or with other facts in their header."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from session_builder import Made, built

from specview.profilers.judge.comparison.comparing import Named
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

VERIFY = {1: 11.3, 2: 12.4, 3: 13.6, 4: 14.9}
USUAL: dict[str, Any] = {"k": 1, "p": 0.8, "verify": VERIFY, "draft": 1.2, "rest": 0.3, "prompts": 9}


def records(seed: int = 11, environment: dict[str, Any] | None = None, **changed: Any) -> tuple[r.Record, ...]:
    """The records of a session that wins; `changed` are fields of `Made` or of the header's model and environment."""
    model = {name: changed.pop(name) for name in ("id", "quantisation", "dtype") if name in changed}
    found = built(Made(seed=seed, **{**USUAL, **changed}))
    header = found[0]
    assert isinstance(header, r.Header)
    header = replace(
        header,
        environment=replace(header.environment, **(environment or {})),
        model=replace(header.model, **model),
    )
    return (header, *found[1:])


def named(name: str, seed: int = 11, **changed: Any) -> Named:
    """The session of such records."""
    return Named(name, session_of(records(seed, **changed)))
