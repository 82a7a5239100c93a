"""Events of a session as rows of columns, so that a million of them are summed without being made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ..record.columns import Kept
from ..record.gathered import RecordColumns
from ..record.growing import NOT_THERE, Ragged
from ..record.records import Probe, Round, Step
from .statistics import Values

E = TypeVar("E", bound=Round | Step | Probe)
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MS = 1e-6
LARGEST_SUM = float(2**62)  # beyond it whole numbers are added as Python does


class Ns(Sequence[int]):
    """Times in ns in order, as an array that behaves like a tuple."""

    __slots__ = ("array",)

    def __init__(self, array: Ints) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Ns: ...

    def __getitem__(self, index: int | slice) -> int | Ns:
        return Ns(self.array[index]) if isinstance(index, slice) else int(self.array[index])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Ns | tuple | list) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


class Rows(Sequence[E], Generic[E]):
    """Some events of a session, in an order of their own: those at `order[start:stop]` of all."""

    __slots__ = ("_events", "_order", "_start", "_stop")

    def __init__(self, events: Kept[E], order: NDArray[np.intp], start: int = 0, stop: int | None = None) -> None:
        self._events: Kept[E] = events
        self._order = order
        self._start, self._stop = start, len(order) if stop is None else stop

    @property
    def places(self) -> NDArray[np.intp]:
        """Where these events stand among all."""
        return self._order[self._start : self._stop]

    def column(self, name: str) -> NDArray[Any]:
        """One field of each; -1 for None (NaN among floats), 1 for true."""
        values: NDArray[Any] = self._events.column(name)[self.places]
        return values if values.dtype.kind == "f" else values.astype(np.int64)

    def lists(self, name: str) -> Ragged:
        """One field of each that is a list of times."""
        return self._events.lists(name, self.places)

    @property
    def cls(self) -> type[E]:
        """Whether these are rounds, steps or probes."""
        return self._events.cls

    def where(self, flags: Flags) -> Rows[E]:
        """Those that are flagged."""
        return Rows(self._events, self.places[flags])

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> E: ...

    @overload
    def __getitem__(self, index: slice | NDArray[np.intp]) -> Rows[E]: ...

    def __getitem__(self, index: int | slice | NDArray[np.intp]) -> E | Rows[E]:
        if isinstance(index, slice | np.ndarray):
            return Rows(self._events, self.places[index])
        return self._events[int(self.places[index])]

    def __iter__(self) -> Iterator[E]:
        return iter(self._events.taken(self.places))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows | list | tuple):
            return NotImplemented
        return list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{len(self)} of {self._events!r}"

    def together(self, others: Sequence[Rows[E]]) -> Rows[E]:
        """These rows' events, then those of others of the same session."""
        return Rows(self._events, np.concatenate([self.places, *(other.places for other in others)]))


def columns_of(events: Sequence[E], cls: type[E]) -> Kept[E]:
    """The events as columns: those of a file are columns already."""
    if isinstance(events, Kept):
        return events
    columns = RecordColumns(cls)
    for event in events:
        columns.add(event)
    return columns.view().backed_by(tuple(events))


def cls_of(events: Sequence[Round] | Sequence[Step]) -> type[Round] | type[Step]:
    """Whether these are rounds or steps; steps for none at all."""
    if isinstance(events, Rows):
        return cast("type[Round] | type[Step]", events.cls)
    return type(events[0]) if events else Step


def joined(groups: Iterable[Sequence[E]]) -> Sequence[E]:
    """Groups of events one after the other; the groups of one session stay columns."""
    every = [group for group in groups if len(group)]
    if every and all(isinstance(group, Rows) for group in every):
        first, *others = cast("list[Rows[E]]", every)
        return first.together(others)
    return [event for group in every for event in group]


def column_of(events: Sequence[E], name: str) -> NDArray[Any]:
    """One field of each event; -1 for None, 1 for true."""
    if isinstance(events, Rows):
        return events.column(name)
    given = [getattr(event, name) for event in events]
    return np.array([NOT_THERE if value is None else value for value in given], np.int64)


def ns_of(events: Sequence[Round] | Sequence[Step], name: str) -> Ns:
    """One time of each event, where it was measured."""
    values = column_of(events, name)
    known = values != NOT_THERE
    return Ns(values if known.all() else values[known])


def plain_ns(steps: Sequence[Step]) -> Ns:
    """The times of pipelined steps of plain decoding, warm-ups left out."""
    known = columns_of(steps, Step)
    counted = (known.column("pipelined") != 0) & (known.column("warm_up") == 0)
    return Ns(known.column("step_ns")[counted].astype(np.int64))


def chosen(events: Sequence[E], flags: Flags) -> Sequence[E]:
    """The events that are flagged."""
    if isinstance(events, Rows):
        return events.where(flags)
    return [event for event, flag in zip(events, flags.tolist(), strict=True) if flag]


def means_of(groups: Sequence[Sequence[Step]], name: str) -> NDArray[np.float64]:
    """The mean of one field over each group; no group is empty."""
    sizes = [len(group) for group in groups]
    starts = np.cumsum([0, *sizes[:-1]])  # where each group begins
    sums = totals_by_group(column_of(joined(groups), name), starts)
    return np.array([each / size for each, size in zip(sums, sizes, strict=True)])


def total(values: NDArray[Any]) -> int:
    """The exact sum of whole numbers."""
    if values.size and float(np.abs(values).max()) * values.size >= LARGEST_SUM:
        return sum(values.tolist())
    return int(values.sum(dtype=np.int64))


def in_ms(values: Sequence[int]) -> Values:
    """Times in ms."""
    if isinstance(values, Ns):
        ms: NDArray[np.float64] = np.multiply(values.array, MS, dtype=np.float64)
        return ms
    return [value * MS for value in values]


def mean_ns(values: Sequence[int]) -> float:
    """The mean of times, of which there is at least one."""
    return mean(values.array) if isinstance(values, Ns) else fmean(values)


def mean(values: NDArray[Any]) -> float:
    """The mean of whole numbers, of which there is at least one."""
    return total(values) / values.size


def totals_by_group(values: NDArray[Any], starts: NDArray[np.intp]) -> list[int]:
    """The exact sums of stretches of values, each from its start to the next one's; none of them is empty."""
    if not starts.size:
        return []
    if float(np.abs(values).max()) * values.size >= LARGEST_SUM:
        values = values.astype(object)
        return [int(each) for each in np.add.reduceat(values, starts)]
    found: list[int] = np.add.reduceat(values.astype(np.int64), starts).tolist()
    return found
