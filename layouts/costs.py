"""What a pass costs, for the three cost panels: decode by two rulers, verify ÷ decode, the break-even line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from ..engine.errors import SpecviewError
from ..profilers.judge.asked import recorded_basis
from ..profilers.judge.batch import BatchCosts
from ..profilers.judge.blocks_table import BlocksTable
from ..profilers.judge.break_even import BreakEvenLine
from ..profilers.judge.cliffs import staircase
from ..profilers.judge.floors import Floors, NoFloor
from ..profilers.judge.gap_parts import BOUNDARIES, BUILD, FENCE, REST, SUBMIT, UNQUEUED, gap_parts
from ..profilers.judge.ledger import Ledger, Number
from ..profilers.judge.numbers import MS
from ..profilers.judge.question import CURVE_POINTS
from ..profilers.judge.ruler_sentences import ruler_sentences
from ..profilers.judge.rulers import ruler_table
from ..profilers.judge.shown import shown_verify
from ..profilers.record.session import Session
from . import figures
from .view_models import (
    BreakEvenView,
    CategoryTime,
    Curve,
    DecodeView,
    GapShare,
    RatioBar,
    VerifyView,
    WhatIf,
)
from .what_if import answered, with_answer

NO_BLOCKS = "blocks are not measured in this session"
P_STEP = 0.05


@dataclass(frozen=True, slots=True)
class Rulers:
    """What other rulers say of a decode pass, in ms, what the gap is made of, and why the rulers disagree."""

    pipelined_ms: float | None = None
    hot_ms: float | None = None
    gap_parts: tuple[GapShare, ...] = ()
    sentences: tuple[str, ...] = ()


NO_RULERS = Rulers()
GAP_NAMES = {
    BUILD: "build",
    SUBMIT: "first submission",
    FENCE: "sync",
    BOUNDARIES: "outside blocks",
    UNQUEUED: "not queued",
    REST: "unattributed",
}


def rulers_of(session: Session) -> Rulers:
    """The rulers of one position; nothing where the session holds too little."""
    table, parts = ruler_table(session, 1), gap_parts(session, 1)
    known = () if parts is None else (*parts.parts, parts.rest)
    return Rulers(
        pipelined_ms=None if table is None else table.pipelined.ms,
        hot_ms=None if table is None else table.queued_hot.ms,
        gap_parts=tuple(GapShare(GAP_NAMES[part.name], part.ms) for part in known if part.ms is not None),
        sentences=ruler_sentences(session, 1),
    )


def decode_view(
    session: Session, ledger: Ledger | None, table: BlocksTable | None, rulers: Rulers = NO_RULERS
) -> DecodeView:
    """A decode step: the synchronous whole graph, the sums of its blocks (queued where there is one), the gap."""
    shown = shown_verify(session, 1)
    walls = [ns * MS for ns in shown.totals_ns]
    pipelined = rulers.pipelined_ms if ledger is None or ledger.decode is None else ledger.decode.mean.estimate
    view = DecodeView(
        whole_ms=fmean(walls) if walls else None,
        pipelined_ms=pipelined,
        build_ms=shown.build_ms,
        eval_ms=shown.evaluation_ms,
        sentences=rulers.sentences,
    )
    if table is None:
        return replace(view, message=NO_BLOCKS) if walls else view
    queued = table.queued_ms is not None
    times = [(row.category, row.decode_queued_ms if queued else row.decode_fenced_ms) for row in table.rows]
    return replace(
        view,
        sum_ms=table.queued_ms if queued else table.fenced_ms,
        ruler="queued" if queued else "fenced",
        waiting=table.waiting,
        fenced_ms=table.fenced_ms if queued else None,
        fence_ms=table.fence_ms,
        gap_ms=None if table.gap is None else table.gap.ms,
        gap_of_sum=None if table.gap is None else table.gap.of_sum,
        gap_of_wall=None if table.gap is None else table.gap.of_wall,
        categories=tuple(CategoryTime(name, ms) for name, ms in times if ms is not None),
        hot_ms=rulers.hot_ms,
        gap_parts=rulers.gap_parts if table.gap is not None and queued else (),
    )


def verify_view(
    ledger: Ledger | None, table: BlocksTable | None, probed: Mapping[int, Number] | None = None
) -> VerifyView:
    """Verify ÷ decode: by op category on one ruler, and T_verify(n) ÷ T_verify(1) of the whole graph.

    `probed` are the widths of a session that has no ledger.
    """
    categories: tuple[RatioBar, ...] = ()
    rulers: set[str] = set()
    if table is not None:
        categories = tuple(RatioBar(r.category, r.ratio) for r in table.rows if r.ratio is not None)
        rulers = {str(r.ratio_ruler) for r in table.rows if r.ratio_ruler is not None}
    widths: Mapping[int, Number] = (probed or {}) if ledger is None else ledger.verify_by_width
    single = widths.get(1)
    bars: tuple[RatioBar, ...] = ()
    if single is not None:
        here = 0 if ledger is None else ledger.setting.k + 1
        bars = tuple(RatioBar(str(n), w.mean.estimate / single.mean.estimate, n == here) for n, w in widths.items())
    return VerifyView(
        message="" if categories else NO_BLOCKS,
        width=None if table is None else table.width,
        ruler=" and ".join(sorted(rulers)),
        categories=categories,
        widths=bars,
        cliffs=_cliffs(widths),
    )


def _cliffs(widths: Mapping[int, Number]) -> tuple[str, ...]:
    """The widths behind a cliff, as the Sweep screen finds them."""
    return tuple(str(cliff.above) for cliff in staircase({n: each.mean for n, each in widths.items()}).cliffs)


def break_even_view(
    ledger: Ledger | None,
    shares: Mapping[int, float],
    what_if: WhatIf,
    batch_costs: Mapping[int, BatchCosts] | None = None,
    floors: Floors | NoFloor | None = None,
) -> BreakEvenView:
    """The measured line and point, and beside them the answer to a what-if."""
    if ledger is None:
        return BreakEvenView(message="Rounds are still to be measured.")
    try:
        basis = recorded_basis(ledger, shares, batch_costs)
    except SpecviewError as error:
        return BreakEvenView(message=str(error))
    line, verdict = basis.here, ledger.verdict.speedup
    answer, refusal = answered(
        basis,
        what_if,
        measured=None if verdict is None else verdict.estimate,
        verdict=verdict is not None,
        floors=floors,
    )
    p = line.alpha
    view = BreakEvenView(
        curve=curve_of_line(line),
        p=p.estimate,
        p_low=max(0.0, p.low),
        p_high=min(1.0, p.high),
        limit_ms=line.limit_ms(p.estimate),
        limit_steps=line.limit_steps(p.estimate),
        verify_steps=line.verify_steps,
        symbol="p" if line.k == 1 else "α",
        note=line.inferred,
    )
    return with_answer(view, answer, refusal, basis.batches)


def curve_of_line(line: BreakEvenLine) -> Curve:
    """The line for the chart."""
    limits = tuple(line.limit_ms(i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS))
    return Curve(line.k, limits, line.verify.ms, line.crossing())


def moved_p(view: BreakEvenView, by: int) -> float | None:
    """The next p to ask about, `by` steps of 0.05 on, on whole steps; None where nothing is measured."""
    now = view.what_if.p if view.what_if is not None else view.p
    if now is None and view.unmeasured and view.curve is not None:
        return 0.5
    if now is None:
        return None
    on_grid = round(now / P_STEP)
    step = on_grid + by if abs(on_grid * P_STEP - now) < 1e-9 or (on_grid * P_STEP - now) * by < 0 else on_grid
    return min(1.0, max(0.0, round(step * P_STEP, 2)))


def number_text(number: Number | None) -> str:
    """A part of a round: its mean with the interval's half width."""
    return figures.NONE if number is None else f"{figures.ms(number.mean.estimate)} {figures.plus_minus(number.mean)}"
