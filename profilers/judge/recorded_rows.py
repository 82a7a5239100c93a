"""The rows of an ordinary session: its ledger, and the prediction beside the measurement."""

from __future__ import annotations

from ..record.session import Session
from .cost_rows import cost_rows, guard_rows
from .counted import counted
from .ledger import Ledger
from .ledger_rows import Division, LedgerRow, LedgerSheet, Source, in_order, of_interval, row_of
from .statistics import Interval
from .two_rulers import TwoRulers, block_sums, two_rulers


def recorded_sheet(session: Session, ledger: Ledger) -> LedgerSheet:
    """The sheet of the ledger's setting."""
    setting = ledger.setting
    source: Source = "measured" if session.header.source is None else "imported"
    rows = [
        *_baseline(ledger, source),
        *_round(ledger, source),
        *_acceptance(ledger, source),
        *cost_rows(session, (1, setting.k + 1), source),
        *_widths(ledger, source),
        *_prediction(ledger, source),
        *_findings(ledger),
        *guard_rows(session),
    ]
    return LedgerSheet(
        title=f"{setting.drafter}, k = {setting.k}, {setting.rule}",
        sentence=ledger.verdict.sentence,
        divisions=_divisions(ledger, source),
        two_rulers=_rulers(session, ledger),
        rows=in_order(rows),
        notes=tuple(note.text for note in session.notes),
    )


def _baseline(ledger: Ledger, source: Source) -> list[LedgerRow]:
    rows = row_of(
        "baseline", "T_decode", ledger.decode, ruler="pipelined", source=source, remark="The baseline of the verdict."
    )
    if ledger.plain_rate is not None:
        rows.append(
            LedgerRow(
                group="baseline", name="plain speed", value=ledger.plain_rate, unit="tok/s", n=ledger.plain_tokens,
                ruler="pipelined" if ledger.decode is not None else "", source=source, remark="Tokens over their time.",
            )
        )  # fmt: skip
    return rows + row_of(
        "baseline",
        "T_decode, one pass",
        ledger.decode_synchronous,
        ruler="synchronous",
        source=source,
        remark="The baseline of the gap and of ratios by width, because verify passes are synchronous too.",
    )


def _round(ledger: Ledger, source: Source) -> list[LedgerRow]:
    rows: list[LedgerRow] = []
    k, verdict = ledger.setting.k, ledger.verdict
    if not ledger.distrusted:
        rows += of_interval(
            "round", "S, speedup", verdict.speedup, "x", source=source,
            remark="Drafting ÷ plain tok/s, end to end"
            + (" over prompts." if verdict.scope == "prompts" else " over segments of this prompt only."),
        )  # fmt: skip
    if ledger.drafting_rate is not None:
        rows.append(
            LedgerRow(
                group="round", name="drafting speed", value=ledger.drafting_rate, unit="tok/s",
                n=ledger.facts.rounds, ruler="synchronous", source=source, remark="Free rounds: tokens ÷ time.",
            )
        )  # fmt: skip
    rows += of_interval(
        "round", "R, round in steps", ledger.round_steps, "steps", ruler="whole graph", source=source,
        remark="T_round ÷ T_decode: synchronous over pipelined, the one pair of rulers a verdict divides.",
    )  # fmt: skip
    for name, number, remark in (
        ("T_round", ledger.round, "Free rounds, no fence inside."),
        ("T_draft", ledger.draft, "Split rounds, catch-up included."),
        (f"T_verify({k + 1})", ledger.verify, f"Split rounds, up to {k + 1} positions."),
        ("T_rest", ledger.rest, "Split rounds: acceptance, rewind, Python."),
        ("T_rewind", ledger.rewind, "A part of T_rest."),
    ):
        rows += row_of("round", name, number, ruler="synchronous", source=source, remark=remark)
    for name, value, unit, remark in (
        ("catch-up", ledger.catch_up_ms, "ms", "Of each round's draft, at this acceptance."),
        ("overlap", ledger.overlap_ms, "ms", "What draft and verify hide behind each other."),
        ("cost of fences", ledger.split_cost, "%", "Split rounds against free ones."),
    ):
        if value is not None:
            rows.append(LedgerRow(group="round", name=name, value=value, unit=unit, source="inferred", remark=remark))
    return rows + _at_best(ledger)


def _at_best(ledger: Ledger) -> list[LedgerRow]:
    """What if every draft were accepted."""
    full, most = ledger.round_steps_full, ledger.most_tokens
    if full is None or most is None:
        return []
    rows = of_interval(
        "round", "R at p = 1", full, "steps", source="what-if",
        remark=f"Every draft accepted, catch-up included; such a round yields {most:.3g} tokens.",
    )  # fmt: skip
    if not ledger.distrusted and full.estimate > 0:
        rows.append(
            LedgerRow(
                group="round", name="S at p = 1", value=most / full.estimate, unit="x", source="what-if",
                remark="The most that better guesses alone could give.",
            )
        )  # fmt: skip
    return rows


