"""The numbers of the rounds, one a row, each with its kind and interval."""

from __future__ import annotations

from ..profilers.judge.ledger import Ledger
from ..profilers.record.session import Session
from . import figures
from .costs import number_text
from .view_models import Live, RoundsView, Row, Tone

CANARY_QUIET = 1.05
BUSY = 0.25


def rounds_view(session: Session, ledger: Ledger | None, live: Live) -> RoundsView:
    """Every row that is known; rows of what was not measured are left out."""
    rows: list[Row] = []
    if ledger is not None:
        rows += [*_counts(ledger), *_times(ledger), *_predicted(ledger), *_output(ledger)]
    rows += [*_machine(session, ledger), *_looking(live)]
    if ledger is not None:
        rows += _kinds(ledger)
    rows += [Row("note", note.text, tone="warn" if "refused" in note.tags else "") for note in session.notes[-2:]]
    return RoundsView(tuple(rows))


def _counts(ledger: Ledger) -> list[Row]:
    counts = ledger.acceptance
    rows = []
    if counts is not None:
        tokens = counts.accepted + counts.rounds
        rows.append(
            Row(
                "rounds",
                f"{counts.rounds:,} · {figures.count(tokens, 'token')}",
                figures.count(ledger.prompts, "prompt"),
            )
        )
        if counts.per_draft is not None:
            label = "p" if ledger.setting.k == 1 else "p per draft"
            remark = f"95%, {ledger.setting.rule}, {counts.accepted:,} of {counts.drafted:,}"
            rows.append(Row(label, figures.with_span(counts.per_draft), remark))
        if ledger.setting.k > 1:
            each = " ".join(figures.share(None if a is None else a.estimate) for a in counts.conditional[:8])
            rows.append(Row("p conditional", each, "by position"))
        rows.append(Row("tokens/round", figures.with_span(counts.tokens_per_round), "E, accepted + 1"))
    if ledger.round_steps is not None:
        rows.append(Row("steps/round", figures.with_span(ledger.round_steps), "R, T_round ÷ T_decode"))
    if ledger.plain_rate is not None or ledger.drafting_rate is not None:
        rows.append(Row("plain", figures.rate(ledger.plain_rate)))
        rows.append(Row("drafting", figures.rate(ledger.drafting_rate)))
    return rows


def _times(ledger: Ledger) -> list[Row]:
    named = (
        ("decode", ledger.decode, "pipelined"),
        (f"verify({ledger.setting.k + 1})", ledger.verify, "split rounds"),
        ("draft", ledger.draft, "with catch-up"),
        ("rest", ledger.rest, "accept, rewind, Python"),
        ("round", ledger.round, "free rounds"),
    )
    return [Row(name, number_text(number), remark) for name, number, remark in named if number is not None]


def _predicted(ledger: Ledger) -> list[Row]:
    error = ledger.prediction_error
    if error is None:
        return []
    value = f"{figures.significant(error.predicted)} vs {figures.rate(error.measured)}"
    span = f"{figures.percent(error.low, signed=True)} to {figures.percent(error.high, signed=True)}"
    return [Row("predicted", value, f"{figures.percent(error.error, signed=True)}, {span}")]


def _output(ledger: Ledger) -> list[Row]:
    output = ledger.output
    if output is None:
        return []
    if output.bugs:
        places = figures.count(output.bugs, "place")
        return [Row("output", f"DIFFERS at {places}: a bug", f"by {figures.logits(output.margin)}", "bad")]
    if output.ties:
        return [Row("output", f"{figures.count(output.ties, 'near tie')}", f"up to {figures.logits(output.margin)}")]
    return [Row("output", f"= plain greedy {output.compared:,}/{output.compared:,}", "tokens", "good")]


def _machine(session: Session, ledger: Ledger | None) -> list[Row]:
    rows = []
    if session.memory:
        last = session.memory[-1]
        rows.append(Row("memory", f"{figures.size(last.active_bytes)} peak {figures.size(last.peak_bytes)}", "of MLX"))
    if ledger is not None and ledger.canary is not None:
        moved = ledger.canary.estimate
        tone: Tone = "warn" if moved > CANARY_QUIET else ""
        rows.append(Row("canary", f"{figures.times(moved)}, {_drift(ledger)}", "fixed matmul, late ÷ early", tone))
    if ledger is not None and ledger.other_busy is not None:
        tone = "warn" if ledger.other_busy > BUSY else ""
        rows.append(Row("other load", f"{figures.percent(ledger.other_busy)} of the cores", "", tone))
    return rows


def _drift(ledger: Ledger) -> str:
    if ledger.drift is None:
        return "drift not known yet"
    if ledger.drift.holds(1.0):
        return "no drift"
    return f"drift {figures.percent(ledger.drift.estimate - 1, signed=True)}"


def _looking(live: Live) -> list[Row]:
    if live.looking is None:
        return []
    return [Row("looking", f"{figures.percent(live.looking)} of the cores", "what this screen takes")]


def _kinds(ledger: Ledger) -> list[Row]:
    if len(ledger.kinds) < 2:
        return []
    rows = []
    for kind in ledger.kinds:
        p = kind.acceptance.per_draft
        remark = f"p {figures.share(None if p is None else p.estimate)}, {figures.count(kind.prompts, 'prompt')}"
        speed = f"{figures.times(kind.estimate)} {figures.span(kind.speedup)}".rstrip()
        rows.append(Row(kind.kind, figures.NONE if ledger.distrusted else speed, remark))
    return rows
