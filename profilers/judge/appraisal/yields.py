"""What a round yields: tokens per round from whatever acceptance was published, and that acceptance in other kinds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..acceptance import (
    AcceptanceKind,
    alpha_from_tokens,
    cumulative_from_alpha,
    cumulative_from_conditional,
    tokens_from_alpha,
)
from ..counted import counted
from ..statistics import LEVEL, Interval, t_quantile, wilson
from .cautions import AGREEMENT, ROUNDING, SAME, Notes, agree
from .facts import Facts
from .tally import Tally

NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """E and its acceptance in every kind that follows; None or empty where it does not.

    `interval` is that of E where counts give one. `most` is what a round of full acceptance yields: k + 1, or
    1 + drafted a round where k was not said.
    """

    tokens: float | None = None
    interval: Interval | None = None
    most: float | None = None
    conditional_acceptance: float | None = None
    conditional: tuple[float, ...] = ()
    cumulative: tuple[float, ...] = ()
    per_draft: float | None = None


def kind_is_open(facts: Facts, k: Sequence[int]) -> bool:
    """Whether an acceptance value came without a kind, and k leaves room for two."""
    acceptance = facts.acceptance
    one_meaning = bool(k) and all(length in (0, 1) for length in k)
    return acceptance.value is not None and acceptance.kind is None and not one_meaning


def as_kind(facts: Facts, kind: AcceptanceKind) -> Facts:
    """The same facts with the kind of their acceptance said."""
    return replace(facts, acceptance=replace(facts.acceptance, kind=kind))


def yield_of(facts: Facts, tally: Tally, k: int | None, notes: Notes) -> Yield:
    """The yield of rounds of k drafts (None where k was not said), from the most direct fact; others must agree."""
    sources = _sources(facts, tally, k, notes)
    tokens = None
    if sources:
        name, tokens = sources[0]
        for other, value in sources[1:]:
            if not agree(value, tokens):
                notes.warn(
                    "contradictory_facts",
                    f"Tokens per round are {tokens:.3g} by {name} and {value:.3g} by {other}.",
                )
    most = k + 1.0 if k is not None else 1 + tally.mean_drafted if tally.mean_drafted is not None else None
    made = Yield(tokens=tokens, most=most)
    if tokens is None:
        return made
    _possible(tokens, most, k, notes)
    return converted(made, facts, tally, k, notes)


def converted(made: Yield, facts: Facts, tally: Tally, k: int | None, notes: Notes) -> Yield:
    """The yield with its acceptance in every kind that its E, k and positions allow."""
    tokens = made.tokens
    if tokens is None:
        return made
    per_draft = conditional = None
    counts_tries = facts.acceptance.kind is AcceptanceKind.CONDITIONAL and facts.acceptance.accepted is not None
    if tally.accepted is not None and tally.drafted and not counts_tries:
        per_draft = min(1.0, tally.accepted / tally.drafted)
    elif k and 1 <= tokens <= k + 1 + SAME:
        per_draft = (tokens - 1) / k
    if k and 1 <= tokens <= k + 1 + SAME:
        conditional = alpha_from_tokens(min(tokens, k + 1.0), k)
        given = facts.acceptance
        if given.kind is AcceptanceKind.CONDITIONAL and given.value is not None:
            conditional = given.value if agree(tokens_from_alpha(given.value, k), tokens) else conditional
    by_position, cumulative = _positions(facts, tally, k, notes)
    if not cumulative and conditional is not None and k:
        if k > 1:
            notes.assume("cumulative")
        cumulative = cumulative_from_alpha(conditional, k)
        by_position = (conditional,) * k
    return replace(
        made,
        interval=_interval(facts, tally, tokens, conditional, k),
        conditional_acceptance=conditional,
        conditional=by_position,
        cumulative=cumulative,
        per_draft=per_draft,
    )


def yield_from_one_k(facts: Facts, tally: Tally, k: int) -> Yield:
    """The yield at one of several draft lengths, from facts that hold at any: conditional, or by position.

    Counts hold at the length they were taken with; the conditional acceptance in them holds at any.
    """
    if k == 0:
        return Yield(tokens=1.0, most=1.0)
    alpha = carried_alpha(facts, tally)
    positions = carried_positions(facts, tally)
    if positions:
        if len(positions) < k:
            return Yield(most=k + 1.0)
        cumulative = positions[:k]
        tokens = 1 + sum(cumulative)
        return Yield(tokens=tokens, most=k + 1.0, cumulative=cumulative, per_draft=(tokens - 1) / k)
    if alpha is None:
        return Yield(most=k + 1.0)
    tokens = tokens_from_alpha(alpha, k)
    return Yield(
        tokens=tokens,
        most=k + 1.0,
        conditional_acceptance=alpha,
        cumulative=cumulative_from_alpha(alpha, k),
        per_draft=(tokens - 1) / k,
    )


def carried_positions(facts: Facts, tally: Tally) -> tuple[float, ...]:
    """Cumulative acceptance by position, which does not depend on k."""
    given = facts.acceptance
    if given.positions:
        conditional = given.kind is AcceptanceKind.CONDITIONAL
        return cumulative_from_conditional(given.positions) if conditional else given.positions
    return tally.positions


def carried_alpha(facts: Facts, tally: Tally) -> float | None:
    """The one conditional acceptance that holds at every k, where the facts hold one."""
    given = facts.acceptance
    if given.kind is AcceptanceKind.CONDITIONAL and given.value is not None:
        return given.value
    if given.kind is AcceptanceKind.CONDITIONAL and tally.accepted is not None and tally.drafted:
        return min(1.0, tally.accepted / tally.drafted)
    tokens, drafted = tally.counted_tokens, tally.mean_drafted
    if tokens is None or not drafted:
        return None
    k = round(drafted)
    fits = k >= 1 and agree(drafted, k, 0.01) and 1 <= tokens <= k + 1
    return alpha_from_tokens(tokens, k) if fits else None


def _sources(facts: Facts, tally: Tally, k: int | None, notes: Notes) -> list[tuple[str, float]]:
    """E by every fact that says it, the most direct first."""
    given, found = facts.acceptance, list[tuple[str, float]]()
    if facts.tokens_per_round is not None:
        found.append(("tokens_per_round", facts.tokens_per_round))
    if k == 0:
        return [*found, ("k = 0", 1.0)]
    conditional_counts = given.kind is AcceptanceKind.CONDITIONAL and given.rounds is None and k is not None
    counted = tally.counted_tokens
    if counted is not None and not (conditional_counts and given.accepted is not None):
        found.append(("the counts", counted))
    if tally.tokens_per_round is not None:
        found.append(("the engine's mean length", tally.tokens_per_round))
    if given.mean_accepted is not None:
        found.append(("mean_accepted", 1 + given.mean_accepted))
    positions = carried_positions(facts, tally)
    if positions:
        found.append(("acceptance by position", 1 + sum(positions[:k] if k is not None else positions)))
    found += _from_value(facts, tally, k)
    if not found and tally.generated and tally.rounds:
        found.append(("tokens ÷ rounds", tally.generated / tally.rounds))
    return found


def _from_value(facts: Facts, tally: Tally, k: int | None) -> list[tuple[str, float]]:
    given, found = facts.acceptance, list[tuple[str, float]]()
    value, kind = given.value, given.kind
    if value is None and given.accepted is not None and given.drafted:
        value = min(1.0, given.accepted / given.drafted)
        # Counts say by themselves what was divided by what.
        kind = kind or AcceptanceKind.PER_DRAFT
    drafted = k if k is not None else tally.mean_drafted
    if value is not None:
        if kind is AcceptanceKind.ACCEPTED_PER_GENERATED and value < 1:
            found.append(("accepted ÷ generated", 1 / (1 - value)))
        elif k == 1:
            found.append(("acceptance", 1 + value))
        elif kind is AcceptanceKind.CONDITIONAL and k is not None:
            found.append(("conditional acceptance", tokens_from_alpha(value, k)))
        elif kind is AcceptanceKind.PER_DRAFT and drafted is not None:
            found.append(("acceptance per draft", 1 + value * _mean_drafted(k, tally, drafted)))
    if tally.per_generated is not None and tally.per_generated < 1:
        found.append(("accepted ÷ generated", 1 / (1 - tally.per_generated)))
    if tally.per_draft is not None and drafted is not None:
        found.append(("the engine's rate per draft", 1 + tally.per_draft * _mean_drafted(k, tally, drafted)))
    return found


def _mean_drafted(k: int | None, tally: Tally, otherwise: float) -> float:
    """Drafts a round: what was counted where rounds stop early, else k."""
    counted = tally.mean_drafted
    return counted if counted is not None and (k is None or counted <= k) else otherwise


def _possible(tokens: float, most: float | None, k: int | None, notes: Notes) -> None:
    if tokens < 1 - ROUNDING:
        notes.warn(
            "impossible_facts",
            f"{tokens:.3g} tokens per round is below 1: the target's own token counts too, so mean_accepted may be "
            "meant.",
        )
    elif most is not None and tokens > most * (1 + ROUNDING):
        what = f"k = {k} drafts" if k is not None else f"{most - 1:.3g} drafts on average"
        notes.warn(
            "impossible_facts",
            f"A round of {what} yields at most {most:.3g} tokens, not {tokens:.3g}: check k, or the acceptance's kind.",
        )


def _positions(facts: Facts, tally: Tally, k: int | None, notes: Notes) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Conditional and cumulative acceptance by position where they were given so."""
    cumulative = carried_positions(facts, tally)
    if not cumulative:
        return (), ()
    if k is not None and len(cumulative) < k:
        fits = "; that would fit if k counts positions" if len(cumulative) == k - 1 else ""
        if fits:
            notes.warn(
                "k_counts_positions",
                f"k is {k} and the acceptance has {counted(len(cumulative), 'position')}{fits} and "
                f"means {k - 1} drafts.",
            )
    if k is not None and len(cumulative) > k:
        # Positions that no round reached are printed as zero by some engines.
        if any(share > ROUNDING for share in cumulative[k:]):
            notes.warn(
                "contradictory_facts",
                f"The acceptance has {counted(len(cumulative), 'position')} and k is {k}; the first {k} were used.",
            )
        cumulative = cumulative[:k]
    conditional: list[float] = []
    before = 1.0
    for share in cumulative:
        if share > before + ROUNDING:
            notes.warn(
                "contradictory_facts",
                "Cumulative acceptance cannot rise from one position to the next; it may be conditional.",
            )
            return (), cumulative
        if before <= 0:
            break
        conditional.append(min(1.0, share / before))
        before = share
    return tuple(conditional), cumulative


