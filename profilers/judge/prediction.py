"""A prediction of free rounds from the parts of other rounds, and how far off it was.

Nothing here may come from the rounds it is compared with: parts are means over
split rounds and probes, the measured side over free rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .economics import round_steps, speedup_interval
from .parts import Part, quotient
from .spans import Pipelined, Span, Synchronous, combined
from .statistics import Interval

UNEXPLAINED = 0.03


@dataclass(frozen=True, slots=True)
class PredictionParts:
    """What a prediction is made of; the draft includes its catch-up."""

    draft: Span[Synchronous]
    verify: Span[Synchronous]
    rest: Span[Synchronous]
    tokens_per_round: Part
    decode: Span[Pipelined]


@dataclass(frozen=True, slots=True)
class Prediction:
    """T_round in ms, E, R, S and tok/s of free rounds, each with an interval."""

    round_ms: Interval
    tokens_per_round: Interval
    round_steps: Interval
    speedup: Interval
    tokens_per_second: Interval


@dataclass(frozen=True, slots=True)
class PredictionError:
    """Predicted ÷ measured − 1 with its interval; both numbers in their own unit."""

    predicted: float
    measured: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PredictionFacts:
    """What may have differed between the split rounds and the free ones; None where it was not measured.

    `drift` is T_decode around the free rounds ÷ around the split ones;
    the widths are shares of rounds by verify width; contexts are mean positions
    in the cache; `rest_share` is T_rest ÷ T_round; `fence_cost` is split
    T_round ÷ free T_round − 1.
    """

    split_rounds: int
    free_rounds: int
    drift: float | None = None
    split_share_by_width: Mapping[int, float] | None = None
    free_share_by_width: Mapping[int, float] | None = None
    split_context: float | None = None
    free_context: float | None = None
    rest_share: float | None = None
    fence_cost: float | None = None


def predict(parts: PredictionParts) -> Prediction:
    """T_round, E, R, S and tok/s of free rounds from their parts, all with intervals.

    T_round = T_draft + T_verify + T_rest, S = E · T_decode ÷ T_round, tok/s = 1000 · E ÷ T_round.
    Parts count as independent. E and the draft rise together within split
    rounds (catch-up), which only makes the interval of S wider than needed.
    """
    whole = combined([(1.0, parts.draft), (1.0, parts.verify), (1.0, parts.rest)])
    tokens = parts.tokens_per_round
    return Prediction(
        whole.part.interval(),
        tokens.interval(),
        round_steps(whole, parts.decode),
        speedup_interval(tokens, whole, parts.decode),
        quotient([tokens], [whole.part], 1000.0),
    )


def explain(error: PredictionError, facts: PredictionFacts) -> tuple[str, ...]:
    """Reasons for an error above 3%, as sentences; empty at or below, and never empty above."""
    if abs(error.error) <= UNEXPLAINED:
        return ()
    reasons: list[str] = []
    if facts.drift is not None and abs(facts.drift - 1) > 0.01:
        reasons.append(
            f"Plain decode was {_change(facts.drift - 1)} around the free rounds than around the split ones: "
            "the machine drifted between the arms."
        )
    mix = _moved_share(facts.split_share_by_width, facts.free_share_by_width)
    if mix > 0.05:
        reasons.append(
            f"{mix:.0%} of the rounds had other widths in the split than in the free rounds, and verify costs by width."
        )
    if facts.split_context and facts.free_context:
        grown = facts.free_context - facts.split_context
        if abs(grown) > max(32.0, 0.1 * facts.split_context):
            reasons.append(
                f"The cache held {abs(grown):.0f} positions {'more' if grown > 0 else 'fewer'} in the free "
                "rounds, and attention costs by what it holds."
            )
    if facts.rest_share is not None and facts.rest_share > 0.05:
        reasons.append(f"T_rest is {facts.rest_share:.0%} of a round: Python and the rewind weigh, and they vary most.")
    if facts.fence_cost is not None and facts.fence_cost > 0.02:
        reasons.append(
            f"A split round took {_change(facts.fence_cost)} than a free one, because of its fences; "
            "its parts carry that."
        )
    elif facts.fence_cost is not None and facts.fence_cost < -0.02:
        reasons.append(
            f"Split rounds took {-facts.fence_cost:.1%} less than free ones, which fences cannot explain: "
            "the machine was unsteady."
        )
    if min(facts.split_rounds, facts.free_rounds) < 30:
        reasons.append(f"Rounds are few, {facts.split_rounds} split and {facts.free_rounds} free; record 30.")
    if error.low <= 0 <= error.high:
        reasons.append(f"The error's own interval, {error.low:+.1%} to {error.high:+.1%}, holds zero: it may be noise.")
    return tuple(reasons) or ("Nothing that was recorded explains it; run again and compare the two sessions.",)


def _change(relative: float) -> str:
    return f"{abs(relative):.1%} {'slower' if relative > 0 else 'faster'}"


def _moved_share(before: Mapping[int, float] | None, after: Mapping[int, float] | None) -> float:
    if not before or not after:
        return 0.0
    return sum(abs(before.get(w, 0.0) - after.get(w, 0.0)) for w in {*before, *after}) / 2
