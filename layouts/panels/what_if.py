"""The what-if bar: one line that says what is asked, what would follow, and the key back to what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from .. import figures
from ..view_models import BreakEvenView, Moved, WhatIfView

WORD = "WHAT IF"
NEAR = 0.005  # a speedup that shows as 1.00x neither wins nor loses


class WhatIfBar(Static):
    """Not there while nothing is asked; its word stands out without colour too."""

    COMPONENT_CLASSES = {"what-if--word"}  # noqa: RUF012 - as Textual declares it

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._answer: WhatIfView | None = None
        self._refusal = ""
        self.display = False

    @property
    def text(self) -> str:
        """What it says in the width there is; empty where nothing is asked."""
        return self._said(max(20, self.content_size.width)) if self.display else ""

    def show(self, view: BreakEvenView) -> None:
        """Show the answer of this view, or that there is none."""
        if (view.what_if, view.what_if_message) == (self._answer, self._refusal):
            return
        self._answer, self._refusal = view.what_if, view.what_if_message
        shown = self._answer is not None or bool(self._refusal)
        if shown != self.display:
            self.display = shown
        if shown:
            self.refresh()

    def render(self) -> Content:
        """One line: the longest wording that fits."""
        width = self.content_size.width
        word = Content.styled(f" {WORD} ", self.get_visual_style("what-if--word"))
        said = Content(self._said(width - word.cell_length - 1))
        return (word + Content(" ") + said).truncate(width, ellipsis=True)

    def _said(self, width: int) -> str:
        wordings = refused(self._refusal) if self._answer is None else worded(self._answer)
        return next((text for text in wordings if Content(text).cell_length <= width), wordings[-1])


def refused(sentence: str) -> tuple[str, ...]:
    """Why there is no answer, from long to short."""
    return f"{sentence} · esc: back to measured", f"{sentence} · esc", f"esc · {sentence}"


def worded(answer: WhatIfView) -> tuple[str, ...]:
    """What is asked and what follows, from long to short."""
    asked = [each for each in answer.moved if each.asked] or [each for each in answer.moved if each.key == "p"]
    long, short = " · ".join(_long(each) for each in asked), " ".join(_short(each) for each in asked)
    brief = " ".join(_brief(each) for each in asked)
    speed = f"S {'at most ' if answer.at_most else ''}{figures.times(answer.speedup)}"
    verdict = _verdict(answer)
    against = _against(answer)
    follows = _follows(answer.moved)
    note = f" ({answer.note})" if answer.note else ""
    return (
        f"{long} → {speed}, {verdict}{against} · {follows}{note} · esc: back to measured",
        f"{long} → {speed}, {verdict}{against} · {follows} · esc: back to measured",
        f"{long} → {speed}, {verdict}{against} · esc: back to measured",
        f"{long} → {speed}, {verdict}{against} · esc: back",
        f"{short} → {speed}, {verdict}{against} · esc: back",
        f"{short} → {speed}{against} · esc: back",
        f"{short} → {speed} · esc: back",
        f"{brief} → {speed}, {verdict} · esc: back",
        f"{brief} → {speed} · esc: back",
        f"→ {speed} · esc: back · {brief}",
    )


def _verdict(answer: WhatIfView) -> str:
    if abs(answer.speedup - 1) < NEAR:
        return "breaks even"
    if answer.at_most:
        return "could win" if answer.speedup > 1 else "would lose"
    return "would win" if answer.speedup > 1 else "would lose"


def _against(answer: WhatIfView) -> str:
    """What to compare with: the verdict's S, and the formula's at what was measured where that differs."""
    parts = []
    if answer.measured is not None:
        parts.append(f"measured {figures.times(answer.measured)}")
    if answer.was is not None and figures.times(answer.was) != figures.times(answer.measured):
        parts.append(f"by formula {figures.times(answer.was)}")
    return f" ({', '.join(parts)})" if parts else ""


def _long(each: Moved) -> str:
    was = "" if each.was is None else f" (measured {_number(each, each.was, unit=False)})"
    return f"{each.name} {_number(each, each.now)}{was}"


def _short(each: Moved) -> str:
    was = "" if each.was is None else f" ({_number(each, each.was, unit=False)})"
    return f"{each.name.removeprefix('T_')} {_number(each, each.now)}{was}"


def _brief(each: Moved) -> str:
    return f"{each.name.removeprefix('T_')} {_number(each, each.now)}"


def _follows(moved: Sequence[Moved]) -> str:
    wanted = {"tokens": "E", "steps": "R", "crossing": ""}
    parts = []
    for each in moved:
        if each.key not in wanted or each.asked:
            continue
        name = wanted[each.key] or each.name
        parts.append(f"{name} {'none' if each.now is None else f'{each.now:.2f}'}")
    return ", ".join(parts)


def _number(each: Moved, value: float | None, *, unit: bool = True) -> str:
    if value is None:
        return figures.NONE
    if each.key in ("k", "batch"):
        return f"{value:.0f}"
    if each.unit == "ms":
        return figures.ms(value) if unit else figures.bare_ms(value)
    return f"{value:.2f}"
