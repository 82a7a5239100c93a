"""Every screen on four sessions, three sizes, dark and light, as reviewed text; SPECVIEW_SNAPSHOTS=write writes it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_sessions import write_session
from screen_text import snapshot_of, until
from session_builder import written
from textual.pilot import Pilot

from specview.app.application import Source, SpecviewApp
from specview.app.pages import SCREEN_BY_NAME
from specview.layouts.screens.sessions import SessionsScreen

SNAPSHOTS = Path(__file__).parent / "snapshots" / "screens"
EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "examples"
SIZES = ((80, 24), (120, 40), (200, 60))
DASHBOARD = "dashboard"
MIDDAY_NS = 1_798_804_800_000_000_000  # when all files of the folder were changed


def one_round(folder: Path) -> Path:
    """A session that has just begun."""
    return written(folder, "one-round")


def normal(folder: Path) -> Path:
    """A whole recording."""
    return written(folder, "normal")


def long(folder: Path) -> Path:
    """200,000 rounds."""
    path = folder / "long.specview.jsonl"
    write_session(path, 200_000, 32, 0.01)
    return path


def imported(folder: Path) -> Path:
    """Another engine's figures, so that half the panels are empty."""
    return Path(shutil.copy(EXAMPLES / "article-a-july.specview.jsonl", folder))


CASES: dict[str, Callable[[Path], Path]] = {
    "one-round": one_round,
    "normal": normal,
    "long": long,
    "imported": imported,
}


def views_of(dark: str, light: str) -> str:
    """The characters of a screen, and what the styles of both themes come to."""
    text, styles = dark.split("\nstyles by row\n")
    same, other = light.split("\nstyles by row\n")
    assert text == same, "the themes differ in more than their styles"
    digests = [f"{name} {hashlib.sha256(each.encode()).hexdigest()[:16]}" for name, each in
               (("dark", styles), ("light", other))]  # fmt: skip
    return "\n".join([text, *digests, ""])


async def seen(app: SpecviewApp, pilot: Pilot[Any]) -> str:
    """This screen at every size, in both themes."""
    found = []
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        looks = []
        for theme in ("dark", "light"):
            app.theme = f"specview-{theme}"
            for _ in range(3):
                await pilot.pause()
            looks.append(snapshot_of(app))
        found.append(f"== {width} × {height}\n{views_of(*looks)}")
    return "\n".join(found)


async def show(app: SpecviewApp, pilot: Pilot[Any], screen: str, folder: Path) -> None:
    """Put a screen on top and wait until it says everything."""
    if screen == "compare":
        assert app.shown is not None
        await app.compare_paths((app.shown, folder / "wins.specview.jsonl"))
        await until(pilot, lambda: app.compare_settled, screen)
    else:
        await app.action_page(screen)
        await until(pilot, lambda: app.page_settled, screen)
    if screen == "sessions":
        page = app.page
        assert isinstance(page, SessionsScreen)  # both are in sight once the rows are laid out
        await until(pilot, lambda: len(page.in_sight) == 2 and app.library_settled, screen)


@pytest.mark.parametrize("case", CASES)
def test_every_screen_looks_as_reviewed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    path = CASES[case](tmp_path)
    for each in (path, written(tmp_path, "wins")):
        os.utime(each, ns=(MIDDAY_NS, MIDDAY_NS))
    app = SpecviewApp(
        Source(path),
        folder=tmp_path,
        switches=lambda device: ((), "Nothing can be tried here."),
        clock_ns=lambda: MIDDAY_NS,
    )
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=SIZES[0]) as pilot:
            await until(pilot, lambda: app.settled)
            found[DASHBOARD] = await seen(app, pilot)
            for screen in SCREEN_BY_NAME:
                await show(app, pilot, screen, tmp_path)
                found[screen] = await seen(app, pilot)

    asyncio.run(run())
    assert set(found) == {DASHBOARD, *SCREEN_BY_NAME}
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        SNAPSHOTS.mkdir(exist_ok=True)
        for screen, text in found.items():
            (SNAPSHOTS / f"{screen}-{case}.txt").write_text(text, encoding="utf-8")
    for screen, text in found.items():
        assert text == (SNAPSHOTS / f"{screen}-{case}.txt").read_text(encoding="utf-8"), f"{screen} of {case}"
