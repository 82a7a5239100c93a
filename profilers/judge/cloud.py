"""Where single prompts stand against the break-even line: acceptance and verify time of each."""

from __future__ import annotations

import numpy as np

from ..record.session import Session
from .event_rows import MS, column_of, joined
from .visits import Setting, visits_of

MOST = 200
LEAST_ROUNDS = 4


def cloud_of(session: Session, setting: Setting) -> tuple[tuple[float, float], ...]:
    """(conditional acceptance, mean T_verify in ms) of every prompt of a setting, the last 200.

    Acceptance is of free rounds, kept ÷ reached over all positions; T_verify of the prompt's split rounds. Prompts with
    fewer than four of either are left out.
    """
    found = []
    for visit in visits_of(session):
        if visit.setting != setting:
            continue
        free = joined([segment.rounds for segment in visit.segments.values()])
        split = joined([segment.splits for segment in visit.segments.values()])
        if len(free) < LEAST_ROUNDS or len(split) < LEAST_ROUNDS:
            continue
        kept, drafted = column_of(free, "accepted"), column_of(free, "drafted")
        verify = column_of(split, "verify_ns")
        reached, timed = int(np.minimum(kept + 1, drafted).sum()), verify[verify > 0]
        if reached > 0 and len(timed):
            found.append((int(kept.sum()) / reached, float(timed.mean()) * MS))
    return tuple((p, ms) for p, ms in found[-MOST:] if 0 <= p <= 1)
