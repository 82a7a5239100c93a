"""Ops, Sweep and Experiments, and the dashboard of surveys, as reviewed text. SPECVIEW_SNAPSHOTS=write writes anew.

test_every_screen has the sessions that are no surveys.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from reviewed import LOOKS, assert_reviewed, looks_of
from screen_text import until
from session_builder import CASES, written
from survey_builder import SURVEYS

from specview.app.application import Source, SpecviewApp
from specview.layouts.experiments import SwitchFacts

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
            found.update(await looks_of(pilot, f"{page}-{case}"))

    asyncio.run(run())
    assert_reviewed(found)
