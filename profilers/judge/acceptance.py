"""Acceptance comes in kinds that do not compare: a number carries its kind and converts where it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import SpecviewError
from .statistics import LEVEL, Interval, effective_size, t_interval, wilson


class AcceptanceKind(StrEnum):
    """What was divided by what."""

    CONDITIONAL = "conditional"  # given that all drafts before it in the round were accepted
    CUMULATIVE = "cumulative"  # by position: accepted up to here ÷ rounds (vLLM, llama.cpp)
    PER_DRAFT = "per_draft"  # accepted ÷ drafted; falls with k by itself
    MEAN_ACCEPTED = "mean_accepted"  # accepted drafts a round, the bonus token not counted
    ACCEPTED_PER_GENERATED = "accepted_per_generated"  # accepted ÷ generated (dflash)


class AcceptanceRule(StrEnum):
    """How a draft was accepted; shares under different rules are not comparable either."""

    GREEDY = "greedy"  # equals the target's argmax
    EXACT_MATCH = "exact_match"  # two samples agree: Σ p·q (mlx-lm at T > 0)
    REJECTION = "rejection"  # rejection sampling: Σ min(p, q)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One acceptance number with its kind: a `value`, or `positions` from the first draft on.

    `drafted` is tokens drafted per round: k where every round drafts k, else the mean.
    """

    kind: AcceptanceKind
    value: float | None = None
    positions: tuple[float, ...] = ()
    drafted: float | None = None
    rule: AcceptanceRule | None = None


@dataclass(frozen=True, slots=True)
class AcceptanceCounts:
    """What a run of rounds says about acceptance, every kind with its interval.

    `reached[j]` rounds came to draft j (from 0) and `accepted_at[j]` accepted
    it. Intervals are Wilson on the effective number of rounds; `mean_accepted`
    is a t interval on the same. A position no round reached has no conditional.
    """

    rounds: int
    drafted: int
    accepted: int
    reached: tuple[int, ...]
    accepted_at: tuple[int, ...]
    conditional: tuple[Interval | None, ...]
    cumulative: tuple[Interval, ...]
    per_draft: Interval | None
    mean_accepted: Interval

    @property
    def tokens_per_round(self) -> Interval:
        """E: accepted + 1, mean over rounds."""
        m = self.mean_accepted
        return Interval(1 + m.estimate, 1 + m.low, 1 + m.high, m.level, m.n)


def tokens_from_alpha(alpha: float, k: int) -> float:
    """E = 1 + α + … + α^k for one conditional acceptance at k drafts."""
    return 1.0 + sum(cumulative_from_alpha(alpha, k))


def cumulative_from_alpha(alpha: float, k: int) -> tuple[float, ...]:
    """(α, α², …, α^k)."""
    return tuple(alpha**i for i in range(1, k + 1))


def cumulative_from_conditional(conditional: Sequence[float]) -> tuple[float, ...]:
    """r_i = a_1 · … · a_i."""
    return tuple(accumulate(conditional, mul))


def conditional_from_cumulative(cumulative: Sequence[float]) -> tuple[float, ...]:
    """a_i = r_i ÷ r_(i−1), to the last position that was ever reached. Raises SpecviewError if r rises."""
    out: list[float] = []
    before = 1.0
    for share in cumulative:
        if share > before:
            raise SpecviewError("Cumulative acceptance cannot rise from one position to the next; check its kind.")
        if before == 0:
            break
        out.append(share / before)
        before = share
    return tuple(out)


def alpha_from_tokens(tokens_per_round: float, k: int) -> float:
    """The one conditional α with 1 + α + … + α^k equal to E, by bisection; refuses E outside 1 … k+1."""
    if k < 1 or not 1 <= tokens_per_round <= k + 1 + 1e-9:
        raise SpecviewError(
            f"A round of {k} drafts yields between 1 and {k + 1} tokens, not {tokens_per_round:.3g}; check k."
        )
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_from_alpha(middle, k) < tokens_per_round else (low, middle)
    return (low + high) / 2


def tokens_per_round(acceptance: Acceptance) -> float:
    """E from any kind of acceptance; raises SpecviewError where the facts do not allow it."""
    _check(acceptance)
    kind, value = acceptance.kind, acceptance.value
    if kind is AcceptanceKind.CUMULATIVE:
        return 1.0 + sum(acceptance.positions)
    if kind is AcceptanceKind.CONDITIONAL and acceptance.positions:
        return 1.0 + sum(cumulative_from_conditional(acceptance.positions))
    assert value is not None
    if kind is AcceptanceKind.MEAN_ACCEPTED:
        return 1.0 + value
    if kind is AcceptanceKind.ACCEPTED_PER_GENERATED:
        return 1.0 / (1.0 - value)
    if kind is AcceptanceKind.PER_DRAFT:
        return 1.0 + value * _drafted(acceptance)
    return tokens_from_alpha(value, _fixed_k(acceptance))


