"""Times of a session file, each given its ruler where it is read: from here on two rulers do not mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from ..record.records import Step
from ..record.session import Session
from .event_rows import Ns, column_of, in_ms, ns_of
from .manners import Manner
from .numbers import Number, whole_probes
from .parts import part_from
from .shown import shown_verify
from .spans import Pipelined, R, Span, Synchronous
from .statistics import median_and_mad


@dataclass(frozen=True, slots=True)
class Measured(Number, Generic[R]):
    """A number of the ledger with its mean as a span."""

    span: Span[R]


@dataclass(frozen=True, slots=True)
class Samples(Generic[R]):
    """Times in ns taken by one ruler, in the order they were taken; `left_out` more were interrupted."""

    ns: Sequence[int]
    ruler: type[R]
    left_out: int = 0

    def span(self) -> Span[R] | None:
        """Mean and standard error of at least two samples."""
        if len(self.ns) < 2:
            return None
        part = part_from(in_ms(self.ns))
        return Span(part.mean, self.ruler, part.se, part.n)

    def measured(self) -> Measured[R] | None:
        """The number of at least two samples."""
        span = self.span()
        if span is None:
            return None
        return Measured(span.part.interval(), median_and_mad(in_ms(self.ns)), span)


def samples(values_ns: Sequence[int | None], ruler: type[R]) -> Samples[R]:
    """Values that a record keeps in ns; those that are None were not measured."""
    if isinstance(values_ns, Ns):
        return Samples(values_ns, ruler)
    return Samples(tuple(v for v in values_ns if v is not None), ruler)


def waited_for(values_ns: Sequence[int | None]) -> Samples[Synchronous]:
    """Rounds and their phases: they are waited for, whatever drafts and verifies in them."""
    return samples(values_ns, Synchronous)


def whole_passes(
    session: Session, part: str, runs: set[int] | None = None, manner: Manner | None = None
) -> dict[int, Samples[Synchronous]]:
    """Whole-graph passes that were waited for, by width; of some runs or one manner only, as `whole_probes` has it."""
    return {width: waited_for(values) for width, values in whole_probes(session, part, runs, manner).items()}


def shown_wall(session: Session, width: int) -> Samples[Synchronous]:
    """The whole target passes over a width that displays show: at the context of the blocks, none interrupted."""
    shown = shown_verify(session, width)
    return Samples(shown.totals_ns, Synchronous, shown.left_out)


def pipelined_steps(steps: Sequence[Step]) -> Samples[Pipelined] | None:
    """Steps of plain generation as the baseline of a verdict; None where any of them was waited for."""
    if not column_of(steps, "pipelined").all():
        return None
    return samples(ns_of(steps, "step_ns"), Pipelined)


def measured_by_width(by_width: Mapping[int, Samples[R]]) -> dict[int, Measured[R]]:
    """Numbers by width, in order of width; widths with fewer than two samples are left out."""
    found = {width: each.measured() for width, each in sorted(by_width.items())}
    return {width: number for width, number in found.items() if number is not None}
