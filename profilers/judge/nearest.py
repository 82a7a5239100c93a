"""The nearest changes that would make drafting win: one thing at a time, everything else as measured.

Verify may get cheaper (if the floor allows it), acceptance better, the draft shorter or longer, or the drafter
cheaper. Each change is measured by how far it goes, |needed ÷ now − 1|, and the three nearest are named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...engine.errors import SpecviewError
from .best_k import scan
from .division import AnyAcceptance, ByPosition, Conditional, Cumulative, Division, convert, cumulative_at, divide
from .economics import RoundCosts, break_even_acceptance, round_of_decode_steps, round_time
from .floors import Floors, NoFloor
from .spans import Pipelined, Span

What = Literal["verify", "acceptance", "k", "draft"]
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change up to S = 1: of T_verify in ms, conditional α, k, or T_draft of a round in ms.

    `distance` is |needed ÷ now − 1|, infinite from nothing. `allowed` says whether the floor lets verify get there,
    None where no floor is known or none applies.
    """

    what: What
    now: float
    needed: float
    distance: float
    allowed: bool | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What a round is now, and each change that would make it win, None where none of its kind does.

    All are None where it wins already.
    """

    now: Division
    verify: Change | None
    acceptance: Change | None
    k: Change | None
    draft: Change | None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that may be possible, nearest first, three at most; one below the floor is none."""
        found = [c for c in (self.verify, self.acceptance, self.k, self.draft) if c and c.allowed is not False]
        return tuple(sorted(found, key=lambda change: change.distance)[:NAMED])

    def sentences(self) -> tuple[str, ...]:
        """The nearest changes in words, or that none is there or needed; a verify below its floor is named last."""
        if self.now.speedup > 1:
            return (f"It wins already, at {self.now.speedup:.2f}x of plain decode.",)
        said = [change.sentence for change in self.changes]
        if self.verify is not None and self.verify.allowed is False:
            said.append(self.verify.sentence)
        return tuple(said) or ("No single change of verify, acceptance, k or draft makes it win; turn drafting off.",)


def nearest_changes(
    costs: RoundCosts,
    given: AnyAcceptance,
    k: int,
    decode: Span[Pipelined],
    floor_ms: float | None = None,
) -> Nearest:
    """The changes for rounds of k drafts; `floor_ms` is the least that verify over k + 1 positions can cost.

    Raises SpecviewError where the round itself cannot be reckoned. k is looked for among the measured widths only.
    """
    if k < 1:
        raise SpecviewError("Nothing is drafted at k = 0, so no change of a round makes it win; choose k from 1 up.")
    now = divide(costs, given, k, decode)
    if now.speedup > 1:
        return Nearest(now=now, verify=None, acceptance=None, k=None, draft=None)
    return Nearest(
        now=now,
        verify=_verify(costs, now, floor_ms),
        acceptance=_acceptance(costs, given, k, decode),
        k=_length(costs, given, k, decode),
        draft=_draft(costs, given, k, decode),
    )


def floor_at(floors: Floors | NoFloor, k: int) -> float | None:
    """The least that verify of k drafts can cost in ms; None where a session holds no floor."""
    return None if isinstance(floors, NoFloor) else floors.verify(k + 1).ms


def _verify(costs: RoundCosts, now: Division, floor_ms: float | None) -> Change | None:
    limit, measured = now.break_even_verify_ms, costs.verify_by_width[now.k + 1].ms
    if limit is None or limit <= 0:
        return None
    allowed = None if floor_ms is None else floor_ms <= limit
    said = f"Verify over {now.k + 1} positions from {measured:.3g} to {limit:.3g} ms"
    if floor_ms is not None and allowed:
        said = f"{said}: the floor, {floor_ms:.3g} ms, allows it."
    elif floor_ms is not None:
        said = f"{said} is out of reach: the floor is {floor_ms:.3g} ms."
    else:
        said = f"{said}; no floor is known that would say whether it can."
    return Change(
        what="verify", now=measured, needed=limit, distance=_far(measured, limit), allowed=allowed, sentence=said
    )


def _acceptance(costs: RoundCosts, given: AnyAcceptance, k: int, decode: Span[Pipelined]) -> Change | None:
    needed = break_even_acceptance(costs, k, decode)
    if needed is None:
        return None
    # a mean over positions, so that one number can be asked for
    alpha = convert(given, Conditional, k if isinstance(given, ByPosition | Cumulative) else None).alpha
    if needed < alpha:
        return None
    said = f"Conditional acceptance from {alpha:.3f} to {needed:.3f} at k = {k}."
    return Change(
        what="acceptance", now=alpha, needed=needed, distance=_far(alpha, needed), allowed=None, sentence=said
    )


def _length(costs: RoundCosts, given: AnyAcceptance, k: int, decode: Span[Pipelined]) -> Change | None:
    winning = [row for row in scan(costs, given, decode).rows if row.speedup > 1 and row.k != k]
    if not winning:
        return None
    best = min(winning, key=lambda row: (abs(row.k - k), -row.speedup))
    said = f"{best.k} drafts a round instead of {k}: {best.speedup:.2f}x."
    return Change(what="k", now=k, needed=best.k, distance=_far(k, best.k), allowed=None, sentence=said)


def _draft(costs: RoundCosts, given: AnyAcceptance, k: int, decode: Span[Pipelined]) -> Change | None:
    cumulative = cumulative_at(given, k)
    tokens = 1.0 + math.fsum(cumulative)
    fixed = costs.verify_by_width[k + 1] + costs.rest
    drafting = (round_time(costs, cumulative) - fixed).ms
    left = round_of_decode_steps(tokens, decode).ms - fixed.ms
    if left <= 0 or drafting <= 0:
        return None
    said = f"A draft of {left:.3g} ms a round instead of {drafting:.3g}, {left / k:.3g} ms a token."
    return Change(what="draft", now=drafting, needed=left, distance=_far(drafting, left), allowed=None, sentence=said)


def _far(now: float, needed: float) -> float:
    return abs(needed / now - 1.0) if now > 0 else math.inf
