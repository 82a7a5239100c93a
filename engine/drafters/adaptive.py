"""Adaptive draft length: before every round the k that yields most tokens a second, from measured costs; 0 is off.

T_round over k is not convex where T_verify has a cliff, so the rule that stops
at the first draft that does not pay can stop too early: the scan over measured
widths decides. A width that was not measured is never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import mul
from typing import Any

import mlx.core as mx

from ..limits import checked_draft_length
from ..sampling import Sampling
from .mtp import head_count
from .protocol import Draft, Drafter

PRIOR = 0.7
PRIOR_WEIGHT = 4.0  # drafts the prior counts for
MEMORY_ROUNDS = 64
RETRY_ROUNDS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingCosts:
    """Mean times in ns, by positions in the pass; what was not measured is left out.

    `step_ns_by_width` is empty for a drafter without steps, whose draft costs
    `search_ns`. `off_ns` is what a token costs when nothing is drafted; None
    takes T_verify(1) + T_rest, which is what this loop pays for it.
    """

    verify_ns_by_width: Mapping[int, float] = field(default_factory=dict)
    step_ns_by_width: Mapping[int, float] = field(default_factory=dict)
    rest_ns: float = 0.0
    search_ns: float = 0.0
    off_ns: float | None = None

    def lengths(self, most: int) -> tuple[int, ...]:
        """The k up to `most` whose cost is known, in order; 0 is off."""
        drafting = (n - 1 for n in self.verify_ns_by_width if 1 < n <= most + 1)
        off = (0,) if self.off_ns is not None or 1 in self.verify_ns_by_width else ()
        return (*off, *sorted(drafting))


def conditional_to_reached(acceptance: Sequence[float]) -> tuple[float, ...]:
    """From the chance of each draft given those before, the chance that all up to it are kept."""
    return tuple(accumulate(acceptance, mul))


def tokens_per_round(reached: Sequence[float]) -> float:
    """E = 1 + Σ r_i."""
    return 1.0 + sum(reached)


def draft_ns(costs: DraftingCosts, reached: Sequence[float], takes_in_accepted: bool, heads: int = 1) -> float:
    """T_draft of k = len(reached) steps with catch-up; a step wider than measured is taken as the widest below.

    A draft model's first step is two wide after full acceptance;
    `takes_in_accepted` is an MTP head's way: accepted + 1 positions every
    round, and one more in each further one of its `heads`. Source: design, section 2.
    """
    k = len(reached)
    if k == 0:
        return 0.0
    steps = costs.step_ns_by_width
    if not steps:
        return costs.search_ns
    if not takes_in_accepted:
        return k * _step_ns(steps, 1) + reached[-1] * (_step_ns(steps, 2) - _step_ns(steps, 1))
    ends, first_steps = (1.0, *reached, 0.0), min(heads, k)
    catching_up = sum(
        (ends[n - 1] - ends[n]) * _step_ns(steps, n + head) for n in range(1, k + 2) for head in range(first_steps)
    )
    return catching_up + (k - first_steps) * _step_ns(steps, 1)


def _step_ns(step_ns_by_width: Mapping[int, float], width: int) -> float:
    below = [n for n in step_ns_by_width if n <= width]
    return step_ns_by_width[max(below, default=min(step_ns_by_width))]


def round_ns(costs: DraftingCosts, reached: Sequence[float], takes_in_accepted: bool = False, heads: int = 1) -> float:
    """T_round of k = len(reached) drafts; k must be one of `costs.lengths`."""
    if not reached and costs.off_ns is not None:
        return costs.off_ns
    verify_ns = costs.verify_ns_by_width[len(reached) + 1]
    return verify_ns + draft_ns(costs, reached, takes_in_accepted, heads) + costs.rest_ns


def tokens_per_ns(
    costs: DraftingCosts, reached: Sequence[float], takes_in_accepted: bool = False, heads: int = 1
) -> float:
    """What a round of k = len(reached) drafts yields for its time; what is compared."""
    return tokens_per_round(reached) / round_ns(costs, reached, takes_in_accepted, heads)


def best_by_scan(
    costs: DraftingCosts, reached: Sequence[float], takes_in_accepted: bool = False, least: int = 0, heads: int = 1
) -> int | None:
    """The measured k from `least` to len(reached) with most tokens per time, the shorter of two alike; None: none."""
    known = [k for k in costs.lengths(len(reached)) if k >= least]
    return max(known, key=lambda k: tokens_per_ns(costs, reached[:k], takes_in_accepted, heads), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """How often drafts were judged and kept, by position, older rounds counting less."""

    kept: tuple[float, ...]
    judged: tuple[float, ...]
    prior: float = PRIOR

    def after(self, drafted: int, accepted: int, memory_rounds: float) -> Estimates:
        """With one more round; positions behind the first rejected draft were not judged."""
        fade = 1 - 1 / memory_rounds
        judged_now = min(accepted + 1, drafted)
        return replace(
            self,
            kept=tuple(fade * n + (i < accepted) for i, n in enumerate(self.kept)),
            judged=tuple(fade * n + (i < judged_now) for i, n in enumerate(self.judged)),
        )

    def pooled(self) -> float:
        """One conditional acceptance over all positions, with the prior in it."""
        return (PRIOR_WEIGHT * self.prior + sum(self.kept)) / (PRIOR_WEIGHT + sum(self.judged))

    def by_position(self) -> tuple[float, ...]:
        """The chance of each draft given those before; a position seldom judged is near the pooled one."""
        pooled = self.pooled()
        return tuple(
            (PRIOR_WEIGHT * pooled + kept) / (PRIOR_WEIGHT + judged)
            for kept, judged in zip(self.kept, self.judged, strict=True)
        )


@dataclass(frozen=True, slots=True)
class AdaptiveMark:
    """A moment of the wrapped drafter, and what was known of its acceptance."""

    inner: Any
    estimates: Estimates
    rounds_off: int


class AdaptiveDrafter:
    """Any drafter, asked for as many tokens as pay: at most `k_max`, and none while drafting loses.

    It reads no clock: costs are handed in, and kept up to date by `learn`.
    Acceptance is its own running estimate for this text; it starts from
    `prior`, and forgets over `memory_rounds` rounds. Until a wider pass than
    one position is known it drafts all that is asked for. While off it drafts
    once in `retry_rounds` rounds, so that a text that became easy is noticed.
    """

    def __init__(
        self,
        drafter: Drafter,
        k_max: int,
        costs: DraftingCosts | None = None,
        prior: float = PRIOR,
        memory_rounds: float = MEMORY_ROUNDS,
        retry_rounds: int = RETRY_ROUNDS,
    ) -> None:
        """Raises DraftLengthError for a k_max outside 0 … 64."""
        self.drafter = drafter
        self.k_max = checked_draft_length(k_max)
        self.costs = DraftingCosts() if costs is None else costs
        self.kind = drafter.kind
        self.needs_hidden = drafter.needs_hidden
        self.has_steps = drafter.has_steps
        self._memory_rounds, self._retry_rounds = memory_rounds, retry_rounds
        nothing = (0.0,) * k_max
        self._fresh = Estimates(kept=nothing, judged=nothing, prior=prior)
        self.estimates = self._fresh
        self._rounds_off = 0
        self._drafted = 0

    @property
    def sampling(self) -> Sampling | None:
        """How the wrapped drafter draws."""
        return self.drafter.sampling

    @sampling.setter
    def sampling(self, sampling: Sampling | None) -> None:
        self.drafter.sampling = sampling

    def learn(
        self,
        *,
        verify_ns_by_width: Mapping[int, float] | None = None,
        step_ns_by_width: Mapping[int, float] | None = None,
        rest_ns: float | None = None,
        search_ns: float | None = None,
        off_ns: float | None = None,
    ) -> None:
        """Take in mean times measured since; a width given again replaces what was known of it, others stay."""
        known = self.costs
        self.costs = DraftingCosts(
            verify_ns_by_width={**known.verify_ns_by_width, **(verify_ns_by_width or {})},
            step_ns_by_width={**known.step_ns_by_width, **(step_ns_by_width or {})},
            rest_ns=known.rest_ns if rest_ns is None else rest_ns,
            search_ns=known.search_ns if search_ns is None else search_ns,
            off_ns=known.off_ns if off_ns is None else off_ns,
        )

    def choice(self, k: int) -> int:
        """How many tokens the next round drafts when at most k are asked for; changes nothing."""
        most = min(k, self.k_max)
        reached = conditional_to_reached(self.estimates.by_position()[:most])
        heads = head_count(self.drafter)
        drafting = best_by_scan(self.costs, reached, self.needs_hidden, least=1, heads=heads)
        if drafting is None:
            return most
        untried = sum(self.estimates.judged) == 0
        if untried or self._rounds_off >= self._retry_rounds:
            return drafting
        best = best_by_scan(self.costs, reached, self.needs_hidden, heads=heads)
        return drafting if best is None else best

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Start on a text: what was learned of another's acceptance does not count, costs do."""
        self.estimates, self._rounds_off, self._drafted = self._fresh, 0, 0
        self.drafter.begin(tokens, hidden)

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """At most `choice(k)` guesses."""
        chosen = self.choice(k)
        self._rounds_off = 0 if chosen else self._rounds_off + 1
        draft = self.drafter.draft(tokens, chosen)
        self._drafted = draft.tokens.shape[0]
        return draft

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Count what was kept, and tell the wrapped drafter."""
        if self._drafted:
            self.estimates = self.estimates.after(self._drafted, accepted, self._memory_rounds)
        self._drafted = 0
        self.drafter.settle(tokens, accepted, hidden)

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """A step of the wrapped drafter."""
        return self.drafter.step(tokens)

    def take_back(self, width: int) -> None:
        """Undo a step of the wrapped drafter."""
        self.drafter.take_back(width)

    def mark(self) -> AdaptiveMark:
        """A moment, with the estimates of then: arms that share it choose alike."""
        return AdaptiveMark(self.drafter.mark(), self.estimates, self._rounds_off)

    def restore(self, mark: AdaptiveMark) -> None:
        """Come back to a moment; costs are not forgotten."""
        self.estimates, self._rounds_off, self._drafted = mark.estimates, mark.rounds_off, 0
        self.drafter.restore(mark.inner)

    def weight_bytes(self) -> int:
        """Bytes of the wrapped drafter's weights."""
        return self.drafter.weight_bytes()

    def cache_bytes(self) -> int:
        """Bytes of the wrapped drafter's caches."""
        return self.drafter.cache_bytes()


def adaptive(drafter: Drafter, k_max: int, costs: DraftingCosts | None = None) -> AdaptiveDrafter:
    """The same drafter with its length chosen before every round, at most `k_max`; raises DraftLengthError."""
    return AdaptiveDrafter(drafter, k_max, costs)
