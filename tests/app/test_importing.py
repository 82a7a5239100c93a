"""`specview import` accounts for every file and saves a session that opens on the screen."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from screen_text import text_of

from specview.app.application import Source, SpecviewApp
from specview.app.importing import add_import, import_files
from specview.profilers.record.importers.imported import ImportFailed

LOG = (
    "        eval time =    3000.00 ms /   150 tokens (   20.00 ms per token)\n"
    "draft acceptance = 0.50000 (   50 accepted /   100 generated), mean len =  1.50\n"
    "draft acceptance = nan ( 0 accepted \x07\n"
    "hello\n"
)


def run(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    add_import(parser)
    return import_files(parser.parse_args([str(argument) for argument in arguments]))


def log(folder: Path) -> Path:
    path = folder / "server.log"
    path.write_text(LOG)
    return path


def test_it_tells_what_was_understood_and_where_the_session_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.specview.jsonl"
    assert run(log(tmp_path), "--out", out) == 0
    told = capsys.readouterr().out
    assert "server.log: llama.cpp log; 2 lines understood, 1 ignored, 1 not understood" in told
    assert "not understood: draft acceptance = nan ( 0 accepted" in told
    assert "\x07" not in told
    assert "x.specview.jsonl" in told and out.is_file()


def test_as_json_it_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("nothing\n")
    assert run(log(tmp_path), bad, "--json", "--out", tmp_path / "x.specview.jsonl") == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["engine"] == "llama.cpp"
    assert answer["files"][0] == {
        "name": "server.log",
        "form": "llama.cpp log",
        "lines": 4,
        "understood": 2,
        "ignored": 1,
        "not_understood": 1,
        "examples": ["draft acceptance = nan ( 0 accepted \x07"],
    }
    assert "bad.txt" in answer["files"][1]["failure"]
    assert "judgement" in answer


def test_nothing_usable_is_one_sentence(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("nothing\n")
    with pytest.raises(ImportFailed, match="--kind"):
        run(bad, "--out", tmp_path / "x.specview.jsonl")


def test_the_session_opens_on_the_screen(tmp_path: Path) -> None:
    out = tmp_path / "x.specview.jsonl"
    run(log(tmp_path), "--out", out)

    async def look() -> str:
        app = SpecviewApp(Source(out), folder=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            return text_of(app)

    assert "saved, finished" in asyncio.run(look())
