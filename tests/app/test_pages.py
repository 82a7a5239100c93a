"""The pages over the dashboard: every key on each of them, surveys and experiments started from the screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from screen_text import text_of, until
from session_builder import CASES, lines_of, written
from survey_builder import SURVEYS, Surveyed, surveyed
from textual.pilot import Pilot
from textual.widgets import Input

from specview.app import pages
from specview.app.application import Source, SpecviewApp
from specview.app.commands import ACTIONS
from specview.layouts.experiments import SwitchFacts
from specview.layouts.panels.table import Rows
from specview.layouts.screens.export import ExportScreen
from specview.layouts.screens.help import HelpScreen
from specview.layouts.screens.ops import OpsScreen
from specview.layouts.screens.page import PageScreen
from specview.layouts.screens.sweep import SweepScreen
from specview.profilers.record import records as r

FAKE = Path(__file__).parent / "fake_recorder.py"
Script = Callable[[SpecviewApp, Pilot[Any]], Awaitable[None]]
SWITCHES = (
    SwitchFacts("compile", "fusing element-wise operations", ("compile off",)),
    SwitchFacts("blas", "the library that multiplies", (), "No OpenBLAS was found."),
)
KEYS = {
    "ops": "p",
    "sweep": "w",
    "experiments": "x",
    "ledger": "l",
    "rounds": "h",
    "workloads": "k",
    "advice": "a",
    "sessions": "o",
    "compare": "c",
}
ALONE = tuple(page for page in KEYS if page not in ("sessions", "compare"))  # what shows the session and nothing else
SESSIONS = {**SURVEYS, "wins": CASES["wins"]}


def drive(app: SpecviewApp, script: Script, size: tuple[int, int] = (120, 40)) -> None:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await script(app, pilot)

    asyncio.run(main())


def opened(tmp_path: Path, case: str, records: tuple[r.Record, ...] | None = None, **options: Any) -> SpecviewApp:
    path = written(tmp_path, case, SESSIONS[case] if records is None else records)
    options.setdefault("switches", lambda device: (SWITCHES, ""))
    return SpecviewApp(Source(path, options=options.pop("given", ())), folder=tmp_path, **options)


def starts(tmp_path: Path, mode: str, asked: list[tuple[str, list[str]]], case: str = "survey-result") -> Any:
    """What starts surveys: a fake that replays a session into the new file."""
    source = tmp_path / f"{case}.source"
    source.write_bytes(lines_of(SURVEYS["experiments" if "experiment" in case else "survey-moe"]))

    def command(question: str, out: Path, options: Sequence[str]) -> list[str]:
        asked.append((question, list(options)))
        return [sys.executable, str(FAKE), mode, str(out), str(source), str(tmp_path / "heard")]

    return command


def notices(app: SpecviewApp) -> str:
    return " ".join(str(n.message) for n in app._notifications)


async def on_page(app: SpecviewApp, pilot: Pilot[Any], page: str) -> None:
    await until(pilot, lambda: app.settled)
    await pilot.press(KEYS[page])
    await until(pilot, lambda: app.page is not None and page == app.page.NAME and app.page_settled, page)


@pytest.mark.parametrize("case", ["survey-moe", "wins", "curve-only"])
def test_every_key_works_on_every_page(tmp_path: Path, case: str) -> None:
    starting = {"q", "r", "y"}  # these leave, or start a process: they are tried where a recorder is played
    everywhere = [a.key for a in ACTIONS if a.key not in starting and case == "wins"]

    async def back_on(app: SpecviewApp, pilot: Pilot[Any], page: str) -> None:
        for _ in range(4):
            if app.page is not None and page == app.page.NAME and app.screen is app.page:
                return
            if app.page is None or isinstance(app.screen, PageScreen):
                await app.action_page(page)
            else:
                await pilot.press("escape")
        raise AssertionError(f"not back on {page}")

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.settled)
        for page in KEYS:
            await back_on(app, pilot, page)
            assert app.page is not None
            own = [b.key for _, b in app.page._bindings]
            moves = ("up", "down", "pageup", "pagedown", "home", "end", "enter", "escape", "tab", "shift+tab")
            for key in dict.fromkeys((*everywhere, *own, *moves)):
                await pilot.press(key)
                assert app.is_running, key
                if isinstance(app.focused, Input):
                    await pilot.press("escape")
                await back_on(app, pilot, page)
            await pilot.press("question_mark")
            assert isinstance(app.screen, HelpScreen)
            shown = text_of(app)
            assert "Help ·" in shown and "Now" in shown
            await pilot.press("escape")
            await app.run_action("dashboard")
            assert app.page is None

    written(tmp_path, "normal")
    drive(opened(tmp_path, case), script)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (64, 20), (50, 12)])
def test_pages_take_the_place_of_each_other_at_any_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for page in ("ops", "sweep", "experiments", "ops"):
            await on_page(app, pilot, page)
            assert len(app.screen_stack) == 2
            assert ("60 × 18" in text_of(app)) == (size[0] < 60)

    drive(opened(tmp_path, "survey"), script, size)


def test_keys_of_a_page_are_in_its_help_and_in_the_palette(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        provider = next(iter(app.COMMANDS))(app.screen)  # type: ignore[call-arg, arg-type]
        names = [str(hit.display) async for hit in provider.discover()]  # type: ignore[union-attr]
        assert "Filter (/)" in names and "Ops (p)" in names and len(names) > len(ACTIONS)
        hits = [hit async for hit in provider.search("By place or by primitive")]  # type: ignore[union-attr]
        await max(hits, key=lambda hit: hit.score).command()
        assert isinstance(app.page, OpsScreen) and app.page.ask.by == "primitive"

    drive(opened(tmp_path, "survey"), script)


def test_ops_sorts_filters_and_changes_mode(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        page = app.page
        assert isinstance(page, OpsScreen)
        rows = page.query_one("#ops Rows", Rows)
        assert "avoid.▾" in text_of(app) and "▸" in text_of(app)
        first = rows.selected
        await pilot.press("down")
        assert rows.selected != first
        await pilot.press("S")
        assert "block▾" in text_of(app) and rows.selected == rows.view.rows[0].key
        titles = page.query_one("#ops .header")
        await pilot.click("#ops .header", offset=(str(titles.render()).index("verify"), 0))
        assert "verify▾" in text_of(app)
        await pilot.press("v")
        assert "by primitive" in text_of(app) and "GatherQMM" in text_of(app)
        await pilot.press("slash", *"gather", "space", "z")
        assert app.is_running and page.filtering and "is named 'gather z'" in text_of(app)
        await pilot.press("backspace", "backspace", "enter")
        assert "1 of 15" in text_of(app) and page.query_one("#filter", Input).value == "gather"
        await pilot.press("slash", "escape")
        assert "15 · a pass" in text_of(app) and not page.filtering and app.page is page
        moved: list[int] = []

        def action_width(by: int) -> None:
            moved.append(by)

        page.action_width = action_width  # type: ignore[method-assign]
        await pilot.press("left_parenthesis", "right_parenthesis", "minus", "equals_sign", "minus", "greater_than_sign")
        assert moved == [-1, 1] and "avoid.▾" in text_of(app)
        assert app.what_if.verify == pytest.approx(0.99) and app.what_if.draft == pytest.approx(1.01)
        assert "WHAT IF" in text_of(app)

    drive(opened(tmp_path, "survey-moe"), script)


def test_thousands_of_rows_draw_only_those_on_the_screen(tmp_path: Path) -> None:
    base = SURVEYS["survey"]
    line = next(x for x in base if isinstance(x, r.Census) and x.width == 2)
    many = tuple(replace(line, block=f"model.layers.*.part{i}", primitive=f"Op{i}") for i in range(3000))
    drawn: list[int] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        await pilot.press("v")
        rows = app.screen.query_one("#ops Rows", Rows)
        assert len(rows.view.rows) >= 3000
        original = rows.render_line
        rows.render_line = lambda y: (drawn.append(y), original(y))[1]  # type: ignore[method-assign]
        await pilot.press("end")
        await pilot.pause()
        assert rows.selected == rows.view.rows[-1].key and "▸" in text_of(app)
        await pilot.press("S", "home")
        assert rows.selected == rows.view.rows[0].key

    drive(opened(tmp_path, "survey", (*base[:-1], *many, base[-1])), script)
    assert max(drawn) < 60


def test_a_page_keeps_its_selection_when_the_file_grows(tmp_path: Path) -> None:
    records = SURVEYS["survey"]

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        rows = app.screen.query_one("#ops Rows", Rows)
        await pilot.press("down", "down")
        chosen, many = rows.selected, len(rows.view.rows)
        assert app.shown is not None
        extra = next(x for x in records if isinstance(x, r.Census) and x.width == 2)
        with app.shown.open("ab") as file:
            file.write(r.to_line(replace(extra, block="model.new", primitive="Sort", bytes_read=10**9)))
        await until(pilot, lambda: len(rows.view.rows) > many, "another row")
        assert rows.selected == chosen

    drive(opened(tmp_path, "survey", records[:-1]), script)


def test_text_of_a_file_is_shown_on_pages_and_never_obeyed(tmp_path: Path) -> None:
    nasty = "[bold red]x[/] [@click=app.quit]z[/] $accent"
    records = tuple(
        replace(x, block=nasty, primitive=nasty, inputs=(nasty,)) if isinstance(x, r.Census) else x
        for x in surveyed(Surveyed(hostile=nasty))
    )
    notes = (*records[:-1], r.Experiment(
        t_ns=1, name=nasty, arm=nasty, control=False, width=1, context=1, samples_ns=(1,)), records[-1])  # fmt: skip

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for page in ALONE:
            await on_page(app, pilot, page)
            await pilot.press("question_mark", "escape")
        await on_page(app, pilot, "ops")
        await pilot.press("v", "slash", *"bold")
        assert "[bold red]x[/]" in text_of(app) and app.is_running

    drive(opened(tmp_path, "nasty", notes), script, (200, 60))


def test_sweep_asks_what_if_and_escape_ends_it_before_it_goes_back(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "sweep")
        page = app.page
        assert isinstance(page, SweepScreen)
        before = page.view
        await pilot.press("right")
        assert "WHAT IF" in text_of(app) and page.view.speed.series[1] == before.speed.series[1]
        await pilot.press("escape")
        assert page.view == before and app.page is page
        await pilot.press("escape")
        assert app.page is None

    drive(opened(tmp_path, "wins"), script)


def test_y_surveys_the_same_model_into_a_new_session_and_shows_it_live(tmp_path: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        assert "y surveys" in text_of(app)
        before = app.shown
        await pilot.press("y")
        await until(pilot, lambda: "switch_mlp" in text_of(app), "rows of the survey")
        assert app.shown != before and app.page is not None
        assert asked == [("survey", ["--model", "org/small", "--dtype", "float32"])]
        await pilot.press("space")
        assert "cannot be steered" in notices(app)
        await pilot.press("y")
        assert len(asked) == 1 and "has to end first" in notices(app)
        await pilot.press("b")
        assert "COSTS ONLY" in text_of(app)

    records = tuple(
        replace(x, model=replace(x.model, id="org/small", quantisation=None)) if isinstance(x, r.Header) else x
        for x in SURVEYS["curve-only"]
    )
    records = tuple(
        replace(x, model=replace(x.model, dtype="float32")) if isinstance(x, r.Header) else x for x in records
    )
    drive(opened(tmp_path, "small", records, survey=starts(tmp_path, "replays", asked), grace_s=5.0), script)


def test_y_says_so_where_the_model_cannot_be_found_again(tmp_path: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        await pilot.press("y")
        await pilot.pause()
        assert "does not say where small-4bit lies" in notices(app) and asked == []

    drive(opened(tmp_path, "survey", survey=starts(tmp_path, "replays", asked)), script)


def test_enter_tries_a_switch_and_its_table_grows_live(tmp_path: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "experiments")
        assert "yes: compile off" in text_of(app) and "no: No OpenBLAS" in text_of(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert asked == [] and "cannot be run here" in notices(app)
        await pilot.press("up", "enter")
        await until(pilot, lambda: "real" in text_of(app) and "+30.0 MB" in text_of(app), "the result")
        assert asked == [("experiment", ["--model", "somewhere/small-4bit", "--switch", "compile"])]
        await until(pilot, lambda: app.live.state == "saved", "the end")

    app = opened(
        tmp_path, "survey", survey=starts(tmp_path, "finishes", asked, "experiment"),
        given=("--model", "somewhere/small-4bit", "--k", "2"),
    )  # fmt: skip
    drive(app, script)


@pytest.mark.parametrize(("mode", "sentence"), [("fails", "install specview[cpu]"), ("dies early", "The survey ended")])
def test_a_survey_in_trouble_is_a_sentence_and_the_app_lives(tmp_path: Path, mode: str, sentence: str) -> None:
    asked: list[tuple[str, list[str]]] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "sweep")
        await pilot.press("y")
        await until(pilot, lambda: sentence in text_of(app), sentence)
        await pilot.press("b", "p", "x", "b", "d")
        assert app.is_running

    app = opened(tmp_path, "survey", survey=starts(tmp_path, mode, asked), given=("--model", "somewhere/small-4bit"))
    drive(app, script)


def test_where_mlx_is_missing_the_tried_switches_are_still_shown(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "experiments")
        shown = text_of(app)
        assert "MLX is not installed here" in shown and "compile" in shown and "real" in shown

    drive(opened(tmp_path, "experiments", switches=lambda device: ((), "MLX is not installed here.")), script)


def test_nothing_is_drawn_again_on_a_page_when_nothing_changed(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        for page in ALONE:
            await on_page(app, pilot, page)
            await pilot.pause()
            drawn: list[object] = []
            for widget in app.screen.query("*"):
                original = widget.refresh
                widget.refresh = lambda *a, _o=original, _d=drawn, **k: (_d.append(1), _o(*a, **k))[1]  # type: ignore[method-assign]
            app._show()
            await pilot.pause()
            assert drawn == [], page

    drive(opened(tmp_path, "survey"), script)


def test_e_names_the_page_in_the_picture(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "ops")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen), "the export window")
        await pilot.press("enter")
        await until(pilot, lambda: "survey-ops-120x40.png" in notices(app), "the notice")

    drive(opened(tmp_path, "survey"), script)
    assert (tmp_path / "survey-ops-120x40.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_that_cannot_be_made_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, *_: Any) -> Any:
        raise ZeroDivisionError("division by [bold]zero[/]")

    monkeypatch.setattr(pages, "page_facts", fail)

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await on_page(app, pilot, "sweep")
        said = "This page cannot be made of this session (ZeroDivisionError: division by [bold]zero[/])."
        assert said in text_of(app) and app.is_running
        await pilot.press("b")
        assert "cannot be made" not in text_of(app)

    drive(opened(tmp_path, "wins"), script)
