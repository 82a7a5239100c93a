"""The what-if keys on the dashboard and on every page: all moves together, marked, and esc is the one key back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from screen_text import text_of, until
from session_builder import CASES, Made, built, written
from textual.pilot import Pilot

from specview.app.application import Source, SpecviewApp
from specview.layouts.panels.what_if import WhatIfBar
from specview.layouts.screens.advice import AdviceScreen
from specview.layouts.screens.workloads import WorkloadsScreen
from specview.layouts.view_models import WhatIf

KEYS = {"sweep": "w", "ledger": "l", "advice": "a", "workloads": "k"}


def notices(app: SpecviewApp) -> str:
    return " ".join(str(n.message) for n in app._notifications)


def bar(app: SpecviewApp) -> str:
    return app.screen.query_one(WhatIfBar).text


async def on_page(app: SpecviewApp, pilot: Pilot[Any], page: str) -> None:
    await until(pilot, lambda: app.settled)
    await pilot.press(KEYS[page])
    await until(pilot, lambda: app.page is not None and page == app.page.NAME and app.page_settled, page)


def test_a_question_moves_every_screen_and_one_escape_ends_it(tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, "wins", CASES["wins"])), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            before = app.view
            assert bar(app) == "" and "WHAT IF" not in text_of(app)
            await pilot.press("left", "minus", "minus", "equals_sign", "greater_than_sign", "comma")
            assert app.what_if.p is not None and app.what_if.k == 2
            assert (app.what_if.verify, app.what_if.draft) == (0.99, 1.01)
            assert " WHAT IF " in text_of(app) and "esc" in bar(app) and app.view.headline == before.headline
            for page in KEYS:
                await on_page(app, pilot, page)
                assert " WHAT IF " in text_of(app) and "→ S " in bar(app), page
            await pilot.press("full_stop", "comma", "less_than_sign", "plus")
            assert app.what_if.k == 2 and (app.what_if.verify, app.what_if.draft) == (1.0, 1.0)
            await pilot.resize_terminal(80, 24)
            await pilot.pause()
            assert "→ S " in bar(app) and "esc" in bar(app)
            await pilot.press("escape")
            assert app.what_if == WhatIf() and app.page is not None and app.page.NAME == "workloads"
            assert bar(app) == "" and "WHAT IF" not in text_of(app)
            await pilot.press("escape")
            assert app.page is None and app.view == before

    asyncio.run(run())


def test_what_cannot_be_asked_is_said_in_the_bar_or_in_a_notice(tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, "cannot-win", CASES["cannot-win"])), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press("right_curly_bracket")
            assert "specview batch times them" in notices(app) and app.what_if == WhatIf()
            await pilot.press(*["full_stop"] * 4)
            assert app.what_if.k == 5 and "6 positions, which is not measured" in bar(app)
            await pilot.press("escape")
            assert bar(app) == ""

    asyncio.run(run())
    early = SpecviewApp(Source(written(tmp_path, "one-round", CASES["one-round"])), folder=tmp_path)

    async def nothing() -> None:
        async with early.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: early.settled)
            await pilot.press("right", "minus", "a")
            assert early.what_if == WhatIf() and "still to be measured" in notices(early)

    asyncio.run(nothing())


def test_enter_on_a_change_is_asked_on_all_screens(tmp_path: Path) -> None:
    app = SpecviewApp(Source(written(tmp_path, "cannot-win", CASES["cannot-win"])), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await on_page(app, pilot, "advice")
            page = app.page
            assert isinstance(page, AdviceScreen) and "No acceptance wins" in text_of(app)
            assert page.query_one("#changes").rows.selected == "verify"  # type: ignore[attr-defined]
            await pilot.press("enter")
            assert app.what_if.verify < 1 and "S 1.00x, breaks even" in bar(app)
            await pilot.press("escape", "tab", "down", "down", "enter")
            assert app.what_if == WhatIf(k=2)
            await pilot.press("question_mark")
            assert "Possible?" in text_of(app)

    asyncio.run(run())


def test_workloads_are_sorted_by_a_key_and_show_the_prompts_of_the_chosen_one(tmp_path: Path) -> None:
    records = built(Made(prompts=9, verify={1: 10.94, 2: 13.0}, blocks=False))
    app = SpecviewApp(Source(written(tmp_path, "nine", records)), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await on_page(app, pilot, "workloads")
            page = app.page
            assert isinstance(page, WorkloadsScreen)
            text = text_of(app)
            assert "best k" in text and "Prompts of chinese, worst first" in text and "chinese 0" in text
            await pilot.press("down")
            assert "Prompts of code, worst first" in text_of(app)
            await pilot.press("v")
            assert page.sort == "speedup" and "worst S first" in text_of(app) and "S▾" in text_of(app)
            await pilot.press("question_mark")
            assert "best k is the measured draft length" in text_of(app)

    asyncio.run(run())
