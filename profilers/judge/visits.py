"""A session's rounds and steps in the order and pairs they were measured in: visits, segments, prompts.

A visit is one stretch on one prompt with one drafter and k; its arms ran from
shared snapshots, so a segment of the plain arm and the same segment of the
drafting arm are a pair. Unlike visits are never pooled: a setting names one group.
Where keys and values are quantised from a later position on, segments of one side
of it only are there (`kv_sides`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.limits import LONGEST_DRAFT
from ..record.columns import Kept
from ..record.records import Round, Run, Step
from ..record.session import Session
from .event_rows import Flags, Rows, cls_of, column_of, columns_of, joined, total, totals_by_group
from .kv_sides import Measured, Side, Switch, chosen_side, side_of
from .remembered import remembered
from .verdict import LEAST_ROUNDS, LEAST_SEGMENTS


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
    kv_start: int | None = None
    heads: int | None = None


@dataclass(slots=True)
class Segment:
    """Counted events of one segment by arm; warm-ups are left out.

    `plain` and `drafting` are the tokens of steps and of free rounds, and the ns they took. `contexts` are the fewest
    positions that an event began at and the most that one ended at; None before the first.
    """

    number: int
    steps: Sequence[Step] = ()
    rounds: Sequence[Round] = ()
    splits: Sequence[Round] = ()
    plain: tuple[int, int] = (0, 0)
    drafting: tuple[int, int] = (0, 0)
    last_t_ns: int = 0
    whole: bool = True
    contexts: tuple[int, int] | None = None

    @property
    def paired(self) -> bool:
        """Whether both arms have something to count."""
        return bool(self.steps and self.rounds)

    @property
    def log_ratio(self) -> float:
        """log(drafting ÷ plain tokens per second) over this segment."""
        return log_ratio([self])


@dataclass(slots=True)
class Visit:
    """One stretch on one prompt; `kv_start` is where its keys and values become quantised, 0 for nowhere later."""

    prompt: str
    kind: str
    setting: Setting | None = None
    runs: dict[str, int] = field(default_factory=dict)
    segments: dict[int, Segment] = field(default_factory=dict)
    kept: bool = False
    kv_start: int = 0

    def pairs(self) -> list[Segment]:
        """Segments that both arms measured, in order."""
        paired = [s for _, s in sorted(self.segments.items()) if s.paired]
        return [s for s in paired if s.whole] if self.kept else paired


def log_ratio(segments: Sequence[Segment]) -> float:
    """log(drafting ÷ plain tokens per second), total rates over segments."""
    drafting, plain = [s.drafting for s in segments], [s.plain for s in segments]
    return math.log(_rate(drafting) / _rate(plain))


def _rate(totals: Sequence[tuple[int, int]]) -> float:
    return sum(tokens for tokens, _ in totals) / sum(ns for _, ns in totals)


def tokens_per_ns(events: Sequence[Step] | Sequence[Round]) -> float:
    """Tokens per nanosecond over events."""
    ns = "step_ns" if cls_of(events) is Step else "round_ns"
    return total(column_of(events, "tokens")) / total(column_of(events, ns))


def visits_of(session: Session) -> list[Visit]:
    """All visits of a session in order, with the segments that figures are of."""
    return list(remembered(session, "visits", lambda: _on_one_side(session))[0])


def switch_of(session: Session) -> Switch | None:
    """The position that the session's figures are of one side of; None where there is no such position."""
    return remembered(session, "visits", lambda: _on_one_side(session))[1]


def kv_start_of(run: Run) -> int:
    """From which position on a run's keys and values are quantised; 0 where they are from the first, or never."""
    return (run.kv_start or 0) if run.kv_bits else 0


def _on_one_side(session: Session) -> tuple[list[Visit], Switch | None]:
    """The visits without the segments on the other side of a switch, chosen by the setting that was used last."""
    visits = _visits(session)
    start = next((visit.kv_start for visit in reversed(visits) if visit.kv_start), 0)
    if not start:
        return visits, None
    last = settings_of(visits)[-1:]
    judged = [visit for visit in visits if visit.setting in last] or visits
    before, behind = (_measured(judged, side) for side in (Side.BEFORE, Side.BEHIND))
    side = chosen_side(before, behind, Measured(LEAST_ROUNDS, LEAST_SEGMENTS))
    across = any(_side(visit, segment) is None for visit in judged for segment in visit.segments.values())
    for visit in visits:
        kept = {n: segment for n, segment in visit.segments.items() if _side(visit, segment) is side}
        visit.segments = kept if visit.kv_start else visit.segments
    return visits, Switch(start=start, side=side, before=before, behind=behind, across=across)


