"""A session as one report: everything its pages will say, found out once; pure, and without a page's form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ...profilers.judge.floors import NoFloor
from ...profilers.judge.ledger_rows import LedgerRow, LedgerSheet
from ...profilers.judge.ledger_sheets import ledger_sheets
from ...profilers.record.session import Session
from ..ops import OpsAsk, OpsFacts, floors_view, ops_facts, ops_view
from ..sweep import SweepFacts, SweepView, sweep_facts, sweep_view
from ..tables import TableView
from ..view_models import DashboardView, Live, WhatIf
from ..views import Reckoning, dashboard, reckon
from .honest import limits_of
from .session_facts import session_facts

MOST_OPS = 15
TILES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("S, speedup", "S, right ruler"), "speedup S"),
    (("R, round in steps",), "a round costs, in decode steps"),
    (("E, tokens per round",), "a round yields"),
    (("p", "α"), "acceptance"),
    (("plain speed",), "without drafts"),
    (("drafting speed",), "with drafts"),
    (("T_verify(1)",), "one pass over 1 position"),
    (("T_verify(2)",), "one pass over 2 positions"),
)
MOST_TILES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report says, in the views that the screens show. `floors` are floor ratios by op category.

    `rounds_by_accepted[i]` rounds kept i drafts. `digest` is the SHA-256 of the session file, where it is known.
    """

    name: str
    digest: str
    facts: tuple[tuple[str, str], ...]
    dashboard: DashboardView
    tiles: tuple[tuple[str, LedgerRow], ...]
    sheets: tuple[LedgerSheet, ...]
    sweep: SweepView
    floors: tuple[tuple[str, float], ...]
    rounds_by_accepted: tuple[int, ...]
    ops: TableView
    ops_title: str
    floors_table: TableView
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    limits: tuple[str, ...]


def report_of(session: Session, name: str, digest: str = "", reckoning: Reckoning | None = None) -> Report:
    """The report of a session; whatever it holds, this returns. `reckoning` is the session's where it is known."""
    known = reckon(session) if reckoning is None else reckoning
    ledger = known.ledger
    sheets = ledger_sheets(session, ledger)
    sweep = sweep_facts(session, ledger, known.share_by_drafted)
    ops = ops_facts(session)
    view = dashboard(known, Live("saved", name=name), WhatIf())
    shown = ops_view(ops, OpsAsk())
    return Report(
        name=name,
        digest=digest,
        facts=session_facts(session, name),
        dashboard=view,
        tiles=_tiles(sheets, guarded=view.headline.kind in ("refused", "measuring", "problem")),
        sheets=sheets,
        sweep=sweep_view(sweep, None),
        floors=_floors(ops, view.verify.width),
        rounds_by_accepted=_lengths(known),
        ops=TableView(shown.table.columns, shown.table.rows[:MOST_OPS], shown.table.sorted_by),
        ops_title=shown.title,
        floors_table=floors_view(ops, OpsAsk()).table,
        cautions=_cautions(known),
        notes=tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
        limits=limits_of(session, known, _points(sweep)),
    )


def _tiles(sheets: tuple[LedgerSheet, ...], *, guarded: bool) -> tuple[tuple[str, LedgerRow], ...]:
    """The first rows of each name, of the first sheet; where the verdict is refused, no speedup stands out."""
    rows = sheets[0].rows if sheets else ()
    found: list[tuple[str, LedgerRow]] = []
    for names, title in TILES[1:] if guarded else TILES:
        row = next((row for name in names for row in rows if row.name == name and row.value is not None), None)
        if row is not None and len(found) < MOST_TILES:
            found.append((title, row))
    return tuple(found)


def _floors(ops: OpsFacts, width: int | None) -> tuple[tuple[str, float], ...]:
    """Floor ÷ floor at one position by category, at the width that the bars are of."""
    table = ops.table(OpsAsk(width=width)) if width is not None else None
    if table is None or isinstance(table.floor, NoFloor):
        return ()
    return tuple((row.category, row.floor_ratio) for row in table.floor.rows if row.floor_ratio is not None)


def _lengths(known: Reckoning) -> tuple[int, ...]:
    """From how many rounds kept at least i drafts to how many kept just i."""
    counts = None if known.ledger is None else known.ledger.acceptance
    if counts is None or not counts.drafted:
        return ()
    at_least = (counts.rounds, *counts.accepted_at, 0)
    return tuple(max(0, more - fewer) for more, fewer in pairwise(at_least))


def _cautions(known: Reckoning) -> tuple[str, ...]:
    """Every reason to doubt the numbers, with what to do."""
    found = [] if known.ledger is None else list(known.ledger.verdict.findings)
    said = [f"{finding.message} {finding.remedy}".strip() for finding in found]
    said += [f"{guard.message} {guard.remedy or ''}".strip() for guard in known.session.guards]
    elsewhere = known.imported is not None or known.costs is not None
    return tuple(dict.fromkeys([*said, *([known.why_not] if known.why_not and not elsewhere else [])]))


def _points(sweep: SweepFacts) -> int:
    """The fewest passes that a width was timed with."""
    return min((point.ms.n for curve in sweep.curves for point in curve.points), default=0)
