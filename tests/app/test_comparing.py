"""`specview diff`: words, JSON and exit statuses; and the Compare page driven by its keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from compared_sessions import VERIFY, records
from screen_text import text_of, until
from session_builder import written
from textual.pilot import Pilot

from specview.app import compared
from specview.app.application import Source, SpecviewApp
from specview.app.cli import main
from specview.app.comparing_choices import others_of
from specview.layouts.screens.choice import ChoiceScreen
from specview.layouts.screens.compare import CompareScreen
from specview.layouts.screens.help import HelpScreen

DEARER = {**VERIFY, 2: VERIFY[2] * 1.1}
Written = dict[str, Path]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("sessions")
    made = {
        "base": records(1),
        "dearer": records(2, verify=DEARER),
        "same": records(4),
        "openblas": records(5, environment={"blas": "OpenBLAS"}),
        "busy": records(6, others=0.6),
        "one": records(7, prompts=1, segments=1),
    }
    return {name: written(folder, name, each) for name, each in made.items()}


def diff(files: Written, *words: str) -> int:
    return main(["diff", *(str(files[word]) if word in files else word for word in words)])


def test_a_slower_session_fails_and_is_explained(files: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(files, "base", "dearer", "--fail-if-slower", "3%") == 3
    said = capsys.readouterr().out
    assert "SLOWER  B is 8." in said and "Verify costs 10.1% more" in said and "Slower: with drafts B is −8" in said
    assert "T_verify" in said and "linear attn" in said and "A 7.78 → B 8.47 ms a token" in said
    assert diff(files, "base", "dearer") == 0
    assert diff(files, "base", "dearer", "--fail-if-slower", "0.2") == 0
    assert diff(files, "base", "dearer", "--fail-if-slower", "3%", "--quantity", "plain") == 0


def test_the_worst_of_several_sessions_decides(files: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(files, "base", "same", "dearer", "--fail-if-slower", "3%") == 3
    said = capsys.readouterr().out
    assert "A base  ↔  B same" in said and "A base  ↔  C dearer" in said and "Not slower: with drafts B" in said


def test_what_cannot_be_told_is_said_and_fails_only_when_strict(
    files: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff(files, "base", "busy", "--fail-if-slower", "3%") == 0
    assert "Cannot tell" in capsys.readouterr().out
    assert diff(files, "base", "busy", "--fail-if-slower", "3%", "--strict") == 4
    assert diff(files, "base", "one", "--fail-if-slower", "3%", "--strict") == 4


def test_unlike_sessions_are_one_sentence_and_compared_when_asked(
    files: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff(files, "base", "openblas") == 1
    said = capsys.readouterr().err
    assert "BLAS Accelerate in A, OpenBLAS in B" in said and "--anyway" in said and said.count("\n") == 1
    assert diff(files, "base", "openblas", "--anyway") == 0
    assert "Not measured alike (BLAS)" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["three", "-1%", "100%"])
def test_a_bad_limit_is_a_sentence(files: Written, limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(files, "base", "same", f"--fail-if-slower={limit}") == 1
    assert "is no limit" in capsys.readouterr().err


def test_json_is_one_object(files: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(files, "base", "dearer", "--json", "--fail-if-slower", "3%") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["base"]["name"] == "base" and found["others"][0]["letter"] == "B"
    assert found["others"][0]["quantities"]["drafting_tokens_per_second"]["finding"] == "real"


def test_a_missing_file_is_a_sentence(files: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(files, "base", str(files["base"].with_name("gone.jsonl"))) == 1
    assert "gone" in capsys.readouterr().err


def test_the_base_is_no_choice_and_examples_come_last(files: Written) -> None:
    folder = files["base"].parent
    found = others_of(folder, files["base"])
    names = [each.name for each in found]
    assert "base" not in names and names.index("dearer") < names.index("bundled-mtp")
    assert "example" in found[names.index("bundled-mtp")].remark
    assert [each.name for each in others_of(folder / "none", files["base"], folder / "none")] == []


# ---------------------------------------------------------------------- the page


def drive(
    files: Written, script: Callable[[SpecviewApp, Pilot[Any]], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> None:
    app = SpecviewApp(Source(files["base"]), folder=files["base"].parent)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.settled)
            await script(app, pilot)

    asyncio.run(run())


def test_c_asks_for_the_other_session_compares_swaps_and_remembers(files: Written) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await pilot.press("c")
        assert isinstance(app.screen, ChoiceScreen) and "Compare base with" in text_of(app)
        await pilot.press("escape")
        assert app.page is None
        await pilot.press("c", "down", "enter")
        await until(pilot, lambda: app.page is not None and app.compare_settled, "compared")
        await pilot.press("escape", "c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and app.compare_settled, "again")
        await app.compare_paths((files["base"], files["dearer"]))
        await until(pilot, lambda: app.compare_settled and "SLOWER  B is" in text_of(app), "slower")
        shown = text_of(app)
        assert "A base ↔ B dearer" in shown and "Verify costs 10.1% more" in shown and "█" in shown
        await pilot.press("v")
        await until(pilot, lambda: app.compare_settled and "FASTER  B is" in text_of(app), "faster")
        assert "A dearer ↔ B base" in text_of(app)
        await pilot.press("A")
        assert "FASTER" in text_of(app)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert "FASTER" in text_of(app) or "log E" in text_of(app)
        await pilot.press("escape")
        provider = next(iter(app.COMMANDS))(app.screen)  # type: ignore[call-arg, arg-type]
        names = [str(hit.display) async for hit in provider.discover()]  # type: ignore[union-attr]
        assert "Swap (v)" in names and "Compare anyway (A)" in names and "Compare (c)" in names

    drive(files, script)


def test_unlike_sessions_are_refused_on_the_page_until_asked_for(files: Written) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await app.compare_paths((files["base"], files["openblas"]))
        await until(pilot, lambda: app.compare_settled and "UNLIKE" in text_of(app), "refused")
        assert "Press A" in text_of(app) and "which is" in text_of(app)
        await pilot.press("A")
        await until(pilot, lambda: app.compare_settled and "NOISE" in text_of(app), "compared anyway")
        await pilot.resize_terminal(120, 40)
        assert "Not measured alike (BLAS)" in text_of(app)

    drive(files, script, (80, 24))


def test_several_sessions_are_shown_one_at_a_time_and_any_can_be_the_base(files: Written) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await app.compare_paths((files["base"], files["same"], files["dearer"]))
        await until(pilot, lambda: app.compare_settled and "C  dearer" in text_of(app), "the list")
        assert "A base ↔ B same" in text_of(app)
        app.screen.query_one("#compared Rows").focus()
        await pilot.press("down", "down")
        assert "A base ↔ C dearer" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.compare_settled and "A  dearer" in text_of(app), "another base")
        gone = files["base"].with_name("gone.specview.jsonl")
        await app.compare_paths((files["base"], gone))
        await until(pilot, lambda: app.compare_settled and "There is no file gone" in text_of(app), "a sentence")
        drawn: list[object] = []
        for widget in app.screen.query("*"):
            original = widget.refresh
            widget.refresh = lambda *a, _o=original, **k: (drawn.append(1), _o(*a, **k))[1]  # type: ignore[method-assign]
        app._show()
        await pilot.pause()
        assert drawn == []

    drive(files, script, (160, 45))


def test_a_comparison_that_breaks_off_is_told_on_the_page(files: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("specview.layouts.compare.compare_facts", fail)
    told = compared._compared(compared.Asked((files["base"], files["same"])), (None, None), {})
    assert told.facts.message == (
        "They cannot be compared (ZeroDivisionError: division by zero). c chooses another session."
    )
