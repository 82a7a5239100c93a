"""A saved session's screens drawn without a terminal, for pictures and for what only a screen knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from textual.pilot import Pilot

from ...layouts.export.names import DASHBOARD
from ..application import Source, SpecviewApp
from .files import ExportError

T = TypeVar("T")

PAUSE_S = 0.02
PATIENCE = 1500  # pauses of the app, each as long as it is busy
COMPARE, SESSIONS = "compare", "sessions"
SETTLING = 5  # turns that scrolling and laying out take


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is to be looked at: a screen by its name, its size in cells, the theme; `other` is a session to compare."""

    screen: str = DASHBOARD
    size: tuple[int, int] = (120, 40)
    theme: str = "dark"
    other: Path | None = None


def screen_names() -> tuple[str, ...]:
    """Every screen there is, the dashboard first."""
    from ..pages import SCREEN_BY_NAME

    return (DASHBOARD, *SCREEN_BY_NAME)


def looked_at(session: Path, sight: Sight, look: Callable[[SpecviewApp], T], **options: Any) -> T:
    """What `look` finds when the screen shows all that there is to show; ExportError where it never does.

    `options` are further ones of the app, e.g. the folder whose sessions it lists.
    """
    if sight.screen not in screen_names():
        raise ExportError(f"There is no screen {sight.screen!r}: choose one of {', '.join(screen_names())}.")
    app = SpecviewApp(Source(session), theme=sight.theme, **options)
    found: list[T] = []

    async def take(pilot: Pilot[Any]) -> None:
        if await _shown(app, sight, pilot):
            found.append(look(app))
        app.exit()

    app.run(headless=True, size=sight.size, auto_pilot=take)
    if not found:
        raise ExportError(f"The screen {sight.screen} could not be drawn; open the session with specview to see why.")
    return found[0]


async def _shown(app: SpecviewApp, sight: Sight, pilot: Pilot[Any]) -> bool:
    """Open the screen and wait; False where it is not there in the end."""
    await _until(pilot, lambda: app.settled)
    if sight.screen != DASHBOARD:
        await _open(app, sight)
        await _until(pilot, lambda: app.page is not None and app.page.is_mounted and _settled(app, sight.screen))
        if app.page is None or sight.screen != app.page.NAME:
            return False
    app.clear_notifications()
    for _ in range(SETTLING):
        await pilot.pause(PAUSE_S)
    return True


async def _open(app: SpecviewApp, sight: Sight) -> None:
    if sight.other is not None and app.shown is not None:
        await app.compare_paths((app.shown, sight.other))
    else:
        await app.run_action(f"page('{sight.screen}')")


def _settled(app: SpecviewApp, screen: str) -> bool:
    """Whether the page shows all there is; those that read other files than the session say so themselves."""
    if screen == COMPARE:
        return app.compare_settled
    if screen == SESSIONS:
        return app.library_settled
    return app.page_settled


async def _until(pilot: Pilot[Any], true: Callable[[], bool]) -> None:
    for _ in range(PATIENCE):
        await pilot.pause(PAUSE_S)
        if true():
            return
