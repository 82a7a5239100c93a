"""The rows of another engine's windows: one sheet for each group that was judged."""

from __future__ import annotations

from ..record.session import Session
from .acceptance import AcceptanceKind
from .appraisal.cautions import CAUTIONS
from .cost_rows import cost_rows, guard_rows
from .counted import counted
from .imported import ImportedVerdict, Speed
from .imported_acceptance import KnownAcceptance
from .ledger_rows import Division, GroupName, LedgerRow, LedgerSheet, Source, in_order, of_interval
from .statistics import Interval

KIND_WORDS = {
    AcceptanceKind.CONDITIONAL: "conditional",
    AcceptanceKind.CUMULATIVE: "cumulative",
    AcceptanceKind.PER_DRAFT: "per draft",
    AcceptanceKind.MEAN_ACCEPTED: "mean accepted",
    AcceptanceKind.ACCEPTED_PER_GENERATED: "per generated",
}
SYMBOLS = {AcceptanceKind.CONDITIONAL: "a", AcceptanceKind.CUMULATIVE: "r"}


def imported_sheet(session: Session, found: ImportedVerdict) -> LedgerSheet:
    """The sheet of one group."""
    k = found.numbers.get("k")
    widths = (1, k + 1) if isinstance(k, int) and k > 0 else (1,)
    rows = [
        *_baseline(found),
        *_round(found),
        *_acceptance(found),
        *_rulers(found),
        *cost_rows(session, widths, "imported"),
        *_prediction(found),
        *_guards(found),
        *guard_rows(session),
    ]
    return LedgerSheet(
        title=title_of(found),
        sentence=found.sentence,
        divisions=_divisions(found),
        two_rulers=found.two_rulers,
        rows=in_order(rows),
        notes=tuple(note.text for note in session.notes),
    )


def title_of(found: ImportedVerdict) -> str:
    """What was alike in the windows."""
    manner = found.manner
    parts = [
        manner.source,
        manner.drafter or "",
        "" if manner.k is None else f"k = {manner.k}",
        "" if manner.batch is None else f"{manner.batch} at once",
        "" if manner.temperature is None else f"temperature {manner.temperature:g}",
        manner.rule or "",
        "" if found.windows else "without drafts",
    ]
    return ", ".join(part for part in parts if part)


def _speed_row(group: GroupName, name: str, speed: Speed | None, derived: bool) -> list[LedgerRow]:
    if speed is None:
        return []
    said = "As given, not measured here." if speed.given else f"Over {counted(speed.n, 'window')}."
    return [
        LedgerRow(
            group=group, name=name, value=speed.tokens_per_second, unit="tok/s",
            spread=speed.spread if speed.n > 1 else None, n=speed.n, ruler="whole graph", source="imported",
            remark=f"{said}{' Derived by the importer.' if derived else ''}",
        )
    ]  # fmt: skip


def _baseline(found: ImportedVerdict) -> list[LedgerRow]:
    derived = "tokens_per_second" in found.derived
    rows = _speed_row("baseline", "plain speed", found.plain, derived)
    decode = found.numbers.get("decode_ms")
    source: Source = "inferred"
    if decode is None and found.plain is not None and "batched_speed" not in {w.code for w in found.warnings}:
        decode = 1000 / found.plain.tokens_per_second
    if decode is not None:
        inferred = found.answer is not None and "decode_ms" in found.answer.inferred
        said = "One pass over one position stands for it." if inferred else "1000 ÷ plain tok/s."
        rows.append(
            LedgerRow(
                group="baseline", name="T_decode", value=decode, unit="ms", ruler="whole graph", source=source,
                remark=said,
            )
        )  # fmt: skip
    return rows


