"""Ops, Sweep and Experiments, and the dashboard of surveys, as reviewed text. SPECVIEW_SNAPSHOTS=write writes anew.

test_every_screen has the sessions that are no surveys.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from screen_text import snapshot_of, until
from session_builder import CASES, written
from survey_builder import SURVEYS

from specview.app.application import Source, SpecviewApp
from specview.layouts.experiments import SwitchFacts

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOOKS = ((80, 24, "dark"), (120, 40, "light"), (200, 60, "dark"))
SWITCHES = (
    SwitchFacts("compile", "fusing element-wise operations with mx.compile", ("compile off",)),
    SwitchFacts("max-ops-per-buffer", "operations in a command buffer", ("8", "200"), "No effect on the CPU."),
    SwitchFacts("blas", "the library that multiplies on the CPU", (), "No OpenBLAS was found."),
)
SESSIONS = {**SURVEYS, "wins": CASES["wins"]}
PAGES = [
    ("ops", "survey", "p"),
    ("ops", "survey-moe", "p"),
    ("sweep", "survey", "w"),
    ("sweep", "survey-moe", "w"),
    ("sweep", "wins", "w"),
    ("ops-primitive", "survey-moe", "p v"),
    ("sweep-what-if", "survey", "w right right"),
    ("experiments", "experiments", "x down"),
    ("dashboard", "survey", ""),
    ("dashboard", "survey-moe", ""),
    ("dashboard", "experiments", ""),
]


@pytest.mark.parametrize(("page", "case", "keys"), PAGES)
def test_a_page_looks_as_reviewed(page: str, case: str, keys: str, tmp_path: Path) -> None:
    path = written(tmp_path, case, SESSIONS[case])
    app = SpecviewApp(Source(path), folder=tmp_path, switches=lambda device: (SWITCHES, ""))
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=LOOKS[0][:2]) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press(*keys.split()[:1])
            await until(pilot, lambda: app.page_settled, "the page")
            await pilot.press(*keys.split()[1:])
            for width, height, theme in LOOKS:
                await pilot.resize_terminal(width, height)
                app.theme = f"specview-{theme}"
                for _ in range(3):
                    await pilot.pause()
                found[f"{page}-{case}-{width}x{height}-{theme}.txt"] = snapshot_of(app)

    asyncio.run(run())
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        for name, text in found.items():
            (SNAPSHOTS / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (SNAPSHOTS / name).read_text(encoding="utf-8"), name
