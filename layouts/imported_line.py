"""The break-even line of another engine's rounds: from its parts where it told them apart, else from whole rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..engine.errors import SpecviewError
from ..profilers.judge.acceptance import alpha_from_tokens
from ..profilers.judge.asked import LineBasis
from ..profilers.judge.break_even import BreakEvenLine
from ..profilers.judge.economics import decode_from, drafter_kind
from ..profilers.judge.imported import HOW_TO_BASELINE, ImportedVerdict
from ..profilers.judge.spans import Span, Synchronous
from ..profilers.judge.statistics import Interval
from . import figures
from .costs import curve_of_line
from .view_models import BreakEvenView, WhatIf
from .what_if import answered, with_answer

NO_BASELINE = f"There is no plain baseline, so nothing to break even with: {HOW_TO_BASELINE}."
NO_DRAFTS = "Nothing was drafted here: give a window with drafts, or a verify curve."
NO_K = "How many tokens a round drafts (k) is not said, so there is no line."
NO_ROUND = "What a round costs is not known: that takes a speed with drafts, or a verify curve over k + 1 positions."
UNSPLIT = "Draft and verify are not told apart: the level is the whole round, and breaks even as one."
DRAFTS_FREE = "Drafts and the rest are taken as free."
FROM_HALF = 0.5


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """The line and what it rests on.

    `split`: the level is a verify pass, else the whole round with its draft. `spread`: the interval of α is known.
    `measured`: a point stands on the line, because something was accepted. `passes` are whole passes timed alone, and
    `draft_step_ms` one drafter step, for another k.
    """

    line: BreakEvenLine
    split: bool
    measured: bool
    spread: bool
    passes: Mapping[int, float]
    draft_step_ms: float | None
    note: str


def imported_line(
    found: ImportedVerdict | None, passes: Mapping[int, float], draft_step_ms: float | None
) -> ImportedLine | str:
    """The line, or the sentence why there is none; `passes` in ms by positions."""
    if found is None:
        return NO_BASELINE
    numbers = found.numbers
    if any(warned.code == "batched_speed" for warned in found.warnings):
        return found.sentence
    decode_ms = numbers.get("decode_ms")
    if decode_ms is None and found.plain is not None:
        decode_ms = 1000 / found.plain.tokens_per_second
    if not decode_ms:
        return NO_BASELINE
    k = _k(found, passes)
    if k is None:
        if not found.windows:
            return NO_DRAFTS
        return _without_k(numbers, decode_ms)
    parts = _parts(found, passes, draft_step_ms, k)
    if parts is None:
        return NO_ROUND
    verify_ms, draft_ms, rest_ms, note = parts
    alpha = _alpha(numbers, k)
    line = BreakEvenLine(
        k=k,
        kind=drafter_kind(found.manner.drafter or ""),
        share_by_drafted={k: 1.0},
        decode=decode_from(1000 / decode_ms),
        verify=Span(verify_ms, Synchronous),
        draft=Span(draft_ms, Synchronous),
        rest=Span(rest_ms, Synchronous),
        alpha=alpha or Interval(FROM_HALF, 0.0, 1.0, 0.95, 0),
        draft_by_width={},
    )
    return ImportedLine(
        line=line,
        split=note != UNSPLIT,
        measured=alpha is not None,
        spread="tokens_per_round_95" in numbers,
        passes=passes,
        draft_step_ms=draft_step_ms,
        note=note,
    )


def _k(found: ImportedVerdict, passes: Mapping[int, float]) -> int | None:
    """The draft length; for plain windows alone the least that a verify pass was timed for."""
    k = found.numbers.get("k", found.manner.k)
    if not found.windows and not k:
        k = min((width for width in passes if width > 1), default=1) - 1
    return k if isinstance(k, int) and k > 0 else None


def _without_k(numbers: Mapping[str, Any], decode_ms: float) -> str:
    """What can be said where acceptance cannot be made conditional."""
    tokens, round_ms = numbers.get("tokens_per_round"), numbers.get("round_ms")
    if tokens is None or round_ms is None:
        return NO_K
    return (
        f"{NO_K} At {figures.ratio(tokens)} tokens a round it breaks even up to {figures.ms(tokens * decode_ms)} "
        f"({figures.steps(tokens)}) a round; it costs {figures.ms(round_ms)} ({figures.steps(round_ms / decode_ms)})."
    )


def _parts(
    found: ImportedVerdict, passes: Mapping[int, float], draft_step_ms: float | None, k: int
) -> tuple[float, float, float, str] | None:
    """T_verify, T_draft, T_rest in ms and what to say of them: by one ruler, as the engine told, timed alone, or whole.

    Parts of the engine's own rounds stand for themselves here: the line predicts nothing.
    """
    if found.two_rulers is not None:
        rulers = found.two_rulers
        return rulers.right.verify_ms, rulers.draft_ms, rulers.rest_ms, rulers.origin
    by_name = {part.name: part.ms for part in found.parts}
    round_ms = found.numbers.get("round_ms")
    if "verify" in by_name and "draft" in by_name:
        known = by_name["verify"] + by_name["draft"]
        rest = by_name.get("rest", max(0.0, (round_ms or by_name.get("round", known)) - known))
        return by_name["verify"], by_name["draft"], rest, "Parts by the engine's own clock."
    if found.drafting is not None and round_ms is not None:
        return round_ms, 0.0, 0.0, UNSPLIT
    if k + 1 in passes:
        if draft_step_ms is None:
            return passes[k + 1], 0.0, 0.0, DRAFTS_FREE
        return passes[k + 1], k * draft_step_ms, 0.0, "Passes timed alone; the rest of a round is taken as free."
    return None


def _alpha(numbers: Mapping[str, object], k: int) -> Interval | None:
    """The one conditional α that yields E, with the ends that E's interval gives."""
    tokens, ends = numbers.get("tokens_per_round"), numbers.get("tokens_per_round_95")
    if not isinstance(tokens, int | float):
        return None
    low, high = ends if isinstance(ends, list) else (tokens, tokens)
    try:
        one, two, three = (alpha_from_tokens(min(max(value, 1.0), k + 1.0), k) for value in (low, tokens, high))
    except SpecviewError:
        return None
    return Interval(two, one, three, 0.95, 0)


