"""Several sequences at once: what decode and verify cost by batch, and from which batch drafts lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..engine.errors import SpecviewError
from ..profilers.judge.acceptance import alpha_from_tokens
from ..profilers.judge.asked import LineBasis
from ..profilers.judge.batch import BatchCosts, divide_batch, divide_batches, loses_from
from ..profilers.judge.batch_drafts import BatchDrafts, BatchDraftsTable, batch_drafts
from ..profilers.judge.batch_table import batch_costs
from ..profilers.judge.division import Conditional
from ..profilers.judge.question import FROM_HALF, Basis
from ..profilers.record.session import Session
from . import figures
from .batch_words import drafts_sentences
from .curve_chart import Chart, Point, Series
from .lines import Line, line
from .tables import Column, TableRow, TableView
from .view_models import WhatIf

COLUMNS = (
    Column("batch", "batch"),
    Column("k", "k", 1),
    Column("decode", "decode ms", 2),
    Column("verify", "verify ms", 2),
    Column("steps", "R at least", 0),
    Column("needed", "p at least", 0),
    Column("measured", "S measured", 0),
    Column("at", "S here", 1),
    Column("asked", "what if", 0),
    Column("best", "all kept", 3),
    Column("rate", "tok/s of all", 4),
)


@dataclass(frozen=True, slots=True)
class BatchesView:
    """A table of measured batches, S over batch as a chart, and where drafts begin to lose in words."""

    table: TableView
    chart: Chart
    legend: Line
    sentences: tuple[str, ...]
    title: str


def batches_view(session: Session, what_if: WhatIf, basis: Basis | None) -> BatchesView | None:
    """None where no batch was timed. But where S was measured drafts cost nothing, so that it is the most there is."""
    costs, drafted = batch_costs(session), batch_drafts(session)
    lengths = sorted({width - 1 for each in costs.values() for width in each.round.verify_by_width if width > 1})
    if not costs or not lengths:
        return None
    scaled = {batch: _scaled(each, what_if.verify) for batch, each in costs.items()}
    shown = [what_if.k] if what_if.k in lengths else lengths
    here = basis.here.alpha.estimate if isinstance(basis, LineBasis) and basis.measured else None
    asked = what_if != WhatIf()
    p = (what_if.p if what_if.p is not None else here if here is not None else FROM_HALF) if asked else None
    columns = tuple(
        c for c in COLUMNS if (c.key != "at" or here is not None) and (c.key != "asked" or asked) and
        (c.key != "k" or len(shown) > 1) and (c.key != "measured" or (drafted is not None and drafted.k in shown))
    )  # fmt: skip
    rows = []
    for k in shown:
        for batch, each in sorted(costs.items()):
            if k + 1 not in each.round.verify_by_width:
                continue
            full = divide_batch(each, Conditional(alpha=1.0), k, batch)
            now = None if here is None else divide_batch(each, Conditional(alpha=here), k, batch)
            then = None if p is None else divide_batch(scaled[batch], Conditional(alpha=p), k, batch)
            least = _least(full.round_steps, k)
            text = {
                "batch": str(batch),
                "k": str(k),
                "decode": figures.bare_ms(full.decode_ms),
                "verify": figures.bare_ms(full.verify_ms),
                "steps": figures.ratio(full.round_steps),
                "measured": _measured(drafted, k, batch),
                "needed": "none" if least is None else figures.share(least),
                "at": figures.NONE if now is None else figures.times(now.speedup),
                "asked": figures.NONE if then is None else figures.times(then.speedup),
                "best": figures.times(full.speedup),
                "rate": figures.significant(1000.0 * batch / full.decode_ms),
            }
            tone = "bad" if full.speedup < 1 else "what-if" if asked and what_if.batch == batch else ""
            rows.append(TableRow(f"{k} {batch}", tuple(text[c.key] for c in columns), tone))
    charted = drafted.k if drafted is not None and drafted.k in shown else shown[0]
    chart, legend = _chart(costs, scaled, charted, here, p, drafted)
    sentences = [] if drafted is None else list(drafts_sentences(drafted))
    sentences += [_loses(costs, 1.0, charted, "with every draft accepted and free")]
    if here is not None:
        sentences.append(_loses(costs, here, charted, f"at the measured p {here:.2f} with free drafts"))
    if p is not None:
        sentences.append(f"What if: {_lower(_loses(scaled, p, charted, f'at p {p:.2f} with free drafts'))}")
    title = "Batches: drafts for nothing" if drafted is None else "Batches: drafts for nothing, and as measured"
    return BatchesView(TableView(columns, tuple(rows)), chart, legend, tuple(sentences), title)


def _measured(drafted: BatchDraftsTable | None, k: int, batch: int) -> str:
    line = _line(drafted, k, batch)
    return figures.NONE if line is None else figures.times(line.speedup.estimate)


def _line(drafted: BatchDraftsTable | None, k: int, batch: int) -> BatchDrafts | None:
    if drafted is None or drafted.k != k:
        return None
    return next((line for line in drafted.lines if line.batch == batch), None)


def _scaled(costs: BatchCosts, verify: float) -> BatchCosts:
    wide = {width: span * (verify if width > 1 else 1.0) for width, span in costs.round.verify_by_width.items()}
    return replace(costs, round=replace(costs.round, verify_by_width=wide))


def _chart(
    costs: Mapping[int, BatchCosts],
    scaled: Mapping[int, BatchCosts],
    k: int,
    here: float | None,
    p: float | None,
    drafted: BatchDraftsTable | None,
) -> tuple[Chart, Line]:
    def series(found: Mapping[int, BatchCosts], alpha: float, glyph: str, tone: str) -> Series:
        rows = divide_batches(found, Conditional(alpha=alpha), k)
        return Series(tuple(Point(row.batch, row.speedup) for row in rows), glyph, tone)

    drawn = [series(costs, 1.0, "○", "limit")]
    parts: list[tuple[str, str] | str] = [("○", "limit"), f" k = {k}, all accepted  "]
    if here is not None:
        drawn.append(series(costs, here, "●", "measured"))
        parts += [("●", "measured-point"), f" p {figures.share(here)} measured  "]
    if drafted is not None and drafted.k == k:
        points = tuple(
            Point(line.batch, line.speedup.estimate, line.speedup.low, line.speedup.high) for line in drafted.lines
        )
        drawn.append(Series(points, "■", "measured"))
        parts += [("■", "measured-point"), " S measured  "]
    if p is not None:
        drawn.append(series(scaled, p, "◇", "what-if"))
        parts += [("◇", "what-if"), f" p {figures.share(p)} WHAT IF  "]
    parts.append(("S at most over batch", "quiet"))
    return Chart(tuple(drawn), 1.0), line(*parts)


def _loses(costs: Mapping[int, BatchCosts], alpha: float, k: int, how: str) -> str:
    try:
        found = loses_from(costs, Conditional(alpha=alpha), k)
    except SpecviewError as error:
        return str(error)
    start = f"Drafts of {k} {how}"
    if found is None:
        return f"{start} win at every batch measured, up to {max(costs)}."
    again = f", and win again at {', '.join(map(str, found.wins_again))}" if found.wins_again else ""
    if found.wins_at is None:
        return f"{start} lose from a batch of {found.batch}, the least that was measured{again}."
    where = f"about {found.crossing:.1f} if times run straight" if found.crossing is not None else found.reason
    return f"{start} win up to a batch of {found.wins_at} and lose from {found.batch} ({where}){again}."


def _least(steps: float, k: int) -> float | None:
    """The least p at which drafts that cost nothing break even."""
    if steps > k + 1:
        return None
    return 0.0 if steps <= 1 else alpha_from_tokens(steps, k)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
