"""A session with what was measured on the side of the switch only that its figures are of (`kv_sides`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ..record.records import Probe, Round, Step
from ..record.session import Session
from .event_rows import E, Rows, columns_of
from .kv_sides import Side, Switch
from .remembered import remembered
from .visits import kv_start_of, switch_of, visits_of


def one_side(session: Session) -> Session:
    """The session with the rounds and steps that count and the probes of one side; the same one without a switch.

    What it holds is for means: visits are those of the whole session.
    """
    switch = None if not any(kv_start_of(run) for run in session.runs) else switch_of(session)
    return session if switch is None else remembered(session, "one side", lambda: _one_side(session, switch))


def _one_side(session: Session, switch: Switch) -> Session:
    segments = [segment for visit in visits_of(session) for segment in visit.segments.values()]
    rounds = [rows for segment in segments for rows in (segment.rounds, segment.splits)]
    return replace(
        session,
        rounds=_those(session.rounds, rounds, Round),
        steps=_those(session.steps, [segment.steps for segment in segments], Step),
        probes=_probes(session, switch),
    )


def _those(events: Sequence[E], groups: Iterable[Sequence[E]], cls: type[E]) -> Sequence[E]:
    """The events of some groups, in the order of the session."""
    places = [cast("Rows[E]", group).places for group in groups if len(group)]
    return columns_of(events, cls).taken(np.sort(np.concatenate(places)) if places else np.zeros(0, np.intp))


def _probes(session: Session, switch: Switch) -> Sequence[Probe]:
    """Probes of the side: of a run by its own start, blocks, which name none, by the session's."""
    start_by_run = {run.run: kv_start_of(run) for run in session.runs}
    probes = columns_of(session.probes, Probe)
    runs, run_of = np.unique(probes.column("run"), return_inverse=True)
    start = np.array([start_by_run.get(run, switch.start) for run in runs.tolist()], np.int64)[run_of]
    first = probes.column("context").astype(np.int64)
    end = first + probes.column("width")
    here = first >= start if switch.side is Side.BEHIND else end < start
    return probes.taken(np.flatnonzero(here | (start == 0)))
