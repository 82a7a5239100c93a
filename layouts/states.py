"""The words for what a recorder or a file is up to, and the screen before there is a session; light to load."""

from __future__ import annotations

from .headline import first_headline
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
    """What is known before the first record: what is being loaded or waited for."""
    return DashboardView(
        status=StatusView("specview", live.state, WORDS[live.state], None, live.progress),
        headline=first_headline(live),
        decode=DecodeView(),
        verify=VerifyView(),
        break_even=BreakEvenView(message="Rounds are still to be measured."),
        stream=StreamView(message="No text yet."),
        rounds=RoundsView(),
    )
