"""A ledger's sheets in lines of plain text and as an object: for sessions that no recorder of specview wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..profilers.judge.imported import ImportedVerdict
from ..profilers.judge.ledger_rows import GROUPS, LedgerRow, LedgerSheet
from ..profilers.judge.two_rulers import TwoRulers
from ..profilers.record.session import Session
from .ledger import GROUP_TITLES, SIGNS, division_text, interval_text, ruler_lines, spread_text, value_text
from .plain import plain

NAME_CELLS = 26
VALUE_CELLS = 16


def sheet_lines(session: Session, sheets: Sequence[LedgerSheet]) -> list[str]:
    """Each sheet: verdict, division, both rulers, every row; then the notes, once."""
    lines: list[str] = []
    header = session.header
    source = f", figures of {header.source}" if header.source else ""
    lines.append(f"{header.model.id}: {header.plan}{source}.")
    for sheet in sheets:
        lines += ["", f"{sheet.title}", sheet.sentence]
        lines += [f"{SIGNS[d.source]} {d.title}: {division_text(d)}" for d in sheet.divisions]
        if sheet.two_rulers is not None:
            lines += rulers_lines(sheet.two_rulers)
        for group in GROUPS:
            held = [row for row in sheet.rows if row.group == group]
            if held:
                lines += ["", GROUP_TITLES[group], *map(_row, held)]
    notes = dict.fromkeys(note for sheet in sheets for note in sheet.notes)
    lines += ["", *(f"Note: {note}" for note in notes)] if notes else []
    if any(sheet.rows for sheet in sheets):
        lines += ["", " · ".join(f"{sign} {word}" for word, sign in SIGNS.items())]
    return lines


def rulers_lines(rulers: TwoRulers) -> list[str]:
    """The division by both rulers."""
    drawn = ["".join(span.text for span in spans) for spans in ruler_lines(rulers)]
    return [*drawn, f"               {rulers.origin}"]


def _row(row: LedgerRow) -> str:
    facts = [
        interval_text(row),
        f"median {spread_text(row)}" if row.spread is not None else "",
        "" if row.n is None else f"n = {row.n:,}",
        row.ruler,
        row.kind,
        row.remark,
    ]
    said = ", ".join(fact for fact in facts if fact)
    return f"{SIGNS[row.source]} {row.name:<{NAME_CELLS}} {value_text(row):<{VALUE_CELLS}} {said}".rstrip()


def sheets_object(
    session: Session, sheets: Sequence[LedgerSheet], verdicts: Sequence[ImportedVerdict]
) -> dict[str, Any]:
    """The sheets and the verdicts over windows as plain values."""
    header = session.header
    return {
        "status": session.status,
        "specview": header.specview,
        "plan": header.plan,
        "source": header.source,
        "sheets": [
            {
                **plain(sheet),
                "two_rulers": None if sheet.two_rulers is None else _rulers_object(sheet.two_rulers),
            }
            for sheet in sheets
        ],
        "imported": [_verdict_object(each) for each in verdicts],
        "notes": [note.text for note in session.notes],
        "problems": [plain(problem) for problem in session.problems],
    }


def _rulers_object(rulers: TwoRulers) -> dict[str, Any]:
    return {
        **plain(rulers),
        "wrong_speedup": rulers.wrong.speedup,
        "right_speedup": rulers.right.speedup,
        "gap_ms": rulers.gap_ms,
        "gap_of_sum": rulers.gap_of_sum,
        "gap_of_wall": rulers.gap_of_wall,
        "says": f"{rulers.sentence} {rulers.answer}",
    }


def _verdict_object(found: ImportedVerdict) -> dict[str, Any]:
    return {
        "manner": plain(found.manner),
        "verdict": found.verdict,
        "sentence": found.sentence,
        "windows": found.windows,
        "plain_windows": found.plain_windows,
        "plain": plain(found.plain),
        "drafting": plain(found.drafting),
        "paired": found.speeds.pairs,
        "speedup": plain(found.speedup),
        "throughput_ratio": found.throughput,
        "acceptance": plain(found.acceptance),
        "parts": plain(found.parts),
        "prediction_error": found.prediction_error,
        "warnings": [{"code": w.code, "message": w.message} for w in found.warnings],
        "missing": list(found.missing),
        "derived": list(found.derived),
        "answer": None if found.answer is None else plain(found.answer.to_object()),
    }
