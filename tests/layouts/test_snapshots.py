"""The dashboard at three sizes, light and dark, as reviewed text. SPECVIEW_SNAPSHOTS=write writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from screen_text import snapshot_of, until
from session_builder import CASES, written

from specview.app.application import Source, SpecviewApp

SNAPSHOTS = Path(__file__).parent / "snapshots"
SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.mark.parametrize("case", CASES)
def test_the_dashboard_looks_as_reviewed(case: str, tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, case)), folder=tmp_path)
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=SIZES[0]) as pilot:
            await until(pilot, lambda: app.settled)
            for size in SIZES:
                await pilot.resize_terminal(*size)
                for theme in ("dark", "light"):
                    app.theme = f"specview-{theme}"
                    await pilot.pause()
                    await pilot.pause()
                    found[f"{case}-{size[0]}x{size[1]}-{theme}.txt"] = snapshot_of(app)

    import asyncio

    asyncio.run(run())
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        for name, text in found.items():
            (SNAPSHOTS / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (SNAPSHOTS / name).read_text(encoding="utf-8"), name