def _round(found: ImportedVerdict) -> list[LedgerRow]:
    numbers = found.numbers
    rows: list[LedgerRow] = []
    s = found.speedup
    if s is not None:
        with_interval = "speedup_95" in numbers
        how = "Pairs of the same requests." if found.speeds.pairs else "Both arms by themselves."
        if found.speeds.neighbours:
            how += " Neighbouring windows that are alike count as one."
        rows.append(
            LedgerRow(
                group="round", name="S, speedup", value=s.estimate, unit="x", interval=s if with_interval else None,
                n=s.n, source="inferred", remark=how if with_interval else "A point: nothing was repeated.",
            )
        )  # fmt: skip
    if found.throughput is not None:
        rows.append(
            LedgerRow(
                group="round", name="throughput ratio", value=found.throughput, unit="x", source="inferred",
                remark="Drafting ÷ plain tok/s of all requests together, at this batch only: no S of one request.",
            )
        )  # fmt: skip
    derived = "tokens_per_second" in found.derived
    rows += _speed_row("round", "drafting speed", found.drafting, derived)
    for name, field, unit, said in (
        ("R, round in steps", "round_steps", "steps", "T_round ÷ T_decode."),
        ("T_round", "round_ms", "ms", {"speed": "E × ms per token.", "parts": "Verify + draft + rest."}),
    ):
        if field in numbers:
            words = said if isinstance(said, str) else said.get(str(numbers.get("round_from")), "")
            rows.append(
                LedgerRow(
                    group="round", name=name, value=numbers[field], unit=unit, ruler="whole graph", source="inferred",
                    remark=words,
                )
            )  # fmt: skip
    for part in found.parts:
        rows.append(
            LedgerRow(
                group="round", name=f"{part.name}, by the engine", value=part.ms, unit="ms", n=part.rounds,
                ruler="engine's clock", source="imported",
                remark=f"Mean over {counted(part.rounds, 'round')}."
                f"{' Derived by the importer.' if part.derived else ''}",
            )
        )  # fmt: skip
    for name, field, unit, said in (
        ("break-even verify", "break_even_verify_ms", "ms", "The most verify may cost at this E."),
        ("break-even α", "break_even_acceptance", "", "The least conditional acceptance with S = 1."),
    ):
        if numbers.get(field) is not None:
            kind = "conditional" if field == "break_even_acceptance" else ""
            rows.append(
                LedgerRow(
                    group="round", name=name, value=numbers[field], unit=unit, kind=kind, source="what-if", remark=said
                )
            )
    return rows


def _acceptance(found: ImportedVerdict) -> list[LedgerRow]:
    numbers, rows = found.numbers, list[LedgerRow]()
    tokens, ends = numbers.get("tokens_per_round"), numbers.get("tokens_per_round_95")
    if tokens is not None:
        inferred = found.answer is not None and "tokens_per_round" in found.answer.inferred
        rows.append(
            LedgerRow(
                group="acceptance", name="E, tokens per round", value=tokens, unit="tokens",
                interval=None if ends is None else Interval(tokens, ends[0], ends[1], 0.95, numbers.get("rounds") or 0),
                n=numbers.get("rounds"), source="inferred" if inferred else "imported",
                remark=f"The bonus token counts{'.' if ends else '; without counts no interval.'}{_derived(found)}",
            )
        )  # fmt: skip
    for known in found.acceptance:
        rows += _of_kind(known, found)
    return rows


def _derived(found: ImportedVerdict) -> str:
    """Which of the counts the importer had to work out."""
    counts = ("k", "rounds", "drafted", "accepted", "accepted_by_position")
    names = [
        name for name in (counts if found.accepted is not None else ("tokens_per_round",)) if name in found.derived
    ]
    return f" Derived by the importer: {', '.join(names)}." if names else ""


def _of_kind(known: KnownAcceptance, found: ImportedVerdict) -> list[LedgerRow]:
    kind = KIND_WORDS[known.kind]
    if known.inferred and len(known.values) > 1:
        return []  # the one α says as much
    said = [
        "One α at every position is assumed." if known.inferred and known.kind in SYMBOLS else "",
        f"{found.accepted:,} of {found.drafted:,} drafts."
        if known.kind is AcceptanceKind.PER_DRAFT and known.interval is not None
        else "",
        found.manner.rule or "",
    ]
    remark = " ".join(part for part in said if part)
    source: Source = "inferred" if known.inferred else "imported"
    if len(known.values) == 1:
        name = {
            AcceptanceKind.CONDITIONAL: "α",
            AcceptanceKind.CUMULATIVE: "r1",
            AcceptanceKind.PER_DRAFT: "p",
            AcceptanceKind.MEAN_ACCEPTED: "mean accepted",
            AcceptanceKind.ACCEPTED_PER_GENERATED: "accepted ÷ generated",
        }[known.kind]
        if known.interval is not None:
            unit = "tokens" if known.kind is AcceptanceKind.MEAN_ACCEPTED else ""
            return of_interval(
                "acceptance", name, known.interval, unit, n=known.n, kind=kind, source=source, remark=remark
            )
        return [
            LedgerRow(
                group="acceptance", name=name, value=known.values[0], kind=kind, n=known.n, source=source,
                unit="tokens" if known.kind is AcceptanceKind.MEAN_ACCEPTED else "", remark=remark,
            )
        ]  # fmt: skip
    return [
        LedgerRow(
            group="acceptance", name=f"{SYMBOLS[known.kind]}{i}", value=value, kind=kind, n=known.n, source=source,
            remark=remark,
        )
        for i, value in enumerate(known.values[:64], start=1)
    ]  # fmt: skip


