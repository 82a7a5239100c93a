"""What each prompt (or segment, or window) of a session adds up to, and which of them two sessions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

from ...record.records import Counters
from ...record.session import Session
from ..event_rows import E, Ints, column_of, joined, totals_by_group
from ..statistics import Floats
from ..visits import Segment, Setting, Visit, visits_of
from ..windows import groups_of

Scope = Literal["prompts", "segments", "windows"]
LEAST = 3


class Sum(IntEnum):
    """The columns of a unit's totals: times in ns, everything else counted."""

    PLAIN_TOKENS = 0
    PLAIN_NS = 1
    ROUNDS = 2
    ROUND_NS = 3
    TOKENS = 4
    DRAFTED = 5
    ACCEPTED = 6
    TESTED = 7
    FURTHER = 8
    SPLITS = 9
    DRAFT_NS = 10
    VERIFY_NS = 11
    REST_NS = 12


SPLIT_SUMS = (Sum.SPLITS, Sum.DRAFT_NS, Sum.VERIFY_NS, Sum.REST_NS)


@dataclass(frozen=True, slots=True)
class Unit:
    """One prompt, segment or window by its key, with its totals in the order of `Sum`; NaN is what is not known.

    `FURTHER` counts accepted drafts beyond the positions that both sessions draft.
    """

    key: tuple[str, ...]
    totals: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The totals of two sessions (rows: units, columns: `Sum`), row by row of the same text where `paired`.

    `scope` says what a row is; `shared` counts prompts that both measured, `base_prompts` and `other_prompts` all.
    """

    base: Floats
    other: Floats
    paired: bool
    serial: bool
    scope: Scope
    shared: int
    base_prompts: int
    other_prompts: int


def matched(
    base: Session, other: Session, base_setting: Setting | None, other_setting: Setting | None
) -> Matched | None:
    """What two sessions have to compare; None where one of them generated nothing."""
    shared_k = min(_k(base_setting), _k(other_setting))
    if base_setting is not None and other_setting is not None:
        before, after = _segments(base, base_setting, shared_k), _segments(other, other_setting, shared_k)
        if before and after:
            return _of_segments(before, after)
    left, right = _windows(base), _windows(other)
    return _of_windows(left, right) if left and right else None


def _k(setting: Setting | None) -> int:
    return 0 if setting is None else setting.k


def _of_segments(before: Sequence[Unit], after: Sequence[Unit]) -> Matched:
    prompts = _grouped(before), _grouped(after)
    shared = [key for key in prompts[0] if key in prompts[1]]
    counts = {"shared": len(shared), "base_prompts": len(prompts[0]), "other_prompts": len(prompts[1])}
    if len(shared) >= LEAST:
        return _paired(prompts[0], prompts[1], shared, "prompts", False, counts)
    singly = {unit.key: unit.totals for unit in before}, {unit.key: unit.totals for unit in after}
    same = [key for key in singly[0] if key in singly[1]]
    if shared and len(same) >= LEAST:
        return _paired(singly[0], singly[1], same, "segments", True, counts)
    if min(len(each) for each in prompts) >= LEAST:
        return _apart(list(prompts[0].values()), list(prompts[1].values()), "prompts", False, counts)
    return _apart(list(singly[0].values()), list(singly[1].values()), "segments", True, counts)


def _of_windows(before: Sequence[Unit], after: Sequence[Unit]) -> Matched:
    tables = {unit.key: unit.totals for unit in before}, {unit.key: unit.totals for unit in after}
    same = [key for key in tables[0] if key in tables[1] and key[0] == "label"]
    counts = {"shared": len(same), "base_prompts": len(before), "other_prompts": len(after)}
    if len(same) >= LEAST:
        return _paired(tables[0], tables[1], same, "windows", False, counts)
    serial = any(key[0] != "label" for table in tables for key in table)
    return _apart(list(tables[0].values()), list(tables[1].values()), "windows", serial, counts)


Table = dict[tuple[str, ...], tuple[float, ...]]


def _paired(
    before: Table, after: Table, keys: Sequence[tuple[str, ...]], scope: Scope, serial: bool, counts: dict[str, int]
) -> Matched:
    """Both sides of the same units; split rounds count only where both have some, so that they are of one text."""
    base, other = _array([before[key] for key in keys]), _array([after[key] for key in keys])
    one_sided = (base[:, Sum.SPLITS] > 0) != (other[:, Sum.SPLITS] > 0)
    if not one_sided.all():
        for side in (base, other):
            for column in SPLIT_SUMS:
                side[one_sided, column] = 0.0
    return Matched(base=base, other=other, paired=True, serial=serial, scope=scope, **counts)


def _apart(
    before: Sequence[tuple[float, ...]],
    after: Sequence[tuple[float, ...]],
    scope: Scope,
    serial: bool,
    counts: dict[str, int],
) -> Matched:
    return Matched(base=_array(before), other=_array(after), paired=False, serial=serial, scope=scope, **counts)


def _array(rows: Sequence[tuple[float, ...]]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(Sum))


def _grouped(units: Sequence[Unit]) -> Table:
    """Segments as prompts: the first two parts of a key name one."""
    found: Table = {}
    for unit in units:
        known = found.get(unit.key[:2])
        found[unit.key[:2]] = (
            unit.totals if known is None else tuple(a + b for a, b in zip(known, unit.totals, strict=True))
        )
    return found


def _segments(session: Session, setting: Setting, shared_k: int) -> list[Unit]:
    """The paired segments of one setting, keyed by prompt (hash and index), visit and number."""
    index_by_run = {run.run: run.prompt.index for run in session.runs}
    visits: dict[tuple[str, str], int] = {}
    keys: list[tuple[str, ...]] = []
    segments: list[Segment] = []
    for visit in visits_of(session):
        if visit.setting != setting:
            continue
        prompt = (visit.prompt, str(_index(visit, index_by_run)))
        nth = visits[prompt] = visits.get(prompt, -1) + 1
        pairs = visit.pairs()
        keys += [(*prompt, str(nth), str(segment.number)) for segment in pairs]
        segments += pairs
    return [Unit(key, totals) for key, totals in zip(keys, _totals(segments, shared_k), strict=True)]


def _index(visit: Visit, index_by_run: dict[int, int]) -> int:
    return next((index_by_run[run] for run in visit.runs.values() if run in index_by_run), 0)


def _totals(segments: Sequence[Segment], shared_k: int) -> list[tuple[float, ...]]:
    """The sums of each segment, all segments at once: a session may hold a million rounds."""
    steps, rounds, splits = (
        [segment.steps for segment in segments],
        [segment.rounds for segment in segments],
        [segment.splits for segment in segments],
    )
    accepted, drafted = _column(rounds, "accepted"), _column(rounds, "drafted")
    timed = [_column(splits, name) for name in ("draft_ns", "verify_ns", "rest_ns")]
    whole = (timed[0] >= 0) & (timed[1] >= 0) & (timed[2] >= 0)
    draft, verify, rest = (_sums(splits, np.where(whole, each, 0)) for each in timed)
    sums_by_column: dict[Sum, Sequence[int]] = {
        Sum.PLAIN_TOKENS: _sums(steps, _column(steps, "tokens")),
        Sum.PLAIN_NS: _sums(steps, _column(steps, "step_ns")),
        Sum.ROUNDS: [len(each) for each in rounds],
        Sum.ROUND_NS: _sums(rounds, _column(rounds, "round_ns")),
        Sum.TOKENS: _sums(rounds, _column(rounds, "tokens")),
        Sum.DRAFTED: _sums(rounds, drafted),
        Sum.ACCEPTED: _sums(rounds, accepted),
        Sum.TESTED: _sums(rounds, accepted + (accepted < drafted)),
        Sum.FURTHER: _sums(rounds, np.maximum(accepted - shared_k, 0)),
        Sum.SPLITS: _sums(splits, whole.astype(np.int64)),
        Sum.DRAFT_NS: draft,
        Sum.VERIFY_NS: verify,
        Sum.REST_NS: rest,
    }
    return [tuple(map(float, each)) for each in zip(*(sums_by_column[column] for column in Sum), strict=True)]


def _column(groups: Sequence[Sequence[E]], name: str) -> Ints:
    """One field of the events of all groups, one group after the other."""
    found: Ints = column_of(joined(groups), name)
    return found


def _sums(groups: Sequence[Sequence[object]], values: Ints) -> list[int]:
    """The exact sum of each group's values; 0 for a group without any."""
    sizes = np.array([len(group) for group in groups], np.int64)
    sums = np.zeros(len(groups), object)
    sums[sizes > 0] = totals_by_group(values, (np.cumsum(sizes) - sizes)[sizes > 0])
    found: list[int] = sums.tolist()
    return found


