"""What a session says by workload, found out in a thread: rows, and what each setting can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.errors import SpecviewError
from ..profilers.judge.asked import recorded_basis
from ..profilers.judge.ledger import Ledger, ledger_of
from ..profilers.judge.ledger_sheets import verdicts_beside
from ..profilers.judge.question import Basis
from ..profilers.judge.visits import Setting
from ..profilers.judge.workloads import Workload, workloads_of
from ..profilers.record.session import Session
from .imported_loads import ImportedLoad, imported_loads

if TYPE_CHECKING:
    from .views import Reckoning

NOTHING = (
    "Nothing was drafted and measured against plain decoding here, so there are no workloads: r records with drafts, "
    "over english, chinese and code prompts (s chooses)."
)


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What a session says by workload; `basis_by_setting` reckons other k for each setting that was run.

    `hopeless` are the settings that lose even at full acceptance, `doubted` those whose verdict is refused, with why.
    """

    loads: tuple[Workload, ...] = ()
    basis_by_setting: Mapping[Setting, Basis] = field(default_factory=dict)
    hopeless: frozenset[Setting] = frozenset()
    doubted: Mapping[Setting, str] = field(default_factory=dict)
    imported: tuple[ImportedLoad, ...] = ()
    session: Session | None = None
    basis: Basis | None = None
    has_batches: bool = False
    message: str = ""


def workload_facts(reckoning: Reckoning, basis: Basis | str) -> WorkloadFacts:
    """All workloads of a session; takes a while, so it is done in a thread."""
    session = reckoning.session
    try:
        loads = workloads_of(session)
    except (SpecviewError, ArithmeticError, ValueError) as error:
        return WorkloadFacts(message=f"The rounds of this session do not fit together: {error}")
    by_setting: dict[Setting, Basis] = {}
    hopeless, doubted = set(), {}
    for setting in dict.fromkeys(load.setting for load in loads):
        ledger = _ledger(session, reckoning.ledger, setting)
        if ledger is None:
            continue
        if ledger.distrusted:
            doubted[setting] = f"{ledger.verdict.reason} {ledger.verdict.remedy}"
        full, most = ledger.round_steps_full, ledger.most_tokens
        if full is not None and most is not None and full.low > most:
            hopeless.add(setting)
        own = reckoning.ledger is not None and setting == reckoning.ledger.setting
        try:
            by_setting[setting] = recorded_basis(ledger, reckoning.share_by_drafted if own else {})
        except (SpecviewError, ArithmeticError, ValueError):
            continue
    found: tuple[ImportedLoad, ...] = ()
    if not loads and reckoning.costs is None:
        found = imported_loads(verdicts_beside(session, reckoning.ledger), session)
    return WorkloadFacts(
        loads=loads,
        basis_by_setting=by_setting,
        hopeless=frozenset(hopeless),
        doubted=doubted,
        imported=found,
        session=session,
        basis=None if isinstance(basis, str) else basis,
        has_batches=bool(reckoning.batches or (reckoning.costs is not None and reckoning.costs.batches)),
        message="" if loads or found else NOTHING,
    )


def _ledger(session: Session, known: Ledger | None, setting: Setting) -> Ledger | None:
    if known is not None and known.setting == setting:
        return known
    try:
        return ledger_of(session, setting)
    except (SpecviewError, ArithmeticError, ValueError):
        return None
