"""T_decode(B) and T_verify(B, n) of a session: what a verify pass costs at every batch, and when drafts stop paying.

A survey drafts nothing. At an acceptance that was only asked for, a round is its verify pass alone, so that S is the
most that drafts could give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ...engine.errors import SpecviewError
from ..record.records import Probe
from ..record.session import Session
from .batch import BatchCosts, BatchRow, LosesFrom, divide_batches, loses_from
from .division import Conditional
from .economics import NOTHING, DrafterKind, RoundCosts, round_steps
from .numbers import MS
from .parts import part_from
from .spans import Pipelined, R, Span, Synchronous
from .statistics import Interval

FEWEST_VISITS = 3  # below it visits lend their samples, which lie back to back


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchVerify:
    """One verify pass of all sequences, `width` positions of each: ms, and in decode steps of the same batch.

    `tokens_per_second` are positions of all sequences that such passes verify in a second: the rate of drafting if all
    drafts were accepted and cost nothing.
    """

    width: int
    ms: Interval
    steps: Interval
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine:
    """One batch: a decode step of all sequences in ms, tokens a second of all of them, and its verify passes."""

    batch: int
    decode_ms: Interval
    tokens_per_second: float
    verify: tuple[BatchVerify, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTable:
    """All batches at one context; `left_out` says what was timed too rarely to count."""

    context: int
    lines: tuple[BatchLine, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfDrafts:
    """k drafts a round at a conditional α that was asked for, costing nothing: rows by batch, and where they lose."""

    alpha: float
    k: int
    rows: tuple[BatchRow, ...]
    loses_from: LosesFrom | None

    @property
    def sentence(self) -> str:
        """Where drafts begin to lose."""
        start, found = f"What if: k = {self.k} at p = {self.alpha:g}, drafts for nothing:", self.loses_from
        if found is None:
            return f"{start} they win at every batch measured, up to {self.rows[-1].batch}."
        again = f"; they win again at {', '.join(map(str, found.wins_again))}" if found.wins_again else ""
        if found.wins_at is None:
            lost = f"already at {found.batch}, the least batch measured" if again else "at every batch measured"
            return f"{start} they lose {lost}{again}."
        where = f"at about {found.crossing:.1f} if times run straight" if found.crossing is not None else found.reason
        return f"{start} they win at {found.wins_at} and lose from a batch of {found.batch} ({where}){again}."


def batch_costs(session: Session) -> dict[int, BatchCosts]:
    """Costs by batch, of batches whose decode step and some verify pass were timed twice at least; a round is verify.

    Passes are those of `batch` sequences at the context where most were timed; for one sequence too only those that say
    so, since a pass of another part has other neighbours.
    """
    _, probes = _at_one_context(session)
    made = {}
    for batch in sorted({p.batch for p in probes if p.batch}):
        mine = [p for p in probes if p.batch == batch]
        decode = _span([p for p in mine if p.part == "decode" and p.pipelined], Pipelined)
        verify = _verify_by_width(mine)
        if decode is not None and verify:
            made[batch] = BatchCosts(decode=decode, round=RoundCosts(DrafterKind.NONE, verify, {}, NOTHING))
    return made


def batch_table(session: Session) -> BatchTable | None:
    """Decode and verify by batch; None where no batch was timed."""
    context, probes = _at_one_context(session)
    costs = batch_costs(session)
    if not costs:
        return None
    asked = sorted({p.batch for p in probes if p.batch} - set(costs))
    return BatchTable(
        context=context,
        lines=tuple(_line(batch, each) for batch, each in costs.items()),
        left_out=tuple(f"A batch of {batch} was timed too rarely to count; ask for more repeats." for batch in asked),
    )


def what_if_drafts(session: Session, alpha: float) -> tuple[WhatIfDrafts, ...]:
    """The division by batch at one conditional α, for each k whose width was timed at some batch; in order of k.

    Raises SpecviewError for an α outside 0 to 1.
    """
    costs, given = batch_costs(session), Conditional(alpha=alpha)
    widths = {width for each in costs.values() for width in each.round.verify_by_width}
    return tuple(
        WhatIfDrafts(
            alpha=alpha,
            k=width - 1,
            rows=divide_batches(costs, given, width - 1),
            loses_from=loses_from(costs, given, width - 1),
        )
        for width in sorted(widths)
        if width > 1
    )


def _at_one_context(session: Session) -> tuple[int, list[Probe]]:
    """The context most verify passes of batches were timed at, and the probes there.

    Decode steps count to the same context although they are a few positions further on.
    """
    timed = [p for p in (*session.probes, *session.batch_probes) if p.ruler == "whole" and p.batch]
    contexts = [p.context for p in timed if p.part == "verify"]
    if not contexts:
        return 0, []
    chosen = max(sorted(set(contexts)), key=contexts.count)
    others = sorted(set(contexts))

    def nearest(context: int) -> int:
        return max((other for other in others if other <= context), default=others[0])

    return chosen, [p for p in timed if nearest(p.context) == chosen]


def _verify_by_width(probes: Sequence[Probe]) -> dict[int, Span[Synchronous]]:
    passes = [p for p in probes if p.part == "verify" and not p.pipelined]
    found = {n: _span([p for p in passes if p.width == n], Synchronous) for n in sorted({p.width for p in passes})}
    return {width: span for width, span in found.items() if span is not None}


def _span(probes: Sequence[Probe], ruler: type[R]) -> Span[R] | None:
    """The mean over visits, the units; over all samples where there are few visits."""
    visits = [[ns * MS for ns in p.samples_ns if ns > 0] for p in probes if p.samples_ns]
    visits = [visit for visit in visits if visit]
    values = [fmean(visit) for visit in visits] if len(visits) >= FEWEST_VISITS else [ms for v in visits for ms in v]
    if len(values) < 2:
        return None
    part = part_from(values, serial=False)  # visits are in random order
    return Span(part.mean, ruler, part.se, part.n)


def _line(batch: int, costs: BatchCosts) -> BatchLine:
    return BatchLine(
        batch=batch,
        decode_ms=_known(costs.decode.interval()),
        tokens_per_second=1000.0 * batch / costs.decode.ms,
        verify=tuple(
            BatchVerify(
                width=width,
                ms=_known(span.interval()),
                steps=round_steps(span, costs.decode),
                tokens_per_second=1000.0 * batch * width / span.ms,
            )
            for width, span in costs.round.verify_by_width.items()
        ),
    )


def _known(interval: Interval | None) -> Interval:
    if interval is None:
        raise SpecviewError("A batch was timed once, so its time has no interval; ask for more repeats.")
    return interval
