"""The dashboard of special sessions at three sizes, as reviewed text. SPECVIEW_SNAPSHOTS=write writes them anew.

test_every_screen has the usual sessions.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from reviewed import LOOKS, assert_reviewed, looks_of
from screen_text import until
from session_builder import written

from specview.app.application import Source, SpecviewApp

SPECIAL = ("interrupted", "cannot-win", "wins")


@pytest.mark.parametrize("case", SPECIAL)
def test_the_dashboard_looks_as_reviewed(case: str, tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, case)), folder=tmp_path)
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=LOOKS[0][:2]) as pilot:
            await until(pilot, lambda: app.settled)
            found.update(await looks_of(pilot, case))

    asyncio.run(run())
    assert_reviewed(found)
