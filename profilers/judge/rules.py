"""The rule of acceptance is part of the number: what each accepts, and numbers of one rule compared.

Under greedy a draft must be the target's first token, under exact match two samples must agree (mlx-lm at T > 0), and
rejection sampling accepts the most that keeps the target's distribution. Source: design, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...engine.errors import SpecviewError
from .acceptance import AcceptanceRule
from .division import AnyAcceptance, Conditional, convert


def agreement(rule: AcceptanceRule, target: Sequence[float], draft: Sequence[float]) -> float:
    """The chance that one draft is accepted, from both distributions over the same tokens (each sums to 1).

    Greedy: 1 where both name the same token first, else 0. Exact match: Σ p·q. Rejection: Σ min(p, q) (Leviathan et
    al. 2023, corollary 3.6). Raises SpecviewError where the two are not over the same tokens.
    """
    if len(target) != len(draft) or not target:
        raise SpecviewError("Both distributions must be over the same tokens; give one share a token to each.")
    if rule is AcceptanceRule.GREEDY:
        return float(target.index(max(target)) == draft.index(max(draft)))
    pairs = zip(target, draft, strict=True)
    if rule is AcceptanceRule.EXACT_MATCH:
        return math.fsum(p * q for p, q in pairs)
    return math.fsum(min(p, q) for p, q in pairs)


def difference(first: AnyAcceptance, second: AnyAcceptance) -> float:
    """How much better the second guesses: its conditional α less the first's, whatever kinds they came in.

    Raises SpecviewError where the rules differ or only one is known, or where α needs a k that was not said.
    """
    if first.rule is not second.rule:
        words = " and ".join(str(a.rule) if a.rule else "an unnamed rule" for a in (first, second))
        raise SpecviewError(f"Acceptance under {words} is not comparable; count both under one rule and name it.")
    return convert(second, Conditional).alpha - convert(first, Conditional).alpha
