"""Every timed event of a session as rows of one table, in the order they happened; times in ns, no model text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from heapq import merge
from typing import Any

from ...profilers.record.records import Probe, Round, Run, Step
from ...profilers.record.session import Session
from .document import Value

Event = Round | Step | Probe
OF_RUN = ("arm", "drafter", "k", "prompt_kind", "prompt")
LISTS = ("samples_ns", "build_ns", "eval_ns", "submit_ns")
KEYS: tuple[str, ...] = (
    "event",
    *OF_RUN,
    *dict.fromkeys(
        field.name for cls in (Round, Step, Probe) for field in fields(cls) if field.name not in ("pieces", *OF_RUN)
    ),
)
NAMES: dict[type[Event], str] = {Round: "round", Step: "step", Probe: "probe"}


def event_rows(session: Session) -> Iterator[tuple[Value, ...]]:
    """A row for each round, step and probe, under `KEYS`; made one by one. Where several samples stand, by spaces."""
    runs = {run.run: run for run in session.runs}
    streams: tuple[Iterable[Event], ...] = (session.rounds, session.steps, session.probes, session.batch_probes)
    for event in merge(*streams, key=lambda event: event.t_ns):
        yield _row(event, runs)


def _row(event: Event, runs: Mapping[int, Run]) -> tuple[Value, ...]:
    value_by_key: dict[str, Any] = {"event": NAMES[type(event)]}
    run = None if event.run is None else runs.get(event.run)
    if run is not None and not isinstance(event, Probe):
        about = (run.arm, run.drafter, run.k, run.prompt.kind, run.prompt.hash)
        value_by_key.update(zip(OF_RUN, about, strict=True))
    for key in KEYS[1 + len(OF_RUN) :]:
        value = getattr(event, key, None)
        value_by_key[key] = " ".join(map(str, value or ())) if key in LISTS else value
    return tuple(value_by_key.get(key) for key in KEYS)