def _acceptance(ledger: Ledger, source: Source) -> list[LedgerRow]:
    counts, rule = ledger.acceptance, ledger.setting.rule
    if counts is None:
        return []
    rows = of_interval(
        "acceptance", "E, tokens per round", counts.tokens_per_round, "tokens", source=source,
        remark=f"Accepted + 1, mean over {counted(counts.rounds, 'round')}; at most {ledger.setting.k + 1}. {rule}.",
    )  # fmt: skip
    rows += of_interval(
        "acceptance", "mean accepted", counts.mean_accepted, "tokens", kind="mean accepted", source=source, remark=rule
    )
    rows += of_interval(
        "acceptance", "p", counts.per_draft, "", kind="per draft", source=source, n=counts.drafted,
        remark=f"{counts.accepted:,} of {counts.drafted:,} drafts. {rule}.",
    )  # fmt: skip
    for i, (conditional, reached) in enumerate(zip(counts.conditional, counts.reached, strict=True), start=1):
        rows += of_interval(
            "acceptance", f"a{i}", conditional, "", kind="conditional", source=source, n=reached,
            remark=f"Draft {i}, given that all before it were accepted.",
        )  # fmt: skip
    for i, cumulative in enumerate(counts.cumulative, start=1):
        rows += of_interval(
            "acceptance", f"r{i}", cumulative, "", kind="cumulative", source=source, n=counts.rounds,
            remark=f"Rounds that accepted at least {i}.",
        )  # fmt: skip
    mean = counts.mean_accepted.estimate
    rows.append(
        LedgerRow(
            group="acceptance", name="accepted ÷ generated", value=mean / (mean + 1), kind="per generated",
            source="inferred", n=counts.rounds, remark="As some engines print it.",
        )
    )  # fmt: skip
    return rows


def _widths(ledger: Ledger, source: Source) -> list[LedgerRow]:
    rows: list[LedgerRow] = []
    for width, number in ledger.draft_by_width.items():
        rows += row_of(
            "costs", f"drafter step ({width})", number, ruler="synchronous", source=source,
            remark=f"One drafter step over {width} positions, timed alone.",
        )  # fmt: skip
    return rows


def _prediction(ledger: Ledger, source: Source) -> list[LedgerRow]:
    prediction, error = ledger.prediction, ledger.prediction_error
    if prediction is None:
        return []
    rows: list[LedgerRow] = []
    for name, interval, unit in (
        ("predicted speed", prediction.tokens_per_second, "tok/s"),
        ("predicted T_round", prediction.round_ms, "ms"),
        ("predicted E", prediction.tokens_per_round, "tokens"),
        ("predicted R", prediction.round_steps, "steps"),
        ("predicted S", None if ledger.distrusted else prediction.speedup, "x"),
    ):
        rows += of_interval(
            "prediction", name, interval, unit, source="inferred", remark="From split rounds and probes only."
        )
    if error is not None:
        rows.insert(
            1,
            LedgerRow(
                group="prediction", name="measured speed", value=error.measured, unit="tok/s", source=source,
                remark="In other, free rounds.",
            ),
        )  # fmt: skip
        rows.insert(
            2,
            LedgerRow(
                group="prediction", name="error", value=error.error, unit="%", source="inferred",
                interval=Interval(error.error, error.low, error.high, 0.95, 0),
                remark="Predicted ÷ measured − 1. " + " ".join(ledger.prediction_reasons),
            ),
        )  # fmt: skip
    return rows


def _findings(ledger: Ledger) -> list[LedgerRow]:
    rows = [
        LedgerRow(group="guards", name=f.code, source="inferred", remark=f"{f.message} {f.remedy}")
        for f in ledger.verdict.findings
    ]
    rows += of_interval("guards", "canary", ledger.canary, "x", remark="A fixed product, late ÷ early.")
    rows += of_interval("guards", "drift", ledger.drift, "x", remark="Plain decode, late ÷ early, at equal context.")
    if ledger.other_busy is not None:
        rows.append(
            LedgerRow(
                group="guards", name="other programs", value=ledger.other_busy, unit="%",
                remark="Share of all cores that other processes kept busy.",
            )
        )  # fmt: skip
    if ledger.output is not None:
        found = ledger.output
        said = (
            f"{counted(found.compared, 'token')} compared with plain greedy: {counted(found.ties, 'tie')}, "
            f"{counted(found.bugs, 'difference')}."
        )
        rows.append(LedgerRow(group="guards", name="output", value=float(found.bugs), unit="bugs", remark=said))
    return rows


def _divisions(ledger: Ledger, source: Source) -> tuple[Division, ...]:
    counts, decode = ledger.acceptance, ledger.decode
    if counts is None or decode is None:
        return ()
    tokens, step = counts.tokens_per_round.estimate, decode.mean.estimate
    found = []
    if ledger.round is not None and not ledger.distrusted:
        whole = ledger.round.mean.estimate
        found.append(
            Division(
                title="measured", tokens_per_round=tokens, decode_ms=step, parts=(("T_round", whole),),
                speedup=tokens * step / whole, source=source,
            )
        )  # fmt: skip
    parts = [("T_verify", ledger.verify), ("T_draft", ledger.draft), ("T_rest", ledger.rest)]
    known = tuple((name, part.mean.estimate) for name, part in parts if part is not None)
    if len(known) == len(parts) and not ledger.distrusted:
        total = sum(ms for _, ms in known)
        found.append(
            Division(
                title="from parts", tokens_per_round=tokens, decode_ms=step, parts=known,
                speedup=tokens * step / total, source="inferred",
            )
        )  # fmt: skip
    return tuple(found)


def _rulers(session: Session, ledger: Ledger) -> TwoRulers | None:
    counts, decode, k = ledger.acceptance, ledger.decode, ledger.setting.k
    blocks = block_sums(session, k + 1) if k > 0 else None
    if counts is None or decode is None or blocks is None or ledger.distrusted:
        return None
    wide = ledger.verify_by_width.get(k + 1) or ledger.verify
    single = ledger.decode_synchronous
    return two_rulers(
        k=k,
        tokens_per_round=counts.tokens_per_round.estimate,
        decode_ms=decode.mean.estimate,
        wall_ms=None if single is None else single.mean.estimate,
        blocks=blocks,
        verify_ms=None if wide is None else wide.mean.estimate,
        draft_ms=0.0 if ledger.draft is None else ledger.draft.mean.estimate,
        rest_ms=0.0 if ledger.rest is None else ledger.rest.mean.estimate,
    )
