"""The tour, the glossary, the form, what is restored, and how all of it looks where a terminal shows less."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from contrast import contrast
from screen_text import text_of, until
from session_builder import CASES, written
from survey_builder import SURVEYS
from textual.pilot import Pilot
from textual.widgets import Input

from specview.app.application import Source, SpecviewApp
from specview.app.commands import ACTIONS
from specview.app.exports import rows_of
from specview.app.kept_state import Keeper, KeptState, read_state, write_state
from specview.app.windows import _last_check, _place_of
from specview.layouts.panels.choice_field import ChoiceField
from specview.layouts.screens.glossary import GlossaryScreen
from specview.layouts.screens.help import HelpScreen
from specview.layouts.screens.setup import SetupScreen
from specview.layouts.screens.tour import TourScreen
from specview.layouts.themes import THEMES
from specview.layouts.view_models import WhatIf

FAKE = Path(__file__).parent / "fake_recorder.py"
Script = Callable[[SpecviewApp, Pilot[Any]], Awaitable[None]]
PAGES = {a.key: a.action.split("'")[1] for a in ACTIONS if a.action.startswith("page(")}


def drive(app: SpecviewApp, script: Script, size: tuple[int, int] = (120, 40)) -> None:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.settled or app.shown is None, "settled")
            await script(app, pilot)

    asyncio.run(main())


def opened(tmp_path: Path, case: str = "wins", **options: Any) -> SpecviewApp:
    path = written(tmp_path, case, SURVEYS.get(case) or CASES[case])
    return SpecviewApp(Source(path), folder=tmp_path, switches=lambda device: ((), "None here."), **options)


# ------------------------------------------------------------------ the tour


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_first_launch_is_shown_round_and_never_again(tmp_path: Path, size: tuple[int, int]) -> None:
    kept = tmp_path / "kept.json"

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        seen = []
        await until(pilot, lambda: isinstance(app.screen, TourScreen), "the tour")
        for step in range(6):
            await until(pilot, lambda step=step: f"{step + 1} of 6" in text_of(app), f"step {step}")
            seen += [widget.id for widget in app.dashboard.query(".toured") if widget.display]
            if step == 1:
                await pilot.press("left", "right", "x", "p", "r")
            await pilot.press("right" if step % 2 else "enter")
        assert seen == ["headline", "decode", "verify", "break-even", "stream", "rounds"]
        await until(pilot, lambda: app.screen is app.dashboard, "its end")
        assert not app.dashboard.query(".toured") and read_state(kept)[0].toured
        await pilot.press("f1")
        assert isinstance(app.screen, TourScreen) and "WINS" in text_of(app)
        await pilot.press("escape")
        assert app.screen is app.dashboard

    drive(opened(tmp_path, keeper=Keeper(kept), tour=True), script, size)

    async def again(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert app.screen is app.dashboard

    drive(opened(tmp_path, keeper=Keeper(kept), tour=True), again, size)


# ------------------------------------------------------------------ glossary and help


def test_the_glossary_opens_from_help_and_finds_what_is_typed(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await pilot.press("1", "question_mark", "g")
        screen = app.screen
        assert isinstance(screen, GlossaryScreen)
        await pilot.pause()
        assert screen.text.startswith("T_decode, pipelined") and "those of Decode step" in text_of(app)
        await pilot.press("down", "pagedown", "pageup", "up", *"alpha")
        await until(pilot, lambda: screen.text.startswith("α, conditional"), "found")
        await pilot.press("escape")
        await until(pilot, lambda: screen.text.startswith("T_decode, pipelined"), "all again")
        await pilot.press("escape")
        assert app.screen is app.dashboard

    drive(opened(tmp_path), script, (80, 24))


def test_every_panel_and_page_explains_itself_with_its_numbers_and_has_words_in_the_glossary(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for key in (*"12345", *PAGES):
            await pilot.press(key)
            if key in PAGES:
                await until(pilot, lambda key=key: app.page is not None and PAGES[key] == app.page.NAME, key)
                await until(pilot, lambda: app.page_settled, key)
            await pilot.press("question_mark")
            assert isinstance(app.screen, HelpScreen), key
            told = app.screen.told
            assert told.title and told.words and told.numbers, key
            await pilot.press("escape")

    drive(opened(tmp_path), script)


# ------------------------------------------------------------------ setting up


def recording(tmp_path: Path, asked: list[list[str]], **options: Any) -> SpecviewApp:
    source = written(tmp_path, "wins")

    def command(out: Path, given: Sequence[str]) -> list[str]:
        asked.append(list(given))
        return [sys.executable, str(FAKE), "replays", str(out), str(source), str(tmp_path / "heard")]

    return SpecviewApp(Source(None, options=("--k", "2")), folder=tmp_path, command=command, grace_s=5.0, **options)


def test_the_form_is_prefilled_checked_and_started_by_keys_alone(tmp_path: Path) -> None:
    asked: list[list[str]] = []
    kept = tmp_path / "kept.json"
    (tmp_path / "empty").mkdir()

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        screen = app.screen
        assert isinstance(screen, SetupScreen) and screen.form.k == "2"
        assert "$ specview --draft mtp --k 2" in text_of(app)
        model = screen.query_one("#field-model", Input)
        await pilot.press("end", *("backspace",) * 7, *"nowhere")
        assert "no such folder" in text_of(app) and "1 field needs a change" in text_of(app)
        await pilot.press("down", "ctrl+s")
        await pilot.pause()
        assert app.focused is model and asked == []
        model.value = str(tmp_path / "empty")
        await pilot.pause()
        assert "no config.json" in text_of(app)
        await pilot.press("tab", "right", "left")  # the models used lately
        assert model.value == str(tmp_path / "empty")
        await pilot.press("right")
        await pilot.pause()
        assert model.value == "org/lately"
        drafter = screen.query_one("#field-drafter", ChoiceField)
        while app.focused is not drafter:
            await pilot.press("down")
        await pilot.press("right", "right", "right", "down", *"8")
        await pilot.press("ctrl+y")
        assert "specview --model org/lately --draft skip:8 --k 2" in text_of(app).replace("\n", " ")
        assert app.clipboard == "specview --model org/lately --draft skip:8 --k 2"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.view.break_even.curve is not None, "the recording")
        assert asked == [["--model", "org/lately", "--draft", "skip:8", "--k", "2"]]
        assert read_state(kept)[0].models == ("org/lately",)
        await pilot.press("t")
        assert isinstance(app.screen, SetupScreen) and app.screen.form.argument == "8"
        assert "ends the recording that runs" in text_of(app)
        await pilot.press("escape")
        assert app.screen is app.dashboard

    write_state(kept, KeptState(models=("org/lately",)))
    drive(recording(tmp_path, asked, setup=True, keeper=Keeper(kept)), script, (80, 24))


def test_what_lies_at_a_path_and_what_a_recorder_would_refuse(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    (tmp_path / "none").mkdir()
    places = [_place_of(str(path)) for path in (tmp_path, tmp_path / "none", tmp_path / "config.json", tmp_path / "x")]
    assert places == ["model", "folder", "file", "nothing"]
    assert _place_of("a\0b") == "nothing" and _place_of("~nobody-at-all/x") == "nothing"
    assert _last_check(("--model", "bundled", "--draft", "mtp")) == ""
    assert "sense" in _last_check(("--k", "99")) and "invalid int" in _last_check(("--k", "x"))


# ------------------------------------------------------------------ what is restored


def test_theme_page_sort_and_what_if_are_there_again_and_the_what_if_for_its_session_only(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"

    async def leaves(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await pilot.press("right", "d", "d", "p")
        await until(pilot, lambda: app.page is not None and app.page_settled, "ops")
        await pilot.press("v")
        await pilot.press("q")

    drive(opened(tmp_path, keeper=Keeper(kept)), leaves)
    state = read_state(kept)[0]
    assert (state.theme, state.page) == ("contrast-dark", "ops") and 0 <= state.asked["p"] <= 1
    assert state.pages["ops"]["by"] == "primitive"

    async def comes(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.page is not None and app.page_settled, "ops again")
        assert app.page is not None and app.page.NAME == "ops" and app.page.state()["by"] == "primitive"
        assert app.what_if == WhatIf(p=state.asked["p"])
        await pilot.press("b")

    drive(opened(tmp_path, keeper=Keeper(kept)), comes)
    assert read_state(kept)[0].page is None

    async def another(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        assert app.what_if == WhatIf() and app.page is None

    drive(opened(tmp_path, "normal", keeper=Keeper(kept)), another)


def test_a_hostile_state_restores_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    write_state(
        kept, KeptState(theme="gone", page="no such page", pages={"ops": {"sort": "[red]", "by": "x", "z": ""}})
    )

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        assert app.screen is app.dashboard
        await pilot.press("p")
        await until(pilot, lambda: app.page is not None and app.page_settled, "ops")
        assert app.is_running

    keeper = Keeper(kept)
    drive(opened(tmp_path, keeper=keeper, theme=keeper.state.theme or "dark"), script)


# ------------------------------------------------------------------ terminals that show less


def test_with_ascii_nothing_else_is_on_any_screen(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for key in ("", "right", *PAGES, "b", "question_mark", "escape", "g", "escape", "t", "escape", "f1", "escape"):
            if key:
                await pilot.press(key)
            await until(pilot, lambda: app.page_settled, key)
            assert text_of(app).isascii(), key
        await pilot.resize_terminal(50, 12)
        assert "60 x 18" in text_of(app)

    drive(opened(tmp_path, ascii=True), script)


@pytest.mark.parametrize("theme", [theme for theme in THEMES if not theme.ansi], ids=lambda theme: theme.name)
def test_letters_on_the_screen_have_contrast(tmp_path: Path, theme: Any) -> None:
    least = 7.0 if "contrast" in theme.name else 4.5

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for keys in ("", "right", "p", "l", "b question_mark", "escape g", "escape t", "escape f1"):
            for key in keys.split():
                await pilot.press(key)
            await until(pilot, lambda: app.page_settled, keys)
            await pilot.pause()
            for segment in (segment for row in rows_of(app) for segment in row):
                style = segment.style
                if style is None or style.color is None or style.bgcolor is None or not _has_letters(segment.text):
                    continue
                found = contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor())
                assert found >= least, (keys, round(found, 2), segment)

    drive(opened(tmp_path, theme=theme.name.removeprefix("specview-")), script)


def _has_letters(text: str) -> bool:
    return any(character.isalnum() and ord(character) < 0x2500 for character in text)


@pytest.mark.parametrize("no_color", [True, False])
def test_without_colours_states_are_words_marks_and_styles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        styles: dict[str, Any] = {}
        for segment in (segment for row in rows_of(app) for segment in row):
            if no_color and segment.style is not None:
                assert segment.style.color is None or segment.style.color.is_default, segment
                assert segment.style.bgcolor is None or segment.style.bgcolor.is_default, segment
            styles.setdefault(segment.text.strip(), segment.style)
        assert styles["WINS"].reverse and styles["WINS"].bold
        assert styles["own"].bold and styles["rejected"].strike and "┏━ " in text_of(app)

    drive(opened(tmp_path, theme="ansi", few_colours=True), script)


def test_the_screen_follows_every_size_and_comes_back_from_one_too_small(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for key in ("escape", "l", "t"):
            await pilot.press(key)
            await until(pilot, lambda: app.page_settled, key)
            for size in ((250, 80), (50, 12), (120, 40), (20, 5), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
                small = size[0] < 60
                assert small == ("60 × 18" in " ".join(text_of(app).split())) or key == "t", (key, size)
        await pilot.press("escape", "b")
        assert "WINS" in text_of(app)

    drive(opened(tmp_path), script, (80, 24))
