"""What would make drafting win, or lose: one change at a time and two together, with what is known to allow each.

Every number comes from one `Basis`, so that it agrees with the break-even line and with any what-if. Where drafting
wins already the same changes are its margin: how far each may go the other way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ...engine.errors import SpecviewError
from .asked import LineBasis
from .best_k import Marginal, Scan
from .division import Division
from .floors import Floors, NoFloor
from .question import MEASURED, Asked, Basis, Question
from .statistics import Interval

What = Literal["verify", "acceptance", "k", "draft", "verify and acceptance", "k and verify"]
Allowed = Literal["yes", "no", "not shown", "unknown"]
NAMED = 3
BISECTIONS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One change up to S = 1: from `now` to `needed` (T_verify and T_draft in ms, conditional α, k drafts).

    `question` asks for it and `then` is S there, `distance` is |needed ÷ now − 1|, infinite from nothing. `allowed`
    says whether what was measured lets it be: by the floor for verify, by the interval for an acceptance. `beside` is
    the second value of two changes at once.
    """

    what: What
    now: float
    needed: float
    distance: float
    allowed: Allowed
    question: Question
    then: float
    beside: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtBest:
    """One thing as good as it can be, all else as measured, and S there: no change to aim at, but how much is in it."""

    what: Literal["verify at its floor", "every draft accepted", "free drafts", "best k"]
    question: Question
    speedup: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatWins:
    """A round now and all changes; `single` nearest first, possible or not, `together` two at once.

    `no_p` says that at this k even full acceptance loses. `floor_ms` is the least verify at k + 1 positions, or
    `no_floor` says why there is none.
    """

    now: Asked
    wins: bool
    no_p: bool
    acceptance: Interval | None
    floor_ms: float | None
    no_floor: str
    single: tuple[Option, ...]
    together: tuple[Option, ...]
    at_best: tuple[AtBest, ...]

    @property
    def nearest(self) -> tuple[Option, ...]:
        """The nearest changes that nothing measured forbids, three at most."""
        return tuple(option for option in self.single if option.allowed != "no")[:NAMED]


def what_wins(basis: Basis, floors: Floors | NoFloor | None = None, question: Question = MEASURED) -> WhatWins:
    """All changes from where a question stands, of one sequence; raises SpecviewError where that cannot be reckoned."""
    start = replace(question, batch=None)
    now = basis.ask(start)
    by_k = speedups_by_k(basis, start)
    floor_ms, no_floor = _floor(floors, basis, now.k)
    acceptance = basis.here.alpha if isinstance(basis, LineBasis) and basis.measured else None
    found = [
        _verify(basis, start, now, floor_ms),
        _acceptance(basis, start, now, acceptance),
        _length(start, now, by_k),
        _draft(basis, start, now),
    ]
    single = sorted((option for option in found if option is not None), key=lambda option: option.distance)
    together = () if now.speedup >= 1 else _together(basis, start, now, by_k, floor_ms, acceptance)
    return WhatWins(
        now=now,
        wins=now.speedup > 1,
        no_p=now.crossing is None,
        acceptance=acceptance,
        floor_ms=floor_ms,
        no_floor=no_floor,
        single=tuple(single),
        together=tuple(together),
        at_best=_at_best(basis, start, now, by_k, floor_ms),
    )


def speedups_by_k(basis: Basis, question: Question = MEASURED) -> dict[int, float]:
    """S at every k that can be asked about."""
    found = {}
    for k in basis.lengths:
        try:
            found[k] = basis.speedup(replace(question, k=k, batch=None))
        except SpecviewError:
            continue
    return found


def division_of(found: Asked) -> Division:
    """The same round as a division."""
    return Division(
        k=found.k,
        tokens_per_round=found.tokens,
        round_ms=found.round_ms,
        round_steps=found.round_steps,
        speedup=found.speedup,
        tokens_per_second=found.tokens_per_second,
        break_even_verify_ms=found.limit_ms,
        break_even_acceptance=found.crossing,
        cannot_win=found.cannot_win,
    )


def lengths_of(basis: Basis, question: Question = MEASURED) -> Scan | None:
    """The division at every k that can be asked about, at one acceptance; None where there is none."""
    rows: list[Asked] = []
    left_out: list[int] = []
    for k in basis.lengths:
        try:
            rows.append(basis.ask(replace(question, k=k)))
        except SpecviewError:
            left_out.append(k)
    if not rows:
        return None
    return Scan(
        rows=tuple(division_of(row) for row in rows),
        steps=tuple(_marginal(a, b) for a, b in pairwise(rows)),
        left_out=tuple(left_out),
    )


def _marginal(short: Asked, long: Asked) -> Marginal:
    gained = long.tokens - short.tokens
    return Marginal(
        k=short.k,
        to_k=long.k,
        gained_tokens=gained,
        added_ms=long.round_ms - short.round_ms,
        added_steps=long.round_steps - short.round_steps,
        allowed_ms=short.round_ms * gained / short.tokens,
    )


def _floor(floors: Floors | NoFloor | None, basis: Basis, k: int) -> tuple[float | None, str]:
    if isinstance(floors, NoFloor):
        return None, floors.reason
    if floors is None or basis.whole:
        return None, "The floor of verify is not measured here: y surveys it."
    shares = basis.here.share_by_drafted if isinstance(basis, LineBasis) and k == basis.k else {k: 1.0}
    ms = sum(share * floors.verify(drafted + 1).ms for drafted, share in shares.items())
    return (ms, "") if ms > 0 else (None, "Nothing is demanded of a verify pass here, so it has no floor.")


