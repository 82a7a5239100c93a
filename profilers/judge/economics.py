"""What a round costs and what it must yield: the formulas of speculative decoding as small pure functions.

Times are milliseconds. `cumulative` is the share of rounds that accepted at
least i drafts, i = 1 … k; its length is k. Source: design, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...engine.errors import SpecviewError
from .acceptance import cumulative_from_alpha, tokens_from_alpha


class Ruler(StrEnum):
    """How a time was taken; times of different rulers may be divided only where this file says so."""

    PIPELINED = "pipelined"  # whole graph, plain decode, 1000 ÷ tok/s
    SYNCHRONOUS = "synchronous"  # whole graph, one pass or round, then eval
    FENCED = "fenced"  # sum of blocks, each between fences
    QUEUED = "queued"  # sum of blocks, each by slope


class DrafterKind(StrEnum):
    """What catches up, and how, decides the cost of a draft."""

    MODEL = "model"
    MTP = "mtp"
    LOOKUP = "lookup"
    NONE = "none"


def drafter_kind(name: str) -> DrafterKind:
    """The kind behind a drafter's name in a session: a path or a hub id is a draft model."""
    return DrafterKind(name) if name in set(DrafterKind) else DrafterKind.MODEL


@dataclass(frozen=True, slots=True)
class Span:
    """A time with the ruler it was taken with."""

    ms: float
    ruler: Ruler


@dataclass(frozen=True, slots=True)
class Gap:
    """Whole-graph wall that is in no block: in ms, as a share of the sum, and as a share of the wall."""

    ms: float
    of_sum: float
    of_wall: float


@dataclass(frozen=True, slots=True)
class RoundCosts:
    """The mean times a round is built from, by positions in the pass; `search_ms` is a lookup's search."""

    kind: DrafterKind
    verify_ms_by_width: Mapping[int, float]
    draft_ms_by_width: Mapping[int, float]
    rest_ms: float
    search_ms: float = 0.0


def round_in_decode_steps(round_time: Span, decode: Span) -> float:
    """R = T_round ÷ T_decode; refuses any other pair than a whole synchronous round and pipelined decode."""
    if round_time.ruler is not Ruler.SYNCHRONOUS or decode.ruler is not Ruler.PIPELINED:
        raise SpecviewError(
            f"A verdict divides a whole round by whole pipelined decode; these are {round_time.ruler} and "
            f"{decode.ruler}, two rulers whose quotient can turn a loss into a win."
        )
    return round_time.ms / decode.ms


def width_ratio(wide: Span, single: Span) -> float:
    """T(n) ÷ T(1) of one thing, on one ruler; refuses two."""
    if wide.ruler is not single.ruler:
        raise SpecviewError(f"A ratio of widths needs one ruler, not {wide.ruler} over {single.ruler}.")
    return wide.ms / single.ms


def gap(wall: Span, blocks: Span) -> Gap:
    """Synchronous whole-graph wall minus the queued sum of its blocks; refuses other rulers."""
    if wall.ruler is not Ruler.SYNCHRONOUS or blocks.ruler is not Ruler.QUEUED:
        raise SpecviewError("The gap is a synchronous whole-graph wall minus a queued sum; measure those two.")
    ms = wall.ms - blocks.ms
    return Gap(ms, ms / blocks.ms, ms / wall.ms)


def decode_ms_from(tokens_per_second: float) -> float:
    """T_decode = 1000 ÷ measured tok/s."""
    return 1000.0 / tokens_per_second


def speedup(tokens_per_round: float, round_steps: float) -> float:
    """S = E ÷ R, which is E · T_decode ÷ T_round."""
    return tokens_per_round / round_steps


