"""The app: every key, a recorder that dies, stalls and lies, files that change, and text that would be markup."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from screen_text import text_of, until
from session_builder import CASES, Made, built, lines_of, written
from textual.pilot import Pilot

from specview.app.application import Source, SpecviewApp
from specview.app.choices import DRAFTERS, RULES, rule_choice, rule_facts
from specview.app.commands import ACTIONS, key_name
from specview.layouts.screens.choice import ChoiceScreen
from specview.layouts.screens.export import ExportScreen
from specview.layouts.screens.help import HelpScreen
from specview.profilers.record import records as r
from specview.profilers.record.plan import Plan
from specview.profilers.record.steering import Command, changed_plan

FAKE = Path(__file__).parent / "fake_recorder.py"
Script = Callable[[SpecviewApp, Pilot[Any]], Awaitable[None]]


def drive(app: SpecviewApp, script: Script, size: tuple[int, int] = (120, 40)) -> None:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await script(app, pilot)

    asyncio.run(main())


def opened(tmp_path: Path, case: str = "cannot-win", **options: Any) -> SpecviewApp:
    return SpecviewApp(Source(written(tmp_path, case)), folder=tmp_path, **options)


def recording(tmp_path: Path, mode: str, case: str = "cannot-win", **options: Any) -> SpecviewApp:
    """An app whose recorder is a fake one that replays a case."""
    source = written(tmp_path, case)

    def command(out: Path, given: Sequence[str]) -> list[str]:
        return [sys.executable, str(FAKE), mode, str(out), str(source), str(tmp_path / "heard")]

    return SpecviewApp(
        Source(tmp_path / "live.specview.jsonl", record=True), folder=tmp_path, command=command, grace_s=5.0, **options
    )


def heard(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "heard"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def notices(app: SpecviewApp) -> str:
    return " ".join(str(n.message) for n in app._notifications)


async def measured(app: SpecviewApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: app.settled and app.view.break_even.curve is not None, "measured")


async def live(app: SpecviewApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: app.live.state == "recording" and app.view.break_even.curve is not None, "live")


# ------------------------------------------------------------------ saved sessions


def test_a_saved_session_opens_with_its_verdict(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        text = text_of(app)
        assert "CANNOT WIN" in text and "saved, finished" in text
        assert app.dashboard.query_one("#headline").has_class("-cannot-win")

    drive(opened(tmp_path), script)


def test_the_first_frame_needs_no_numbers(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        assert "WAITING" in text_of(app) or app.settled

    drive(opened(tmp_path), script)


def test_arrows_ask_what_if_and_escape_goes_back(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        before = app.view
        await pilot.press("right", "right")
        answer = app.view.break_even.what_if
        assert before.break_even.p is not None
        asked = 0.05 * (before.break_even.p // 0.05 + 2)
        assert answer is not None and answer.p_asked and answer.p == pytest.approx(asked)
        assert "WHAT IF" in text_of(app) and f"what if p {asked:.2f}" in text_of(app)
        assert replace(app.view.break_even, what_if=None) == before.break_even
        assert app.view.headline == before.headline
        moved = [row for row in app.view.rounds.rows if row not in before.rounds.rows]
        assert moved and all("what if" in row.value and "measured" in row.remark for row in moved)
        await pilot.press("up")
        answer = app.view.break_even.what_if
        assert answer is not None and answer.k == 2 and answer.k_asked
        await pilot.press("up", "up", "up")
        assert "not measured" in app.view.break_even.what_if_message
        await pilot.press("down", "down", "down", "down")
        await pilot.press("left")
        await pilot.press("escape")
        assert app.view == before and "WHAT IF" not in text_of(app)

    drive(opened(tmp_path), script)


def test_numbers_and_tab_go_through_the_panels_and_question_mark_explains_each(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        for key, name in zip("12345", ("decode", "verify", "break-even", "stream", "rounds"), strict=True):
            await pilot.press(key)
            assert app.dashboard.chosen == name and app.focused is not None and app.focused.id == name
            await pilot.press("question_mark")
            assert isinstance(app.screen, HelpScreen)
            shown = text_of(app)
            assert "Help ·" in shown and "Now" in shown
            await pilot.press("escape")
        await pilot.press("tab")
        assert app.dashboard.chosen == "decode"
        await pilot.press("shift+tab")
        assert app.dashboard.chosen == "rounds"

    drive(opened(tmp_path), script)


def test_d_goes_round_the_themes(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        names = []
        for _ in range(4):
            await pilot.press("d")
            names.append(app.theme_name)
        assert names == ["light", "contrast-dark", "contrast-light", "dark"]

    drive(opened(tmp_path), script)


def test_e_saves_pictures_beside_the_session(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen), "the export window")
        await pilot.press("enter")
        await until(pilot, lambda: "cannot-win-dashboard-120x40.png" in notices(app), "the notice")

    drive(opened(tmp_path), script)
    assert (tmp_path / "cannot-win-dashboard-120x40.png").read_bytes().startswith(b"\x89PNG")


def test_o_lists_sessions_and_opens_one(tmp_path: Path) -> None:
    written(tmp_path, "wins")

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: app.library_settled, "the library")
        assert "mtp k=3" in text_of(app)
        await pilot.press("S", "home", "down", "enter")
        await until(pilot, lambda: app.shown == tmp_path / "wins.specview.jsonl" and app.settled)
        assert "WINS" in text_of(app)

    drive(opened(tmp_path), script)


def test_keys_for_a_recorder_say_that_there_is_none(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        for key in ("space", "n", "m", "u", "left_square_bracket", "right_square_bracket", "s"):
            app.clear_notifications()
            await pilot.press(key)
            await pilot.pause()
            assert "r starts a recording" in notices(app), key

    drive(opened(tmp_path), script)


def test_every_action_is_in_the_palette(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        provider = next(iter(app.COMMANDS))(app.screen)  # type: ignore[call-arg, arg-type]
        names = [str(hit.display) async for hit in provider.discover()]  # type: ignore[union-attr]
        assert len(names) == len(set(names)) and {f"{a.name} ({key_name(a)})" for a in ACTIONS} <= set(names)
        assert "Theme: contrast-light" in names
        hits = [hit async for hit in provider.search("drafter")]  # type: ignore[union-attr]
        assert hits
        assert all(a.help and a.name for a in ACTIONS)
        assert {b.key for _, b in app._bindings} >= {key for a in ACTIONS for key in a.key.split(",")}

    drive(opened(tmp_path), script)


def test_a_small_terminal_folds_the_panels(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        assert "[3 Break-even]" in text_of(app)
        await pilot.press("1")
        assert "[1 Decode]" in text_of(app) and "linear attn" in text_of(app)
        await pilot.press("4")
        assert "[4 Stream]" in text_of(app) and "merge" in text_of(app)
        await pilot.resize_terminal(65, 20)
        await pilot.pause()
        assert "[4 Stream]" in text_of(app) and "[5 Rounds]" not in text_of(app)
        await pilot.resize_terminal(50, 12)
        await pilot.pause()
        assert "60 × 18" in text_of(app)
        await pilot.resize_terminal(120, 24)
        await pilot.pause()
        assert "[5 Rounds]" in text_of(app)

    drive(opened(tmp_path), script, size=(80, 24))


def test_a_what_if_unfolds_the_line_it_is_about(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        await pilot.press("4", "right")
        assert app.dashboard.chosen == "break-even" and "WHAT IF" in text_of(app)

    drive(opened(tmp_path), script, size=(80, 24))


def test_the_stream_scrolls_back_and_follows_again(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        end = text_of(app)
        await pilot.press("4", "home")
        await until(pilot, lambda: "▸ english 1" in text_of(app), "the start")
        await pilot.press("pagedown", "pageup", "pageup", "end")
        await pilot.press("pageup")
        await pilot.pause()
        assert text_of(app) != end
        for _ in range(3):
            await pilot.press("pagedown")
        await pilot.press("end", "3")
        await until(pilot, lambda: text_of(app) == end, "the end again")

    drive(opened(tmp_path), script)


def test_a_click_on_a_folded_panel_unfolds_it(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        await pilot.click("#folds", offset=(4, 0))
        assert app.dashboard.chosen == "decode"

    drive(opened(tmp_path), script, size=(80, 24))


def test_text_of_a_model_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    nasty = "[bold red]x[/] [link=file:///etc]y[/link] $accent {0} %s [@click=app.quit]z[/]"
    records = tuple(
        replace(x, pieces=r.Pieces((nasty,) * len(x.pieces.committed), x.pieces.rejected))
        if isinstance(x, r.Round) and x.pieces
        else replace(x, model=replace(x.model, id=nasty))
        if isinstance(x, r.Header)
        else x
        for x in CASES["cannot-win"]
    )
    path = written(tmp_path, "nasty", (*records[:-1], r.Note(t_ns=1, text=nasty), records[-1]))

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        assert "[bold red]x[/]" in text_of(app) and "[@click=app.quit]" in text_of(app)
        await pilot.press("question_mark", "escape", "o", "escape")
        assert app.is_running

    drive(SpecviewApp(Source(path), folder=tmp_path), script, size=(200, 60))


def test_a_file_that_is_no_session_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.specview.jsonl"
    path.write_text("not a session\n" * 3)

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.settled)
        assert "PROBLEM" in text_of(app) and "not a specview session" in text_of(app)
        await pilot.press("right", "up", "escape", "question_mark", "escape", "e")
        assert app.is_running

    drive(SpecviewApp(Source(path), folder=tmp_path), script)


def test_a_session_whose_numbers_do_not_fit_together_is_a_state(tmp_path: Path) -> None:
    records = tuple(replace(x, tokens=0, accepted=0) if isinstance(x, r.Round) else x for x in CASES["cannot-win"])
    path = written(tmp_path, "odd", records)

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.settled)
        assert "NO VERDICT" in text_of(app)
        await pilot.press("right", "up", "1", "question_mark", "escape")

    drive(SpecviewApp(Source(path), folder=tmp_path), script)


def test_a_file_replaced_while_open_is_told(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        assert app.shown is not None
        (tmp_path / "new").write_bytes(lines_of(CASES["wins"]))
        (tmp_path / "new").replace(app.shown)
        await until(pilot, lambda: "replaced" in text_of(app), "replaced")
        assert "WINS" in text_of(app)

    drive(opened(tmp_path), script)


def test_a_bad_line_is_told_with_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, "wins")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:50], b"{broken\n", *lines[50:]]))

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        assert "line 51" in text_of(app)

    drive(SpecviewApp(Source(path), folder=tmp_path), script)


def test_a_session_without_text_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "mute", built(Made(prompts=3, text_kept=False)))

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        assert "--no-text" in text_of(app)

    drive(SpecviewApp(Source(path), folder=tmp_path), script)


# ------------------------------------------------------------------ a recorder


def test_a_recording_shows_loading_then_numbers_then_ends_with_the_app(tmp_path: Path) -> None:
    app = recording(tmp_path, "replays")
    pids: list[int | None] = []

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        assert "LOADING" in text_of(app) or app.settled
        await live(app, pilot)
        pids.append(app.recorder_pid)
        assert "● recording" in text_of(app) and "3/6" in text_of(app)
        await pilot.press("q")

    drive(app, script)
    assert pids[0] is not None
    assert not Path(f"/proc/{pids[0]}").exists()
    assert b'"kind":"footer"' in (tmp_path / "live.specview.jsonl").read_bytes()


def test_every_recorder_key_sends_its_command(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        await pilot.press("space")
        await until(pilot, lambda: app.live.state == "paused")
        assert "◆ paused" in text_of(app)
        await pilot.press("space")
        await until(pilot, lambda: app.live.state == "recording")
        await pilot.press("n", "right_square_bracket", "right_square_bracket", "left_square_bracket")
        await pilot.press("m")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("down", "enter")
        await pilot.press("s", "down", "down", "enter")
        await until(pilot, lambda: len(heard(tmp_path)) == 8, "eight commands")

    drive(recording(tmp_path, "replays"), script)
    said = [{k: v for k, v in entry.items() if v is not None} for entry in heard(tmp_path)]
    assert said[:8] == [
        {"action": "pause"},
        {"action": "resume"},
        {"action": "next_prompt"},
        {"action": "change", "k": 2},
        {"action": "change", "k": 3},
        {"action": "change", "k": 2},
        {"action": "change", "drafter": "lookup"},
        {"action": "change", "prompts": "chinese"},
    ]


def test_u_switches_the_acceptance_rule(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        await pilot.press("u")
        await until(pilot, lambda: "● greedy" in text_of(app), "the present rule is marked")
        await pilot.press("down", "enter")
        await until(pilot, lambda: len(heard(tmp_path)) == 1, "rejection")
        assert "Asked for rejection at 0.7: a run of its own begins." in notices(app)
        await pilot.press("u", "end", "enter")
        await until(pilot, lambda: len(heard(tmp_path)) == 2, "exact")

    drive(recording(tmp_path, "replays"), script)
    assert heard(tmp_path)[:2] == [
        {"action": "change", "rule": "rejection", "temperature": 0.7},
        {"action": "change", "rule": "exact", "temperature": 1.0},
    ]


@pytest.mark.parametrize("choice", [c.value for c in RULES])
def test_every_rule_that_can_be_chosen_is_one_that_a_plan_takes(choice: str) -> None:
    rule, temperature = rule_facts(choice).values()
    plan = changed_plan(Plan(), Command("change", rule=rule, temperature=temperature))  # type: ignore[arg-type]
    assert rule_choice(f"{plan.rule} match", plan.temperature) == choice


def test_a_drafter_of_the_list_that_is_synthetic_says_so() -> None:
    assert [c.value for c in DRAFTERS] == ["mtp", "lookup", "none", "skip", "quantised:4", "fixed:0.7"]
    assert [c.value for c in DRAFTERS if "synthetic" in c.remark] == ["fixed:0.7"]


def test_choosing_nothing_sends_nothing(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        await pilot.press("m", "escape", "s", "escape", "u", "escape")
        await pilot.press("u", "enter")  # the present one
        await pilot.pause()
        assert heard(tmp_path) == []

    drive(recording(tmp_path, "replays"), script)


def test_r_stops_and_records_into_a_new_session(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        first, pid = app.shown, app.recorder_pid
        await pilot.press("r")
        await until(pilot, lambda: app.shown != first and app.view.break_even.curve is not None)
        assert app.recorder_pid != pid and app.live.trouble == ""

    drive(recording(tmp_path, "replays"), script)


def test_another_session_can_be_looked_at_while_the_recording_goes_on(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        own = app.shown
        assert own is not None
        app.open_session(written(tmp_path, "wins"))
        await measured(app, pilot)
        assert "WINS" in text_of(app) and "saved" in text_of(app)
        await pilot.press("space")
        assert "the recording goes on" in notices(app)
        app.open_session(own)
        await live(app, pilot)
        assert "● recording" in text_of(app)

    drive(recording(tmp_path, "replays"), script)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("dies", "SIGKILL"),
        ("dies early", "ImportError: no model here"),
        ("fails", "install specview[cpu]"),
        ("lies", "is no report (2 such lines) dancing"),
    ],
)
def test_a_recorder_in_trouble_is_a_sentence_and_the_app_lives(tmp_path: Path, mode: str, sentence: str) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        words = sentence.split()
        await until(pilot, lambda: all(word in text_of(app) for word in words), sentence)
        if mode != "lies":
            await until(pilot, lambda: app.live.state == "ended")
        await pilot.press("right", "question_mark", "escape", "d", "5")
        assert app.is_running

    drive(recording(tmp_path, mode), script)


def test_what_a_dead_recorder_measured_stays_on_the_screen(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.live.state == "ended" and app.view.break_even.curve is not None)
        assert "CANNOT WIN" in text_of(app) and "■ ended" in text_of(app)

    drive(recording(tmp_path, "dies"), script)


def test_a_recorder_that_finishes_leaves_a_saved_session(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "saved, finished" in text_of(app), "saved")
        assert app.live.trouble == ""

    drive(recording(tmp_path, "finishes"), script)


def test_a_silent_recorder_is_noticed_and_its_next_sign_clears_it(tmp_path: Path) -> None:
    now = [0.0]
    app = recording(tmp_path, "stalls", clock=lambda: now[0])

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await live(app, pilot)
        now[0] = 100.0
        app._check()
        await pilot.pause()
        assert app.live.state == "stalled" and "silent for 100 seconds" in text_of(app)
        with (tmp_path / "live.specview.jsonl").open("ab") as file:
            file.write(r.to_line(r.Note(t_ns=10, text="alive")))
        await until(pilot, lambda: app.live.state == "recording", "recording again")

    drive(app, script)


def test_nothing_is_drawn_again_when_nothing_changed(tmp_path: Path) -> None:
    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await measured(app, pilot)
        await pilot.pause()
        drawn: list[object] = []
        for widget in app.dashboard.query("*"):
            original = widget.refresh
            widget.refresh = lambda *a, _o=original, **k: (drawn.append(1), _o(*a, **k))[1]  # type: ignore[method-assign]
        app._show()
        await pilot.pause()
        assert drawn == []

    drive(opened(tmp_path), script)
