"""The three questions to any published benchmark, each line known, unknown, or contradictory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..counted import counted
from .cautions import FEWEST_ROUNDS, UNACCOUNTED, Notes
from .facts import Facts

State = Literal["known", "unknown", "contradictory"]
ASKED = {
    "verify_cost": "How many decode steps does one verify round cost?",
    "sampling": "Under which sampling and rule was the acceptance measured?",
    "length": "Over how many rounds?",
    "content": "On what content?",
    "end_to_end": "Is the speed end to end, or projected?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with what the facts say to it."""

    code: str
    asks: str
    state: State
    answer: str


def questions_of(facts: Facts, numbers: Mapping[str, Any], notes: Notes) -> tuple[Question, ...]:
    """Every question once, in the order to ask them."""
    answers = (
        ("verify_cost", _verify_cost(numbers, notes)),
        ("sampling", _sampling(facts, notes)),
        ("length", _length(numbers, notes)),
        ("content", _content(facts)),
        ("end_to_end", _end_to_end(numbers)),
    )
    return tuple(Question(code=code, asks=ASKED[code], state=state, answer=answer) for code, (state, answer) in answers)


def _verify_cost(numbers: Mapping[str, Any], notes: Notes) -> tuple[State, str]:
    if notes.has("mixed_rulers"):
        return "contradictory", "Verify and baseline were measured with two rulers."
    steps, verify = numbers.get("round_steps"), numbers.get("verify_steps")
    if steps is not None:
        part = f", {verify:.2f} of them verify" if verify is not None else "; how much of it is verify is not said"
        return "known", f"A round costs {steps:.2f} decode steps{part}."
    by_k = numbers.get("round_steps_by_k")
    if by_k:
        said = ", ".join(f"{value:.2f} at k = {k}" for k, value in list(by_k.items())[:4])
        return "known", f"A round costs {said} decode steps."
    if "round_ms" in numbers:
        return "unknown", f"A round takes {numbers['round_ms']:.2f} ms, but there is no plain baseline to divide it by."
    return "unknown", "Neither a round nor a verify pass can be told in decode steps."


def _sampling(facts: Facts, notes: Notes) -> tuple[State, str]:
    rule, temperature = facts.rule, facts.temperature
    if rule == "greedy" and temperature is not None and temperature > 0:
        notes.warn(
            "contradictory_facts",
            f"A greedy rule and a temperature of {temperature:g} exclude each other: an acceptance holds for one.",
        )
        return "contradictory", f"A greedy rule is named beside a temperature of {temperature:g}."
    if rule is None and temperature is None:
        return "unknown", "Neither temperature nor rule is named; shares under different rules do not compare."
    if rule is None and temperature is not None and temperature > 0:
        return "unknown", f"Temperature {temperature:g}, but not whether two samples must match or one is rejected."
    parts = [f"rule {rule}"] if rule is not None else ["greedy, by its temperature"]
    if temperature is not None:
        parts.append(f"temperature {temperature:g}")
    return "known", f"{', '.join(parts).capitalize()}."


def _length(numbers: Mapping[str, Any], notes: Notes) -> tuple[State, str]:
    rounds = numbers.get("rounds")
    if notes.has("impossible_facts") and rounds is not None:
        return "contradictory", "The counts do not fit each other."
    if rounds is not None:
        enough = "" if rounds >= FEWEST_ROUNDS else f", fewer than the {FEWEST_ROUNDS} that a share needs"
        return "known", f"{counted(rounds, 'round')}{enough}."
    if numbers.get("drafted") is not None:
        return "known", f"{counted(numbers['drafted'], 'drafted token')}."
    return "unknown", "No count of rounds or drafts is given, so the acceptance may be luck."


def _content(facts: Facts) -> tuple[State, str]:
    if facts.content is not None:
        return "known", f"Content: {facts.content}."
    return "unknown", "The content is not named; acceptance on code says little about prose."


def _end_to_end(numbers: Mapping[str, Any]) -> tuple[State, str]:
    error = numbers.get("prediction_error")
    if error is not None and abs(error) > UNACCOUNTED:
        return "contradictory", f"The parts predict {error:+.0%} against the speed measured end to end."
    if error is not None:
        return "known", f"Both: measured end to end, and the parts predict it to {error:+.1%}."
    if "measured_tokens_per_second" in numbers or "measured_speedup" in numbers:
        return "known", "End to end."
    if "speedup" in numbers or "tokens_per_second" in numbers or "speedup_by_k" in numbers:
        return "known", "Projected from parts; nobody measured it end to end."
    return "unknown", "There is no speed with drafts, measured or projected."
