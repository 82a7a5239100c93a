"""The Sessions screen in the app: sessions found, sorted, renamed, noted, deleted, followed, opened in every way."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from screen_text import text_of, until
from textual.events import Paste
from textual.pilot import Pilot

from specview.app.application import Source, SpecviewApp
from specview.app.following import Waker
from specview.app.library_verdicts import VerdictCache, is_reckonable
from specview.app.library_watching import LibraryWatch, watch_library
from specview.layouts.screens.sessions import SessionsScreen
from specview.profilers.record.library.entries import read_entry
from specview.profilers.record.library.index import Index, Library
from specview.profilers.record.library.trash import delete, undelete
from specview.profilers.record.session import read_session
from specview.profilers.record.store import SessionStore

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
Script = Callable[[SpecviewApp, Pilot[Any]], Awaitable[None]]


def library(folder: Path) -> Path:
    for name in ("bundled-mtp", "article-a-july", "smollm2-4bit-copy"):
        shutil.copyfile(EXAMPLES / f"{name}.specview.jsonl", folder / f"{name}.specview.jsonl")
    return folder


def drive(folder: Path, script: Script, source: Path | None = None, **options: Any) -> None:
    app = SpecviewApp(Source(source or folder / "article-a-july.specview.jsonl"), folder=folder, **options)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            await script(app, pilot)

    asyncio.run(run())


async def at_library(app: SpecviewApp, pilot: Pilot[Any]) -> SessionsScreen:
    await pilot.press("o")
    await until(pilot, lambda: app.library_settled, "the library")
    assert isinstance(app.page, SessionsScreen)
    return app.page


def notices(app: SpecviewApp) -> str:
    return " ".join(str(each.message) for each in app._notifications)


def names(page: SessionsScreen) -> list[str]:
    return [row.cells[1] for row in page.view.table.rows]


def test_sessions_are_found_sorted_renamed_noted_deleted_and_brought_back(tmp_path: Path) -> None:
    library(tmp_path)

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        page = await at_library(app, pilot)
        text = text_of(app)
        assert "CANNOT WIN 0.50x" in text and "LOSES 0.87x" in text and "3 sessions, " in text
        assert page.selected is not None and page.selected.name == "article-a-july"  # what the dashboard shows

        await pilot.press("slash", *"mtp", "space", *"k=1")
        assert sorted(names(page)) == ["article-a-july", "bundled-mtp"] and "2 of 3" in text_of(app)
        await pilot.press("enter")
        assert page.ask.needle == "mtp k=1" and page.asking == ""
        await pilot.press("slash", "escape")
        assert len(names(page)) == 3

        await pilot.press("S")
        assert page.ask.sort == "name" and names(page)[0] == "article-a-july"
        await pilot.click("#sessions .header", offset=(9, 0))
        assert page.ask.backwards and names(page)[-1] == "article-a-july"
        await pilot.press("home")
        assert page.selected.name == "smollm2-4bit-copy"

        await pilot.press("R", *["backspace"] * len("smollm2-4bit-copy"), *"bundled-mtp", "enter")
        await until(pilot, lambda: "exists already" in notices(app), "a refusal")
        assert page.asking == "rename"  # what was typed can be corrected
        await pilot.press("2", "enter")
        await until(pilot, lambda: "bundled-mtp2" in names(page) and page.asking == "", "renamed")
        await until(pilot, lambda: page.selected is not None and page.selected.name == "bundled-mtp2", "selected")

        await pilot.press("N", *"slow", "enter")
        await until(pilot, lambda: page.asking == "" and "note     slow" in text_of(app), "a note")
        await pilot.press("T", *"copy", "enter")
        await until(pilot, lambda: page.asking == "" and "#copy" in text_of(app), "a tag")
        assert read_session(tmp_path / "bundled-mtp2.specview.jsonl").notes[-1].tags[1:] == ("copy",)

        await pilot.press("space")
        assert page.ask.marked and "1 marked" in text_of(app)
        await pilot.press("home", "D")
        await until(pilot, lambda: len(names(page)) == 2, "deleted")
        assert "trash 1" in text_of(app) and not page.ask.marked
        for back in ("is back", "Taken back", "Taken back", "renamed bundled-mtp2"):
            app.clear_notifications()
            await pilot.press("z")
            await until(pilot, lambda: back in notices(app), back)  # noqa: B023
        await until(pilot, lambda: "smollm2-4bit-copy" in names(page), "as before")
        entry = read_entry(tmp_path / "smollm2-4bit-copy.specview.jsonl")
        assert entry.note == "" and entry.tags == ()
        await pilot.press("z")
        await until(pilot, lambda: "nothing to bring back" in notices(app), "an empty trash")

        await pilot.press("question_mark")
        assert "Help · Sessions" in text_of(app)
        await pilot.press("escape", "escape")
        assert app.page is None
        page = await at_library(app, pilot)
        assert (page.ask.sort, page.ask.backwards) == ("name", True)

    drive(tmp_path, script)


def test_what_another_terminal_does_appears_and_a_live_session_is_followed(tmp_path: Path) -> None:
    library(tmp_path)
    session = read_session(EXAMPLES / "article-a-july.specview.jsonl")

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        page = await at_library(app, pilot)
        delete(tmp_path, [tmp_path / "bundled-mtp.specview.jsonl"], 1)
        await until(pilot, lambda: "bundled-mtp" not in names(page), "gone")
        path = tmp_path / "live.specview.jsonl"
        with SessionStore.create(path) as store:
            store.append(session.header)
            await until(pilot, lambda: names(page)[0] == "live", "live")
            assert "being recorded" in text_of(app)
            assert page.selected is not None and page.selected.name == "article-a-july"  # it keeps its place
            await pilot.press("D")
            await until(pilot, lambda: len(names(page)) == 2, "deleted")
            assert page.selected.name == "smollm2-4bit-copy"
            await pilot.press("z")
            await until(pilot, lambda: len(names(page)) == 3, "back")
            await pilot.press("home", "D")
            await until(pilot, lambda: "being recorded" in notices(app), "refused")
            await pilot.press("enter")
            await until(pilot, lambda: app.shown == path and app.settled, "followed")
            assert app.page is None
        undelete(tmp_path)
        page = await at_library(app, pilot)
        await until(pilot, lambda: "bundled-mtp" in names(page), "back again")

    drive(tmp_path, script)


def test_files_open_by_path_by_paste_and_what_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library(tmp_path / "library")
    other = tmp_path / "with blank.specview.jsonl"
    shutil.copyfile(EXAMPLES / "article-a-july.specview.jsonl", other)
    (tmp_path / "server.log").write_text("eval time = 12 ms\n")

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        app.post_message(Paste(f"'{other}' "))
        await until(pilot, lambda: app.shown == other and app.settled, "pasted")
        app.post_message(Paste(str(tmp_path / "server.log")))
        await until(pilot, lambda: "specview import" in notices(app), "no session")
        app.post_message(Paste(str(tmp_path / "none.specview.jsonl")))
        await until(pilot, lambda: "There is no file none" in notices(app), "no file")
        app.post_message(Paste("some words"))
        app.post_message(Paste("~nobody-of-that-name hello"))
        page = await at_library(app, pilot)
        assert app.shown == other and "with blank" in names(page)  # listed, though it lies elsewhere
        await pilot.press("c")
        await pilot.pause()
        assert "Mark two sessions" in notices(app)
        await pilot.press("S", "home", "space", "space", "c")
        await until(pilot, lambda: app.page is not None and app.page.NAME == "compare", "compared")
        page = await at_library(app, pilot)
        path = tmp_path / "library" / "bundled-mtp.specview.jsonl"
        await pilot.press("slash")
        page.query_one("#ask-words").value = "~nobody-of-that-name"  # type: ignore[attr-defined]
        await pilot.press("enter", "slash")
        page.query_one("#ask-words").value = str(path)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: app.shown == path and app.settled and app.page is None, "by path")

    drive(tmp_path / "library", script)


def test_an_empty_library_says_what_to_do_and_a_renamed_session_stays_on_the_dashboard(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    outside = tmp_path / "out.specview.jsonl"
    shutil.copyfile(EXAMPLES / "article-a-july.specview.jsonl", outside)

    async def script(app: SpecviewApp, pilot: Pilot[Any]) -> None:
        await at_library(app, pilot)
        await pilot.press("R", "2", "enter")
        await until(pilot, lambda: app.shown == tmp_path / "out2.specview.jsonl" and app.settled, "renamed")
        (tmp_path / "out2.specview.jsonl").unlink()
        await until(pilot, lambda: "No session is saved yet" in text_of(app), "empty")

    drive(tmp_path / "library", script, outside)


# ------------------------------------------------------------------ without a screen


def test_the_folder_is_told_at_once_and_then_as_it_is_read(tmp_path: Path) -> None:
    library(tmp_path)
    told: list[Library] = []
    looks: list[int] = []

    class Patient(Waker):
        def wait(self, seconds: float, armed: bool) -> None:
            looks.append(1)

    watch_library(Index(tmp_path), told.append, lambda: bool(looks), Patient(tmp_path / "x"))
    assert [each.unread for each in told] == [3, 0] and told[0].looked


def test_a_watch_that_was_stopped_begins_again_with_what_it_knew(tmp_path: Path) -> None:
    library(tmp_path)
    works: list[Callable[[], None]] = []
    told: list[Library] = []
    watch = LibraryWatch(Index(tmp_path), works.append, told.append)
    watch.start()
    watch.start()
    assert len(works) == 1 and watch.on
    watch.stop()
    works[0]()
    assert told == [] and not watch.on
    watch.start()
    assert len(works) == 2


def test_verdicts_are_kept_for_the_next_launch_until_the_file_changes(tmp_path: Path) -> None:
    path = library(tmp_path) / "article-a-july.specview.jsonl"
    kept = tmp_path / "cache" / "library.json"
    cache = VerdictCache(kept, "1")
    entry = read_entry(path)
    assert cache.of(entry) is None and is_reckonable(entry)
    found = cache.reckon(entry)
    assert VerdictCache(kept, "1").by_path([entry]) == {path: found}
    assert VerdictCache(kept, "2").of(entry) is None
    path.write_bytes(path.read_bytes() + b"\n")
    assert VerdictCache(kept, "1").of(read_entry(path)) is None
    huge = json.dumps({
        "format": 1, "specview": "1", "verdicts": {"a": ["wins", "WINS", 10**400, "", ""]}
    }).encode()  # fmt: skip
    for damaged in (huge, b"[]", b"{", b'{"format":1,"specview":"1","verdicts":{"a":[1]}}', b"\xff", b"[" * 100_000):
        kept.write_bytes(damaged)
        assert VerdictCache(kept, "1").of(entry) is None
    path.write_bytes(b"no session\n")
    assert cache.reckon(read_entry(path)).kind == "problem" and not is_reckonable(read_entry(path))
    assert VerdictCache(tmp_path / "article-a-july.specview.jsonl" / "x", "1").reckon(entry).kind == "problem"
