"""What another engine counted, put into groups of like windows: one engine, drafter, k, batch and sampling each.

A window is a request, a stretch of a server's life or a whole run. Unlike windows are never pooled; plain ones are the
baseline of the drafting ones that ran at the same batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np

from ..record.columns import Kept
from ..record.growing import NOT_THERE
from ..record.records import Counters, Round, Step
from ..record.session import Session
from .event_rows import E, Flags, Ints, Rows, columns_of, total
from .sided import one_side
from .statistics import effective_size

# A file may hold millions of windows; more blocks than these add nothing to an interval.
MOST_UNITS = 1000
FEWEST_PAIRS = 2
REPETITION = ", repetition "


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What must be alike for windows to be pooled; None where the engine does not say."""

    source: str
    drafter: str | None
    k: int | None
    batch: int | None
    temperature: float | None
    rule: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Drafting windows of one manner with the plain windows that are their baseline, or like plain windows alone."""

    manner: Manner
    drafting: tuple[Counters, ...]
    plain: tuple[Counters, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """tok/s of both arms in independent units, `pairs` where both are of the same requests, in the same order.

    `neighbours` says that windows which resemble their neighbours were taken together.
    """

    plain: tuple[float, ...]
    drafting: tuple[float, ...]
    pairs: bool = False
    neighbours: bool = False


def groups_of(session: Session, *, with_runs: bool = True) -> tuple[Group, ...]:
    """The groups of a session in order of first use; without drafts, like plain windows make one each.

    `with_runs`: the session's own runs count as windows too, for where their arms were not measured in pairs.
    """
    windows = (*session.counters, *(windows_of_runs(session) if with_runs else ()))
    plain = [w for w in windows if w.arm == "plain"]
    drafting = _by_manner([w for w in windows if w.arm != "plain"])
    if drafting:
        return tuple(
            Group(manner=manner, drafting=tuple(mine), plain=_baseline(plain, manner))
            for manner, mine in drafting.items()
        )
    return tuple(
        Group(manner=manner, drafting=(), plain=tuple(mine))
        for manner, alike in _by_manner(plain).items()
        for mine in _by_condition(alike)
    )


def windows_of_runs(session: Session) -> tuple[Counters, ...]:
    """The runs of a session as windows, for sessions whose arms were not measured in pairs; warm-ups left out."""
    session = one_side(session)
    every, plain = columns_of(session.rounds, Round), columns_of(session.steps, Step)
    sound = (every.column("round_ns") > 0) & (every.column("accepted") <= every.column("drafted"))
    rounds = _by_run(every, sound & (every.column("warm_up") == 0))
    steps = _by_run(plain, (plain.column("step_ns") > 0) & (plain.column("warm_up") == 0))
    source = session.header.source or "specview"
    found = []
    for run in session.runs:
        label = f"{run.prompt.suite} {run.prompt.index}"
        if run.arm == "plain" and run.run in steps:
            mine = steps[run.run]
            found.append(
                Counters(
                    t_ns=run.started_ns,
                    arm="plain",
                    source=source,
                    label=label,
                    batch=1,
                    temperature=run.temperature,
                    tokens=total(mine.column("tokens")),
                    elapsed_ns=total(mine.column("step_ns")),
                )
            )
        elif run.arm == "drafting" and run.run in rounds:
            made = _of_rounds(rounds[run.run], source, label, run.started_ns, run.drafter, run.k)
            found.append(replace(made, rule=run.rule, temperature=run.temperature))
    return tuple(found)


def _by_run(events: Kept[E], counted: Flags) -> dict[int, Rows[E]]:
    """The events that count, by run."""
    order = np.flatnonzero(counted)
    if not order.size:
        return {}
    runs = events.column("run")[order]
    if bool((np.diff(runs.astype(np.int64)) < 0).any()):
        turn = np.argsort(runs, kind="stable")
        order, runs = order[turn], runs[turn]
    numbers, starts = np.unique(runs, return_index=True)
    begins = [int(start) for start in starts]
    found = zip(numbers.tolist(), begins, [*begins[1:], len(order)], strict=True)
    return {run: Rows(events, order, start, stop) for run, start, stop in found}


def _of_rounds(rounds: Rows[Round], source: str, label: str, t_ns: int, drafter: str, k: int) -> Counters:
    accepted = rounds.column("accepted")
    longest = int(accepted.max())
    positions = tuple(int((accepted > i).sum()) for i in range(min(longest, 64)))
    return Counters(
        t_ns=t_ns,
        arm="drafting",
        source=source,
        label=label,
        drafter=drafter,
        k=k,
        batch=1,
        rounds=len(rounds),
        drafted=total(rounds.column("drafted")),
        accepted=total(accepted),
        accepted_by_position=positions or None,
        tokens=total(rounds.column("tokens")),
        elapsed_ns=total(rounds.column("round_ns")),
        draft_ns=_total(rounds.column("draft_ns")),
        verify_ns=_total(rounds.column("verify_ns")),
        rest_ns=_total(rounds.column("rest_ns")),
    )


def _total(values: Ints) -> int | None:
    return None if bool((values == NOT_THERE).any()) else total(values)


def tokens_per_second(window: Counters) -> float | None:
    """tok/s of a window: as printed, else tokens over their time."""
    if window.tokens_per_second:
        return window.tokens_per_second
    return window.tokens * 1e9 / window.elapsed_ns if window.tokens and window.elapsed_ns else None


def speeds_of(group: Group) -> Speeds:
    """Independent tok/s of both arms: paired by request where both arms name the same ones, else each arm alone."""
    plain, drafting = _by_label(group.plain), _by_label(group.drafting)
    shared = [label for label in drafting if label is not None and label in plain]
    if len(shared) >= FEWEST_PAIRS:
        shared = shared[:MOST_UNITS]
        return Speeds(
            plain=tuple(_typical(plain[label]) for label in shared),
            drafting=tuple(_typical(drafting[label]) for label in shared),
            pairs=True,
        )
    units = [_units(group.plain), _units(group.drafting)]
    return Speeds(plain=units[0][0], drafting=units[1][0], neighbours=units[0][1] or units[1][1])


def _by_label(windows: Iterable[Counters]) -> Mapping[str | None, list[float]]:
    found: dict[str | None, list[float]] = {}
    for window in windows:
        speed = tokens_per_second(window)
        if speed:
            found.setdefault(window.label, []).append(speed)
    return found


def _units(windows: Sequence[Counters]) -> tuple[tuple[float, ...], bool]:
    """As many speeds as the windows are worth; requests of their own names count one by one."""
    known = [(w.label, s) for w in sorted(windows, key=lambda w: w.t_ns) if (s := tokens_per_second(w))]
    speeds = [s for _, s in known]
    labels = {label for label, _ in known}
    if len(labels) == len(known) and None not in labels and len(known) <= MOST_UNITS:
        return tuple(speeds), False
    if len(speeds) < 3:
        return tuple(speeds), False
    worth = min(MOST_UNITS, math.floor(effective_size([math.log(s) for s in speeds])))
    if worth >= len(speeds):
        return tuple(speeds), False
    worth = max(1, worth)
    ends = [round(i * len(speeds) / worth) for i in range(worth + 1)]
    blocks = [speeds[a:b] for a, b in pairwise(ends)]
    return tuple(_typical(block) for block in blocks if block), True


def _typical(speeds: Sequence[float]) -> float:
    """The geometric mean, so that a mean log ratio is the log ratio of means."""
    return speeds[0] if len(speeds) == 1 else math.exp(fmean(math.log(s) for s in speeds))


def _manner(window: Counters) -> Manner:
    return Manner(
        source=window.source,
        drafter=window.drafter,
        k=window.k,
        batch=window.batch,
        temperature=window.temperature,
        rule=window.rule,
    )


def _by_manner(windows: Iterable[Counters]) -> dict[Manner, list[Counters]]:
    found: dict[Manner, list[Counters]] = {}
    for window in windows:
        found.setdefault(_manner(window), []).append(window)
    return found


def _by_condition(windows: Iterable[Counters]) -> list[list[Counters]]:
    """Windows apart whose labels number repetitions of one condition, as llama-bench does at several depths."""
    found: dict[str, list[Counters]] = {}
    for window in windows:
        stem, repetition, _ = (window.label or "").partition(REPETITION)
        found.setdefault(stem if repetition else "", []).append(window)
    return list(found.values())


def _baseline(plain: Sequence[Counters], manner: Manner) -> tuple[Counters, ...]:
    """Plain windows at the same batch and of one condition, of the same source if any; an unsaid batch may be one."""
    mine = [w for w in plain if w.batch == manner.batch]
    if not mine and manner.batch in (None, 1):
        mine = [w for w in plain if w.batch in (None, 1)]
    conditions = _by_condition([w for w in mine if w.source == manner.source] or mine)
    return tuple(conditions[0]) if conditions else ()
