"""Drafting for B sequences at once: S by batch from measured passes, and where drafts begin to lose.

One pass serves all sequences, so a round yields B·E tokens in T_round(B, k) and plain decode B in T_decode(B). What
verify has for free in a batch of one, weights that were read anyway, a large batch has used up itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from .cliffs import Staircase, staircase
from .division import AnyAcceptance, cumulative_at
from .economics import (
    DrafterKind,
    RoundCosts,
    draft_steps,
    round_in_decode_steps,
    round_time,
    speedup,
)
from .spans import Pipelined, Span, Synchronous, combined
from .statistics import LEVEL, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCosts:
    """The mean times of one batch size: T_decode(B) of a step for all, and the parts of a round for all.

    Widths in `round` are positions of each sequence, so a verify pass n wide takes n·B.
    """

    decode: Span[Pipelined]
    round: RoundCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One measured batch size: E of a sequence, times in ms, R, S, and tok/s of all sequences together."""

    batch: int
    tokens_per_round: float
    decode_ms: float
    verify_ms: float
    round_ms: float
    round_steps: float
    speedup: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LosesFrom:
    """Where drafts begin to lose: at `batch`, the least measured one that does, the one before being `wins_at`.

    `crossing` is the batch with S = 1 if times run straight between those two, None where a cliff may lie between, with
    the reason; `wins_at` is None where drafts lose at the least batch measured. `wins_again` are larger ones that win.
    """

    batch: int
    wins_at: int | None
    crossing: float | None
    reason: str
    wins_again: tuple[int, ...]


def batched_cumulative(cumulative: Sequence[float], batch: int) -> tuple[float, ...]:
    """The share of rounds in which at least one of B independent sequences accepted i drafts: 1 − (1 − r_i)^B.

    A batch catches up as far as the sequence that accepted most, because the drafter's step is one array for all.
    """
    return tuple(1.0 - (1.0 - share) ** batch for share in cumulative)


def divide_batch(costs: BatchCosts, given: AnyAcceptance, k: int, batch: int) -> BatchRow:
    """The division at one batch size, sequences independent; a width not measured at this batch is refused."""
    cumulative = cumulative_at(given, k)
    whole = round_time(costs.round, batched_cumulative(cumulative, batch))
    tokens, steps = 1.0 + math.fsum(cumulative), round_in_decode_steps(whole, costs.decode)
    return BatchRow(
        batch=batch,
        tokens_per_round=tokens,
        decode_ms=costs.decode.ms,
        verify_ms=costs.round.verify_by_width[k + 1].ms,
        round_ms=whole.ms,
        round_steps=steps,
        speedup=speedup(tokens, steps),
        tokens_per_second=1000.0 * batch * tokens / whole.ms,
    )


def divide_batches(costs_by_batch: Mapping[int, BatchCosts], given: AnyAcceptance, k: int) -> tuple[BatchRow, ...]:
    """The division at every batch size whose widths were measured, in order; SpecviewError where none was."""
    rows, why = [], SpecviewError("No batch was measured; time plain decode and verify at a few batch sizes.")
    for batch, costs in sorted(costs_by_batch.items()):
        if batch < 1:
            raise SpecviewError(f"A batch of {batch} holds no sequence; name batches from 1.")
        try:
            rows.append(divide_batch(costs, given, k, batch))
        except SpecviewError as error:
            why = error
    if not rows:
        raise why
    return tuple(rows)


def loses_from(costs_by_batch: Mapping[int, BatchCosts], given: AnyAcceptance, k: int) -> LosesFrom | None:
    """The batch at which drafts begin to lose; None where they win at every batch measured."""
    rows = divide_batches(costs_by_batch, given, k)
    at = next((i for i, row in enumerate(rows) if row.speedup < 1), None)
    if at is None:
        return None
    again = tuple(row.batch for row in rows[at:] if row.speedup >= 1)
    batch = rows[at].batch
    if at == 0:
        why = f"drafts lose at every batch down to {batch}, the least that was measured"
        return LosesFrom(batch=batch, wins_at=None, crossing=None, reason=why, wins_again=again)
    before, after = rows[at - 1], rows[at]
    why = _may_jump(costs_by_batch, rows, (before.batch, after.batch), k)
    crossing = None
    if not why:
        # what times do on a straight line, S does not: it is the times that are drawn through
        left, lacking = (row.tokens_per_round * row.decode_ms - row.round_ms for row in (before, after))
        part = left / (left - lacking)
        crossing = before.batch + part * (after.batch - before.batch)
    return LosesFrom(batch=batch, wins_at=before.batch, crossing=crossing, reason=why, wins_again=again)


def _may_jump(
    costs_by_batch: Mapping[int, BatchCosts], rows: Sequence[BatchRow], between: tuple[int, int], k: int
) -> str:
    """Why nothing may be read off between two batches: a cliff there, or too few batches to tell; empty if one may."""
    verify = {row.batch: costs_by_batch[row.batch].round.verify_by_width[k + 1] for row in rows}
    decode = {row.batch: costs_by_batch[row.batch].decode for row in rows}
    draft = {row.batch: _draft(costs_by_batch[row.batch].round, k) for row in rows}
    curves: list[tuple[str, Staircase]] = [
        ("verify", staircase({b: _interval(span.ms, span.interval()) for b, span in verify.items()})),
        ("decode", staircase({b: _interval(span.ms, span.interval()) for b, span in decode.items()})),
    ]
    if any(span is not None and span.ms > 0 for span in draft.values()):
        spans = {b: span for b, span in draft.items() if span is not None}
        curves.append(("the draft", staircase({b: _interval(span.ms, span.interval()) for b, span in spans.items()})))
    for what, stairs in curves:
        if stairs.typical is None:
            return f"{len(rows)} batches cannot tell where {what} jumps; measure between {between[0]} and {between[1]}"
        if any((c.below, c.above) == between for c in stairs.cliffs):
            return f"{what} jumps between {between[0]} and {between[1]}; measure between them"
        if any(b.width in between for b in stairs.bumps):
            return f"{what} goes up and down around {between[0]} and {between[1]}; measure between them"
    return ""


def _draft(costs: RoundCosts, k: int) -> Span[Synchronous] | None:
    if costs.kind in (DrafterKind.LOOKUP, DrafterKind.NONE) or k == 0:
        return None
    steps = draft_steps(costs.kind, (0.0,) * k, costs.heads)
    return combined([(n, costs.draft_by_width[width]) for width, n in steps.items()])


def _interval(ms: float, known: Interval | None) -> Interval:
    return known or Interval(ms, ms, ms, LEVEL, 1)