def _windows(session: Session) -> list[Unit]:
    """What another engine counted, or runs whose arms were not measured in pairs: one unit a label, else a window."""
    groups = groups_of(session)
    if not groups:
        return []
    group = groups[-1]
    windows = (*group.plain, *group.drafting)
    for_arm = [[w.label for w in arm if w.label is not None] for arm in (group.plain, group.drafting)]
    told_apart = all(len(set(labels)) == len(labels) for labels in for_arm) and any(for_arm)
    found: Table = {}
    for at, window in enumerate(windows):
        labelled = told_apart and window.label is not None
        key = ("label", window.label or "") if labelled else ("window", str(at))
        totals, known = _of_window(window), found.get(key)
        found[key] = totals if known is None else tuple(a + b for a, b in zip(known, totals, strict=True))
    return [Unit(key, totals) for key, totals in found.items()]


def _of_window(window: Counters) -> tuple[float, ...]:
    tokens, elapsed = window.tokens, window.elapsed_ns
    if window.tokens_per_second and not (tokens and elapsed):
        speed: tuple[float, float] = (window.tokens_per_second, 1e9)
    else:
        speed = (tokens or np.nan, elapsed or np.nan)
    if window.arm == "plain":
        return (*speed, *[0.0] * (len(Sum) - 2))
    rounds = float(window.rounds) if window.rounds and tokens and elapsed else np.nan
    if np.isnan(rounds) and window.tokens_per_round:
        rounds = speed[0] / window.tokens_per_round
    split = window.draft_ns is not None and window.verify_ns is not None and window.rest_ns is not None
    by_sum: dict[Sum, float] = {
        Sum.ROUNDS: rounds,
        Sum.TOKENS: speed[0],
        Sum.ROUND_NS: speed[1],
        Sum.DRAFTED: np.nan if window.drafted is None else window.drafted,
        Sum.ACCEPTED: np.nan if window.accepted is None else window.accepted,
        Sum.TESTED: np.nan,
        Sum.FURTHER: 0.0,  # a window does not say at which position drafts were kept
        Sum.SPLITS: rounds if split else 0.0,
        Sum.DRAFT_NS: (window.draft_ns or 0) if split else 0.0,
        Sum.VERIFY_NS: (window.verify_ns or 0) if split else 0.0,
        Sum.REST_NS: (window.rest_ns or 0) if split else 0.0,
    }
    return tuple(float(by_sum.get(column, 0.0)) for column in Sum)
