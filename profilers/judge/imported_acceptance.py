"""Acceptance of an appraised group in every kind that its facts allow, each called by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .acceptance import AcceptanceKind
from .appraisal.judgement import Answer
from .statistics import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAcceptance:
    """Acceptance of one kind: one value, or one by position; `inferred` where one α was taken for all positions."""

    kind: AcceptanceKind
    values: tuple[float, ...]
    interval: Interval | None = None
    n: int | None = None
    inferred: bool = False


def known_acceptance(answer: Answer | None) -> tuple[KnownAcceptance, ...]:
    """Every kind that the facts allow."""
    numbers: Mapping[str, Any] = {} if answer is None else answer.numbers
    tokens = numbers.get("tokens_per_round")
    if tokens is None or answer is None or "impossible_facts" in {w.code for w in answer.warnings}:
        return ()
    rounds = numbers.get("rounds")
    ends = numbers.get("tokens_per_round_95")
    accepted = None if ends is None else Interval(tokens - 1, ends[0] - 1, ends[1] - 1, 0.95, rounds or 0)
    found = [KnownAcceptance(kind=AcceptanceKind.MEAN_ACCEPTED, values=(tokens - 1,), interval=accepted, n=rounds)]
    if "per_draft" in numbers:
        found.append(_per_draft(numbers, rounds))
    if "conditional_acceptance" in numbers:
        found.append(
            KnownAcceptance(
                kind=AcceptanceKind.CONDITIONAL,
                values=(numbers["conditional_acceptance"],),
                n=rounds,
                inferred=numbers.get("k") != 1,
            )
        )
    for kind, name in ((AcceptanceKind.CONDITIONAL, "conditional"), (AcceptanceKind.CUMULATIVE, "cumulative")):
        if len(numbers.get(name, ())) > 1:
            inferred = "cumulative" in answer.assumed
            found.append(KnownAcceptance(kind=kind, values=tuple(numbers[name]), n=rounds, inferred=inferred))
    if tokens >= 1:
        found.append(
            KnownAcceptance(
                kind=AcceptanceKind.ACCEPTED_PER_GENERATED, values=(1 - 1 / tokens,), n=rounds, inferred=True
            )
        )
    return tuple(found)


def _per_draft(numbers: Mapping[str, Any], rounds: int | None) -> KnownAcceptance:
    """Wilson on as many trials as there were rounds: drafts of one round stand or fall together."""
    accepted, drafted = numbers.get("accepted"), numbers.get("drafted")
    interval = None
    if accepted is not None and drafted and accepted <= drafted:
        interval = wilson(accepted, drafted, effective=rounds or drafted)
    return KnownAcceptance(
        kind=AcceptanceKind.PER_DRAFT,
        values=(numbers["per_draft"],),
        interval=interval,
        n=drafted,
        inferred=drafted is None,
    )
