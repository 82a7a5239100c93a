"""Which draft length wins most: a scan over all measured widths, and what the marginal rule says about the next one.

T_round over k is not convex where T_verify has a cliff: behind one, more drafts may pay again, so the rule that stops
at the first draft that does not pay can stop too early. The scan decides, and says where it overrules the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ...engine.errors import SpecviewError
from .division import AnyAcceptance, Division, cumulative_at, divide
from .economics import RoundCosts, round_in_decode_steps, round_time
from .spans import Pipelined, Span

WORTH_SAYING = 0.02  # less is noise between widths, not a cliff


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """Drafting `to_k` tokens rather than `k`: what it adds to E, and to T_round in ms and decode steps.

    `allowed_ms` is the most it may add for S to stay as it is at `k`.
    """

    k: int
    to_k: int
    gained_tokens: float
    added_ms: float
    added_steps: float
    allowed_ms: float

    @property
    def pays(self) -> bool:
        """Whether S rises: ΔE ÷ E is above ΔT ÷ T."""
        return self.added_ms < self.allowed_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The division at every k that could be reckoned, in order of k, with the steps between neighbours.

    `left_out` are the k asked for whose width or drafter step was not measured, or whose acceptance is not known.
    """

    rows: tuple[Division, ...]
    steps: tuple[Marginal, ...]
    left_out: tuple[int, ...]

    @property
    def best(self) -> Division:
        """The row with the largest S, the shorter draft of two alike."""
        return max(self.rows, key=lambda row: row.speedup)

    @property
    def best_k(self) -> int:
        """The k to draft, 0 for off where no k is faster than plain decode."""
        return self.best.k if self.best.speedup > 1 else 0

    @property
    def by_the_rule(self) -> int:
        """Where the marginal rule stops: the first k after which the next measured one does not pay."""
        return next((step.k for step in self.steps if not step.pays), self.rows[-1].k)

    def sentence(self) -> str:
        """What to draft and why, in words."""
        best = self.best
        if self.best_k == 0:
            return f"Turn drafting off: the best of the measured k, {best.k}, runs at {best.speedup:.2f}x."
        said = f"Draft {best.k} a round: {best.speedup:.2f}x of plain decode, the most of the measured k."
        stop = next(row for row in self.rows if row.k == self.by_the_rule)
        if best.speedup > stop.speedup * (1 + WORTH_SAYING):
            why = "the next draft by itself does not pay"
            said += f" Step by step one would stop at k = {stop.k} ({stop.speedup:.2f}x): {why}."
        return said


def scan(
    costs: RoundCosts, given: AnyAcceptance, decode: Span[Pipelined], lengths: Iterable[int] | None = None
) -> Scan:
    """The division at each k, or at each k whose verify width was measured; SpecviewError where none can be reckoned.

    An acceptance known by position reaches as far as its positions; any other is taken as one α at every position.
    """
    asked = sorted({n - 1 for n in costs.verify_by_width if n > 1} if lengths is None else set(lengths))
    rows, left_out, why = [], [], SpecviewError("Give at least one draft length, and verify passes over its width.")
    for k in asked:
        try:
            rows.append(divide(costs, given, k, decode))
        except SpecviewError as error:
            left_out.append(k)
            why = error
    if not rows:
        raise why
    steps = tuple(marginal(costs, given, a.k, b.k, decode) for a, b in pairwise(rows))
    return Scan(rows=tuple(rows), steps=steps, left_out=tuple(left_out))


def marginal(costs: RoundCosts, given: AnyAcceptance, k: int, to_k: int, decode: Span[Pipelined]) -> Marginal:
    """What the positions after k, up to `to_k`, add; both k at least 1 and measured."""
    short, long = cumulative_at(given, k), cumulative_at(given, to_k)
    now, then = round_time(costs, short), round_time(costs, long)
    gained = math.fsum(long) - math.fsum(short)
    return Marginal(
        k=k,
        to_k=to_k,
        gained_tokens=gained,
        added_ms=(then - now).ms,
        added_steps=round_in_decode_steps(then - now, decode),
        allowed_ms=(now * (gained / (1.0 + math.fsum(short)))).ms,
    )
