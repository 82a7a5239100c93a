"""Batches that were generated with drafts and without: S by batch as it was measured, and from where drafts lose.

S pairs stretches that go on from the same texts. Phases are of rounds that were fenced for it; a round's parts hold
what every text's drafter took, one after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..record.records import Batched
from ..record.session import Session
from .numbers import MS
from .statistics import Interval, log_ratio_interval

FEWEST_PAIRS = 3

Standing = Literal["win", "lose", "too close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDrafts:
    """One batch: tok/s of all texts without and with drafts, S, and what a round is; `pairs` is what S rests on.

    `tokens_per_round` is E of one text, `alpha` the conditional acceptance, None where nothing was drafted. `round_ms`
    is of free rounds; the three phases are of fenced ones, None where there are none.
    """

    batch: int
    pairs: int
    plain_tokens_per_second: float
    drafting_tokens_per_second: float
    speedup: Interval
    tokens_per_round: float
    alpha: float | None
    round_ms: float
    draft_ms: float | None
    verify_ms: float | None
    rest_ms: float | None

    @property
    def standing(self) -> Standing:
        """Whether drafts win or lose at this batch, by the whole interval of S."""
        return "win" if self.speedup.low > 1 else "lose" if self.speedup.high < 1 else "too close"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDraftsTable:
    """What drafted, how long, from which position on, and batches in order; `left_out` are those with too few pairs."""

    drafter: str
    k: int
    context: int
    lines: tuple[BatchDrafts, ...]
    left_out: tuple[int, ...]


def batch_drafts(session: Session) -> BatchDraftsTable | None:
    """Every batch that was generated with drafts; None where none was, or none often enough."""
    timed = [each for each in session.batched if each.batch and each.passes and each.tokens and each.elapsed_ns]
    plain = [each for each in timed if each.arm == "plain"]
    drafting = [each for each in timed if each.arm != "plain"]
    if not drafting:
        return None
    last = drafting[-1]
    mine = [each for each in drafting if (each.drafter, each.k) == (last.drafter, last.k)]
    lines, left_out = [], []
    for batch in sorted({each.batch for each in mine}):
        line = _line(batch, [p for p in plain if p.batch == batch], [m for m in mine if m.batch == batch])
        if line is None:
            left_out.append(batch)
        else:
            lines.append(line)
    if not lines:
        return None
    return BatchDraftsTable(
        drafter=last.drafter, k=last.k, context=last.context, lines=tuple(lines), left_out=tuple(left_out)
    )


def _line(batch: int, plain: Sequence[Batched], drafting: Sequence[Batched]) -> BatchDrafts | None:
    free = [each for each in drafting if each.arm == "drafting"]
    split = [each for each in drafting if each.arm == "split"]
    plain_by_pair = {each.pair: each for each in plain}
    pairs = [(plain_by_pair[each.pair], each) for each in free if each.pair in plain_by_pair]
    if len(pairs) < FEWEST_PAIRS:
        return None
    rounds, fenced = sum(each.passes for each in free), sum(each.passes for each in split)
    tested, accepted = (sum(getattr(each, name) for each in drafting) for name in ("tested", "accepted"))
    return BatchDrafts(
        batch=batch,
        pairs=len(pairs),
        plain_tokens_per_second=_rate([p for p, _ in pairs]),
        drafting_tokens_per_second=_rate([d for _, d in pairs]),
        speedup=log_ratio_interval([math.log(_rate([d]) / _rate([p])) for p, d in pairs]),
        tokens_per_round=sum(each.tokens for each in free) / rounds / batch,
        alpha=accepted / tested if 0 <= accepted <= tested and tested else None,
        round_ms=sum(each.elapsed_ns for each in free) / rounds * MS,
        draft_ms=_mean_ms([each.draft_ns for each in split], fenced),
        verify_ms=_mean_ms([each.verify_ns for each in split], fenced),
        rest_ms=_mean_ms([each.rest_ns for each in split], fenced),
    )


def _rate(stretches: Sequence[Batched]) -> float:
    return 1e9 * sum(each.tokens for each in stretches) / sum(each.elapsed_ns for each in stretches)


def _mean_ms(totals_ns: Sequence[int | None], rounds: int) -> float | None:
    known = [ns for ns in totals_ns if ns is not None]
    return sum(known) / rounds * MS if rounds and len(known) == len(totals_ns) else None
