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
from reviewed import SNAPSHOTS, assert_reviewed, turned
from screen_text import snapshot_of, styled_rows, until
from session_builder import written
from textual.pilot import Pilot

from specview.app.application import Source, SpecviewApp
from specview.app.pages import SCREEN_BY_NAME
from specview.layouts.screens.sessions import SessionsScreen

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "examples"
SIZES = ((80, 24), (120, 40), (200, 60))
THEMES = ("dark", "light")
READ, READ_AT = "normal", (120, 40)  # the styles of these are written out, to be reviewed
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


def digest(styles: str) -> str:
    """What styles come to where they are not written out."""
    return hashlib.sha256(styles.encode()).hexdigest()[:16]


async def seen(app: SpecviewApp, pilot: Pilot[Any], written_out: bool) -> str:
    """This screen at every size, in both themes: its characters, and its styles as a digest or written out."""
    found = []
    for size in SIZES:
        texts, styles = [], []
        for theme in THEMES:
            await turned(pilot, *size, theme)
            text, each = snapshot_of(app).split("\nstyles by row\n")
            texts.append(text)
            if written_out and size == READ_AT:
                styles.append("\n".join((f"styles, {theme}", *styled_rows(app))))
            else:
                styles.append(f"{theme} {digest(each)}")
        assert len(set(texts)) == 1, "the themes differ in more than their styles"
        found.append("\n".join((f"== {size[0]} × {size[1]}", texts[0], *styles, "")))
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
            found[DASHBOARD] = await seen(app, pilot, case == READ)
            for screen in SCREEN_BY_NAME:
                await show(app, pilot, screen, tmp_path)
                found[screen] = await seen(app, pilot, case == READ)

    asyncio.run(run())
    assert set(found) == {DASHBOARD, *SCREEN_BY_NAME}
    assert_reviewed({f"{screen}-{case}.txt": text for screen, text in found.items()}, SNAPSHOTS / "screens")


def test_no_title_is_cut_and_no_row_touches_its_frame() -> None:
    rows = [row for file in SNAPSHOTS.rglob("*.txt") for row in file.read_text(encoding="utf-8").splitlines()]
    assert not [row for row in rows if row.startswith(("╭", "╰")) and "…" in row]
    assert not [row for row in rows if row.startswith("│▸") and row.endswith("│") and row[-2] not in " ▁▂▃▄▅▆▇█"]
