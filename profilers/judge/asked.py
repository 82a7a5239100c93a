"""What if p, k, T_verify or T_draft were other: every number of a round that follows, by the formulas, means only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from ...engine.errors import SpecviewError
from .asked_batch import ask_batch, free_limit_ms
from .batch import BatchCosts
from .break_even import BreakEvenLine, break_even_line
from .economics import round_in_decode_steps, speedup
from .ledger import Ledger
from .question import FREE, Asked, Question, over_p, p_of
from .spans import combined


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBasis:
    """The break-even line of a drafter as it ran; `line_at` gives that of another k, or raises where it is unknown."""

    here: BreakEvenLine
    line_at: Callable[[int], BreakEvenLine]
    lengths: tuple[int, ...]
    batch_costs: Mapping[int, BatchCosts]
    measured: bool = True
    whole: bool = False
    free: bool = False

    @property
    def k(self) -> int:
        """The draft length as it ran."""
        return self.here.k

    @property
    def batches(self) -> tuple[int, ...]:
        """The batches that were measured."""
        return tuple(sorted(self.batch_costs))

    def line(self, question: Question) -> BreakEvenLine:
        """The line that a question moves to; SpecviewError where that is not measured."""
        k = question.k
        line = self.here if k is None or k == self.here.k else self.line_at(k)
        if question.verify != 1.0 and self.whole:
            raise SpecviewError("Draft and verify are not told apart here, so T_verify alone cannot be asked about.")
        if question.draft != 1.0 and line.draft.ms <= 0:
            raise SpecviewError("No draft was timed here, so T_draft cannot be asked about: it counts as free.")
        return scaled(line, question.verify, question.draft)

    def ask(self, question: Question) -> Asked:
        """The numbers that follow."""
        p = p_of(question, self.here.alpha.estimate)
        if question.batch not in (None, 1):
            return ask_batch(self.batch_costs, question, p, question.k or self.k)
        return ask_line(self.line(question), p, free=self.free)

    def speedup(self, question: Question) -> float:
        """S alone."""
        if question.batch not in (None, 1):
            return self.ask(question).speedup
        return self.line(question).speedup(p_of(question, self.here.alpha.estimate))

    def limits_ms(self, question: Question) -> tuple[float, ...]:
        """The dearest T_verify with S = 1 over p."""
        if question.batch not in (None, 1):
            decode = self.batch_costs[question.batch or 1].decode
            return over_p(lambda p: free_limit_ms(decode, p, question.k or self.k))
        return over_p(self.line(question).limit_ms)


def recorded_basis(
    ledger: Ledger, share_by_drafted: Mapping[int, float], batch_costs: Mapping[int, BatchCosts] | None = None
) -> LineBasis:
    """What a ledger can be asked; raises SpecviewError as `break_even_line` does."""
    here = break_even_line(ledger, share_by_drafted)

    @cache
    def line_at(k: int) -> BreakEvenLine:
        return break_even_line(ledger, share_by_drafted, k)

    lengths = {here.k, *(width - 1 for width in ledger.verify_by_width if width > 1)}
    return LineBasis(
        here=here,
        line_at=line_at,
        lengths=tuple(sorted(lengths)),
        batch_costs=batch_costs or {},
    )


def asked(ledger: Ledger, share_by_drafted: Mapping[int, float], question: Question) -> Asked:
    """Every derived number of a ledger's round at a question; SpecviewError where it cannot be asked."""
    return recorded_basis(ledger, share_by_drafted).ask(question)


def ask_line(line: BreakEvenLine, alpha: float, *, free: bool = False) -> Asked:
    """The numbers of a line at a conditional acceptance."""
    tokens, draft = line.tokens(alpha), line.draft_at(alpha)
    whole = combined([(1.0, line.verify), (1.0, draft), (1.0, line.rest)])
    full = combined([(1.0, line.verify), (1.0, line.draft_at(1.0)), (1.0, line.rest)])
    steps = round_in_decode_steps(whole, line.decode)
    nothing = free and draft.ms == 0
    return Asked(
        k=line.k,
        batch=1,
        alpha=alpha,
        tokens=tokens,
        decode_ms=line.decode.ms,
        verify_ms=line.verify.ms,
        draft_ms=None if nothing else draft.ms,
        rest_ms=None if nothing else line.rest.ms,
        round_ms=whole.ms,
        round_steps=steps,
        speedup=speedup(tokens, steps),
        tokens_per_second=1000.0 * tokens / whole.ms,
        limit_ms=line.limit_ms(alpha),
        limit_steps=line.limit_steps(alpha),
        crossing=line.crossing(),
        full_steps=round_in_decode_steps(full, line.decode),
        most_tokens=line.tokens(1.0),
        note="; ".join(text for text in (line.inferred, FREE if nothing else "") if text),
    )


def scaled(line: BreakEvenLine, verify: float, draft: float) -> BreakEvenLine:
    """The line with T_verify and T_draft multiplied, catch-up too."""
    if verify == 1.0 and draft == 1.0:
        return line
    if verify < 0 or draft < 0:
        raise SpecviewError("A time cannot be below zero; ask for less of a change.")
    return replace(
        line,
        verify=line.verify * verify,
        draft=line.draft * draft,
        draft_by_width={width: step * draft for width, step in line.draft_by_width.items()},
    )
