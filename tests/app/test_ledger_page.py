"""The Ledger from the dashboard by its key, and the same in words from the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import july
import pytest
from screen_text import text_of, until
from session_builder import CASES, lines_of, written
from windows_made import imported_half

from specview.app.application import Source, SpecviewApp
from specview.app.cli import main
from specview.layouts.screens.ledger import LedgerScreen


def opened(path: Path, *keys: str) -> str:
    app = SpecviewApp(Source(path), folder=path.parent)

    async def run() -> str:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press(*keys, "l")
            await until(pilot, lambda: isinstance(app.page, LedgerScreen) and app.page_settled, "the ledger")
            await until(pilot, lambda: app.page is not None and app.page.view.table.rows, "rows")
            return text_of(app)

    return asyncio.run(run())


def test_july_opens_with_both_rulers(tmp_path: Path) -> None:
    text = opened(written(tmp_path, "july", july.records()))
    assert "✗ wrong ruler  1.6457 × 10.941 ÷ (2 × 8.128 + 0.643) ms = 1.0655x" in text
    assert "✓ right ruler  1.6457 × 10.941 ÷ (2 × 10.941 + 0.643) ms = 0.7994x" in text


def test_a_what_if_of_the_dashboard_is_a_row_of_the_ledger(tmp_path: Path) -> None:
    path = written(tmp_path, "normal", CASES["normal"])
    assert "S, as asked" not in opened(path)
    assert "? S, as asked" in opened(path, "right")


def test_show_tells_an_imported_session_and_takes_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "half.specview.jsonl"
    path.write_bytes(lines_of(imported_half()))
    assert main(["show", str(path)]) == 0
    assert "give --baseline-tps" in capsys.readouterr().out
    assert main(["show", str(path), "--baseline-tps", "92", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"][0]["verdict"] == "loses"


def test_show_draws_no_chart_of_a_session_without_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(written(tmp_path, "july", july.records())), "--chart"]) == 0
    assert "1.066x" in capsys.readouterr().out


def test_a_baseline_that_is_no_speed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "july", july.records())
    assert main(["show", str(path), "--baseline-tps", "-3"]) == 1
    assert "--baseline-tps -3 is no speed" in capsys.readouterr().err
