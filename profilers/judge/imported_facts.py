"""Facts from a group of windows: counts, passes and parts, named as a person would name them to the appraisal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..record.records import Counters
from ..record.session import Session
from .numbers import MS, whole_probes
from .windows import Group, Manner

LONGEST_POSITIONS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTime:
    """A part of a round in ms, the mean over `rounds`, as the engine itself timed it."""

    name: str
    ms: float
    rounds: int
    derived: bool


def counted_facts(group: Group) -> dict[str, Any]:
    """Acceptance, k and sampling of the drafting windows, as the appraisal names them."""
    manner = group.manner
    if not group.drafting:
        return {}
    facts: dict[str, Any] = {}
    for name in ("k", "temperature", "rule"):
        if getattr(manner, name) is not None:
            facts[name] = getattr(manner, name)
    counted = [w for w in group.drafting if w.accepted is not None and (w.rounds or w.drafted)]
    acceptance: dict[str, Any] = {}
    if counted:
        for name in ("accepted", "rounds", "drafted"):
            values = [getattr(w, name) for w in counted]
            if all(v is not None for v in values):
                acceptance[name] = sum(values)
        positions = _positions(counted, manner.k)
        if positions:
            acceptance |= {"kind": "cumulative", "positions": list(positions)}
    else:
        said = [w for w in group.drafting if w.tokens_per_round]
        if said:
            # a window counts by its tokens where all say how many
            weights = [float(w.tokens or 0) for w in said]
            weights = weights if all(weights) else [1.0] * len(said)
            rounds = sum(weight / (w.tokens_per_round or 1.0) for weight, w in zip(weights, said, strict=True))
            facts["tokens_per_round"] = sum(weights) / rounds
    if acceptance:
        facts["acceptance"] = acceptance
    return facts


def _positions(windows: Sequence[Counters], k: int | None) -> tuple[float, ...]:
    """Cumulative acceptance by position, over windows that count it and their rounds."""
    known = [w for w in windows if w.accepted_by_position and w.rounds]
    rounds = sum(w.rounds or 0 for w in known)
    if not known or len(known) < len(windows):
        return ()
    longest = max(len(w.accepted_by_position or ()) for w in known)
    longest = min(k or longest, LONGEST_POSITIONS)
    counts = [0] * longest
    for window in known:
        for i, count in enumerate((window.accepted_by_position or ())[:longest]):
            counts[i] += count
    return tuple(min(1.0, count / rounds) for count in counts)


def passes_alone(session: Session, manner: Manner) -> dict[str, Any]:
    """Whole passes timed alone: verify by width and a drafter step, in ms; those of one sequence only."""
    if manner.batch is not None and manner.batch > 1:
        return {}
    verify = {str(w): fmean(ns) * MS for w, ns in sorted(whole_probes(session, "verify").items()) if ns}
    draft = whole_probes(session, "draft").get(1)
    found: dict[str, Any] = {"verify_ms": verify} if verify else {}
    if draft:
        found["draft_step_ms"] = fmean(draft) * MS
    return found


def parts_of(windows: Sequence[Counters]) -> tuple[PartTime, ...]:
    """Draft, verify and rest of a round by the engine's own clock."""
    found = []
    for name, field in (("draft", "draft_ns"), ("verify", "verify_ns"), ("rest", "rest_ns"), ("round", "elapsed_ns")):
        known = [w for w in windows if getattr(w, field) and w.rounds]
        if not known or (name == "round" and any((w.batch or 1) > 1 for w in known)):
            continue
        rounds = sum(w.rounds or 0 for w in known)
        ms = sum(getattr(w, field) for w in known) * MS / rounds
        found.append(PartTime(name=name, ms=ms, rounds=rounds, derived=any(field in w.derived for w in known)))
    return tuple(found)


def facts_of_parts(parts: Sequence[PartTime], k: int | None) -> dict[str, Any]:
    """The parts as facts, for windows that have no speed."""
    by_name = {part.name: part.ms for part in parts}
    facts: dict[str, Any] = {}
    if "verify" in by_name and k is not None:
        facts["verify_ms"] = {str(k + 1): by_name["verify"]}
    if "draft" in by_name:
        facts["draft_ms"] = by_name["draft"]
    if "rest" in by_name:
        facts["overhead_ms"] = by_name["rest"]
    return facts
