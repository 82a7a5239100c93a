"""Sequences of nanoseconds as numbers of a ledger: mean with interval for the division, median for display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..record.session import Session
from .event_rows import Ns, in_ms
from .manners import Manner, Manners, is_usual
from .parts import part_from
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
) -> dict[int, list[int]]:
    """Synchronous whole-graph samples in ns by width; of some runs only, where the drafter matters.

    Verify passes are those of one manner; None takes passes in one go that choose greedily, as blocks are timed in.
    """
    found: dict[int, list[int]] = {}
    manners = Manners(session)
    for probe in session.probes:
        if probe.ruler != "whole" or probe.part != what or probe.pipelined:
            continue
        if what == "verify" and not (is_usual(probe) if manner is None else manners.of(probe) == manner):
            continue
        if runs is None or probe.run in runs or probe.run is None:
            found.setdefault(probe.width, []).extend(ns for ns in probe.samples_ns or () if ns > 0)
    return found