def _rulers(found: ImportedVerdict) -> list[LedgerRow]:
    """The gap where only a block sum stands beside a whole graph, as article A counts it."""
    rulers = found.two_rulers
    if rulers is None:
        return []
    ruler = f"whole − {rulers.blocks.ruler}"
    said = f"{rulers.gap_of_sum:.1%} of the sum, {rulers.gap_of_wall:.1%} of the wall: in no block."
    return [
        LedgerRow(
            group="costs", name="whole graph, one pass", value=rulers.wall_ms, unit="ms", ruler="whole graph",
            source="inferred", remark="The wall that the blocks are compared with.",
        ),
        LedgerRow(
            group="costs", name="between blocks", value=rulers.gap_ms, unit="ms", ruler=ruler, source="inferred",
            remark=said,
        ),
        LedgerRow(
            group="costs", name="S, wrong ruler", value=rulers.wrong.speedup, unit="x", ruler="mixed",
            source="inferred", remark=rulers.sentence,
        ),
        LedgerRow(
            group="costs", name="S, right ruler", value=rulers.right.speedup, unit="x", ruler="whole graph",
            source="inferred", remark=f"{rulers.answer} {rulers.origin}",
        ),
    ]  # fmt: skip


def _prediction(found: ImportedVerdict) -> list[LedgerRow]:
    if found.predicted is None:
        return []
    rows = []
    for name, field, unit in (
        ("predicted speed", "tokens_per_second", "tok/s"),
        ("predicted T_round", "round_ms", "ms"),
        ("predicted S", "speedup", "x"),
    ):
        value = found.predicted.numbers.get(field)
        if value is not None:
            rows.append(
                LedgerRow(
                    group="prediction", name=name, value=value, unit=unit, source="inferred",
                    remark="From passes timed alone and the acceptance.",
                )
            )  # fmt: skip
    if found.drafting is not None and rows:
        measured = LedgerRow(
            group="prediction", name="measured speed", value=found.drafting.tokens_per_second, unit="tok/s",
            n=found.drafting.n, source="imported", remark="Windows with drafts.",
        )  # fmt: skip
        rows.insert(1, measured)
        if found.prediction_error is not None:
            rows.insert(
                2,
                LedgerRow(
                    group="prediction", name="error", value=found.prediction_error, unit="%", source="inferred",
                    remark="Predicted ÷ measured − 1; parts of the engine's own rounds would be no prediction.",
                ),
            )  # fmt: skip
    return rows


def _guards(found: ImportedVerdict) -> list[LedgerRow]:
    rows = []
    for warned in found.warnings:
        refuses = warned.code == "batched_speed" or CAUTIONS[warned.code].refuses
        why = "Refuses the verdict. " if refuses and found.verdict == "refused" else ""
        rows.append(LedgerRow(group="guards", name=warned.code, source="inferred", remark=f"{why}{warned.message}"))
    rows += [LedgerRow(group="guards", name="missing", source="inferred", remark=said) for said in found.missing]
    if found.answer is not None:
        rows += [
            LedgerRow(group="guards", name=q.code, source="inferred", remark=f"{q.asks} {q.answer}")
            for q in found.answer.questions
            if q.state != "known"
        ]
    return rows


def _divisions(found: ImportedVerdict) -> tuple[Division, ...]:
    numbers = found.numbers
    s = found.speedup
    if s is None or any(name not in numbers for name in ("tokens_per_round", "decode_ms", "round_ms")):
        return ()
    tokens, step, whole = numbers["tokens_per_round"], numbers["decode_ms"], numbers["round_ms"]
    return (
        Division(
            title="imported", tokens_per_round=tokens, decode_ms=step, parts=(("T_round", whole),),
            speedup=tokens * step / whole, source="imported",
        ),
    )  # fmt: skip
