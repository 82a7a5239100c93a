"""Whether a session is slower than the base by more than a limit: yes, no, or the data cannot tell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ....engine.errors import SpecviewError
from .comparing import Compared

Quantity = Literal["drafting", "plain", "speedup"]
Outcome = Literal["passed", "slower", "undecided"]
KEY_BY_QUANTITY: dict[Quantity, str] = {
    "drafting": "drafting_tokens_per_second",
    "plain": "plain_tokens_per_second",
    "speedup": "speedup_times",
}
WORDS: dict[Quantity, str] = {"drafting": "with drafts", "plain": "without drafts", "speedup": "speedup"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The answer for one session, with its sentence; `change_fraction` is other ÷ base − 1 with its interval's ends."""

    quantity: Quantity
    limit_fraction: float
    outcome: Outcome
    sentence: str
    change_fraction: float | None = None
    low_fraction: float | None = None
    high_fraction: float | None = None


def limit_from(text: str) -> float:
    """A limit as a fraction: `3%` and `0.03` are the same; SpecviewError for anything else."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = math.nan if found is None else float(found[1]) / (100.0 if found[2] else 1.0)
    if not 0 <= value < 1:
        shown = text[:40]
        raise SpecviewError(f"--fail-if-slower {shown!r} is no limit: give a share below one, such as 3% or 0.03.")
    return value


def gate(compared: Compared, limit_fraction: float, quantity: Quantity = "drafting", letter: str = "B") -> Gate:
    """Slower: the estimate is slower than the limit and the change is real. Passed: the whole interval is within it."""
    change, what = compared.change(KEY_BY_QUANTITY[quantity]), WORDS[quantity]
    effect = None if change is None else change.log_ratio
    if effect is None:
        said = f"Cannot tell: {what}, the two have no number in common."
        return Gate(quantity=quantity, limit_fraction=limit_fraction, outcome="undecided", sentence=said)
    estimate = math.expm1(effect.estimate)
    if effect.low is None or effect.high is None:
        said = f"Cannot tell: {what} {letter} is {_share(estimate)}, without an interval; record three prompts or more."
        return Gate(
            quantity=quantity,
            limit_fraction=limit_fraction,
            outcome="undecided",
            sentence=said,
            change_fraction=estimate,
        )
    low, high = math.expm1(effect.low), math.expm1(effect.high)
    span = f"{_share(estimate)} [{_share(low)}, {_share(high)}]"
    outcome: Outcome = "undecided"
    if compared.doubts:
        said = f"Cannot tell: {what} {letter} is {span}, but {compared.doubts[0]}"
    elif estimate < -limit_fraction and high < 0:
        outcome = "slower"
        said = (
            f"Slower: {what} {letter} is {span}, beyond the limit of {_share(-limit_fraction)}, and the change is real."
        )
    elif low >= -limit_fraction:
        outcome = "passed"
        said = f"Not slower: {what} {letter} is {span}, within the limit of {_share(-limit_fraction)}."
    else:
        said = (
            f"Cannot tell: {what} {letter} is {span}, which holds the limit of {_share(-limit_fraction)}; record more "
            "prompts."
        )
    return Gate(
        quantity=quantity,
        limit_fraction=limit_fraction,
        outcome=outcome,
        sentence=said,
        change_fraction=estimate,
        low_fraction=low,
        high_fraction=high,
    )


def _share(fraction: float) -> str:
    return f"{fraction:+.1%}".replace("-", "−")


def worst(gates: Iterable[Gate]) -> Outcome:
    """The worst of several answers: slower, then undecided, then passed."""
    outcomes = {each.outcome for each in gates}
    return "slower" if "slower" in outcomes else "undecided" if "undecided" in outcomes else "passed"
