"""What the division takes from a ledger: parts of a round by width, T_decode, and acceptance with its kind and rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from .acceptance import AcceptanceRule
from .break_even import break_even_line
from .division import Conditional, Cumulative
from .economics import NOTHING, DrafterKind, RoundCosts, drafter_kind
from .ledger import Ledger
from .spans import Pipelined, Span

# "greedy match" is what the engine writes into a session; a rule that is not known stays unnamed and is not compared
RULE_BY_WORD = {
    "greedy match": AcceptanceRule.GREEDY,
    "rejection sampling": AcceptanceRule.REJECTION,
    "exact match": AcceptanceRule.EXACT_MATCH,
    **{rule.value: rule for rule in AcceptanceRule},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCosts:
    """One drafter's costs with their errors, k as it ran, and its acceptance: as one α, and by position up to k.

    α is for asking about another k; `by_position` is what was counted.
    """

    k: int
    costs: RoundCosts
    decode: Span[Pipelined]
    alpha: Conditional
    by_position: Cumulative


def measured_costs(ledger: Ledger, share_by_drafted: Mapping[int, float]) -> MeasuredCosts:
    """The costs of a ledger, `share_by_drafted` as for `break_even_line`; SpecviewError says what is not measured.

    T_verify is that of passes timed alone, all in one way; from split rounds at k + 1 where that width was not.
    """
    line = break_even_line(ledger, share_by_drafted)
    assert ledger.decode is not None and ledger.rest is not None and ledger.acceptance is not None
    k, kind = ledger.setting.k, drafter_kind(ledger.setting.drafter, ledger.setting.adaptive)
    verify = {width: found.span for width, found in ledger.verify_by_width.items()}
    if ledger.verify is not None:
        verify.setdefault(k + 1, ledger.verify.span)
    draft = {width: found.span for width, found in ledger.draft_by_width.items()}
    if not draft and kind is not DrafterKind.LOOKUP:
        raise SpecviewError(
            "Drafter steps were not timed alone, so the draft of a round cannot be reckoned; probe them."
        )
    search = ledger.draft.span if kind is DrafterKind.LOOKUP and ledger.draft is not None else NOTHING
    rule = RULE_BY_WORD.get(ledger.setting.rule)
    shares = [c.estimate for c in ledger.acceptance.cumulative][:k]
    return MeasuredCosts(
        k=k,
        costs=RoundCosts(kind, verify, draft, ledger.rest.span, search, ledger.setting.heads or 1),
        decode=ledger.decode.span,
        alpha=Conditional(alpha=line.alpha.estimate, rule=rule),
        by_position=Cumulative(shares=tuple(shares) + (0.0,) * (k - len(shares)), rule=rule),
    )
