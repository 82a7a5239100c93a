"""The break-even line: how dear verify may be at every acceptance, and where a run stands against that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...engine.errors import SpecviewError
from .acceptance import cumulative_from_alpha, tokens_from_alpha
from .economics import (
    DrafterKind,
    break_even_verify,
    draft_steps,
    drafter_kind,
    round_in_decode_steps,
    speedup,
    speedup_interval,
)
from .ledger import Ledger
from .parts import Part
from .readings import Measured
from .spans import Pipelined, R, Span, Synchronous, combined
from .statistics import Interval, t_quantile

GRID = 200


@dataclass(frozen=True, slots=True)
class BreakEvenLine:
    """One drafter at one k: mean times with their rulers, acceptance as conditional α.

    `share_by_drafted` says how many rounds draft how much (lookup drafts of
    varying width). The draft of a round at another α differs from the measured
    one, `draft` at `alpha`, by its catch-up only. `inferred` names what was
    not measured at this k.
    """

    k: int
    kind: DrafterKind
    share_by_drafted: Mapping[int, float]
    decode: Span[Pipelined]
    verify: Span[Synchronous]
    draft: Span[Synchronous]
    rest: Span[Synchronous]
    alpha: Interval
    draft_by_width: Mapping[int, Span[Synchronous]]
    inferred: str = ""
    heads: int = 1

    def tokens(self, alpha: float) -> float:
        """E at a conditional acceptance."""
        return sum(share * tokens_from_alpha(alpha, k) for k, share in self.share_by_drafted.items())

    def draft_at(self, alpha: float) -> Span[Synchronous]:
        """T_draft at a conditional acceptance, catch-up included."""
        return combined([(1.0, self.draft), *self.catch_up(alpha), *self.catch_up(self.alpha.estimate, -1.0)])

    def limit(self, alpha: float) -> Span[Synchronous]:
        """The most T_verify may be for S = 1: E · T_decode − T_draft − T_rest."""
        return break_even_verify(self.tokens(alpha), self.decode, self.draft_at(alpha), self.rest)

    def limit_ms(self, alpha: float) -> float:
        """`limit` in ms, for showing."""
        return self.limit(alpha).ms

    def limit_steps(self, alpha: float) -> float:
        """`limit` in decode steps."""
        return round_in_decode_steps(self.limit(alpha), self.decode)

    @property
    def verify_steps(self) -> float:
        """T_verify in decode steps."""
        return round_in_decode_steps(self.verify, self.decode)

    def speedup(self, alpha: float) -> float:
        """S = E · T_decode ÷ T_round."""
        whole = combined([(1.0, self.verify), (1.0, self.draft_at(alpha)), (1.0, self.rest)])
        return speedup(self.tokens(alpha), round_in_decode_steps(whole, self.decode))

    def speedup_interval(self) -> Interval | None:
        """S at the measured acceptance with a 95% interval of acceptance and times; None where errors are not known.

        Parts count as independent, and acceptance as the same α at every k.
        """
        alpha = self.alpha
        whole = combined([(1.0, self.verify), (1.0, self.draft_at(alpha.estimate)), (1.0, self.rest)])
        if math.isnan(whole.se_ms) or math.isnan(self.decode.se_ms) or alpha.n < 2:
            return None
        low, high = self.tokens(max(0.0, alpha.low)), self.tokens(min(1.0, alpha.high))
        half = t_quantile(0.5 + alpha.level / 2, alpha.n - 1)
        return speedup_interval(Part(self.tokens(alpha.estimate), (high - low) / 2 / half, alpha.n), whole, self.decode)

    def crossing(self) -> float | None:
        """The least α at which the measured T_verify breaks even; None if none does, 0 if all do."""
        before = 0.0
        for i in range(GRID + 1):
            after = (self.limit(i / GRID) - self.verify).ms
            if after >= 0:
                return 0.0 if i == 0 else (i - 1 + before / (before - after)) / GRID
            before = after
        return None

    def catch_up(self, alpha: float, sign: float = 1.0) -> list[tuple[float, Span[Synchronous]]]:
        """The drafter steps of a round at a conditional acceptance, those that were timed alone, as terms of a sum."""
        steps = draft_steps(self.kind, cumulative_from_alpha(alpha, self.k), self.heads)
        return [(sign * n, self.draft_by_width[width]) for width, n in steps.items() if width in self.draft_by_width]


def break_even_line(
    ledger: Ledger, share_by_drafted: Mapping[int, float], k: int | None = None, *, errors: bool = False
) -> BreakEvenLine:
    """The line of a ledger, or of the same drafter at another k; SpecviewError says what is not measured.

    With `errors` its times keep their standard errors, for intervals; curves need only means. Another k needs
    T_verify(k + 1) measured: it is never interpolated, because a width can lie behind a cliff.
    """
    setting = ledger.setting
    if setting.k == 0 or drafter_kind(setting.drafter, setting.adaptive) is DrafterKind.NONE:
        raise SpecviewError("Nothing is drafted here, so nothing has to break even.")
    if ledger.decode is None or ledger.acceptance is None:
        raise SpecviewError("Plain steps and rounds are still to be measured.")
    if ledger.draft is None or ledger.rest is None:
        raise SpecviewError("The parts of a round are still to be measured: they come from split rounds.")
    here = _line(ledger, dict(share_by_drafted) or {setting.k: 1.0}, setting.k, errors)
    return here if k is None or k == setting.k else _moved(ledger, here, k, errors)


def _span(number: Measured[R], errors: bool) -> Span[R]:
    return number.span if errors else number.span.mean


def _line(ledger: Ledger, shares: Mapping[int, float], k: int, errors: bool) -> BreakEvenLine:
    assert ledger.decode is not None and ledger.draft is not None and ledger.rest is not None
    verify = ledger.verify or ledger.verify_by_width.get(k + 1)
    if verify is None:
        raise SpecviewError(f"A verify pass over {k + 1} positions is still to be measured.")
    kind = drafter_kind(ledger.setting.drafter, ledger.setting.adaptive)
    widths = {width: _span(number, errors) for width, number in ledger.draft_by_width.items()}
    heads = ledger.setting.heads or 1
    needed = _step_widths(k, heads) if kind is DrafterKind.MTP else range(1, 3)
    known = all(width in widths for width in needed) or kind is DrafterKind.LOOKUP
    return BreakEvenLine(
        k=k,
        kind=kind,
        share_by_drafted=shares,
        decode=_span(ledger.decode, errors),
        verify=_span(verify, errors),
        draft=_span(ledger.draft, errors),
        rest=_span(ledger.rest, errors),
        alpha=_alpha(ledger, shares, k),
        draft_by_width=widths if known else {},
        inferred="" if known else "catch-up is left out: drafter steps not measured yet",
        heads=heads,
    )


def _step_widths(k: int, heads: int) -> range:
    """The widths that steps of MTP heads have in rounds of k drafts: the last of several heads takes in most."""
    return range(1, k + 1 + max(1, min(heads, k)))


def _moved(ledger: Ledger, here: BreakEvenLine, k: int, errors: bool) -> BreakEvenLine:
    """The line at another k and the same α: verify of that width, and so many more or fewer drafter steps."""
    if k < 1:
        raise SpecviewError("A draft has at least one token.")
    verify = ledger.verify_by_width.get(k + 1)
    if verify is None:
        raise SpecviewError(f"k = {k} needs verify over {k + 1} positions, which is not measured; it may be a cliff.")
    widths, inferred = dict(here.draft_by_width), []
    if (
        here.kind is DrafterKind.MTP
        and widths
        and (missing := [w for w in _step_widths(k, here.heads) if w not in widths])
    ):
        widest = max(widths)
        slope = (widths[widest] - widths[1]) / (widest - 1.0) if widest > 1 else widths[1] * 0.0
        widths.update({width: widths[widest] + slope * (width - widest) for width in missing})
        inferred.append(f"drafter steps wider than {widest} are extended in a line")
    if here.kind is DrafterKind.LOOKUP:
        inferred.append(f"as if every round found {k} tokens")
    moved = replace(
        here,
        k=k,
        share_by_drafted={k: 1.0},
        verify=_span(verify, errors),
        draft_by_width=widths,
        inferred="; ".join(inferred),
    )
    if here.kind is DrafterKind.LOOKUP:
        return moved
    if not widths:
        raise SpecviewError("Drafter steps were not measured alone, so another k cannot be reckoned.")
    at = here.alpha.estimate
    return replace(moved, draft=combined([(1.0, here.draft), *moved.catch_up(at), *here.catch_up(at, -1.0)]))


def _alpha(ledger: Ledger, shares: Mapping[int, float], k: int) -> Interval:
    """Conditional α: as counted at k = 1, else the one α that yields the measured tokens per round."""
    assert ledger.acceptance is not None
    counts = ledger.acceptance
    first = counts.conditional[0] if counts.conditional else None
    if k == 1 and first is not None:
        return first
    e = counts.tokens_per_round
    low, middle, high = (alpha_of_tokens(value, shares) for value in (e.low, e.estimate, e.high))
    return Interval(middle, low, high, e.level, e.n)


def alpha_of_tokens(tokens: float, shares: Mapping[int, float]) -> float:
    """The one conditional α that yields so many tokens a round, over how many rounds draft how much."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        yielded = sum(share * tokens_from_alpha(middle, k) for k, share in shares.items())
        low, high = (middle, high) if yielded < tokens else (low, middle)
    return (low + high) / 2
