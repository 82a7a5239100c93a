"""The dashboard of special sessions at three sizes, as reviewed text. SPECVIEW_SNAPSHOTS=write writes them anew.

test_every_screen has the usual sessions.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from screen_text import snapshot_of, until
from session_builder import written

from specview.app.application import Source, SpecviewApp

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOOKS = ((80, 24, "dark"), (120, 40, "light"), (200, 60, "dark"))
SPECIAL = ("interrupted", "cannot-win", "wins")


@pytest.mark.parametrize("case", SPECIAL)
def test_the_dashboard_looks_as_reviewed(case: str, tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, case)), folder=tmp_path)
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=LOOKS[0][:2]) as pilot:
            await until(pilot, lambda: app.settled)
            for width, height, theme in LOOKS:
                await pilot.resize_terminal(width, height)
                app.theme = f"specview-{theme}"
                for _ in range(3):
                    await pilot.pause()
                found[f"{case}-{width}x{height}-{theme}.txt"] = snapshot_of(app)

    asyncio.run(run())
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        for name, text in found.items():
            (SNAPSHOTS / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (SNAPSHOTS / name).read_text(encoding="utf-8"), name
