"""T_round from its parts: what free rounds should take, and what a fully accepted round costs.

The parts are verify passes and drafter steps timed alone, both together
without a fence (their overlap, which a catch-up changes), and the rest of split
rounds; acceptance comes from split rounds. Nothing here comes from the free
rounds it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ..record.records import Round
from .acceptance import count_rounds
from .economics import DrafterKind, draft_steps, drafter_kind, round_steps
from .event_rows import Ns, chosen, column_of, joined, mean, ns_of
from .numbers import MS
from .parts import part_from
from .prediction import Prediction, PredictionError, PredictionFacts, PredictionParts, explain, predict
from .readings import Samples, waited_for
from .spans import Pipelined, Span, Synchronous, combined, ratio
from .statistics import Interval
from .visits import Segment, Setting, tokens_per_ns


@dataclass(frozen=True, slots=True)
class Timed:
    """What a forecast is made of: split rounds, probe samples by width, and rounds without a fence.

    Those were timed after rounds that accepted nothing, and after ones that accepted all.
    """

    setting: Setting
    splits: Sequence[Round]
    verify_widths: Mapping[int, Samples[Synchronous]]
    draft_widths: Mapping[int, Samples[Synchronous]]
    rounds_together: Samples[Synchronous]
    rounds_after_all: Samples[Synchronous]
    decode: Span[Pipelined]

    @property
    def kind(self) -> DrafterKind:
        """What kind of drafter it is."""
        return drafter_kind(self.setting.drafter, self.setting.adaptive)

    def steps(self, cumulative: Sequence[float]) -> dict[int, float]:
        """Drafter steps of a round at an acceptance, by width."""
        return draft_steps(self.kind, cumulative, self.setting.heads or 1)

    def verify(self) -> Span[Synchronous] | None:
        """T_verify over the widths that occur, each timed alone; a width without probes comes from split rounds."""
        terms = []
        for width, share in shares_by_width(self.splits).items():
            own = _at(self.verify_widths, width) or _mean(
                chosen(self.splits, column_of(self.splits, "width") == width), "verify_ns"
            )
            if own is None:
                return _mean(self.splits, "verify_ns")
            terms.append((share, own))
        return combined(terms)

    def draft(self, cumulative: Sequence[float]) -> Span[Synchronous] | None:
        """T_draft at an acceptance, catch-up included; from split rounds where steps were not timed alone."""
        steps = self.steps(cumulative)
        terms = [(count, _at(self.draft_widths, width)) for width, count in steps.items()]
        known = [(count, own) for count, own in terms if own is not None]
        if not terms or len(known) < len(terms):
            return _mean(self.splits, "draft_ns")
        return combined(known)

    def overlap_ms(self) -> float | None:
        """What k drafter steps and a verify pass hide behind each other when nothing waits between them, in ms."""
        verify = _at(self.verify_widths, self.setting.k + 1)
        beside = self._beside(cumulative_of(self.splits, self.setting.k)) if len(self.splits) > 1 else None
        return None if verify is None or beside is None else verify.ms - combined(beside).ms

    def verify_beside_draft(self, cumulative: Sequence[float]) -> Span[Synchronous] | None:
        """T_verify less what it hides behind the draft at an acceptance: what a free round pays for it."""
        beside = self._beside(cumulative) if _at(self.verify_widths, self.setting.k + 1) is not None else None
        return self.verify() if beside is None else combined(beside)

    def _beside(self, cumulative: Sequence[float]) -> list[tuple[float, Span[Synchronous]]] | None:
        """Rounds without a fence less their drafts, so much of those after full acceptance as such catch-ups occur."""
        after_none, after_all = (
            self._less_draft(rounds, accepted)
            for rounds, accepted in ((self.rounds_together, 0.0), (self.rounds_after_all, 1.0))
        )
        if after_none is None or after_all is None or not cumulative:
            return after_none
        caught_up = fmean(cumulative) if self.kind is DrafterKind.MTP else cumulative[-1]
        return [
            *(((1.0 - caught_up) * count, span) for count, span in after_none),
            *((caught_up * count, span) for count, span in after_all),
        ]

    def _less_draft(
        self, rounds: Samples[Synchronous], accepted: float
    ) -> list[tuple[float, Span[Synchronous]]] | None:
        """Rounds without a fence, and the steps of their drafts to be taken off; None where one was not timed."""
        together, k = rounds.span(), self.setting.k
        steps = self.steps((accepted,) * k) or {1: float(k)}
        drafts = [(-count, _at(self.draft_widths, width)) for width, count in steps.items()]
        known = [(count, own) for count, own in drafts if own is not None]
        return None if together is None or len(known) < len(drafts) else [(1.0, together), *known]

    def catch_up_ms(self, cumulative: Sequence[float]) -> float | None:
        """What the draft costs beyond k steps one position wide, in ms."""
        single = _at(self.draft_widths, 1)
        steps = self.steps(cumulative)
        widths = [(count, _at(self.draft_widths, width)) for width, count in steps.items()]
        if single is None or not steps or any(own is None for _, own in widths):
            return None
        return sum(count * (own - single).ms for count, own in widths if own is not None)


def cumulative_of(splits: Sequence[Round], k: int) -> tuple[float, ...]:
    """Share of rounds that accepted at least i drafts, i = 1 … k."""
    counts = count_rounds(np.stack((column_of(splits, "drafted"), column_of(splits, "accepted")), axis=1))
    shares = [c.estimate for c in counts.cumulative]
    return tuple(shares[:k]) + (0.0,) * (k - len(shares))


def at_full_acceptance(timed: Timed) -> tuple[Interval | None, float | None]:
    """R when every draft is accepted, catch-up included, and the tokens such a round yields.

    Rewinding is left out, because nothing is rewound. Lookup: over the widths that occur.
    """
    splits, k = timed.splits, timed.setting.k
    if len(splits) < 2 or k == 0:
        return None, None
    rests, rewinds = (np.maximum(column_of(splits, name), 0) for name in ("rest_ns", "rewind_ns"))
    rest = waited_for(Ns(rests - rewinds)).span()
    verify, draft = timed.verify_beside_draft((1.0,) * k), timed.draft((1.0,) * k)
    if verify is None or draft is None or rest is None:
        return None, None
    most = mean(column_of(splits, "drafted")) + 1
    return round_steps(combined([(1.0, verify), (1.0, draft), (1.0, rest)]), timed.decode), most


def forecast(
    timed: Timed, pairs: Sequence[Segment]
) -> tuple[Prediction | None, PredictionError | None, tuple[str, ...]]:
    """Free rounds as the parts predict them, against the free rounds of the segments that held split rounds.

    Those two sets of rounds read the same text, so tokens per round are one
    number for both and the error is that of T_round.
    """
    both = [s for s in pairs if s.splits]
    splits, free = joined(s.splits for s in both), joined(s.rounds for s in both)
    if len(splits) < 2 or len(free) < 2:
        return None, None, ()
    cumulative = cumulative_of(splits, timed.setting.k)
    verify, draft = timed.verify_beside_draft(cumulative), timed.draft(cumulative)
    rest = _mean(splits, "rest_ns")
    measured_round = _mean(free, "round_ns")
    if verify is None or draft is None or rest is None or measured_round is None:
        return None, None, ()
    tokens = part_from(column_of(splits, "tokens").astype(float))
    prediction = predict(PredictionParts(draft, verify, rest, tokens, timed.decode))
    # On logs, because a t interval over a few unsteady rounds can reach below zero.
    slower = ratio(measured_round, combined([(1.0, draft), (1.0, verify), (1.0, rest)]))
    measured = tokens_per_ns(free) * 1e9
    predicted = prediction.tokens_per_second.estimate
    off = predicted / measured / slower.estimate
    error = PredictionError(predicted, measured, predicted / measured - 1, slower.low * off - 1, slower.high * off - 1)
    return prediction, error, explain(error, _differences(splits, free, rest))


def split_cost(pairs: Sequence[Segment]) -> float | None:
    """Split round ÷ free round of the same segments − 1: what the fences cost."""
    both = [s for s in pairs if s.splits]
    splits, free = joined(s.splits for s in both), joined(s.rounds for s in both)
    if not len(splits) or not len(free):
        return None
    return mean(column_of(splits, "round_ns")) / mean(column_of(free, "round_ns")) - 1


def shares_by_width(rounds: Sequence[Round]) -> dict[int, float]:
    """Share of rounds by the width of their verify pass."""
    if not len(rounds):
        return {}
    widths, firsts, counts = np.unique(column_of(rounds, "width"), return_index=True, return_counts=True)
    return {int(widths[i]): int(counts[i]) / len(rounds) for i in np.argsort(firsts)}


def _differences(splits: Sequence[Round], free: Sequence[Round], rest: Span[Synchronous]) -> PredictionFacts:
    split_mean, free_mean = mean(column_of(splits, "round_ns")), mean(column_of(free, "round_ns"))
    return PredictionFacts(
        split_rounds=len(splits),
        free_rounds=len(free),
        split_share_by_width=shares_by_width(splits),
        free_share_by_width=shares_by_width(free),
        split_context=mean(column_of(splits, "context")),
        free_context=mean(column_of(free, "context")),
        rest_share=rest / Span(split_mean * MS, Synchronous),
        fence_cost=split_mean / free_mean - 1,
    )


def _mean(rounds: Sequence[Round], name: str) -> Span[Synchronous] | None:
    return waited_for(ns_of(rounds, name)).span()


def _at(by_width: Mapping[int, Samples[Synchronous]], width: int) -> Span[Synchronous] | None:
    return by_width[width].span() if width in by_width else None
