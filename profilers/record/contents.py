"""What a session file holds, as whole records and numbered problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from ...engine.errors import SpecviewError
from .lines import DEPTH, LINE_BYTES
from .records import (
    Batched,
    Calibration,
    Census,
    Comparison,
    Counters,
    Demand,
    Experiment,
    Footer,
    Guard,
    Header,
    Memory,
    Note,
    Origin,
    Probe,
    Record,
    Replay,
    Round,
    Routes,
    Run,
    Step,
)

R = TypeVar("R")


class SessionError(SpecviewError):
    """A file that cannot be opened as a session; the text names it and says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a reader takes from a file before it stops believing it; `problems` is how many it lists."""

    line_bytes: int = LINE_BYTES
    depth: int = DEPTH
    records: int = 5_000_000
    file_bytes: int = 2 << 30
    problems: int = 1_000


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that was skipped, or stands where it should not; `line` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session file holds, in the order of its lines within each kind.

    `batch_probes` are those of several sequences at once; they stand apart from `probes` because whoever reads passes
    by width would pool them with passes of one. `rounds`, `steps` and `probes` of a file are made when asked for.
    """

    header: Header
    runs: tuple[Run, ...]
    rounds: Sequence[Round]
    steps: Sequence[Step]
    probes: Sequence[Probe]
    census: tuple[Census, ...]
    demands: tuple[Demand, ...] = ()
    routes: tuple[Routes, ...] = ()
    replays: tuple[Replay, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    batched: tuple[Batched, ...] = ()
    counters: tuple[Counters, ...] = ()
    origins: tuple[Origin, ...] = ()
    batch_probes: tuple[Probe, ...] = ()
    calibrations: tuple[Calibration, ...]
    memory: tuple[Memory, ...]
    guards: tuple[Guard, ...]
    notes: tuple[Note, ...]
    outputs: tuple[Comparison, ...]
    footer: Footer | None
    problems: tuple[Problem, ...]

    @property
    def status(self) -> Literal["finished", "stopped", "failed", "interrupted"]:
        """How it ended; interrupted while there is no footer."""
        return "interrupted" if self.footer is None else self.footer.status


def session_of(records: Sequence[Record]) -> Session:
    """Return the session that these records make, e.g. those a recorder has written so far; the header comes first."""
    by_class: dict[type[Record], list[Record]] = {}
    for record in records:
        by_class.setdefault(type(record), []).append(record)

    def all_of(cls: type[R]) -> tuple[R, ...]:
        return tuple(cast("list[R]", by_class.get(cast("type[Record]", cls), [])))

    header, footers = all_of(Header), all_of(Footer)
    if not header:
        raise SessionError("These records have no header, so they are no session.")
    return Session(
        header=header[0],
        runs=all_of(Run),
        rounds=all_of(Round),
        steps=all_of(Step),
        probes=tuple(probe for probe in all_of(Probe) if not probe.of_many),
        census=all_of(Census),
        demands=all_of(Demand),
        routes=all_of(Routes),
        replays=all_of(Replay),
        experiments=all_of(Experiment),
        batched=all_of(Batched),
        counters=all_of(Counters),
        origins=all_of(Origin),
        batch_probes=tuple(probe for probe in all_of(Probe) if probe.of_many),
        calibrations=all_of(Calibration),
        memory=all_of(Memory),
        guards=all_of(Guard),
        notes=all_of(Note),
        outputs=all_of(Comparison),
        footer=footers[0] if footers else None,
        problems=(),
    )
