"""Times whose ruler is part of their type: one ruler divides by itself, and two do not type-check.

`Span[Synchronous] / Span[Pipelined]` is an error for mypy and a RulerError when it runs. The two pairs of rulers that
may meet have functions of their own: `round_in_decode_steps` with its inverse `round_of_decode_steps`, and `gap`, in
`economics`. A span's bare milliseconds are for showing, never for dividing. Source: design, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar, overload

from ...engine.errors import SpecviewError
from .parts import Part, quotient, weighted_sum
from .statistics import Interval


class Ruler(StrEnum):
    """How a time was taken, as a word."""

    PIPELINED = "pipelined"
    SYNCHRONOUS = "synchronous"
    FENCED = "fenced"
    QUEUED = "queued"


class Pipelined:
    """Whole graph, plain decode, the next step submitted before this one is read: 1000 ÷ tok/s."""

    word: ClassVar = Ruler.PIPELINED


class Synchronous:
    """Whole graph, one pass or round, waited for."""

    word: ClassVar = Ruler.SYNCHRONOUS


class Fenced:
    """Blocks, each between fences."""

    word: ClassVar = Ruler.FENCED


class Queued:
    """Blocks, each by slope."""

    word: ClassVar = Ruler.QUEUED


# Constrained, not bound: a span "of some ruler" cannot be written, so nothing can divide two of them.
R = TypeVar("R", Pipelined, Synchronous, Fenced, Queued)


class RulerError(SpecviewError):
    """Two rulers met where only one may be."""


@dataclass(frozen=True, slots=True)
class Span(Generic[R]):
    """A mean time in ms with the ruler it was taken with.

    `se_ms` is its standard error, NaN where it is not known, and `n` how many independent values it rests on.
    """

    ms: float
    ruler: type[R]
    se_ms: float = math.nan
    n: float = 1.0

    def __add__(self, other: Span[R]) -> Span[R]:
        return combined([(1.0, self), (1.0, other)])

    def __sub__(self, other: Span[R]) -> Span[R]:
        return combined([(1.0, self), (-1.0, other)])

    def __mul__(self, factor: float) -> Span[R]:
        return Span(self.ms * factor, self.ruler, self.se_ms * abs(factor), self.n)

    __rmul__ = __mul__

    @overload
    def __truediv__(self, other: Span[R]) -> float: ...

    @overload
    def __truediv__(self, other: float) -> Span[R]: ...

    def __truediv__(self, other: Span[R] | float) -> Span[R] | float:
        if isinstance(other, Span):
            _one_ruler([self, other])
            return self.ms / other.ms
        return self * (1.0 / other)

    @property
    def mean(self) -> Span[R]:
        """The same time without its error, for curves of which only the means are drawn."""
        return Span(self.ms, self.ruler)

    @property
    def part(self) -> Part:
        """The same mean and error without the ruler."""
        return Part(self.ms, self.se_ms, self.n)

    def interval(self) -> Interval | None:
        """The 95% t interval in ms; None where the error is not known."""
        return None if math.isnan(self.se_ms) else self.part.interval()


def combined(terms: Sequence[tuple[float, Span[R]]]) -> Span[R]:
    """Σ weight · span of independent spans on one ruler; raises RulerError for two rulers or none."""
    ruler = _one_ruler([span for _, span in terms])
    if any(math.isnan(span.se_ms) for _, span in terms):
        return Span(math.fsum(weight * span.ms for weight, span in terms), ruler)
    total = weighted_sum([(weight, span.part) for weight, span in terms])
    return Span(total.mean, ruler, total.se, total.n)


def ratio(top: Span[R], bottom: Span[R]) -> Interval:
    """One ruler ÷ the same ruler with a 95% interval (its ends NaN where an error is not known), both above zero."""
    _one_ruler([top, bottom])
    return quotient([top.part], [bottom.part])


def _one_ruler(spans: Sequence[Span[R]]) -> type[R]:
    # A cast or a wrong annotation gets past the type checker; this it does not get past.
    if not spans:
        raise RulerError("A sum of no times has no ruler; measure something first.")
    ruler = spans[0].ruler
    if any(span.ruler is not ruler for span in spans):
        words = " and ".join(sorted({span.ruler.word for span in spans}))
        raise RulerError(f"These times are of two rulers, {words}; compare times of one ruler.")
    return ruler