def imported_basis(found: ImportedLine) -> LineBasis:
    """What another engine's rounds can be asked."""
    note = "of the whole round" if not found.split else "" if found.measured else _lower(found.note)
    line = replace(found.line, inferred=note)
    parted = found.split and (not found.line.draft.ms or found.draft_step_ms is not None)
    lengths = {line.k, *(width - 1 for width in found.passes if width > 1 and parted)}
    return LineBasis(
        here=line,
        line_at=lambda k: replace(_moved(found, k), inferred=note),
        lengths=tuple(sorted(lengths)),
        batch_costs={},
        measured=found.measured,
        whole=not found.split,
    )


def imported_break_even(found: ImportedLine | str, what_if: WhatIf, measured: Interval | None = None) -> BreakEvenView:
    """The line with its point, where there is one, and the answer to a what-if; `measured` is the verdict's S."""
    if isinstance(found, str):
        return BreakEvenView(message=found)
    line = found.line
    speedup = None if measured is None else measured.estimate
    answer, refusal = answered(imported_basis(found), what_if, measured=speedup, verdict=measured is not None)
    p = line.alpha.estimate
    view = with_answer(
        BreakEvenView(
            curve=curve_of_line(line),
            verify_steps=line.verify_steps,
            symbol="p" if line.k == 1 else "α",
            level="" if found.split else "round",
            note=found.note,
        ),
        answer,
        refusal,
        (),
    )
    if not found.measured:
        return replace(view, unmeasured=True)
    return replace(
        view,
        p=p,
        p_low=line.alpha.low if found.spread else None,
        p_high=line.alpha.high if found.spread else None,
        limit_ms=line.limit_ms(p),
        limit_steps=line.limit_steps(p),
    )


def _moved(found: ImportedLine, k: int) -> BreakEvenLine:
    """The line at another k, from passes timed alone; a round at one k says nothing of a round at another."""
    if k + 1 not in found.passes:
        raise SpecviewError(f"k = {k} needs verify over {k + 1} positions, which is not measured; it may be a cliff.")
    if not found.split or (found.line.draft.ms and found.draft_step_ms is None):
        raise SpecviewError(
            f"k = {k} needs draft and verify told apart, and these rounds were counted whole, at k = {found.line.k}."
        )
    draft_ms = 0.0 if found.draft_step_ms is None else k * found.draft_step_ms
    return replace(
        found.line,
        k=k,
        share_by_drafted={k: 1.0},
        verify=Span(found.passes[k + 1], Synchronous),
        draft=Span(draft_ms, Synchronous),
    )


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def limit_words(found: ImportedLine | str, view: BreakEvenView) -> str:
    """What would break even, in a sentence; empty where there is no line."""
    if isinstance(found, str) or view.curve is None:
        return ""
    if view.limit_ms is None:
        drafts = f"With k = {view.curve.k} this verify ({figures.steps(view.verify_steps)})"
        if view.curve.crossing is None:
            return f"{drafts} cannot win at any {view.symbol}. {found.note}"
        return f"{drafts} breaks even from {view.symbol} = {figures.share(view.curve.crossing)} on. {found.note}"
    name = f"verify({view.curve.k + 1})" if found.split else "a round"
    text = (
        f"Break-even at this {view.symbol}: {name} ≤ {figures.ms(view.limit_ms)} ({figures.steps(view.limit_steps)}), "
        f"now {figures.bare_ms(view.curve.verify_ms)} ({figures.steps(view.verify_steps)})."
    )
    if view.curve.crossing is None:
        return f"{text} No {view.symbol} breaks even at that."
    return f"{text} At that it takes {view.symbol} ≥ {figures.share(view.curve.crossing)}."
