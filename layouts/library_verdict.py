"""The verdict of a saved session in few words, as a list shows it; costly, because the whole session is reckoned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .view_models import Live

if TYPE_CHECKING:
    from ..profilers.record.session import Session


LARGEST_BYTES = 64_000_000  # reckoning a larger session takes longer than a list may keep a processor busy


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """The kind of verdict and its word, the speedup where there is one, and the two sentences under it."""

    kind: str
    word: str
    speedup: float | None = None
    first: str = ""
    second: str = ""


def verdict_words(session: Session) -> VerdictWords:
    """Reckon a session and keep only what a list says of it."""
    from .view_models import WhatIf
    from .views import dashboard, reckon

    reckoning = reckon(session)
    told = dashboard(reckoning, Live("saved"), WhatIf()).headline
    speedup = None
    if told.kind in ("wins", "loses", "cannot_win", "too_close"):
        if reckoning.ledger is not None and reckoning.ledger.verdict.speedup is not None:
            speedup = reckoning.ledger.verdict.speedup.estimate
        elif reckoning.imported is not None and reckoning.imported.found is not None:
            found = reckoning.imported.found.speedup
            speedup = None if found is None else found.estimate
    return VerdictWords(told.kind, told.word, speedup, told.first, told.second)
