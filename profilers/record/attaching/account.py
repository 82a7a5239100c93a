"""What a watched server did, added up: drafts and speed of each arm, for a summary in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..importers.stretches import merge
from ..records import Counters


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmAccount:
    """One arm's stretches together; None is what no stretch says.

    `accepted_by_position` are shares of rounds, cumulative; `tokens_per_second` is of the stretches with a time.
    """

    stretches: int
    tokens: int | None
    tokens_per_round: float | None
    per_draft: float | None
    accepted_by_position: tuple[float, ...] | None
    tokens_per_second: float | None


def account_of(counters: Sequence[Counters]) -> ArmAccount | None:
    """Add up the stretches of one arm; None where there are none."""
    if not counters:
        return None
    whole = [one for one in counters if one.rounds and one.accepted is not None]
    rounds = sum(one.rounds or 0 for one in whole)
    accepted = sum(one.accepted or 0 for one in whole)
    drafted = sum(one.drafted or 0 for one in whole)
    told = [one.tokens_per_round for one in counters if one.tokens_per_round]
    tokens = [one.tokens for one in counters if one.tokens is not None]
    return ArmAccount(
        stretches=len(counters),
        tokens=sum(tokens) if tokens else None,
        tokens_per_round=1 + accepted / rounds if rounds else sum(told) / len(told) if told else None,
        per_draft=accepted / drafted if drafted else None,
        accepted_by_position=_by_position(whole),
        tokens_per_second=_speed(counters),
    )


def _by_position(counters: Sequence[Counters]) -> tuple[float, ...] | None:
    placed = [one for one in counters if one.accepted_by_position]
    if not placed:
        return None
    together = placed[0]
    for one in placed[1:]:
        together = merge(together, one)
    counts, rounds = together.accepted_by_position, together.rounds
    return tuple(count / rounds for count in counts) if counts and rounds else None


def _speed(counters: Sequence[Counters]) -> float | None:
    timed = [one for one in counters if one.tokens and one.elapsed_ns]
    if timed:
        return sum(one.tokens or 0 for one in timed) * 1e9 / sum(one.elapsed_ns or 0 for one in timed)
    told = [one.tokens_per_second for one in counters if one.tokens_per_second]
    return sum(told) / len(told) if told else None
