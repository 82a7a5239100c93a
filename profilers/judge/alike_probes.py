"""Probes in groups whose members differ in times, runs and contexts only, so that very many are summed as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..record.columns import Kept
from ..record.records import Probe
from .event_rows import Flags, Ints, Ns, Rows, columns_of
from .remembered import kept_beside

SAME = (
    "ruler", "part", "width", "block", "category", "layer", "layers", "cached", "arrangement", "pipelined", "detail",
    "batch", "policy", "rule",
)  # fmt: skip
LARGEST_KEY = 2**62


@dataclass(frozen=True, slots=True)
class Alike:
    """Some probes in their order, all like the `one`; all have a slope where it has one, and samples likewise."""

    one: Probe
    rows: Rows[Probe]

    def where(self, flags: Flags) -> Alike:
        """Those that are flagged."""
        return self if flags.all() else Alike(self.one, self.rows.where(flags))


Probes: TypeAlias = Iterable[Probe] | Iterable[Alike]


def alike(probes: Probes) -> tuple[Alike, ...]:
    """The groups of some probes in order of their first members; groups stay as they are."""
    if isinstance(probes, Kept):
        return kept_beside(probes, "alike", lambda: _groups(Rows(probes, np.arange(len(probes)))))
    if isinstance(probes, Rows):
        return _groups(probes)
    known = tuple(probes)
    if known and isinstance(known[0], Alike):
        return cast("tuple[Alike, ...]", known)
    single = columns_of(cast("tuple[Probe, ...]", known), Probe)
    return _groups(Rows(single, np.arange(len(single))))


def in_order(groups: Sequence[Alike]) -> Rows[Probe]:
    """All members of some groups of one session, in the order of the session."""
    if len(groups) == 1:
        return groups[0].rows
    if not groups:
        none = columns_of((), Probe)
        return Rows(none, np.arange(0))
    together = groups[0].rows.together([group.rows for group in groups[1:]])
    return together[np.argsort(together.places)]


def some(groups: Sequence[Alike], flags_of: Callable[[Alike], Flags]) -> tuple[Alike, ...]:
    """The flagged members of groups, in order of the first of them; groups without any are gone."""
    kept = [group.where(flags_of(group)) for group in groups]
    return tuple(sorted((group for group in kept if len(group.rows)), key=lambda group: int(group.rows.places[0])))


def at_contexts(groups: Sequence[Alike], is_wanted: Callable[[int], bool]) -> tuple[Alike, ...]:
    """The members at contexts that are wanted."""
    known = np.unique(np.concatenate([group.rows.column("context") for group in groups] or [np.arange(0)]))
    wanted = [context for context in known.tolist() if is_wanted(context)]
    return some(groups, lambda group: np.isin(group.rows.column("context"), wanted))


def times_of(groups: Sequence[Alike], name: str = "samples_ns") -> Ns:
    """All values of one list of times, in the order of the session."""
    return Ns(in_order(groups).lists(name).values.astype(np.int64))


def first_times(rows: Rows[Probe], name: str, otherwise: str) -> Ints:
    """The values of one list of times of each probe, those of another where it is empty or not there."""
    first, second = rows.lists(name), rows.lists(otherwise)
    needed = first.lengths[second.owners] <= 0
    values = np.concatenate((first.values, second.values[needed]))
    owners = np.concatenate((first.owners, second.owners[needed]))
    found: Ints = values[np.argsort(owners, kind="stable")].astype(np.int64)
    return found


def layers_of(rows: Rows[Probe]) -> Ints:
    """How many layers each probe stands for, at least one."""
    found: Ints = np.maximum(rows.column("layers"), 1)
    return found


def _groups(rows: Rows[Probe]) -> tuple[Alike, ...]:
    if not len(rows):
        return ()
    _, firsts, numbers, sizes = np.unique(_keys(rows), return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(numbers.astype(np.int16) if sizes.size < 2**15 else numbers, kind="stable")
    members = rows[order]
    ends = np.cumsum(sizes)
    turn = np.argsort(firsts)
    ones = rows[firsts[turn]]
    return tuple(
        Alike(one, members[int(ends[at] - sizes[at]) : int(ends[at])])
        for one, at in zip(ones, turn.tolist(), strict=True)
    )


def _keys(rows: Rows[Probe]) -> NDArray[np.int64]:
    """A number by probe that is the same for those that are alike."""
    keys, size = np.zeros(len(rows), np.int64), 1
    columns = [rows.column(name) for name in SAME]
    columns += [np.isnan(rows.column("slope_ns")), rows.column("samples_ns length") > 0]
    for values in columns:
        span = int(values.max()) - int(values.min()) + 1
        if size * span >= LARGEST_KEY:
            values, span = _numbered(values)
            keys, size = _numbered(keys)
        keys = keys * span + (values.astype(np.int64) - int(values.min()))
        size *= span
    return keys


def _numbered(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    known, numbers = np.unique(values, return_inverse=True)
    return numbers, known.size