def convert(acceptance: Acceptance, kind: AcceptanceKind) -> Acceptance:
    """The same acceptance in another kind, rule kept; raises SpecviewError with what is missing.

    By position it stays by position between conditional and cumulative. From a
    kind that only knows E, conditional is the one α that gives this E at a
    fixed k, and cumulative its powers.
    """
    _check(acceptance)
    if acceptance.kind is kind:
        return acceptance

    def made(value: float | None = None, positions: tuple[float, ...] = ()) -> Acceptance:
        return Acceptance(kind, value, positions, acceptance.drafted, acceptance.rule)

    if kind is AcceptanceKind.CONDITIONAL:
        if acceptance.positions:
            return made(positions=conditional_from_cumulative(acceptance.positions))
        return made(alpha_from_tokens(tokens_per_round(acceptance), _fixed_k(acceptance)))
    if kind is AcceptanceKind.CUMULATIVE:
        if acceptance.positions:
            return made(positions=cumulative_from_conditional(acceptance.positions))
        k = _fixed_k(acceptance)
        return made(positions=cumulative_from_alpha(alpha_from_tokens(tokens_per_round(acceptance), k), k))
    accepted = tokens_per_round(acceptance) - 1.0
    if kind is AcceptanceKind.MEAN_ACCEPTED:
        return made(accepted)
    if kind is AcceptanceKind.ACCEPTED_PER_GENERATED:
        return made(accepted / (accepted + 1.0))
    share = accepted / _drafted(acceptance)
    if share > 1 + 1e-9:
        raise SpecviewError("More drafts were accepted than drafted; check how many a round drafts.")
    return made(min(share, 1.0))


def count_rounds(rounds: Sequence[tuple[int, int]] | NDArray[np.int64], level: float = LEVEL) -> AcceptanceCounts:
    """Every kind of acceptance from (drafted, accepted) of each round, in the order they ran.

    Intervals use the effective number of rounds, because neighbouring rounds
    read the same text. Raises SpecviewError below two rounds or if a round
    accepted more than it drafted.
    """
    table = np.asarray(rounds, dtype=np.int64).reshape(-1, 2)
    drafted, accepted = table[:, 0], table[:, 1]
    if len(table) < 2:
        raise SpecviewError("Acceptance needs at least two rounds; record more.")
    if bool((accepted > drafted).any()) or int(table.min()) < 0:
        raise SpecviewError("A round cannot accept more tokens than it drafted; the counts are broken.")
    reached: list[int] = []
    hits: list[int] = []
    conditional: list[Interval | None] = []
    cumulative: list[Interval] = []
    # No position beyond the first that nothing reached says anything, and a hostile file could name very many.
    for j in range(min(int(drafted.max()), int(accepted.max()) + 1)):
        at = (drafted > j) & (accepted >= j)
        hit = accepted > j
        reached.append(int(at.sum()))
        hits.append(int(hit.sum()))
        conditional.append(_share(hit[at].astype(float), level) if reached[-1] else None)
        cumulative.append(_share(hit.astype(float), level))
    total, kept = int(drafted.sum()), int(accepted.sum())
    return AcceptanceCounts(
        len(table),
        total,
        kept,
        tuple(reached),
        tuple(hits),
        tuple(conditional),
        tuple(cumulative),
        _per_draft(drafted.astype(float), accepted.astype(float), level) if total else None,
        t_interval(accepted.astype(float), level, serial=True),
    )


def _per_draft(drafted: np.ndarray, accepted: np.ndarray, level: float) -> Interval:
    # Drafts of one round stand or fall together: their effective number is what the ratio's variance says.
    share = float(accepted.sum() / drafted.sum())
    residuals = accepted - share * drafted
    variance = float(residuals @ residuals) / (len(drafted) - 1) / effective_size(residuals)
    variance /= float(drafted.mean()) ** 2
    effective = share * (1 - share) / variance if variance > 0 else float(drafted.sum())
    return wilson(float(accepted.sum()), float(drafted.sum()), level, effective)


def _share(series: NDArray[np.float64], level: float) -> Interval:
    return wilson(float(series.sum()), len(series), level, effective_size(series))


def _check(acceptance: Acceptance) -> None:
    kind, value = acceptance.kind, acceptance.value
    by_position = kind in (AcceptanceKind.CONDITIONAL, AcceptanceKind.CUMULATIVE)
    if acceptance.positions and not by_position:
        raise SpecviewError(f"Acceptance of the kind {kind} is one number, not one by position.")
    if kind is AcceptanceKind.CUMULATIVE and not acceptance.positions:
        raise SpecviewError("Cumulative acceptance needs one number for each position.")
    if not acceptance.positions and value is None:
        raise SpecviewError(f"Acceptance of the kind {kind} needs a value.")
    shares = acceptance.positions or ((value,) if kind is not AcceptanceKind.MEAN_ACCEPTED else ())
    if any(share is None or not 0 <= share <= 1 for share in shares):
        raise SpecviewError(f"Acceptance of the kind {kind} lies between 0 and 1; check its kind.")
    if kind is AcceptanceKind.ACCEPTED_PER_GENERATED and value == 1:
        raise SpecviewError("Accepted ÷ generated stays below 1: the target adds a token every round.")
    if kind is AcceptanceKind.MEAN_ACCEPTED and value is not None and value < 0:
        raise SpecviewError("The mean of accepted drafts cannot be negative.")
    if kind is AcceptanceKind.CUMULATIVE:
        conditional_from_cumulative(acceptance.positions)


def _drafted(acceptance: Acceptance) -> float:
    if acceptance.drafted is None or acceptance.drafted <= 0:
        raise SpecviewError("Say how many tokens a round drafts (k): per draft acceptance means nothing without it.")
    return acceptance.drafted


def _fixed_k(acceptance: Acceptance) -> int:
    drafted = _drafted(acceptance)
    if drafted != int(drafted):
        raise SpecviewError(
            "Rounds of different draft lengths have no single conditional acceptance; count it by position."
        )
    return int(drafted)
