"""The Ledger screen: what its keys show, and an import as reviewed text. SPECVIEW_SNAPSHOTS=write writes it.

test_every_screen has the usual sessions.
"""

from __future__ import annotations

import asyncio

import july
import pytest
from ledger_app import LedgerApp
from reviewed import assert_reviewed, looks_of
from screen_text import text_of, until
from session_builder import CASES
from windows_made import drafting, imported_half, plain, session

from specview.layouts.ledger import ledger_view
from specview.layouts.panels.table import Rows
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.record.session import Session, session_of

SIZES = ((80, 24), (120, 40), (200, 60))
SESSIONS = {
    "normal": session_of(CASES["normal"]),
    "imported": session_of(imported_half()),
    "july": session_of(july.records()),
}


def shown(made: Session, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen after some keys."""
    app = LedgerApp(made)

    async def run() -> str:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.ready)
            app.page.show_view(app.ledger)
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            return text_of(app)

    return asyncio.run(run())


def test_the_ledger_of_an_import_looks_as_reviewed() -> None:
    app = LedgerApp(SESSIONS["imported"])
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=SIZES[0]) as pilot:
            await until(pilot, lambda: app.ready)
            app.page.show_view(app.ledger)
            found.update(await looks_of(pilot, "ledger-imported"))

    asyncio.run(run())
    assert_reviewed(found)


@pytest.mark.parametrize("size", SIZES)
def test_july_shows_both_results_at_every_size(size: tuple[int, int]) -> None:
    text = shown(SESSIONS["july"], size=size)
    assert "= 1.0655x" in text and "= 0.7994x" in text
    assert "✗ wrong ruler" in text and "✓ right ruler" in text


def test_the_chosen_row_is_explained() -> None:
    text = shown(SESSIONS["normal"], "down")
    assert "measured: The baseline of the verdict." in text


def test_the_end_of_a_long_ledger_can_be_reached() -> None:
    before, after = shown(SESSIONS["normal"], size=(80, 24)), shown(SESSIONS["normal"], "end", size=(80, 24))
    assert "── Baseline" in before and "── Baseline" not in after
    assert "output" in after


def test_a_terminal_too_small_says_so() -> None:
    assert "needs a terminal of 60 × 18" in shown(SESSIONS["normal"], size=(50, 12))


def test_text_of_a_file_is_shown_as_text() -> None:
    nasty = "[bold red]x[/] \x1b[31m\u202eevil"
    made = session(plain(90.0), drafting(60.0, drafter=nasty, rule=nasty))
    written = b"".join(map(_line, _records(made)))
    text = shown(_read(written), "end")
    assert "[bold red]x[/]" in text and "\x1b" not in text and "\u202e" not in text


def test_equal_numbers_are_not_drawn_again() -> None:
    app = LedgerApp(SESSIONS["normal"])

    async def run() -> tuple[object, object]:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.ready)
            app.page.show_view(app.ledger)
            await pilot.pause()
            before = app.page.query_one(Rows).view
            app.page.show_view(ledger_view(ledger_sheets(SESSIONS["normal"])))
            await pilot.pause()
            return before, app.page.query_one(Rows).view

    before, after = asyncio.run(run())
    assert before is after


def test_the_help_names_both_rulers() -> None:
    app = LedgerApp(SESSIONS["july"])

    async def run() -> tuple[str, ...]:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.ready)
            app.page.show_view(app.ledger)
            await pilot.pause()
            return app.page.explanation().numbers

    numbers = asyncio.run(run())
    assert any(number.startswith("wrong: ") for number in numbers)
    assert any(number.startswith("right: ") for number in numbers)


def _line(record: object) -> bytes:
    from specview.profilers.record.records import to_line

    return to_line(record)  # type: ignore[arg-type]


def _records(made: Session) -> tuple[object, ...]:
    return (made.header, *made.counters, made.footer)


def _read(data: bytes) -> Session:
    from specview.profilers.record.session import SessionReader

    reader = SessionReader("a file")
    reader.feed(data)
    return reader.session()
