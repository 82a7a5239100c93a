"""The division: E, R and S of a round, and acceptance whose kind is its type, converted only where the facts allow.

Each kind of acceptance is a class of its own, so that two kinds do not meet by mistake. `convert` makes no assumption:
what a kind does not say is refused with the fact that is missing. One assumption can be asked for by name: convert to
`Conditional`, one α at every position, and go on from there. Source: design, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...engine.errors import SpecviewError
from . import acceptance as plain
from .acceptance import AcceptanceKind, AcceptanceRule, alpha_from_tokens, cumulative_from_alpha
from .counted import counted
from .economics import (
    RoundCosts,
    break_even_acceptance,
    round_in_decode_steps,
    round_of_decode_steps,
    round_time,
    speedup,
)
from .spans import Pipelined, Span, Synchronous

SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """α: a draft is accepted given that all before it in the round were, the same at every position and any k."""

    alpha: float
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPosition:
    """Conditional acceptance by position, from the first draft on."""

    conditional: tuple[float, ...]
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulative:
    """The share of rounds that accepted up to a position, from the first draft on (vLLM, llama.cpp)."""

    shares: tuple[float, ...]
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerDraft:
    """Accepted ÷ drafted at k drafts a round (the mean of them where rounds differ); it falls with k by itself."""

    value: float
    k: float
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRound:
    """Drafts accepted a round, the bonus token not counted; at k drafts a round where that was said."""

    mean_accepted: float
    k: float | None = None
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)
        if not math.isfinite(self.mean_accepted) or (self.k is not None and self.mean_accepted > self.k + SAME):
            raise SpecviewError("A round accepts no more drafts than it has; check k and whether the bonus is counted.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerGenerated:
    """Accepted ÷ generated tokens (dflash); below 1, because the target adds a token every round."""

    value: float
    rule: AcceptanceRule | None = None

    def __post_init__(self) -> None:
        _checked(self)


AnyAcceptance = Conditional | ByPosition | Cumulative | PerDraft | PerRound | PerGenerated
To = TypeVar("To", Conditional, ByPosition, Cumulative, PerDraft, PerRound, PerGenerated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """One draft length divided: E, T_round in ms, R, S, tok/s, and the three ways to say where it breaks even.

    `break_even_verify_ms` holds at this E, zero or less where even a free verify loses, None where the round is known
    as a whole only. `break_even_acceptance` is the least conditional α with S = 1, None if none has. R is also the
    break-even in tokens per round. `cannot_win`: R at full acceptance is above k + 1.
    """

    k: int
    tokens_per_round: float
    round_ms: float
    round_steps: float
    speedup: float
    tokens_per_second: float
    break_even_verify_ms: float | None
    break_even_acceptance: float | None
    cannot_win: bool

    @property
    def break_even_tokens_per_round(self) -> float:
        """E at which S = 1, if the round costs what it costs."""
        return self.round_steps


def tokens_of(given: AnyAcceptance, k: int | None = None) -> float:
    """E of rounds of k drafts; raises SpecviewError naming the fact that is missing."""
    if isinstance(given, ByPosition | Cumulative):
        return 1.0 + math.fsum(_cumulative(given, k))
    return plain.tokens_per_round(_plain(given, _drafts(given, k)))


def convert(given: AnyAcceptance, to: type[To], k: int | None = None) -> To:
    """The same rounds in another kind, its rule kept; `k` is how many they drafted where the kind does not say.

    From several positions, `Conditional` is the one α that yields the same E. Positions beyond k are left out. Raises
    SpecviewError with the missing fact: k, or where in a round drafts were refused.
    """
    rule, drafted = given.rule, _drafts(given, k)
    made: AnyAcceptance
    if to is Conditional:
        if isinstance(given, Conditional):
            made = given
        else:
            made = Conditional(alpha=alpha_from_tokens(tokens_of(given, k), _whole(drafted)), rule=rule)
    elif to is ByPosition:
        made = ByPosition(conditional=_by_position(given, k), rule=rule)
    elif to is Cumulative:
        made = Cumulative(shares=_cumulative(given, k), rule=rule)
    elif to is PerDraft:
        if drafted is None:
            raise SpecviewError("Say how many tokens a round drafts (k): per draft acceptance means nothing without.")
        share = (tokens_of(given, k) - 1.0) / drafted
        if share > 1 + SAME:
            raise SpecviewError("More drafts would be accepted than drafted; check how many a round drafts.")
        made = PerDraft(value=min(share, 1.0), k=drafted, rule=rule)
    elif to is PerRound:
        made = PerRound(mean_accepted=tokens_of(given, k) - 1.0, k=drafted, rule=rule)
    else:
        made = PerGenerated(value=1.0 - 1.0 / tokens_of(given, k), rule=rule)
    assert isinstance(made, to)
    return made


def cumulative_at(given: AnyAcceptance, k: int) -> tuple[float, ...]:
    """Shares of rounds of k drafts that accept at least i, i = 1 … k, for asking about a k that was not run.

    By position where that is known to k, else one α at every position. A kind that holds at one k only is taken back
    to its α at that k first; SpecviewError where it does not say which.
    """
    if isinstance(given, ByPosition | Cumulative):
        return _cumulative(given, k)
    if isinstance(given, PerGenerated) or (isinstance(given, PerRound) and given.k is None):
        raise SpecviewError(
            "This acceptance does not say how many tokens its rounds drafted; convert it with that k first."
        )
    return cumulative_from_alpha(convert(given, Conditional).alpha, k)


def divide(costs: RoundCosts, given: AnyAcceptance, k: int, decode: Span[Pipelined]) -> Division:
    """The division from parts timed alone, catch-up included; a width not measured is refused."""
    cumulative = cumulative_at(given, k)
    whole, full = round_time(costs, cumulative), round_time(costs, (1.0,) * k)
    tokens = 1.0 + math.fsum(cumulative)
    verify = costs.verify_by_width[k + 1]
    least = break_even_acceptance(costs, k, decode)
    return _divided(
        k,
        tokens,
        whole,
        decode,
        verify_ms=round_of_decode_steps(tokens, decode).ms - (whole - verify).ms,
        least=least,
        hopeless=round_in_decode_steps(full, decode) > k + 1,
    )


def divide_round(
    whole: Span[Synchronous],
    given: AnyAcceptance,
    k: int,
    decode: Span[Pipelined],
    verify: Span[Synchronous] | None = None,
) -> Division:
    """The division from a round timed whole that costs the same at any acceptance; `verify` is its pass, if known."""
    tokens, steps = tokens_of(given, k), round_in_decode_steps(whole, decode)
    budget = None if verify is None else round_of_decode_steps(tokens, decode).ms - (whole - verify).ms
    least = 0.0 if steps <= 1 else alpha_from_tokens(steps, k) if 1 <= k >= steps - 1 else None
    return _divided(k, tokens, whole, decode, verify_ms=budget, least=least, hopeless=steps > k + 1)


def _divided(
    k: int,
    tokens: float,
    whole: Span[Synchronous],
    decode: Span[Pipelined],
    *,
    verify_ms: float | None,
    least: float | None,
    hopeless: bool,
) -> Division:
    steps = round_in_decode_steps(whole, decode)
    return Division(
        k=k,
        tokens_per_round=tokens,
        round_ms=whole.ms,
        round_steps=steps,
        speedup=speedup(tokens, steps),
        tokens_per_second=1000.0 * tokens / whole.ms,
        break_even_verify_ms=verify_ms,
        break_even_acceptance=least,
        cannot_win=hopeless,
    )


def _by_position(given: AnyAcceptance, k: int | None) -> tuple[float, ...]:
    if isinstance(given, ByPosition):
        return given.conditional[: _checked_length(given.conditional, k)]
    return plain.conditional_from_cumulative(_cumulative(given, k))


def _cumulative(given: AnyAcceptance, k: int | None) -> tuple[float, ...]:
    if isinstance(given, ByPosition):
        return plain.cumulative_from_conditional(given.conditional[: _checked_length(given.conditional, k)])
    if isinstance(given, Cumulative):
        return given.shares[: _checked_length(given.shares, k)]
    drafted = _drafts(given, k)
    if isinstance(given, Conditional):
        return cumulative_from_alpha(given.alpha, _whole(drafted))
    if drafted != 1:
        raise SpecviewError(
            "A mean over rounds does not say at which position drafts were refused; count rounds by position, or "
            "convert it to one conditional acceptance first."
        )
    return (min(1.0, tokens_of(given, k) - 1.0),)


def _checked_length(positions: Sequence[float], k: int | None) -> int:
    if k is not None and k > len(positions):
        raise SpecviewError(
            f"Acceptance is known for {counted(len(positions), 'position')}, not for {k}; count the others."
        )
    return len(positions) if k is None else k


def _drafts(given: AnyAcceptance, k: int | None) -> float | None:
    """How many tokens the rounds drafted; SpecviewError where two facts say two."""
    own: float | None = None
    if isinstance(given, PerDraft | PerRound):
        own = given.k
    elif isinstance(given, ByPosition | Cumulative):
        positions = given.conditional if isinstance(given, ByPosition) else given.shares
        return _checked_length(positions, k)
    if own is not None and k is not None and own != k:
        raise SpecviewError(
            f"This acceptance was counted at {own:g} drafts a round, not {k}; convert it to conditional first."
        )
    return own if own is not None else k


def _whole(drafted: float | None) -> int:
    if drafted is None or drafted < 1:
        raise SpecviewError("Say how many tokens a round drafts (k): without it this acceptance has no other kind.")
    if drafted != int(drafted):
        raise SpecviewError(
            "Rounds of different draft lengths have no single conditional acceptance; count it by position."
        )
    return int(drafted)


def _plain(given: AnyAcceptance, drafted: float | None = None) -> plain.Acceptance:
    """The same number as `acceptance` keeps it, where kinds are told apart by a field."""
    kinds = AcceptanceKind
    if isinstance(given, Conditional):
        return plain.Acceptance(kinds.CONDITIONAL, given.alpha, drafted=drafted)
    if isinstance(given, ByPosition):
        return plain.Acceptance(kinds.CONDITIONAL, positions=given.conditional)
    if isinstance(given, Cumulative):
        return plain.Acceptance(kinds.CUMULATIVE, positions=given.shares)
    if isinstance(given, PerDraft):
        return plain.Acceptance(kinds.PER_DRAFT, given.value, drafted=given.k)
    if isinstance(given, PerRound):
        return plain.Acceptance(kinds.MEAN_ACCEPTED, given.mean_accepted)
    return plain.Acceptance(kinds.ACCEPTED_PER_GENERATED, given.value)


def _checked(given: AnyAcceptance) -> None:
    own = _plain(given)
    plain.convert(own, own.kind)
    if isinstance(given, PerDraft | PerRound) and given.k is not None and not 0 < given.k < math.inf:
        raise SpecviewError("A round drafts at least one token where there is acceptance to speak of; check k.")
