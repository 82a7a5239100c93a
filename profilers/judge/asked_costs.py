"""Questions asked of passes alone, with nothing generated: what drafts could give at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...engine.errors import SpecviewError
from .acceptance import tokens_from_alpha
from .asked_batch import ask_batch, free_limit_ms
from .batch import BatchCosts
from .costs_alone import CostsAlone
from .economics import speedup
from .question import FREE, FROM_HALF, Asked, Question, not_measured, over_p, p_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsBasis:
    """Passes alone, nothing generated: drafts and the rest of a round are taken to cost nothing."""

    costs: CostsAlone
    batch_costs: Mapping[int, BatchCosts]
    measured: bool = False
    whole: bool = False
    free: bool = True

    @property
    def k(self) -> int:
        """The shortest draft whose verify width was timed."""
        return min(width for width in self.costs.widths if width > 1) - 1

    @property
    def lengths(self) -> tuple[int, ...]:
        """Those with a measured verify width."""
        return tuple(width - 1 for width in self.costs.widths if width > 1)

    @property
    def batches(self) -> tuple[int, ...]:
        """The batches that were measured."""
        return tuple(sorted(self.batch_costs))

    def ask(self, question: Question) -> Asked:
        """The numbers that follow, at most: a real drafter costs something."""
        k, p = question.k or self.k, p_of(question, FROM_HALF)
        if question.draft != 1.0:
            raise SpecviewError("Nothing was drafted here, so T_draft cannot be asked about: it counts as free.")
        if question.batch not in (None, 1):
            return ask_batch(self.batch_costs, question, p, k)
        if k + 1 not in self.costs.passes:
            raise not_measured(k)
        costs = self.costs
        if question.verify != 1.0:
            wide = {width: span * question.verify for width, span in costs.passes.items() if width > 1}
            costs = replace(costs, passes={**costs.passes, **wide})
        tokens, steps, verify_ms = tokens_from_alpha(p, k), costs.steps(k + 1), costs.passes[k + 1].ms
        return Asked(
            k=k,
            batch=1,
            alpha=p,
            tokens=tokens,
            decode_ms=(costs.passes[1] if costs.decode is None else costs.decode).ms,
            verify_ms=verify_ms,
            draft_ms=None,
            rest_ms=None,
            round_ms=verify_ms,
            round_steps=steps,
            speedup=speedup(tokens, steps),
            tokens_per_second=1000.0 * tokens / verify_ms,
            limit_ms=costs.limit_ms(p, k),
            limit_steps=costs.limit_steps(p, k),
            crossing=costs.crossing(k),
            full_steps=steps,
            most_tokens=k + 1.0,
            note=FREE,
        )

    def speedup(self, question: Question) -> float:
        """S alone."""
        return self.ask(question).speedup

    def limits_ms(self, question: Question) -> tuple[float, ...]:
        """The dearest T_verify with S = 1 over p."""
        k = question.k or self.k
        if question.batch not in (None, 1):
            decode = self.batch_costs[question.batch or 1].decode
            return over_p(lambda p: free_limit_ms(decode, p, k))
        return over_p(lambda p: self.costs.limit_ms(p, k))
