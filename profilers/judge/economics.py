"""What a round costs and what it must yield: the formulas of speculative decoding as small pure functions.

Times carry their ruler (`spans`). `cumulative` is the share of rounds that
accepted at least i drafts, i = 1 … k; its length is k. Source: design, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...engine.errors import SpecviewError
from .acceptance import cumulative_from_alpha, tokens_from_alpha
from .parts import Part, quotient, weighted_sum
from .spans import Pipelined, Queued, R, RulerError, Span, Synchronous, combined
from .statistics import Interval, ratio_of_means_interval

NOTHING = Span(0.0, Synchronous, 0.0)


class DrafterKind(StrEnum):
    """What catches up, and how, decides the cost of a draft."""

    MODEL = "model"
    MTP = "mtp"
    LOOKUP = "lookup"
    NONE = "none"


def drafter_kind(name: str, adaptive: bool = False) -> DrafterKind:
    """The kind behind a drafter's name in a session: a path, a hub id or a copy of the target is a draft model.

    A drafter of fixed acceptance has no steps, and one that chooses each round's length has no length of its own:
    both count like a lookup, over the widths that occur, with the mean draft of split rounds.
    """
    if adaptive or name.partition(":")[0] == "fixed":
        return DrafterKind.LOOKUP
    return DrafterKind(name) if name in set(DrafterKind) else DrafterKind.MODEL


@dataclass(frozen=True, slots=True)
class Gap:
    """Whole-graph wall that is in no block: in ms, as a share of the sum, and as a share of the wall.

    `interval` is that of the ms, where the errors of both sides are known.
    """

    ms: float
    of_sum: float
    of_wall: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class RoundCosts:
    """The mean times a round is built from, by positions in the pass; `search` is a lookup's search.

    `heads` is how many MTP heads draft, each with a first step of its own.
    """

    kind: DrafterKind
    verify_by_width: Mapping[int, Span[Synchronous]]
    draft_by_width: Mapping[int, Span[Synchronous]]
    rest: Span[Synchronous]
    search: Span[Synchronous] = NOTHING
    heads: int = 1


def round_in_decode_steps(round_time: Span[Synchronous], decode: Span[Pipelined]) -> float:
    """R = T_round ÷ T_decode, or a part of a round in decode steps; the first of the two pairs of rulers that may meet.

    A round is always synchronous and plain decode always pipelined. Raises RulerError for any other pair.
    """
    _baseline(round_time, decode)
    return round_time.ms / decode.ms


def round_of_decode_steps(steps: float, decode: Span[Pipelined]) -> Span[Synchronous]:
    """The round that costs so many decode steps: `round_in_decode_steps` the other way round."""
    _baseline(NOTHING, decode)
    return Span(steps * decode.ms, Synchronous, abs(steps) * decode.se_ms, decode.n)


def round_steps(round_time: Span[Synchronous], decode: Span[Pipelined]) -> Interval:
    """`round_in_decode_steps` of independent times with its 95% interval."""
    _baseline(round_time, decode)
    return quotient([round_time.part], [decode.part])


def round_steps_over(rounds: Sequence[Span[Synchronous]], decodes: Sequence[Span[Pipelined]]) -> Interval:
    """R over units (prompts or segments, one pair of means each, at least two) with its 95% interval."""
    for round_time, decode in zip(rounds, decodes, strict=True):
        _baseline(round_time, decode)
    return ratio_of_means_interval([r.ms for r in rounds], [d.ms for d in decodes])


def speedup_interval(tokens: Part, round_time: Span[Synchronous], decode: Span[Pipelined]) -> Interval:
    """S = E · T_decode ÷ T_round of independent parts with its 95% interval."""
    _baseline(round_time, decode)
    return quotient([tokens, decode.part], [round_time.part])


def width_ratio(wide: Span[R], single: Span[R]) -> float:
    """T(n) ÷ T(1) of one thing, on one ruler; raises RulerError for two."""
    return wide / single


def gap(wall: Span[Synchronous], blocks: Span[Queued]) -> Gap:
    """Synchronous whole-graph wall minus the queued sum of its blocks; the second pair of rulers that may meet.

    Raises RulerError for any other pair.
    """
    if wall.ruler is not Synchronous or blocks.ruler is not Queued:
        raise RulerError("The gap is a synchronous whole-graph wall minus a queued sum; measure those two.")
    left = weighted_sum([(1.0, wall.part), (-1.0, blocks.part)])
    interval = None if math.isnan(left.se) else left.interval()
    return Gap(left.mean, left.mean / blocks.ms, left.mean / wall.ms, interval)


def _baseline(round_time: Span[Synchronous], decode: Span[Pipelined]) -> None:
    if round_time.ruler is not Synchronous or decode.ruler is not Pipelined:
        raise RulerError(
            f"A verdict divides a whole round by whole pipelined decode; these are {round_time.ruler.word} and "
            f"{decode.ruler.word}, two rulers whose quotient can turn a loss into a win."
        )


def decode_from(tokens_per_second: float) -> Span[Pipelined]:
    """T_decode = 1000 ÷ measured tok/s."""
    return Span(1000.0 / tokens_per_second, Pipelined)


def speedup(tokens_per_round: float, round_steps: float) -> float:
    """S = E ÷ R, which is E · T_decode ÷ T_round."""
    return tokens_per_round / round_steps


def draft_steps(kind: DrafterKind, cumulative: Sequence[float], heads: int = 1) -> dict[int, float]:
    """Expected drafter steps of a round by their width in positions, catch-up included, in steady state.

    A draft model's first step is two wide after full acceptance; an MTP head's
    takes in the accepted tokens and the bonus token of the round before. Of
    several `heads` each makes a first step, one position wider than that of the
    head before, whose guess it had to go by; drafts beyond the heads are steps
    of one position.
    """
    k = len(cumulative)
    if k == 0 or kind in (DrafterKind.LOOKUP, DrafterKind.NONE):
        return {}
    if kind is DrafterKind.MODEL:
        steps = {1: k - cumulative[-1], 2: cumulative[-1]}
    else:
        first_steps = min(max(1, heads), k)
        steps = {1: float(k - first_steps)}
        ends = (1.0, *cumulative, 0.0)
        for head in range(first_steps):
            for accepted in range(k + 1):
                width = accepted + 1 + head
                steps[width] = steps.get(width, 0.0) + ends[accepted] - ends[accepted + 1]
    return {width: count for width, count in steps.items() if count > 0}


def round_time(costs: RoundCosts, cumulative: Sequence[float]) -> Span[Synchronous]:
    """T_round(p, k) = T_verify(k+1) + the draft with catch-up + T_rest; a width not measured is refused."""
    draft = [
        (count, _at(costs.draft_by_width, width, "drafter step"))
        for width, count in draft_steps(costs.kind, cumulative, costs.heads).items()
    ]
    verify = _at(costs.verify_by_width, len(cumulative) + 1, "verify pass")
    return combined([(1.0, verify), *draft, (1.0, costs.search), (1.0, costs.rest)])


def round_time_over_widths(costs: RoundCosts, share_by_drafted: Mapping[int, float]) -> Span[Synchronous]:
    """T_round of a lookup drafter: the mean over the draft lengths that occur (their shares sum to 1)."""
    verify = [
        (share, _at(costs.verify_by_width, drafted + 1, "verify pass")) for drafted, share in share_by_drafted.items()
    ]
    return combined([(1.0, costs.search), (1.0, costs.rest), *verify])


def cannot_win(costs: RoundCosts, k: int, decode: Span[Pipelined]) -> bool:
    """Whether R at full acceptance, catch-up included, is above the k + 1 tokens such a round yields."""
    return round_in_decode_steps(round_time(costs, (1.0,) * k), decode) > k + 1


def cannot_win_over_widths(costs: RoundCosts, share_by_drafted: Mapping[int, float], decode: Span[Pipelined]) -> bool:
    """`cannot_win` for a lookup drafter, over the widths that occur: they cost more than they could yield."""
    most = sum(share * (drafted + 1) for drafted, share in share_by_drafted.items())
    return round_in_decode_steps(round_time_over_widths(costs, share_by_drafted), decode) > most


def speedup_at(costs: RoundCosts, alpha: float, k: int, decode: Span[Pipelined]) -> float:
    """S at one conditional α and k drafts a round."""
    steps = round_in_decode_steps(round_time(costs, cumulative_from_alpha(alpha, k)), decode)
    return speedup(tokens_from_alpha(alpha, k), steps)


def break_even_verify(
    tokens_per_round: float, decode: Span[Pipelined], draft: Span[Synchronous], rest: Span[Synchronous]
) -> Span[Synchronous]:
    """The most T_verify may cost for S = 1: E · T_decode − T_draft − T_rest."""
    return combined([(1.0, round_of_decode_steps(tokens_per_round, decode)), (-1.0, draft), (-1.0, rest)])


def break_even_acceptance_of_one(
    verify: Span[Synchronous],
    draft_by_width: Mapping[int, Span[Synchronous]],
    rest: Span[Synchronous],
    decode: Span[Pipelined],
) -> float | None:
    """p* at k = 1 in closed form, catch-up included (draft model and MTP head agree); None if no p does.

    p* = (T_verify + t(1) + T_rest − T_decode) ÷ (T_decode − (t(2) − t(1))); 0 where even p = 0 wins.
    """
    one, step = _at(draft_by_width, 1, "drafter step"), round_of_decode_steps(1.0, decode)
    need = verify + one + rest - step
    gain = step - (_at(draft_by_width, 2, "drafter step") - one)
    if need.ms <= 0:
        return 0.0
    return need / gain if gain.ms > 0 and need.ms <= gain.ms else None


def break_even_acceptance(costs: RoundCosts, k: int, decode: Span[Pipelined]) -> float | None:
    """The least conditional α with S = 1 at k drafts a round, by bisection; None if none reaches it."""

    def surplus(alpha: float) -> float:
        steps = round_in_decode_steps(round_time(costs, cumulative_from_alpha(alpha, k)), decode)
        return tokens_from_alpha(alpha, k) - steps

    # Catch-up can make the surplus fall again near α = 1, so the first crossing is searched, not assumed.
    grid = [i / 200 for i in range(201)]
    if surplus(0.0) >= 0:
        return 0.0
    above = next((i for i, alpha in enumerate(grid) if surplus(alpha) >= 0), None)
    if above is None:
        return None
    low, high = grid[above - 1], grid[above]
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
    return high


def expected_experts(experts: int, active: int, positions: int) -> float:
    """Distinct experts n positions touch under independent routing: X · (1 − (1 − K/X)^n)."""
    return float(experts * (1.0 - (1.0 - active / experts) ** positions))


def _at(by_width: Mapping[int, Span[Synchronous]], width: int, what: str) -> Span[Synchronous]:
    if width not in by_width:
        raise SpecviewError(f"No {what} {width} wide was measured, and a guess could miss a cliff; probe that width.")
    return by_width[width]
