"""A session's screens as documents by name, where no screen need be drawn for that."""

from __future__ import annotations

from dataclasses import replace

from ...profilers.judge.ledger_sheets import ledger_sheets
from ...profilers.record.session import Session
from ..ops import ops_facts
from ..sweep import sweep_facts
from ..view_models import Live, WhatIf
from ..views import Reckoning, dashboard, reckon
from .document import Document
from .honest import limits_of
from .ledger_document import ledger_document
from .names import DASHBOARD, LEDGER, REPORT
from .screen_documents import dashboard_document, ops_document, sweep_document
from .session_facts import session_facts

SWEEP, OPS = "sweep", "ops"
RAW_SCREENS = (DASHBOARD, LEDGER, SWEEP, OPS)


def raw_documents(
    screen: str, session: Session, name: str, reckoning: Reckoning | None = None
) -> tuple[Document, ...] | None:
    """The document of a screen, or all of them for a report; None for a screen that has to be drawn.

    `name` is the session's, `reckoning` what is known of it already.
    """
    if screen not in (*RAW_SCREENS, REPORT):
        return None
    known = reckon(session) if reckoning is None else reckoning
    facts = session_facts(session, name)
    made = [_document(each, session, name, known) for each in (RAW_SCREENS if screen == REPORT else (screen,))]
    if screen == REPORT:
        made[0] = replace(made[0], tables=made[0].tables[:-1] if made[1].tables else made[0].tables)
        made.append(Document(screen="limits", title="Honest limits", sentences=limits_of(session, known, 0)))
    return tuple(replace(document, facts=facts) for document in made)


def _document(screen: str, session: Session, name: str, known: Reckoning) -> Document:
    if screen == OPS:
        return ops_document(ops_facts(session))
    if screen == SWEEP:
        return sweep_document(sweep_facts(session, known.ledger, known.share_by_drafted))
    sheets = ledger_sheets(session, known.ledger)
    if screen == LEDGER:
        return ledger_document(sheets)
    return dashboard_document(dashboard(known, Live("saved", name=name), WhatIf()), sheets)
