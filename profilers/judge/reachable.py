"""The best speedup a drafter could reach at its measured acceptance: verify at its floor, all else as measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..record.session import Session
from .economics import NOTHING, DrafterKind, drafter_kind, speedup_interval
from .event_rows import column_of, joined
from .floors import Floors, NoFloor
from .ledger import Ledger
from .parts import Part
from .places import NORMAL_95
from .spans import Span, Synchronous, combined
from .statistics import Interval, t_quantile
from .visits import visits_of

# Intervals of calibrated constants are by order statistics, of no freedom, so they are carried on as normal ones.
CALIBRATED_VALUES = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """E · T_decode ÷ (verify floor + draft + rest), and what it is made of, in ms.

    The interval is of E, T_decode, draft and rest as measured and of the machine's constants. It is a bound, not a
    forecast: no kernel reaches a floor. `now` is the measured speedup, None where the verdict gives none.
    """

    speedup: Interval
    tokens_per_round: float
    decode_ms: float
    verify_floor_ms: float
    draft_ms: float
    rest_ms: float
    now: float | None


def reachable(session: Session, ledger: Ledger, floors: Floors) -> Reachable | NoFloor:
    """The best reachable speedup of the ledger's setting, or why there is none.

    Weights that are random accept nothing that means anything, so they have none. A lookup's verify floor is the mean
    over the widths of its rounds.
    """
    if session.header.model.random_weights:
        return NoFloor("The weights are random, so acceptance means nothing; record a model with weights.")
    acceptance, decode = ledger.acceptance, ledger.decode
    if acceptance is None or decode is None or ledger.rest is None:
        return NoFloor("No acceptance or no split rounds were measured yet; record longer.")
    verify = _verify_floor(session, ledger, floors)
    rest, draft = ledger.rest.span, NOTHING if ledger.draft is None else ledger.draft.span
    round_time = combined([(1.0, verify), (1.0, draft), (1.0, rest)])
    if verify.ms <= 0 or round_time.ms <= 0:
        return NoFloor("Neither bytes nor flops are demanded of a round, so it has no floor; record the census again.")
    tokens = acceptance.tokens_per_round
    verdict = ledger.verdict.speedup
    return Reachable(
        speedup=speedup_interval(_part_of(tokens), round_time, decode.span),
        tokens_per_round=tokens.estimate,
        decode_ms=decode.span.ms,
        verify_floor_ms=verify.ms,
        draft_ms=draft.ms,
        rest_ms=rest.ms,
        now=None if verdict is None else verdict.estimate,
    )


def _part_of(interval: Interval) -> Part:
    """The mean and standard error that a t interval was made of."""
    half = (interval.high - interval.low) / 2
    return Part(interval.estimate, half / t_quantile(0.5 + interval.level / 2, interval.n - 1), interval.n)


def _verify_floor(session: Session, ledger: Ledger, floors: Floors) -> Span[Synchronous]:
    """The floor of the rounds' verify passes; its error is what the machine's intervals leave open."""
    terms = [(share, floors.verify(width)) for width, share in _widths(session, ledger).items()]
    ms = sum(share * least.ms for share, least in terms)
    half = sum(share * (least.high_ms - least.low_ms) / 2 for share, least in terms)
    return Span(ms, Synchronous, half / NORMAL_95, CALIBRATED_VALUES)


def _widths(session: Session, ledger: Ledger) -> dict[int, float]:
    """The share of rounds by width: k + 1, but for a lookup, whose drafts vary."""
    setting = ledger.setting
    if drafter_kind(setting.drafter, setting.adaptive) is not DrafterKind.LOOKUP:
        return {setting.k + 1: 1.0}
    mine = [v for v in visits_of(session) if v.setting == setting]
    rounds = column_of(joined(s.rounds for v in mine for s in v.pairs()), "drafted") + 1
    counts = Counter(rounds.tolist())
    return {width: n / len(rounds) for width, n in counts.items()} or {setting.k + 1: 1.0}
