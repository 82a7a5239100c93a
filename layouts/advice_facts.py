"""What a session says of changes that would make drafting win or lose, found out in a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.errors import SpecviewError
from ..profilers.judge.best_k import Scan
from ..profilers.judge.break_even import break_even_line
from ..profilers.judge.floors import Floors, NoFloor
from ..profilers.judge.question import Basis
from ..profilers.judge.statistics import Interval
from ..profilers.judge.what_wins import WhatWins, lengths_of, what_wins
from .bases import basis_of

if TYPE_CHECKING:
    from .views import Reckoning


@dataclass(frozen=True, slots=True)
class AdviceFacts:
    """What a session says of changes; `message` where it says nothing yet.

    `measured` is the verdict's S, `verdict` its sentence and `kind` its word, empty without one; `intervals` are
    of S by k, from acceptance and times. `survey` names the session that floors were taken from, if another one.
    """

    basis: Basis | None = None
    wins: WhatWins | None = None
    lengths: Scan | None = None
    intervals: tuple[tuple[int, Interval], ...] = ()
    floors: Floors | NoFloor | None = None
    survey: str = ""
    measured: Interval | None = None
    has_verdict: bool = False
    verdict: str = ""
    cannot_win: bool = False
    kind: str = ""
    message: str = ""


def advice_facts(reckoning: Reckoning, floors: Floors | None = None, survey: str = "") -> AdviceFacts:
    """All changes of a session; takes a while, so it is done in a thread.

    `floors` of another session, named by `survey`, stand in where it has none.
    """
    basis = basis_of(reckoning)
    if isinstance(basis, str):
        return AdviceFacts(message=basis)
    own = isinstance(reckoning.floors, Floors) or floors is None
    known = reckoning.floors if own else floors
    try:
        wins, lengths = what_wins(basis, known), lengths_of(basis)
    except (SpecviewError, ArithmeticError, ValueError) as error:
        return AdviceFacts(message=str(error))
    measured, sentence, hopeless = _verdict(reckoning)
    return AdviceFacts(
        basis=basis,
        wins=wins,
        lengths=lengths,
        intervals=_intervals(reckoning, basis),
        floors=known,
        survey="" if own else survey,
        measured=measured,
        has_verdict=measured is not None,
        verdict=sentence,
        cannot_win=hopeless,
        kind=_kind(reckoning),
    )


def _verdict(reckoning: Reckoning) -> tuple[Interval | None, str, bool]:
    ledger, imported = reckoning.ledger, reckoning.imported
    if reckoning.costs is not None:
        return None, "Costs only: nothing was drafted, so changes are of drafts that would cost nothing.", False
    if imported is not None and imported.found is not None and (ledger is None or not ledger.segments):
        found = imported.found
        return found.speedup, found.sentence, found.verdict == "unwinnable"
    if ledger is None:
        return None, reckoning.why_not, False
    return ledger.verdict.speedup, ledger.verdict.sentence, ledger.verdict.kind == "cannot_win"


def _kind(reckoning: Reckoning) -> str:
    ledger, imported = reckoning.ledger, reckoning.imported
    if imported is not None and imported.found is not None and (ledger is None or not ledger.segments):
        return imported.found.verdict or ""
    return "" if ledger is None else ledger.verdict.kind


def _intervals(reckoning: Reckoning, basis: Basis) -> tuple[tuple[int, Interval], ...]:
    """S with its interval by k, for recorded rounds; for others errors are not known."""
    ledger = reckoning.ledger
    if ledger is None or reckoning.costs is not None or not basis.measured or basis.whole:
        return ()
    found = []
    for k in basis.lengths:
        try:
            interval = break_even_line(ledger, reckoning.share_by_drafted, k, errors=True).speedup_interval()
        except (SpecviewError, ArithmeticError, ValueError):
            continue
        if interval is not None:
            found.append((k, interval))
    return tuple(found)
