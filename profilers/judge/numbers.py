"""Sequences of nanoseconds as numbers of a ledger: mean with interval for the division, median for display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..record.growing import NOT_THERE
from ..record.session import Session
from .alike_probes import Alike, alike, times_of
from .event_rows import Flags, Ns, in_ms
from .manners import Manner, Manners, is_usual
from .parts import part_from
from .sided import one_side
from .statistics import Interval, Spread, median_and_mad

MS = 1e-6


@dataclass(frozen=True, slots=True)
class Number:
    """One time in ms: its mean with interval for the division, median and MAD for display."""

    mean: Interval
    spread: Spread

    @property
    def n(self) -> int:
        """How many values."""
        return self.spread.n


def number(values_ns: Sequence[int | None]) -> Number | None:
    """A number from at least two values; those that are None were not measured."""
    values = in_ms(values_ns if isinstance(values_ns, Ns) else [v for v in values_ns if v is not None])
    if len(values) < 2:
        return None
    return Number(part_from(values).interval(), median_and_mad(values))


def numbers(by_width: Mapping[int, Sequence[int]]) -> dict[int, Number]:
    """Numbers by width, in order of width; widths with fewer than two values are left out."""
    found = {width: number(values) for width, values in sorted(by_width.items())}
    return {width: n for width, n in found.items() if n is not None}


def whole_probes(
    session: Session, what: str, runs: set[int] | None = None, manner: Manner | None = None
) -> dict[int, Ns]:
    """Synchronous whole-graph samples in ns by width; of some runs only, where the drafter matters.

    Verify passes are those of one manner; None takes passes in one go that choose greedily, as blocks are timed in.
    """
    groups: dict[int, list[Alike]] = {}
    manners = Manners(session)
    for each in alike(one_side(session).probes):
        one = each.one
        if one.ruler != "whole" or one.part != what or one.pipelined:
            continue
        if what == "verify" and manner is None and not is_usual(one):
            continue
        counted = each.where(_counts(each, what, runs, manner, manners))
        if len(counted.rows):
            groups.setdefault(one.width, []).append(counted)
    found = {width: times_of(mine).array for width, mine in groups.items()}
    return {width: Ns(values[values > 0]) for width, values in found.items()}


def _counts(each: Alike, what: str, runs: set[int] | None, manner: Manner | None, manners: Manners) -> Flags:
    """Which probes of a group are of wanted runs and made in a wanted manner."""
    of_run = each.rows.column("run")
    known, numbers = np.unique(of_run, return_inverse=True)
    wanted = []
    for number in known.tolist():
        run = None if number == NOT_THERE else number
        alike_run = what != "verify" or manner is None or manners.of(replace(each.one, run=run)) == manner
        wanted.append(alike_run and (runs is None or run is None or run in runs))
    return np.array(wanted, bool)[numbers]
