"""A judgement in words: one sentence that says what the numbers say, and one that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cautions import CAUTIONS, Notes

_REMEDIES = {
    "mixed_rulers": "Time one whole-graph pass over k + 1 positions, and divide that.",
    "acceptance_kind_unknown": "Ask whether it is accepted ÷ drafted, or given that all drafts before were accepted.",
    "impossible_win": "Measure the plain baseline again, with graphs and without the drafting loop.",
    "impossible_facts": "Correct the facts named in the warnings; one of them is not what its name says.",
}


def summary_of(verdict: str | None, numbers: Mapping[str, Any], notes: Notes) -> str:
    """What the numbers say, in one sentence."""
    if verdict == "refused":
        return f"No verdict: {_reason(notes)}"
    speedup, steps, tokens = (numbers.get(name) for name in ("speedup", "round_steps", "tokens_per_round"))
    at = f" at k = {numbers['best_k']}, the best of the list" if _of_list(numbers) else ""
    if verdict is None:
        return "No verdict: the facts hold no baseline, or not both what a round costs and what it yields."
    if verdict == "unwinnable":
        if "unwinnable_k" in numbers and "k" not in numbers:
            return f"Cannot win at any k of the list: {_listed(numbers['unwinnable_k'])}; rounds cost too much."
        cost = f"a round costs {steps:.2f} decode steps" if steps is not None else "a round costs more decode steps"
        most = f"{numbers['k'] + 1}" if "k" in numbers else "it could at full acceptance"
        return f"Cannot win: {cost} and yields at most {most}{_tokens(numbers)}{_times(speedup)}."
    word = {"wins": "Wins", "loses": "Loses", "too_close": "Too close to call"}[verdict]
    if steps is not None and tokens is not None:
        why = f"a round yields {tokens:.2f} tokens and costs {steps:.2f} decode steps"
    elif speedup is not None:
        why = "by the speeds measured end to end"
    else:
        why = "whichever kind of acceptance is meant"
    return f"{word}{_times(speedup)}{at}: {why}{_spread(numbers)}."


def advice_of(verdict: str | None, numbers: Mapping[str, Any], notes: Notes) -> str:
    """What to do, in one sentence."""
    if verdict == "refused":
        code = next((w.code for w in notes.warnings if CAUTIONS[w.code].refuses), "")
        return _REMEDIES.get(code, "Correct the facts named in the warnings.")
    if notes.has("zero_acceptance"):
        return "Look for a bug first: no draft at all is accepted."
    if notes.has("overhead_without_drafts"):
        return "Turn the drafting loop off instead of setting k = 0."
    if verdict is None:
        return "Measure plain decode, a whole round, and its tokens under the same settings."
    if verdict == "unwinnable":
        return "Turn drafting off, or make the verify pass cheaper; better guesses cannot help."
    if verdict == "wins":
        safe = numbers.get("largest_safe_k")
        if notes.has("past_cliff") and safe:
            return f"Keep drafting on, and try k = {safe}, which stays below the cliff."
        return f"Keep drafting on, at k = {numbers['best_k']}." if _of_list(numbers) else "Keep drafting on."
    if verdict == "too_close":
        return "Measure longer, or leave drafting off: little is at stake."
    least, limit = numbers.get("break_even_acceptance"), numbers.get("break_even_verify_steps")
    needs = []
    if isinstance(least, float):
        needs.append(f"a conditional acceptance of {least:.2f}")
    if isinstance(limit, float) and limit > 0:
        needs.append(f"a verify of at most {limit:.2f} decode steps")
    wanted = f"; to break even it needs {' or '.join(needs)}" if needs else ""
    return f"Turn drafting off, or try fewer drafts a round{wanted}."


def _reason(notes: Notes) -> str:
    return next((w.message for w in notes.warnings if CAUTIONS[w.code].refuses), "the facts do not hold together.")


def _times(speedup: Any) -> str:
    return f" ({speedup:.2f}x of plain decode)" if isinstance(speedup, float) else ""


def _spread(numbers: Mapping[str, Any]) -> str:
    ends = numbers.get("speedup_95")
    if ends:
        return f"; 95% interval {ends[0]:.2f}x to {ends[1]:.2f}x"
    return "; a point without a spread" if "basis" in numbers else ""


def _of_list(numbers: Mapping[str, Any]) -> bool:
    return "best_k" in numbers and "k" not in numbers


def _tokens(numbers: Mapping[str, Any]) -> str:
    if "k" not in numbers:
        return ""
    return " token" if numbers["k"] == 0 else " tokens"


def _listed(lengths: list[int]) -> str:
    return ", ".join(map(str, lengths))