def _side(visit: Visit, segment: Segment) -> Side | None:
    return None if segment.contexts is None else side_of(visit.kv_start, *segment.contexts)


def _measured(visits: Sequence[Visit], side: Side) -> Measured:
    """What lies on a side: rounds of each text once, unless all are replays."""
    pairs = [segment for visit in visits for segment in visit.pairs() if _side(visit, segment) is side]
    rounds: Sequence[Round] = joined(segment.rounds for segment in pairs)
    fresh = int((column_of(rounds, "replay") == 0).sum())
    return Measured(fresh or len(rounds), len(pairs))


def _visits(session: Session) -> list[Visit]:
    visits: list[Visit] = []
    by_run: dict[int, tuple[int, str]] = {}
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
        visit.kv_start = kv_start_of(run)
        by_run[run.run] = (len(visits) - 1, run.arm)
    for stretch in _stretches(columns_of(session.steps, Step), by_run, "step_ns"):
        segment = _segment(visits, stretch)
        segment.steps, segment.plain = stretch.rows, stretch.totals
    for stretch in _stretches(columns_of(session.rounds, Round), by_run, "round_ns"):
        segment = _segment(visits, stretch)
        if stretch.split:
            segment.splits = stretch.rows
        else:
            segment.rounds, segment.drafting = stretch.rows, stretch.totals
    _mark_given_up(visits, [m.t_ns for m in session.memory])
    return visits


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The events of one kind in one segment, split rounds by themselves; `totals` are tokens and ns."""

    visit: int
    segment: int
    split: bool
    rows: Rows[Any]
    totals: tuple[int, int]
    last_t_ns: int
    contexts: tuple[int, int]


def _segment(visits: Sequence[Visit], stretch: _Stretch) -> Segment:
    """The segment of a stretch, made when it is the first."""
    segment = visits[stretch.visit].segments.setdefault(stretch.segment, Segment(stretch.segment))
    segment.last_t_ns = max(segment.last_t_ns, stretch.last_t_ns)
    first, end = segment.contexts or stretch.contexts
    segment.contexts = min(first, stretch.contexts[0]), max(end, stretch.contexts[1])
    return segment


def _stretches(events: Kept[Any], visit_by_run: Mapping[int, tuple[int, str]], ns: str) -> Iterable[_Stretch]:
    """The events that count, by visit and segment, in the order in which these come first."""
    if not visit_by_run or not len(events):
        return
    runs = np.array(sorted(visit_by_run), np.int64)
    visit_of_run = np.array([visit_by_run[run][0] for run in runs.tolist()], np.int64)
    splits = np.array([events.cls is Round and visit_by_run[run][1] == "split" for run in runs.tolist()], np.int64)
    run = events.column("run")
    at = np.minimum(np.searchsorted(runs, run), runs.size - 1)
    counted = np.flatnonzero((runs[at] == run) & _sound(events, ns) & (events.column("warm_up") == 0))
    if not counted.size:
        return
    of_run = at[counted]
    names, rank = np.unique(events.column("segment")[counted], return_inverse=True)
    key = (visit_of_run[of_run] * names.size + rank) * 2 + splits[of_run]
    order = counted
    if bool((np.diff(key) < 0).any()):
        turn = np.argsort(key, kind="stable")
        order, key = counted[turn], key[turn]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    stops = np.append(starts[1:], key.size)
    tokens = totals_by_group(events.column("tokens")[order], starts)
    times = totals_by_group(events.column(ns)[order], starts)
    lasts = np.maximum.reduceat(events.column("t_ns")[order], starts).tolist()
    contexts = events.column("context")[order].astype(np.int64)
    firsts = np.minimum.reduceat(contexts, starts).tolist()
    reached = np.maximum.reduceat(contexts + events.column("tokens")[order], starts).tolist()
    first_come = np.argsort(order[starts], kind="stable").tolist()
    keys, begins, ends = key[starts].tolist(), starts.tolist(), stops.tolist()
    for i in first_come:
        rows = Rows(events, order, begins[i], ends[i])
        visit, segment = divmod(keys[i] // 2, names.size)
        split = bool(keys[i] % 2)
        contexts_here = firsts[i], reached[i]
        yield _Stretch(visit, int(names[segment]), split, rows, (tokens[i], times[i]), lasts[i], contexts_here)


def _sound(events: Kept[Any], ns: str) -> Flags:
    """Which can be reckoned with; no recorder writes one that cannot, but a file may hold anything."""
    sound: NDArray[np.bool_] = (events.column(ns) > 0) & (events.column("tokens") > 0)
    return sound if events.cls is Step else sound & (events.column("drafted") <= LONGEST_DRAFT)


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
        run.kv_start,
        run.heads,
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
