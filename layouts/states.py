"""The words for what a recorder or a file is up to, and the screen before there is a session; light to load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .headline import first_headline
from .synthetic import drafter_words
from .view_models import (
    BreakEvenView,
    DashboardView,
    DecodeView,
    Live,
    LiveState,
    RoundsView,
    StatusView,
    StreamView,
    VerifyView,
)

if TYPE_CHECKING:
    from ..profilers.record.records import Header

NO_ROUNDS = "Rounds are still to be measured."
STILL_READING = "The file is still being read."
WORDS: dict[LiveState, str] = {
    "loading": "◌ loading",
    "recording": "● recording",
    "paused": "◆ paused",
    "stalled": "▲ silent",
    "following": "● following",
    "saved": "◇ saved",
    "ended": "■ ended",
    "waiting": "◌ waiting",
}


def empty_dashboard(live: Live) -> DashboardView:
    """What is known before the first record, or while a long file is read: what is being loaded or waited for."""
    word = WORDS[live.state] if live.reading is None else f"◌ reading {live.reading:.0%}"
    return DashboardView(
        status=StatusView(header_title(live.header), live.state, word, None, live.progress),
        headline=first_headline(live),
        decode=DecodeView(),
        verify=VerifyView(),
        break_even=BreakEvenView(message=NO_ROUNDS if live.reading is None else STILL_READING),
        stream=StreamView(message="No text yet." if live.reading is None else STILL_READING),
        rounds=RoundsView() if live.reading is None else RoundsView(message=STILL_READING),
    )


def header_title(header: Header | None) -> str:
    """What a header alone says for the top line: model, drafter, device."""
    if header is None:
        return "specview"
    model, drafter = header.model, header.drafter
    parts = [model.id if model.quantisation is None else f"{model.id} {model.quantisation}"]
    if drafter is not None:
        words = drafter_words(drafter.kind)
        parts.append(words if drafter.k is None else f"{words} k={drafter.k}")
    parts.append(header.environment.device or "")
    return f"specview — {' · '.join(part for part in parts if part)}"