def draft_steps(kind: DrafterKind, cumulative: Sequence[float]) -> dict[int, float]:
    """Expected drafter steps of a round by their width in positions, catch-up included, in steady state.

    A draft model's first step is two wide after full acceptance; an MTP head's
    takes in the accepted tokens and the bonus token of the round before.
    """
    k = len(cumulative)
    if k == 0 or kind in (DrafterKind.LOOKUP, DrafterKind.NONE):
        return {}
    if kind is DrafterKind.MODEL:
        steps = {1: k - cumulative[-1], 2: cumulative[-1]}
    else:
        steps = {1: float(k - 1)}
        ends = (1.0, *cumulative, 0.0)
        for accepted in range(k + 1):
            width = accepted + 1
            steps[width] = steps.get(width, 0.0) + ends[accepted] - ends[accepted + 1]
    return {width: count for width, count in steps.items() if count > 0}


def round_ms(costs: RoundCosts, cumulative: Sequence[float]) -> float:
    """T_round(p, k) = T_verify(k+1) + the draft with catch-up + T_rest; a width not measured is refused."""
    draft = sum(
        count * _at(costs.draft_ms_by_width, width, "drafter step")
        for width, count in draft_steps(costs.kind, cumulative).items()
    )
    verify = _at(costs.verify_ms_by_width, len(cumulative) + 1, "verify pass")
    return verify + draft + costs.search_ms + costs.rest_ms


def round_ms_over_widths(costs: RoundCosts, share_by_drafted: Mapping[int, float]) -> float:
    """T_round of a lookup drafter: the mean over the draft lengths that occur (their shares sum to 1)."""
    return (
        costs.search_ms
        + costs.rest_ms
        + sum(
            share * _at(costs.verify_ms_by_width, drafted + 1, "verify pass")
            for drafted, share in share_by_drafted.items()
        )
    )


def cannot_win(costs: RoundCosts, k: int, decode_ms: float) -> bool:
    """Whether R at full acceptance, catch-up included, is above the k + 1 tokens such a round yields."""
    return round_ms(costs, (1.0,) * k) > (k + 1) * decode_ms


def cannot_win_over_widths(costs: RoundCosts, share_by_drafted: Mapping[int, float], decode_ms: float) -> bool:
    """`cannot_win` for a lookup drafter, over the widths that occur: they cost more than they could yield."""
    most = sum(share * (drafted + 1) for drafted, share in share_by_drafted.items())
    return round_ms_over_widths(costs, share_by_drafted) > most * decode_ms


def speedup_at(costs: RoundCosts, alpha: float, k: int, decode_ms: float) -> float:
    """S at one conditional α and k drafts a round."""
    return tokens_from_alpha(alpha, k) * decode_ms / round_ms(costs, cumulative_from_alpha(alpha, k))


def break_even_verify_ms(tokens_per_round: float, decode_ms: float, draft_ms: float, rest_ms: float) -> float:
    """The most T_verify may cost for S = 1: E · T_decode − T_draft − T_rest."""
    return tokens_per_round * decode_ms - draft_ms - rest_ms


def break_even_acceptance_of_one(
    verify_ms: float, draft_ms_by_width: Mapping[int, float], rest_ms: float, decode_ms: float
) -> float | None:
    """p* at k = 1 in closed form, catch-up included (draft model and MTP head agree); None if no p does.

    p* = (T_verify + t(1) + T_rest − T_decode) ÷ (T_decode − (t(2) − t(1))); 0 where even p = 0 wins.
    """
    one = _at(draft_ms_by_width, 1, "drafter step")
    need = verify_ms + one + rest_ms - decode_ms
    gain = decode_ms - (_at(draft_ms_by_width, 2, "drafter step") - one)
    if need <= 0:
        return 0.0
    return need / gain if gain > 0 and need <= gain else None


def break_even_acceptance(costs: RoundCosts, k: int, decode_ms: float) -> float | None:
    """The least conditional α with S = 1 at k drafts a round, by bisection; None if none reaches it."""

    def surplus(alpha: float) -> float:
        return tokens_from_alpha(alpha, k) * decode_ms - round_ms(costs, cumulative_from_alpha(alpha, k))

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


def _at(ms_by_width: Mapping[int, float], width: int, what: str) -> float:
    if width not in ms_by_width:
        raise SpecviewError(f"No {what} {width} wide was measured, and a guess could miss a cliff; probe that width.")
    return ms_by_width[width]
