"""What costs alone say of drafting, with nothing generated: a round takes at least its verify pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..record.records import Probe
from ..record.session import Session
from .acceptance import tokens_from_alpha
from .alike_probes import alike, in_order
from .economics import NOTHING, break_even_verify, round_in_decode_steps, width_ratio
from .event_rows import columns_of
from .extrapolation import PlaceCost, ScaledPass, extrapolation
from .floor import pipelined_decode
from .manners import is_usual
from .places import block_probes, fenced_places, queued_places
from .readings import whole_passes
from .sided import one_side
from .spans import Pipelined, Span, Synchronous, ratio
from .statistics import Interval

GRID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsAlone:
    """Synchronous passes by width at one context, and T_decode where pipelined steps were timed (None otherwise).

    Drafts and the rest of a round are taken to cost nothing: what loses so loses with any drafter. Steps are pipelined
    decode steps where those are known, else synchronous passes over one position; `in_steps_of` names which.
    """

    context: int
    passes: Mapping[int, Span[Synchronous]]
    decode: Span[Pipelined] | None

    @property
    def in_steps_of(self) -> str:
        """What one step is."""
        return "pipelined decode steps" if self.decode is not None else "passes over one position"

    @property
    def widths(self) -> tuple[int, ...]:
        """The measured widths."""
        return tuple(sorted(self.passes))

    def steps(self, width: int) -> float:
        """R at the least: T_verify(width) in steps."""
        if self.decode is not None:
            return round_in_decode_steps(self.passes[width], self.decode)
        return width_ratio(self.passes[width], self.passes[1])

    def ratio(self, width: int) -> Interval:
        """T_verify(width) ÷ T_verify(1), both synchronous."""
        return ratio(self.passes[width], self.passes[1])

    def limit_ms(self, p: float, k: int) -> float:
        """The T_verify that breaks even at a conditional acceptance, in ms: E · T_decode, all else free."""
        tokens = tokens_from_alpha(p, k)
        if self.decode is not None:
            return break_even_verify(tokens, self.decode, NOTHING, NOTHING).ms
        return (self.passes[1] * tokens).ms

    def limit_steps(self, p: float, k: int) -> float:
        """The same in steps: E itself."""
        return tokens_from_alpha(p, k)

    def most_speedup(self, p: float, k: int) -> float:
        """S at the most: E ÷ R with drafts and rest free."""
        return tokens_from_alpha(p, k) / self.steps(k + 1)

    def crossing(self, k: int) -> float | None:
        """The least p at which drafts that cost nothing break even; None if none does."""
        needed = self.steps(k + 1)
        if needed > k + 1:
            return None
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if tokens_from_alpha(middle, k) < needed else (low, middle)
        return high if needed > 1 else 0.0


def costs_alone(session: Session) -> CostsAlone | None:
    """The costs at the context with most passes; None before one position and some more were timed twice there."""
    groups = [p for p in alike(one_side(session).probes) if p.one.ruler == "whole" and p.one.part == "verify"]
    contexts = Counter(in_order([p for p in groups if is_usual(p.one)]).column("context").tolist())
    for context, _ in sorted(contexts.items(), key=lambda each: (-each[1], each[0])):
        samples = whole_passes(_at(session, context), "verify")
        spans = {width: each.span() for width, each in samples.items()}
        passes = {width: span for width, span in sorted(spans.items()) if span is not None and span.ms > 0}
        if 1 in passes and len(passes) > 1:
            return CostsAlone(context=context, passes=passes, decode=pipelined_decode(session))
    return None


def in_full(session: Session, costs: CostsAlone, width: int) -> ScaledPass | None:
    """A pass of the whole architecture, extrapolated from the built layers; None where all were built.

    None too where no blocks were timed at that width.
    """
    model = session.header.model
    whole = extrapolation(model.layers, model.layers_in_full)
    probes = block_probes(session, width)
    queued = {**queued_places(probes, "hot"), **queued_places(probes, "cycled")}
    timed = {**{p: s.ms for p, s in fenced_places(probes).items()}, **{p: s.ms for p, s in queued.items()}}
    if whole is None or not timed or width not in costs.passes:
        return None
    places = [PlaceCost(place=p.block, category=p.category, ms=ms, detail=p.detail) for p, ms in timed.items()]
    return whole.whole_pass(costs.passes[width].ms, places)


def _at(session: Session, context: int) -> Session:
    probes = columns_of(session.probes, Probe)
    return replace(session, probes=probes.taken(probes.column("context") == context))
