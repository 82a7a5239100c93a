"""The guided tour: six steps over the dashboard in plain words, with the numbers that stand there now."""

from __future__ import annotations

from dataclasses import dataclass

from . import figures
from .view_models import DashboardView


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the panel it is about (`headline` or one of the five), what it is, and its numbers now."""

    panel: str
    title: str
    words: str
    now: str = ""


def tour_steps(view: DashboardView) -> tuple[Step, ...]:
    """The steps for what is on the screen; a number that is not there yet is left out."""
    return (
        Step(
            "headline",
            "The verdict",
            "The answer stands first: drafting wins, loses, cannot win, or it is too close to call. A round yields "
            "some tokens and costs as much as some plain steps; it wins when it yields more than it costs.",
            f"Now: {view.headline.word}. {view.headline.first}".strip(),
        ),
        Step(
            "decode",
            "What one token costs without drafts",
            "Three ways to time one plain step. The bars split it into parts of the model, the gap is what is in none "
            "of them: waiting and Python, which no faster kernel removes.",
            _decode(view),
        ),
        Step(
            "verify",
            "What checking drafts costs",
            "A round checks all its drafts in one pass. Near 1x the drafts are checked almost for free; near 2x for "
            "two positions the pass costs as much as generating both, and drafts can hardly win.",
            _verify(view),
        ),
        Step(
            "break-even",
            "Where the line runs",
            "p is how often a draft is kept. Below the dotted line drafting wins, above it loses; ● is where this run "
            "stands. Ask what another p would change with ← →, another draft length with ↑ ↓.",
            _line(view),
        ),
        Step(
            "stream",
            "The text as it comes",
            "Drafts that were kept, tokens the model added itself in bold, and drafts thrown away struck through. Grey "
            "text was written without drafts, to compare.",
            f"Now: {view.stream.where}." if view.stream.where else "",
        ),
        Step(
            "rounds",
            "The numbers, and further",
            "Every number of the verdict. The letters in the last line open more: l the ledger of all numbers, w "
            "other draft lengths, t another model or drafter. ? explains the panel you are in, g every word. f1 shows "
            "this again.",
            _rounds(view),
        ),
    )


def _decode(view: DashboardView) -> str:
    decode = view.decode
    if decode.whole_ms is None:
        return ""
    gap = "" if decode.gap_ms is None else f", of which {figures.ms(decode.gap_ms)} is the gap"
    return f"Now: one step takes {figures.ms(decode.whole_ms)}{gap}."


def _verify(view: DashboardView) -> str:
    marked = next((bar for bar in view.verify.widths if bar.marked), None)
    if marked is None:
        return ""
    return f"Now: checking {marked.label} positions takes {figures.ratio(marked.ratio)} times one step."


def _line(view: DashboardView) -> str:
    line = view.break_even
    if line.curve is None or line.p is None:
        return ""
    crossing = line.curve.crossing
    where = "no p breaks even" if crossing is None else f"it breaks even from {line.symbol} = {figures.share(crossing)}"
    return f"Now: {line.symbol} is {figures.share(line.p)}; {where}."


def _rounds(view: DashboardView) -> str:
    first = view.rounds.rows[:2]
    return "Now: " + ", ".join(f"{row.label} {row.value}" for row in first) + "." if first else ""
