"""Break-even surfaces: S over acceptance and k, over T_verify and over batch, as plain arrays with their line S = 1.

Only measured widths and batches are taken; what was not measured is left out, never drawn through.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...engine.errors import SpecviewError
from .acceptance import cumulative_from_alpha, tokens_from_alpha
from .batch import BatchCosts, LosesFrom, divide_batches, loses_from
from .division import AnyAcceptance, cumulative_at
from .economics import (
    RoundCosts,
    break_even_acceptance,
    cannot_win,
    round_in_decode_steps,
    round_of_decode_steps,
    round_steps,
    round_time,
    speedup,
)
from .spans import Pipelined, Span, Synchronous
from .statistics import Interval

ALPHAS = tuple(i / 50 for i in range(51))


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceSurface:
    """S over conditional α and k: `speedup[i][j]` at `lengths[i]` and `alphas[j]`.

    `low` and `high` are the ends of its 95% intervals by the times alone, empty where their errors are not known.
    `break_even[i]` is the least α with S = 1 at `lengths[i]`, None where none has, and `cannot_win[i]` whether full
    acceptance loses; `left_out` are the k whose width or drafter step was not measured.
    """

    alphas: tuple[float, ...]
    lengths: tuple[int, ...]
    speedup: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]
    break_even: tuple[float | None, ...]
    cannot_win: tuple[bool, ...]
    left_out: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySpeedups:
    """S over T_verify in ms at one acceptance and k; `measured_ms` is where it stands, `break_even_ms` where S = 1.

    `break_even_ms` is None where even a free verify loses. `low` and `high` as for `AcceptanceSurface`.
    """

    k: int
    verify_ms: tuple[float, ...]
    verify_steps: tuple[float, ...]
    speedup: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    measured_ms: float
    break_even_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpeedups:
    """S over the measured batch sizes at one acceptance and k; `loses_from` says where S falls below 1, if it does."""

    k: int
    batches: tuple[int, ...]
    speedup: tuple[float, ...]
    loses_from: LosesFrom | None


def over_acceptance_and_k(
    costs: RoundCosts,
    decode: Span[Pipelined],
    lengths: Sequence[int] | None = None,
    alphas: Sequence[float] = ALPHAS,
) -> AcceptanceSurface:
    """S over α × k, at the lengths named or at every k whose verify width was measured; SpecviewError if none was."""
    asked = sorted({n - 1 for n in costs.verify_by_width if n > 1} if lengths is None else set(lengths))
    rows: dict[int, list[tuple[float, Interval | None]]] = {}
    why = SpecviewError("No verify pass over two positions or more was measured; probe the widths first.")
    for k in asked:
        try:
            rows[k] = [_at_alpha(costs, alpha, k, decode) for alpha in alphas]
            round_time(costs, (1.0,) * k)
        except SpecviewError as error:
            rows.pop(k, None)
            why = error
    if not rows:
        raise why
    known = all(interval is not None for row in rows.values() for _, interval in row)
    return AcceptanceSurface(
        alphas=tuple(alphas),
        lengths=tuple(rows),
        speedup=tuple(tuple(s for s, _ in row) for row in rows.values()),
        low=tuple(tuple(i.low for _, i in row if i) for row in rows.values()) if known else (),
        high=tuple(tuple(i.high for _, i in row if i) for row in rows.values()) if known else (),
        break_even=tuple(break_even_acceptance(costs, k, decode) for k in rows),
        cannot_win=tuple(cannot_win(costs, k, decode) for k in rows),
        left_out=tuple(k for k in asked if k not in rows),
    )


def over_verify(
    costs: RoundCosts, given: AnyAcceptance, k: int, decode: Span[Pipelined], verify_ms: Sequence[float]
) -> VerifySpeedups:
    """S if verify over k + 1 positions cost so many ms, everything else as measured; that width must be measured."""
    cumulative = cumulative_at(given, k)
    tokens = 1.0 + math.fsum(cumulative)
    whole = round_time(costs, cumulative)
    measured = costs.verify_by_width[k + 1]
    points = []
    for ms in verify_ms:
        # the asked value has no error of its own; what is left is that of the other parts
        asked = replace(costs, verify_by_width={k + 1: Span(ms, Synchronous, 0.0)})
        points.append(_divided(tokens, round_time(asked, cumulative), decode))
    limit = round_of_decode_steps(tokens, decode).ms - (whole - measured).ms
    known = all(interval is not None for _, interval in points)
    return VerifySpeedups(
        k=k,
        verify_ms=tuple(verify_ms),
        verify_steps=tuple(round_in_decode_steps(Span(ms, Synchronous), decode) for ms in verify_ms),
        speedup=tuple(s for s, _ in points),
        low=tuple(i.low for _, i in points if i) if known else (),
        high=tuple(i.high for _, i in points if i) if known else (),
        measured_ms=measured.ms,
        break_even_ms=limit if limit > 0 else None,
    )


def over_batch(costs_by_batch: Mapping[int, BatchCosts], given: AnyAcceptance, k: int) -> BatchSpeedups:
    """S over every batch size whose widths were measured."""
    rows = divide_batches(costs_by_batch, given, k)
    return BatchSpeedups(
        k=k,
        batches=tuple(row.batch for row in rows),
        speedup=tuple(row.speedup for row in rows),
        loses_from=loses_from(costs_by_batch, given, k),
    )


def _at_alpha(costs: RoundCosts, alpha: float, k: int, decode: Span[Pipelined]) -> tuple[float, Interval | None]:
    return _divided(tokens_from_alpha(alpha, k), round_time(costs, cumulative_from_alpha(alpha, k)), decode)


def _divided(tokens: float, whole: Span[Synchronous], decode: Span[Pipelined]) -> tuple[float, Interval | None]:
    """S, and its interval by the errors of both times, where those are known."""
    s = speedup(tokens, round_in_decode_steps(whole, decode))
    if math.isnan(whole.se_ms) or math.isnan(decode.se_ms):
        return s, None
    steps = round_steps(whole, decode)
    return s, Interval(s, speedup(tokens, steps.high), speedup(tokens, steps.low), steps.level, steps.n)
