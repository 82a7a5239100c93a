"""A session in which nothing was generated: what its costs say of drafting, in words and as a line without a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engine.errors import SpecviewError
from ..profilers.judge.asked_costs import CostsBasis
from ..profilers.judge.batch import BatchCosts
from ..profilers.judge.batch_drafts import BatchDraftsTable, batch_drafts
from ..profilers.judge.batch_table import batch_costs
from ..profilers.judge.costs_alone import CostsAlone, costs_alone, in_full
from ..profilers.judge.experiments import experiment_rows
from ..profilers.judge.extrapolation import ScaledPass
from ..profilers.judge.floors import Floors, NoFloor
from ..profilers.judge.numbers import Number, numbers, whole_probes
from ..profilers.judge.question import CURVE_POINTS
from ..profilers.record.session import Session
from . import figures
from .batch_words import drafts_sentences
from .view_models import BreakEvenView, Curve, HeadlineView, Live, RoundsView, Row, StreamView, WhatIf
from .what_if import answered, with_answer

PLAN = "costs only"
WORD = "COSTS ONLY"
RANDOM = "Random weights: acceptance is unknown and never reported here."
NO_TEXT = "Nothing was generated in this session, so there is no text: a survey times passes. r records with drafts."
NO_PASSES = "No passes over one position and over several are timed here, so there is no line. y surveys this model."
NOTHING, ONLY_BATCHES = "nothing generated", "only batches generated"
NO_ROUNDS = "No rounds: nothing was drafted or accepted here. r records plain decoding and drafting side by side."


@dataclass(frozen=True, slots=True)
class CostsFacts:
    """What the costs of a session say; `scaled` are whole passes over 1 and 2 positions, extrapolated to all layers.

    `batches` are passes of several sequences at once, by their number; `drafted` what such texts gained by drafts.
    """

    costs: CostsAlone | None
    widths: tuple[tuple[int, Number], ...]
    scaled: tuple[ScaledPass, ScaledPass] | None
    experiments: int
    batches: Mapping[int, BatchCosts] = field(default_factory=dict)
    drafted: BatchDraftsTable | None = None


def is_costs_only(session: Session) -> bool:
    """Whether a survey wrote it: its plan says so, and nothing was run."""
    return session.header.plan.startswith(PLAN) and not session.runs


def costs_facts(session: Session) -> CostsFacts:
    """The facts of a survey, also of one that has just begun."""
    costs = costs_alone(session)
    widths = tuple(numbers(whole_probes(session, "verify")).items())
    scaled = None
    if costs is not None:
        first, second = in_full(session, costs, 1), in_full(session, costs, 2)
        scaled = None if first is None or second is None else (first, second)
    batches = batch_costs(session) if session.batch_probes else {}
    return CostsFacts(costs, widths, scaled, len(experiment_rows(session)), batches, batch_drafts(session))


def costs_headline(session: Session, facts: CostsFacts, live: Live) -> HeadlineView:
    """What it is, and from which E on drafts of one token could win."""
    first, second = "nothing is generated.", ""
    costs = facts.costs
    if costs is not None:
        first, second = _two(costs)
        if session.batched:
            first = first.replace(NOTHING, ONLY_BATCHES)
    elif facts.experiments:
        second = "Switches of MLX against MLX as it is: x shows what they brought."
    elif live.state in ("loading", "recording", "following", "stalled"):
        second = "Passes over one position and over several are still to be timed."
    else:
        second = "No passes over one position and over several were timed, so nothing follows for drafting."
    model = session.header.model
    if model.random_weights:
        second = f"{second} {RANDOM}".strip()
    return HeadlineView("costs", WORD, first, second, _third(session, facts))


def _two(costs: CostsAlone) -> tuple[str, str]:
    """The least width above one, k = 1 where two positions were timed."""
    width = min(n for n in costs.widths if n > 1)
    k, steps, ratio = width - 1, costs.steps(width), costs.ratio(width)
    positions = "two positions" if width == 2 else f"{width} positions"
    first = f"{NOTHING}; at {positions} a pass costs {figures.steps(steps)}"
    if costs.decode is not None:
        first += f" (pipelined), {figures.ratio(ratio.estimate)} {figures.span(ratio)} passes of one"
    drafts = f"Drafts with k = {k}"
    crossing = costs.crossing(k)
    if crossing is None:
        yields = f"a round yields at most {k + 1}.00 tokens and costs {figures.ratio(steps)}"
        if steps * ratio.low <= (k + 1) * ratio.estimate:
            return first, f"{drafts} can hardly win: {yields}, which this spread does not tell apart."
        return first, f"{drafts} cannot win: {yields}."
    return first, (
        f"{drafts} win only if a round yields more than {figures.ratio(steps)} tokens, p above "
        f"{figures.share(crossing)}, with drafts that cost nothing."
    )


def _third(session: Session, facts: CostsFacts) -> str:
    """Batches that were generated, all layers where only some were built, else the draft length with most room."""
    if facts.drafted is not None:
        return f"{drafts_sentences(facts.drafted)[0]} k shows batches."
    model = session.header.model
    if model.layers_in_full is not None:
        built, full = (sum(n for _, n in layers) for layers in (model.layers, model.layers_in_full))
        if facts.scaled is None:
            return f"{built} of {full} layers were built; figures are of those, but where marked extrapolated."
        one, two = facts.scaled
        low, high = sorted((two.low_ms / one.low_ms, two.high_ms / one.high_ms))
        return (
            f"Extrapolated from {built} to {full} layers: a pass {figures.bare_ms(one.low_ms)} to "
            f"{figures.ms(one.high_ms)}, two positions {figures.ratio(low)} to {figures.ratio(high)} times that."
        )
    costs = facts.costs
    if costs is None or len(costs.widths) < 3:
        return ""
    best = max((n for n in costs.widths if n > 1), key=lambda n: costs.most_speedup(1.0, n - 1))
    return (
        f"Most room at k = {best - 1}: {figures.times(costs.most_speedup(1.0, best - 1))} if every draft were accepted "
        "and cost nothing."
    )


def costs_line(facts: CostsFacts, what_if: WhatIf, floors: Floors | NoFloor | None = None) -> BreakEvenView:
    """The line from T_verify and T_decode; no point, because nothing was accepted."""
    costs = facts.costs
    if costs is None:
        return BreakEvenView(message=NO_PASSES)
    basis = CostsBasis(costs=costs, batch_costs=facts.batches)
    k = basis.k
    view = BreakEvenView(
        curve=_curve(costs, k),
        verify_steps=costs.steps(k + 1),
        symbol="p" if k == 1 else "α",
        note=f"Drafts and the rest are taken as free; a step is one of {costs.in_steps_of}. ← → ask what if p.",
        unmeasured=True,
    )
    return with_answer(view, *answered(basis, what_if, floors=floors), basis.batches)


def _curve(costs: CostsAlone, k: int) -> Curve:
    limits = tuple(costs.limit_ms(i / (CURVE_POINTS - 1), k) for i in range(CURVE_POINTS))
    return Curve(k, limits, costs.passes[k + 1].ms, costs.crossing(k))


def costs_stream() -> StreamView:
    """Why there is no text."""
    return StreamView(message=NO_TEXT)


def costs_rounds(session: Session, machine: RoundsView) -> RoundsView:
    """What was surveyed, and that there are no rounds."""
    counts = {"passes timed": len(session.probes), "census lines": len(session.census), "replays": len(session.replays)}
    rows = [Row(name, f"{number:,}") for name, number in counts.items() if number]
    if session.experiments:
        rows.append(Row("experiments", f"{len(session.experiments):,}", "visits to processes"))
    if session.batched:
        rows.append(Row("batches", f"{len(session.batched):,}", "stretches of texts at once"))
    return RoundsView((*rows, *machine.rows), NO_ROUNDS)


def costs_lines(session: Session) -> list[str]:
    """The same in a few lines of plain text, for a terminal without the screen."""
    try:
        shown = costs_headline(session, costs_facts(session), Live("saved"))
    except (SpecviewError, ArithmeticError, ValueError) as error:
        return [f"{WORD}: {error}"]
    return [f"{shown.word}: {shown.first}", *(text for text in (shown.second, shown.third) if text)]


def costs_object(session: Session) -> dict[str, Any]:
    """The same for programs; times in ms."""
    costs = costs_facts(session).costs
    found: dict[str, Any] = {"costs_only": True, "sentences": costs_lines(session), "plan": session.header.plan}
    if costs is None:
        return found
    widths = {
        str(n): {
            "verify_ms": costs.passes[n].ms,
            "steps": costs.steps(n),
            "ratio": costs.ratio(n).estimate,
            "least_p": costs.crossing(n - 1) if n > 1 else None,
        }
        for n in costs.widths
    }
    return {**found, "context": costs.context, "steps_of": costs.in_steps_of, "widths": widths}
