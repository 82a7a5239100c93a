"""The library reckons the verdict of every session that comes into sight, also when no key was pressed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from screen_text import until
from session_builder import CASES, written

from specview.app.application import Source, SpecviewApp
from specview.layouts.screens.sessions import SessionsScreen

FILES = 16


def test_sessions_that_a_larger_terminal_shows_are_reckoned_too(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"s{i:02}", CASES["one-round"]) for i in range(FILES)]
    app = SpecviewApp(Source(paths[0]), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press("o")
            page = app.page
            assert isinstance(page, SessionsScreen)
            await until(pilot, lambda: 1 < len(page.in_sight) < FILES and app.library_settled, "the first of them")
            await pilot.resize_terminal(120, 40)
            await until(pilot, lambda: len(page.in_sight) == FILES and app.library_settled, "all of them")

    asyncio.run(run())
