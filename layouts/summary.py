"""A session in a few lines of plain text, and as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..engine.errors import SpecviewError
from ..profilers.judge.imported import ImportedVerdict
from ..profilers.judge.imported_rows import imported_sheet
from ..profilers.judge.ledger import Ledger, Number
from ..profilers.judge.ledger_rows import LedgerSheet
from ..profilers.judge.ledger_sheets import ledger_or_none, ledger_sheets, verdicts_beside
from ..profilers.judge.numbers import number as number_of
from ..profilers.judge.readings import shown_wall
from ..profilers.judge.recorded_rows import recorded_sheet
from ..profilers.judge.statistics import Interval
from ..profilers.record.session import Session
from . import figures
from .costs_only import costs_lines, is_costs_only
from .sheet_lines import rulers_lines, sheet_lines, sheets_object
from .synthetic import CHOSEN, drafter_words, is_synthetic


def summary_lines(session: Session, ledger: Ledger | None = None, *, baseline_tps: float | None = None) -> list[str]:
    """The verdict, the numbers under it, and whatever should be known about them; one statement a line.

    Sessions of other engines, attached ones and surveys have a summary too; SpecviewError where there is no figure at
    all. `ledger` is the session's where that is known already; `baseline_tps` stands for plain windows that it lacks.
    """
    ledger, sheets, verdicts = _known(session, ledger, baseline_tps)
    if ledger is None or (verdicts and not ledger.segments):
        told = sheet_lines(session, sheets)
        return [*costs_lines(session), "", *told] if is_costs_only(session) else told
    lines = _recorded_lines(session, ledger)
    if verdicts:
        lines += ["", *sheet_lines(session, [imported_sheet(session, verdict) for verdict in verdicts])]
    return lines


def _known(
    session: Session, ledger: Ledger | None, baseline_tps: float | None
) -> tuple[Ledger | None, tuple[LedgerSheet, ...], tuple[ImportedVerdict, ...]]:
    """The ledger, every sheet, and the verdicts over windows."""
    why_not = ""
    if ledger is None:
        ledger, why_not = ledger_or_none(session)
    sheets = ledger_sheets(session, ledger, baseline_tps)
    if ledger is None and not any(row.group != "guards" for sheet in sheets for row in sheet.rows):
        raise SpecviewError(why_not)
    return ledger, sheets, verdicts_beside(session, ledger, baseline_tps)


def _recorded_lines(session: Session, ledger: Ledger) -> list[str]:
    return [
        ledger.verdict.sentence,
        _what(session, ledger),
        *_rates(ledger),
        *_acceptance(ledger),
        *_parts(session, ledger),
        *_prediction(ledger),
        *_two_rulers(session, ledger),
        *_kinds(ledger),
        *_output(ledger),
        *_memory(ledger),
        *_state(session, ledger),
    ]


def _what(session: Session, ledger: Ledger) -> str:
    setting, model = ledger.setting, session.header.model
    stored = model.quantisation or model.dtype
    told = f"{drafter_words(setting.drafter)}: {CHOSEN}; " if is_synthetic(setting.drafter) else f"{setting.drafter}, "
    rule = f"{setting.rule} at temperature {setting.temperature:g}" if setting.temperature else setting.rule
    return (
        f"{model.id} ({model.architecture}, {stored}), drafter {told}k = {setting.k}, {rule}, "
        f"on {session.header.environment.device} with {session.header.environment.blas}."
    )


def _rates(ledger: Ledger) -> list[str]:
    return [
        f"without drafts   {figures.rate(ledger.plain_rate)}",
        f"with drafts      {figures.rate(ledger.drafting_rate)}   over "
        f"{figures.count(ledger.prompts, 'prompt')}, {figures.count(ledger.segments, 'paired segment')}",
    ]


def _acceptance(ledger: Ledger) -> list[str]:
    counts = ledger.acceptance
    if counts is None:
        return []
    lines = [
        f"tokens per round {figures.with_span(counts.tokens_per_round)}   "
        f"{figures.count(counts.rounds, 'round')}, at most {ledger.setting.k + 1} each"
    ]
    if counts.per_draft is None:
        return [*lines, "acceptance       — (nothing was drafted)"]
    lines.append(
        f"acceptance       {figures.with_span(counts.per_draft)}   per draft (accepted ÷ drafted), 95%, "
        f"{ledger.setting.rule}, {counts.accepted:,} of {counts.drafted:,}"
    )
    first = counts.conditional[0]
    if len(counts.conditional) > 1 and first is not None:
        each = "  ".join("—" if a is None else f"{a.estimate:.2f}" for a in counts.conditional)
        lines.append(f"                 {each}   conditional by position (given that all before were accepted)")
    return lines


def _parts(session: Session, ledger: Ledger) -> list[str]:
    passes = shown_wall(session, 1)
    out = f", {passes.left_out} interrupted left out" if passes.left_out else ""
    rows = (
        ("decode", ledger.decode, "pipelined, plain steps"),
        ("round", ledger.round, "free rounds"),
        ("  draft", ledger.draft, "split rounds, catch-up included"),
        ("  verify", ledger.verify, f"split rounds, up to {ledger.setting.k + 1} positions"),
        ("  rest", ledger.rest, "split rounds: acceptance, rewind, Python"),
        ("    rewind", ledger.rewind, "part of rest"),
        ("one pass", number_of(passes.ns), f"synchronous, one position: the baseline of ratios by width{out}"),
    )
    lines = [_part(name, number, note) for name, number, note in rows if number is not None]
    if ledger.round_steps is not None:
        lines.append(f"round in steps   {figures.with_span(ledger.round_steps)}   mean round ÷ decode")
    return [*lines, *_widths(ledger), *_costs(ledger)]


def _widths(ledger: Ledger) -> list[str]:
    """T_verify(n) in passes over one position, and drafter steps by width; nothing between widths is made up."""
    lines = []
    single = ledger.verify_by_width.get(1)
    if single is not None and len(ledger.verify_by_width) > 1:
        ratios = (
            f"{width}: {number.spread.median / single.spread.median:.2f}"
            for width, number in ledger.verify_by_width.items()
        )
        lines.append(f"verify(n)÷(1)    {'  '.join(ratios)}")
    if ledger.draft_by_width:
        steps = (f"{width}: {figures.ms(n.mean.estimate)}" for width, n in ledger.draft_by_width.items())
        lines.append(f"drafter steps    {'  '.join(steps)}   by positions, timed alone")
    return lines


def _costs(ledger: Ledger) -> list[str]:
    lines = []
    if ledger.catch_up_ms is not None:
        lines.append(f"catch-up         {figures.ms(ledger.catch_up_ms)} of each round's draft, at this acceptance")
    if ledger.overlap_ms is not None:
        lines.append(f"overlap          {figures.ms(ledger.overlap_ms)} that draft and verify hide behind each other")
    if ledger.split_cost is not None:
        change = "longer" if ledger.split_cost >= 0 else "shorter"
        lines.append(
            f"fences           split rounds take {figures.percent(abs(ledger.split_cost))} {change} than free ones"
        )
    return lines


def _part(name: str, number: Number, note: str) -> str:
    mean = f"{figures.ms(number.mean.estimate)} {figures.plus_minus(number.mean)}"
    return f"{name:<16} {mean:<20} median {figures.ms(number.spread.median)}, n = {number.n}, {note}"


def _prediction(ledger: Ledger) -> list[str]:
    prediction, error = ledger.prediction, ledger.prediction_error
    if prediction is None:
        return [f"predicted        {reason}" for reason in ledger.prediction_reasons]
    line = f"predicted        {figures.rate(prediction.tokens_per_second.estimate)} from split rounds and probes"
    if error is not None:
        line += (
            f", {figures.percent(error.error, signed=True)} "
            f"[{figures.percent(error.low, signed=True)}, {figures.percent(error.high, signed=True)}] "
            f"from {figures.rate(error.measured)} measured in other, free rounds"
        )
    return [line, *(f"                 {reason}" for reason in ledger.prediction_reasons)]


def _two_rulers(session: Session, ledger: Ledger) -> list[str]:
    rulers = recorded_sheet(session, ledger).two_rulers
    return [] if rulers is None else rulers_lines(rulers)


def _kinds(ledger: Ledger) -> list[str]:
    if len(ledger.kinds) < 2:
        return []
    lines = []
    for row in ledger.kinds:
        p = "—" if row.acceptance.per_draft is None else f"{row.acceptance.per_draft.estimate:.2f}"
        prompts = figures.count(row.prompts, "prompt")
        if ledger.distrusted:
            lines.append(f"{row.kind:<16} p {p}, {prompts}")
            continue
        span = figures.span(row.speedup) or "too few prompts for an interval"
        lines.append(f"{row.kind:<16} {figures.times(row.estimate)} {span}   p {p}, {prompts}")
    return lines


def _output(ledger: Ledger) -> list[str]:
    output = ledger.output
    if output is None:
        return []
    if output.bugs:
        return [
            f"output           DIFFERS from plain greedy at {figures.count(output.bugs, 'place')} by more than a tie "
            f"(margin {output.margin:.3g} logits): a bug in the model, the cache or the drafter."
        ]
    if output.ties:
        return [
            f"output           differs from plain greedy at {figures.count(output.ties, 'near tie')} "
            f"(largest margin {output.margin:.3g} logits), {figures.count(output.compared, 'token')} compared"
        ]
    return [f"output           = plain greedy, {figures.count(output.compared, 'token')} compared"]


def _memory(ledger: Ledger) -> list[str]:
    memory = ledger.memory
    if memory is None:
        return []
    parts = (("target", memory.target_bytes), ("drafter", memory.drafter_bytes), ("caches", memory.cache_bytes))
    named = ", ".join(f"{name} {figures.size(held)}" for name, held in parts if held)
    held, peak = figures.size(memory.active_bytes), figures.size(memory.peak_bytes)
    return [f"memory           {named}; MLX holds {held}, peak {peak}"]


def _state(session: Session, ledger: Ledger) -> list[str]:
    lines = []
    if session.status == "interrupted":
        lines.append("This session was interrupted: it ends without a footer, and everything recorded is here.")
    elif session.footer is not None and session.footer.reason:
        lines.append(f"This session {session.footer.status}: {session.footer.reason}.")
    lines.extend(f"Note: {note.text}" for note in session.notes)
    cooled = sum(guard.value or 0.0 for guard in session.guards if guard.code == "cooling")
    if cooled:
        lines.append(f"Paused {cooled:.1f} s in all because the machine ran slower than at the start.")
    needed = ledger.rounds_needed
    if ledger.verdict.kind == "too_close" and needed:
        more = figures.count(needed, "more round")
        lines.append(f"About {more} may settle it, if mean and spread stay as they are.")
    if session.problems:
        first = session.problems[0]
        lines.append(
            f"{figures.count(len(session.problems), 'line')} of the file could not be read; "
            f"the first is line {first.line}: {first.text}"
        )
    return lines


def as_object(session: Session, ledger: Ledger | None = None, *, baseline_tps: float | None = None) -> dict[str, Any]:
    """Everything `summary_lines` says, and more, for programs. Times in ms, rates in tokens per second.

    `sheets` are the ledger's rows; `imported` is what windows of another engine say, an answer for each group of like
    ones; without rounds the fields of a recording are left out. SpecviewError where there is no figure at all.
    """
    ledger, sheets, verdicts = _known(session, ledger, baseline_tps)
    told = sheets_object(session, sheets, verdicts)
    return told if ledger is None else {**_recorded_object(session, ledger), **told}


def _recorded_object(session: Session, ledger: Ledger) -> dict[str, Any]:
    counts = ledger.acceptance
    header = session.header
    refused = ledger.distrusted
    return {
        "status": session.status,
        "specview": header.specview,
        "plan": header.plan,
        "environment": asdict(header.environment),
        "model": {**asdict(header.model), "layers": dict(header.model.layers)},
        "setting": asdict(ledger.setting),
        "verdict": asdict(ledger.verdict),
        "prompts": ledger.prompts,
        "segments": ledger.segments,
        "plain_tokens_per_second": ledger.plain_rate,
        "drafting_tokens_per_second": ledger.drafting_rate,
        "tokens_per_round": _interval(None if counts is None else counts.tokens_per_round),
        "acceptance": None
        if counts is None
        else {
            "rule": ledger.setting.rule,
            "drafted": counts.drafted,
            "accepted": counts.accepted,
            "rounds": counts.rounds,
            "per_draft": _interval(counts.per_draft),
            "mean_accepted": _interval(counts.mean_accepted),
            "conditional": [_interval(a) for a in counts.conditional],
            "cumulative": [_interval(a) for a in counts.cumulative],
        },
        "round_steps": _interval(ledger.round_steps),
        "round_steps_at_full_acceptance": _interval(ledger.round_steps_full),
        "parts_ms": {
            name: _number(number)
            for name, number in (
                ("decode", ledger.decode),
                ("decode_synchronous", ledger.decode_synchronous),
                ("round", ledger.round),
                ("draft", ledger.draft),
                ("verify", ledger.verify),
                ("rest", ledger.rest),
                ("rewind", ledger.rewind),
            )
        },
        "verify_ms_by_width": {str(w): _number(n) for w, n in ledger.verify_by_width.items()},
        "draft_ms_by_width": {str(w): _number(n) for w, n in ledger.draft_by_width.items()},
        "catch_up_ms": ledger.catch_up_ms,
        "overlap_ms": ledger.overlap_ms,
        "split_cost": ledger.split_cost,
        "prediction": None if ledger.prediction is None else asdict(ledger.prediction),
        "prediction_error": None if ledger.prediction_error is None else asdict(ledger.prediction_error),
        "prediction_reasons": list(ledger.prediction_reasons),
        "memory": None if ledger.memory is None else asdict(ledger.memory),
        "rounds_still_needed": ledger.rounds_needed,
        "kinds": [
            {
                "kind": row.kind,
                "prompts": row.prompts,
                "speedup": None if refused else row.estimate,
                "interval": None if refused else _interval(row.speedup),
                "per_draft": _interval(row.acceptance.per_draft),
            }
            for row in ledger.kinds
        ],
        "output": None if ledger.output is None else asdict(ledger.output),
        "canary": _interval(ledger.canary),
        "drift": _interval(ledger.drift),
        "other_busy": ledger.other_busy,
        "problems": [asdict(problem) for problem in session.problems],
    }


def _interval(interval: Interval | None) -> dict[str, float | int] | None:
    return None if interval is None else asdict(interval)


def _number(number: Number | None) -> dict[str, Any] | None:
    if number is None:
        return None
    return {
        "mean": number.mean.estimate,
        "low": number.mean.low,
        "high": number.mean.high,
        "median": number.spread.median,
        "mad": number.spread.mad,
        "n": number.n,
    }
