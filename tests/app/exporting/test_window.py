"""The export key: the window, its names, files that are there, the clipboard."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from screen_text import text_of, until
from session_builder import CASES, written
from textual.widgets import Input, OptionList

from specview.app.application import Source, SpecviewApp
from specview.app.exporting.window import folder_of
from specview.layouts.screens.export import ExportScreen


def test_the_window_saves_copies_and_never_overwrites(tmp_path: Path) -> None:
    path = written(tmp_path, "run", CASES["wins"])
    app = SpecviewApp(Source(path), folder=tmp_path)

    def files() -> set[str]:
        return {each.name for each in tmp_path.iterdir() if not each.name.startswith(".")} - {path.name}

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen) and app.screen.query_one(Input).value)
            name = app.screen.query_one(Input)
            assert name.value == "run-dashboard-80x24.png"
            shown = text_of(app)
            assert "This screen: dashboard" in shown and "Whole report" in shown and "enter saves" in shown
            await pilot.press("enter")
            await until(pilot, lambda: "run-dashboard-80x24.png" in files(), "the picture")

            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen) and app.screen.query_one(Input).value)
            assert "as run-dashboard-80x24-2.png, because" in " ".join(text_of(app).split())
            offers, ways = app.screen.query_one("#offers", OptionList), app.screen.query_one("#ways", OptionList)
            offers.highlighted = 1  # the ledger
            await until(pilot, lambda: app.screen.query_one(Input).value == "run-ledger.md")
            ways.highlighted = 2
            await until(pilot, lambda: app.screen.query_one(Input).value == "run-ledger.json")
            app.screen.query_one(Input).value = "~nobody.json"  # no home of anybody, so a name like others
            app.screen.query_one(Input).focus()
            await pilot.press("enter")
            await until(pilot, lambda: "~nobody.json" in files(), "the ledger")
            assert json.loads((tmp_path / "~nobody.json").read_text())["screen"] == "ledger"

            await pilot.press("l")
            await until(pilot, lambda: app.page is not None and app.page_settled, "the ledger page")
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen) and app.screen.query_one(Input).value)
            ways = app.screen.query_one("#ways", OptionList)
            ways.highlighted = ways.option_count - 2
            await until(pilot, lambda: app.screen.query_one(Input).disabled)
            assert "clipboard of your terminal" in text_of(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.clipboard.startswith("## Ledger"), "the clipboard")

            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
            assert files() == {"run-dashboard-80x24.png", "~nobody.json"}

    asyncio.run(run())


def test_files_go_beside_the_session(tmp_path: Path) -> None:
    assert folder_of(tmp_path / "a" / "x.specview.jsonl", tmp_path) == tmp_path / "a"
    assert folder_of(None, tmp_path) == tmp_path
