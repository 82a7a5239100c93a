"""The list to choose from: a remark stands beside its name, or whole below it."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App
from textual.widgets import OptionList

from specview.layouts.screens.choice import Choice, ChoiceScreen

LONG = Choice("b", "smollm2-4bit-copy", "example · smollm2-q4 · smollm2-q4 k=1 · reference BLAS (netlib) · 111 kB")


class Chooser(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "gray"}


@pytest.mark.parametrize(("columns", "rows"), [(80, 4), (140, 2)])
def test_a_remark_that_does_not_fit_stands_below_its_name_and_hangs(columns: int, rows: int) -> None:
    async def shown() -> list[str]:
        app = Chooser()
        async with app.run_test(size=(columns, 24)) as pilot:
            await app.push_screen(ChoiceScreen("Which", [Choice("a", "short", "here"), LONG], now="a"))
            await pilot.pause()
            options = app.screen.query_one(OptionList).options
            return [str(option.prompt) for option in options]

    short, long = asyncio.run(shown())
    assert short == "● short  here"
    assert len([*short.splitlines(), *long.splitlines()]) == rows
    assert all(line.startswith("    ") and len(line) <= 66 for line in long.splitlines()[1:])
