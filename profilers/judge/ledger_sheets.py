"""The ledger of any session: recorded, of another engine, attached, or a survey without rounds; it never fails."""

from __future__ import annotations

from ...engine.errors import SpecviewError
from ..record.session import Session
from .alike_probes import alike
from .cost_rows import cost_rows, guard_rows
from .experiments import experiment_rows
from .imported import ImportedVerdict, imported_verdicts
from .imported_rows import imported_sheet
from .ledger import Ledger, ledger_of
from .ledger_rows import LedgerRow, LedgerSheet, Source, in_order, of_interval
from .recorded_rows import recorded_sheet

NO_ROUNDS = "This session holds no rounds and no windows of another engine, so no verdict: it says what passes cost."
NOTHING = "This session holds no figures yet."


def ledger_or_none(session: Session) -> tuple[Ledger | None, str]:
    """The ledger of a session, or None with the sentence why there is none; whatever the file holds."""
    try:
        return ledger_of(session), ""
    except SpecviewError as error:
        return None, str(error)
    except (ArithmeticError, ValueError) as error:
        return None, f"The numbers in this file do not fit together ({error})."


def verdicts_beside(
    session: Session, ledger: Ledger | None, baseline_tps: float | None = None
) -> tuple[ImportedVerdict, ...]:
    """What windows say that the ledger cannot: its runs are windows too where no segment was measured with both arms.

    Empty where there are none, or their figures do not fit together.
    """
    unpaired = ledger is None or (ledger.segments == 0 and session.header.source is not None)
    try:
        return imported_verdicts(session, baseline_tps, with_runs=unpaired)
    except (SpecviewError, ArithmeticError, ValueError):
        return ()


def ledger_sheets(
    session: Session, ledger: Ledger | None = None, baseline_tps: float | None = None
) -> tuple[LedgerSheet, ...]:
    """Every sheet of a session, at least one; `ledger` is its ledger where that is known already."""
    why_not = ""
    if ledger is None:
        ledger, why_not = ledger_or_none(session)
    sheets = []
    verdicts = verdicts_beside(session, ledger, baseline_tps)
    if ledger is not None and (ledger.segments > 0 or not verdicts):
        sheets.append(recorded_sheet(session, ledger))
    sheets += [imported_sheet(session, verdict) for verdict in verdicts]
    return tuple(sheets) or (_survey_sheet(session, why_not),)


def _survey_sheet(session: Session, why_not: str) -> LedgerSheet:
    source: Source = "measured" if session.header.source is None else "imported"
    widths = sorted({p.one.width for p in alike(session.probes) if p.one.part in ("decode", "verify")})[:16]
    rows = [*cost_rows(session, widths or [1], source), *_experiments(session), *guard_rows(session)]
    told = NO_ROUNDS if rows else NOTHING
    if why_not and (session.rounds or session.steps):
        told = f"No verdict: {why_not}"
    return LedgerSheet(
        title=session.header.plan,
        sentence=told,
        rows=in_order(rows),
        notes=tuple(note.text for note in session.notes),
    )


def _experiments(session: Session) -> list[LedgerRow]:
    try:
        found = experiment_rows(session)
    except (SpecviewError, ArithmeticError, ValueError):
        return []
    rows: list[LedgerRow] = []
    for row in found:
        rows += of_interval(
            "costs", f"{row.name} ({row.width})", row.ratio, "x", ruler="synchronous",
            remark=f"{row.arm} against the present setting, over {row.width} positions.",
        )  # fmt: skip
    return rows
