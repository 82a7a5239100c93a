"""The break-even line: how dear verify may be at every acceptance, and where a run stands against that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from .acceptance import cumulative_from_alpha, tokens_from_alpha
from .economics import DrafterKind, break_even_verify_ms, draft_steps, drafter_kind
from .ledger import Ledger
from .statistics import Interval

GRID = 200


@dataclass(frozen=True, slots=True)
class BreakEvenLine:
    """One drafter at one k: everything in ms, acceptance as conditional α.

    `share_by_drafted` says how many rounds draft how much (lookup drafts of
    varying width). The draft of a round at another α differs from the measured
    one, `draft_ms` at `alpha`, by its catch-up only. `inferred` names what was
    not measured at this k.
    """

    k: int
    kind: DrafterKind
    share_by_drafted: Mapping[int, float]
    decode_ms: float
    verify_ms: float
    draft_ms: float
    rest_ms: float
    alpha: Interval
    draft_ms_by_width: Mapping[int, float]
    inferred: str = ""

    def tokens(self, alpha: float) -> float:
        """E at a conditional acceptance."""
        return sum(share * tokens_from_alpha(alpha, k) for k, share in self.share_by_drafted.items())

    def draft_at(self, alpha: float) -> float:
        """T_draft at a conditional acceptance, catch-up included, in ms."""
        return self.draft_ms + self._catch_up(alpha) - self._catch_up(self.alpha.estimate)

    def limit_ms(self, alpha: float) -> float:
        """The most T_verify may be for S = 1: E · T_decode − T_draft − T_rest."""
        return break_even_verify_ms(self.tokens(alpha), self.decode_ms, self.draft_at(alpha), self.rest_ms)

    def speedup(self, alpha: float) -> float:
        """S = E · T_decode ÷ T_round."""
        return self.tokens(alpha) * self.decode_ms / (self.verify_ms + self.draft_at(alpha) + self.rest_ms)

    def crossing(self) -> float | None:
        """The least α at which the measured T_verify breaks even; None if none does, 0 if all do."""
        surplus = [self.limit_ms(i / GRID) - self.verify_ms for i in range(GRID + 1)]
        above = next((i for i, value in enumerate(surplus) if value >= 0), None)
        if above is None or above == 0:
            return None if above is None else 0.0
        before, after = surplus[above - 1], surplus[above]
        return (above - 1 + before / (before - after)) / GRID

    def _catch_up(self, alpha: float) -> float:
        steps = draft_steps(self.kind, cumulative_from_alpha(alpha, self.k))
        return sum(count * self.draft_ms_by_width.get(width, 0.0) for width, count in steps.items())


def break_even_line(ledger: Ledger, share_by_drafted: Mapping[int, float], k: int | None = None) -> BreakEvenLine:
    """The line of a ledger, or of the same drafter at another k; SpecviewError says what is not measured.

    Another k needs T_verify(k + 1) measured: it is never interpolated, because a width can lie behind a cliff.
    """
    setting = ledger.setting
    if setting.k == 0 or drafter_kind(setting.drafter) is DrafterKind.NONE:
        raise SpecviewError("Nothing is drafted here, so nothing has to break even.")
    if ledger.decode is None or ledger.acceptance is None:
        raise SpecviewError("Plain steps and rounds are still to be measured.")
    if ledger.draft is None or ledger.rest is None:
        raise SpecviewError("The parts of a round are still to be measured: they come from split rounds.")
    here = _line(ledger, dict(share_by_drafted) or {setting.k: 1.0}, setting.k)
    return here if k is None or k == setting.k else _moved(ledger, here, k)


def _line(ledger: Ledger, shares: Mapping[int, float], k: int) -> BreakEvenLine:
    assert ledger.decode is not None and ledger.draft is not None and ledger.rest is not None
    verify = ledger.verify or ledger.verify_by_width.get(k + 1)
    if verify is None:
        raise SpecviewError(f"A verify pass over {k + 1} positions is still to be measured.")
    kind = drafter_kind(ledger.setting.drafter)
    widths = {width: number.mean.estimate for width, number in ledger.draft_by_width.items()}
    needed = range(1, k + 2) if kind is DrafterKind.MTP else range(1, 3)
    known = all(width in widths for width in needed) or kind is DrafterKind.LOOKUP
    return BreakEvenLine(
        k=k,
        kind=kind,
        share_by_drafted=shares,
        decode_ms=ledger.decode.mean.estimate,
        verify_ms=verify.mean.estimate,
        draft_ms=ledger.draft.mean.estimate,
        rest_ms=ledger.rest.mean.estimate,
        alpha=_alpha(ledger, shares, k),
        draft_ms_by_width=widths if known else {},
        inferred="" if known else "catch-up is left out: drafter steps not measured yet",
    )


def _moved(ledger: Ledger, here: BreakEvenLine, k: int) -> BreakEvenLine:
    """The line at another k and the same α: verify of that width, and so many more or fewer drafter steps."""
    if k < 1:
        raise SpecviewError("A draft has at least one token.")
    verify = ledger.verify_by_width.get(k + 1)
    if verify is None:
        raise SpecviewError(f"k = {k} needs verify over {k + 1} positions, which is not measured; it may be a cliff.")
    widths, inferred = dict(here.draft_ms_by_width), []
    if here.kind is DrafterKind.MTP and widths and (missing := [w for w in range(1, k + 2) if w not in widths]):
        widest = max(widths)
        slope = (widths[widest] - widths[1]) / (widest - 1) if widest > 1 else 0.0
        widths.update({width: widths[widest] + slope * (width - widest) for width in missing})
        inferred.append(f"drafter steps wider than {widest} are extended in a line")
    if here.kind is DrafterKind.LOOKUP:
        inferred.append(f"as if every round found {k} tokens")
    moved = BreakEvenLine(
        k=k,
        kind=here.kind,
        share_by_drafted={k: 1.0},
        decode_ms=here.decode_ms,
        verify_ms=verify.mean.estimate,
        draft_ms=0.0,
        rest_ms=here.rest_ms,
        alpha=here.alpha,
        draft_ms_by_width=widths,
        inferred="; ".join(inferred),
    )
    draft = here.draft_ms
    if here.kind is not DrafterKind.LOOKUP:
        if not widths:
            raise SpecviewError("Drafter steps were not measured alone, so another k cannot be reckoned.")
        at = here.alpha.estimate
        draft += moved._catch_up(at) - here._catch_up(at)
    return BreakEvenLine(
        k=moved.k,
        kind=moved.kind,
        share_by_drafted=moved.share_by_drafted,
        decode_ms=moved.decode_ms,
        verify_ms=moved.verify_ms,
        draft_ms=draft,
        rest_ms=moved.rest_ms,
        alpha=moved.alpha,
        draft_ms_by_width=moved.draft_ms_by_width,
        inferred=moved.inferred,
    )


def _alpha(ledger: Ledger, shares: Mapping[int, float], k: int) -> Interval:
    """Conditional α: as counted at k = 1, else the one α that yields the measured tokens per round."""
    assert ledger.acceptance is not None
    counts = ledger.acceptance
    first = counts.conditional[0] if counts.conditional else None
    if k == 1 and first is not None:
        return first
    e = counts.tokens_per_round
    low, middle, high = (_alpha_from(value, shares) for value in (e.low, e.estimate, e.high))
    return Interval(middle, low, high, e.level, e.n)


def _alpha_from(tokens: float, shares: Mapping[int, float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        yielded = sum(share * tokens_from_alpha(middle, k) for k, share in shares.items())
        low, high = (middle, high) if yielded < tokens else (low, middle)
    return (low + high) / 2
