"""A question about several sequences at once, answered from passes of that batch alone: drafts cost nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...engine.errors import SpecviewError
from .acceptance import tokens_from_alpha
from .batch import BatchCosts, divide_batch
from .division import Conditional
from .economics import NOTHING, break_even_verify
from .question import FREE, Asked, Question
from .spans import Pipelined, Span, Synchronous


def ask_batch(costs_by_batch: Mapping[int, BatchCosts], question: Question, p: float, k: int) -> Asked:
    """A round of several sequences, from passes of that batch alone: drafts cost nothing, so S is at most."""
    batch = question.batch or 1
    if not costs_by_batch:
        raise SpecviewError(
            "No batch was timed in this session; specview batch times plain decode and verify by batch."
        )
    if batch not in costs_by_batch:
        known = ", ".join(map(str, sorted(costs_by_batch)))
        raise SpecviewError(f"A batch of {batch} was not timed, only {known}; between them it may jump.")
    if question.draft != 1.0:
        raise SpecviewError("No draft was timed for several sequences at once, so T_draft counts as free there.")
    costs = costs_by_batch[batch]
    verify = costs.round.verify_by_width.get(k + 1)
    if verify is None:
        raise SpecviewError(
            f"k = {k} needs verify over {k + 1} positions at a batch of {batch}, which is not measured."
        )
    moved: Span[Synchronous] = verify * question.verify
    wide = {**costs.round.verify_by_width, k + 1: moved}
    row = divide_batch(replace(costs, round=replace(costs.round, verify_by_width=wide)), Conditional(alpha=p), k, batch)

    return Asked(
        k=k,
        batch=batch,
        alpha=p,
        tokens=row.tokens_per_round,
        decode_ms=row.decode_ms,
        verify_ms=row.verify_ms,
        draft_ms=None,
        rest_ms=None,
        round_ms=row.round_ms,
        round_steps=row.round_steps,
        speedup=row.speedup,
        tokens_per_second=row.tokens_per_second,
        limit_ms=free_limit_ms(costs.decode, p, k),
        limit_steps=row.tokens_per_round,
        crossing=_least(row.round_steps, k),
        full_steps=row.round_steps,
        most_tokens=k + 1.0,
        note=FREE,
    )


def free_limit_ms(decode: Span[Pipelined], p: float, k: int) -> float:
    """The dearest T_verify in ms with S = 1 where drafts and the rest cost nothing."""
    return break_even_verify(tokens_from_alpha(p, k), decode, NOTHING, NOTHING).ms


def _least(steps: float, k: int) -> float | None:
    """The least α whose E reaches so many decode steps."""
    if steps > k + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_from_alpha(middle, k) < steps else (low, middle)
    return high if steps > 1 else 0.0
