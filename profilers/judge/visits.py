"""A session's rounds and steps in the order and pairs they were measured in: visits, segments, prompts.

A visit is one stretch on one prompt with one drafter and k; its arms ran from
shared snapshots, so a segment of the plain arm and the same segment of the
drafting arm are a pair. Unlike visits are never pooled: a setting names one group.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from ...engine.limits import LONGEST_DRAFT
from ..record.records import Round, Run, Step
from ..record.session import Session

DRAFTING_ARMS = ("drafting", "k0")


@dataclass(frozen=True, slots=True)
class Setting:
    """What must be alike for rounds to be pooled."""

    drafter: str
    k: int
    rule: str
    temperature: float
    top_p: float
    top_k: int | None = None
    min_p: float | None = None
    policy: str | None = None
    kv_bits: int | None = None
    adaptive: bool = False


@dataclass(slots=True)
class Segment:
    """Counted events of one segment by arm; warm-ups are left out."""

    number: int
    steps: list[Step] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    splits: list[Round] = field(default_factory=list)
    last_t_ns: int = 0
    whole: bool = True

    @property
    def paired(self) -> bool:
        """Whether both arms have something to count."""
        return bool(self.steps and self.rounds)

    @property
    def log_ratio(self) -> float:
        """log(drafting ÷ plain tokens per second) over this segment."""
        return math.log(tokens_per_ns(self.rounds) / tokens_per_ns(self.steps))


@dataclass(slots=True)
class Visit:
    """One stretch on one prompt."""

    prompt: str
    kind: str
    setting: Setting | None = None
    runs: dict[str, int] = field(default_factory=dict)
    segments: dict[int, Segment] = field(default_factory=dict)
    kept: bool = False

    def pairs(self) -> list[Segment]:
        """Segments that both arms measured, in order."""
        paired = [s for _, s in sorted(self.segments.items()) if s.paired]
        return [s for s in paired if s.whole] if self.kept else paired


def tokens_per_ns(events: Sequence[Step | Round]) -> float:
    """Tokens per nanosecond over events."""
    return sum(e.tokens for e in events) / sum(_ns(e) for e in events)


def _ns(event: Step | Round) -> int:
    return event.step_ns if isinstance(event, Step) else event.round_ns


def _sound(event: Step | Round) -> bool:
    """Whether an event can be reckoned with; no recorder writes one that cannot, but a file may hold anything."""
    return _ns(event) > 0 and event.tokens > 0 and (isinstance(event, Step) or event.drafted <= LONGEST_DRAFT)


def visits_of(session: Session) -> list[Visit]:
    """All visits of a session in order."""
    visits: list[Visit] = []
    by_run: dict[int, tuple[Visit, str]] = {}
    for run in session.runs:
        if run.k > LONGEST_DRAFT:
            continue
        setting = None if run.arm == "plain" else _setting(run)
        visit = visits[-1] if visits else None
        if visit is None or not _continues(visit, run, setting):
            visit = Visit(run.prompt.hash, run.prompt.kind)
            visits.append(visit)
        visit.setting = visit.setting or setting
        visit.runs[run.arm] = run.run
        by_run[run.run] = (visit, run.arm)
    events: tuple[Step | Round, ...] = (*session.steps, *session.rounds)
    for event in events:
        if event.run not in by_run or event.warm_up or not _sound(event):
            continue
        visit, arm = by_run[event.run]
        segment = visit.segments.setdefault(event.segment, Segment(event.segment))
        segment.last_t_ns = max(segment.last_t_ns, event.t_ns)
        if isinstance(event, Step):
            segment.steps.append(event)
        elif arm == "split":
            segment.splits.append(event)
        else:
            segment.rounds.append(event)
    _mark_given_up(visits, [m.t_ns for m in session.memory])
    return visits


def _mark_given_up(visits: Sequence[Visit], closed_ns: Sequence[int]) -> None:
    """Mark segments that were given up in the middle: a memory record is written when a segment is whole.

    They cover unequal text in the two arms. While no segment is whole, they are all there is to show.
    """
    if not closed_ns:
        return
    segments = sorted((s for v in visits for s in v.segments.values()), key=lambda s: s.last_t_ns)
    closed = sorted(closed_ns)
    for segment, later in zip_longest(segments, segments[1:]):
        at = bisect_left(closed, segment.last_t_ns)
        segment.whole = at < len(closed) and (later is None or closed[at] < later.last_t_ns)
    some = any(s.whole and s.paired for s in segments)
    for visit in visits:
        visit.kept = some


def _setting(run: Run) -> Setting:
    return Setting(
        run.drafter,
        run.k,
        run.rule,
        run.temperature,
        run.top_p,
        run.top_k,
        run.min_p,
        run.policy,
        run.kv_bits,
        run.adaptive,
    )


def _continues(visit: Visit, run: Run, setting: Setting | None) -> bool:
    return (
        visit.prompt == run.prompt.hash
        and run.arm not in visit.runs
        and (setting is None or visit.setting is None or setting == visit.setting)
    )


def settings_of(visits: Sequence[Visit]) -> tuple[Setting, ...]:
    """The settings that occur, in order of first use."""
    return tuple(dict.fromkeys(v.setting for v in visits if v.setting is not None))