def _by_floor(needed_ms: float, floor_ms: float | None) -> Allowed:
    return "unknown" if floor_ms is None else "yes" if needed_ms >= floor_ms else "no"


def _by_interval(needed: float, known: Interval | None) -> Allowed:
    return "unknown" if known is None else "yes" if needed <= known.high else "not shown"


def _verify(basis: Basis, start: Question, now: Asked, floor_ms: float | None) -> Option | None:
    if now.limit_ms <= 0 or basis.whole or now.verify_ms <= 0:
        return None
    scale = now.limit_ms / now.verify_ms
    return Option(
        what="verify",
        now=now.verify_ms,
        needed=now.limit_ms,
        distance=abs(scale - 1),
        allowed=_by_floor(now.limit_ms, floor_ms),
        question=replace(start, verify=start.verify * scale),
        then=1.0,
    )


def _acceptance(basis: Basis, start: Question, now: Asked, known: Interval | None) -> Option | None:
    if now.crossing is None:
        return None
    return Option(
        what="acceptance",
        now=now.alpha,
        needed=now.crossing,
        distance=_far(now.alpha, now.crossing),
        allowed=_by_interval(now.crossing, known),
        question=replace(start, p=now.crossing),
        then=1.0,
    )


def _length(start: Question, now: Asked, by_k: Mapping[int, float]) -> Option | None:
    """The nearest k on the other side of S = 1, the better of two as near."""
    others = [k for k, speedup in by_k.items() if k != now.k and (speedup > 1) != (now.speedup > 1)]
    if not others:
        return None
    best = min(others, key=lambda k: (abs(k - now.k), -by_k[k]))
    return Option(
        what="k",
        now=float(now.k),
        needed=float(best),
        distance=_far(now.k, best),
        allowed="yes",
        question=replace(start, k=best),
        then=by_k[best],
    )


def _draft(basis: Basis, start: Question, now: Asked) -> Option | None:
    if now.draft_ms is None or now.draft_ms <= 0:
        return None
    left = now.limit_ms + now.draft_ms - now.verify_ms
    if left <= 0:
        return None
    scale = left / now.draft_ms
    return Option(
        what="draft",
        now=now.draft_ms,
        needed=left,
        distance=abs(scale - 1),
        allowed="unknown",
        question=replace(start, draft=start.draft * scale),
        then=1.0,
    )


def _together(
    basis: Basis,
    start: Question,
    now: Asked,
    by_k: Mapping[int, float],
    floor_ms: float | None,
    known: Interval | None,
) -> list[Option]:
    found = []
    both = _both(basis, start, now, floor_ms, known)
    if both is not None:
        found.append(both)
    k = max(by_k, key=lambda each: by_k[each], default=now.k)
    if k != now.k and by_k[k] < 1:
        there = basis.ask(replace(start, k=k))
        change = _verify(basis, replace(start, k=k), there, None)
        if change is not None:
            found.append(replace(change, what="k and verify", now=now.verify_ms, beside=float(k)))
    return found


def _both(basis: Basis, start: Question, now: Asked, floor_ms: float | None, known: Interval | None) -> Option | None:
    """Verify and acceptance, each by the same part of its own way to where it would do alone (p at most to 1)."""
    if basis.whole or now.limit_ms <= 0:
        return None
    goal_p = 1.0 if now.crossing is None else now.crossing
    goal_scale = now.limit_ms / now.verify_ms

    def at(part: float) -> Question:
        p = now.alpha + part * (goal_p - now.alpha)
        return replace(start, p=p, verify=start.verify * (1.0 + part * (goal_scale - 1.0)))

    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if basis.speedup(at(middle)) < 1 else (low, middle)
    question = at(high)
    there = basis.ask(question)
    floor, shown = _by_floor(there.verify_ms, floor_ms), _by_interval(there.alpha, known)
    order: Sequence[Allowed] = ("no", "not shown", "unknown", "yes")
    return Option(
        what="verify and acceptance",
        now=now.verify_ms,
        needed=there.verify_ms,
        distance=abs(there.verify_ms / now.verify_ms - 1),
        allowed=min((floor, shown), key=order.index),
        question=question,
        then=there.speedup,
        beside=there.alpha,
    )


def _at_best(
    basis: Basis, start: Question, now: Asked, by_k: Mapping[int, float], floor_ms: float | None
) -> tuple[AtBest, ...]:
    found: list[AtBest] = []
    k = max(by_k, key=lambda each: by_k[each], default=now.k)
    if k != now.k and by_k[k] > now.speedup:
        found.append(AtBest(what="best k", question=replace(start, k=k), speedup=by_k[k]))
    if floor_ms is not None and not basis.whole and floor_ms < now.verify_ms:
        question = replace(start, verify=start.verify * floor_ms / now.verify_ms)
        found.append(AtBest(what="verify at its floor", question=question, speedup=basis.speedup(question)))
    full = replace(start, p=1.0)
    found.append(AtBest(what="every draft accepted", question=full, speedup=basis.speedup(full)))
    if now.draft_ms is not None and now.draft_ms > 0 and not basis.whole:
        free = replace(start, draft=0.0)
        found.append(AtBest(what="free drafts", question=free, speedup=basis.speedup(free)))
    return tuple(sorted(found, key=lambda each: -each.speedup))


def _far(now: float, needed: float) -> float:
    return abs(needed / now - 1.0) if now > 0 else math.inf