def _interval(facts: Facts, tally: Tally, tokens: float, alpha: float | None, k: int | None) -> Interval | None:
    """95% interval of E where counts give one: from the histogram, by Wilson at k = 1, else by the rounds' model.

    The model is that each draft is accepted with the same α; drafts of one round stand or fall together, so their
    number is no sample size.
    """
    rounds = tally.rounds
    if facts.tokens_per_round is not None or not rounds or tally.accepted is None:
        return None
    if tally.histogram and rounds > 1:
        mean = tokens - 1
        square = sum(n * (i - mean) ** 2 for i, n in enumerate(tally.histogram))
        half = t_quantile(0.5 + LEVEL / 2, rounds - 1) * math.sqrt(square / (rounds - 1) / rounds)
        return Interval(tokens, max(1.0, tokens - half), tokens + half, LEVEL, round(rounds))
    if k == 1 and tally.accepted <= rounds:
        shares = wilson(tally.accepted, rounds)
        return Interval(tokens, 1 + shares.low, 1 + shares.high, LEVEL, round(rounds))
    if alpha is None or not k or k < 1:
        return None
    ends = wilson(alpha * rounds, rounds)  # α itself decides once a round at least
    tails = cumulative_from_alpha(alpha, k)
    second = sum((2 * i - 1) * tail for i, tail in enumerate(tails, start=1))
    half = NORMAL_95 * math.sqrt(max(0.0, second - (tokens - 1) ** 2) / rounds)
    if half == 0:
        return Interval(tokens, tokens_from_alpha(ends.low, k), tokens_from_alpha(ends.high, k), LEVEL, round(rounds))
    return Interval(tokens, max(1.0, tokens - half), min(k + 1.0, tokens + half), LEVEL, round(rounds))


def drafts_vary(tally: Tally, k: int | None) -> bool:
    """Whether rounds draft on average clearly fewer tokens than k."""
    mean = tally.mean_drafted
    return bool(k and mean is not None and mean < k * (1 - AGREEMENT))
