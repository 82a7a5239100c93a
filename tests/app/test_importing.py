"""`specview import` accounts for every file and saves a session that opens on the screen."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from screen_text import text_of, until

from specview.app.application import Source, SpecviewApp
from specview.app.importing import add_import, import_files
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.session import read_session

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


PLAIN = "        eval time =    2000.00 ms /   150 tokens (   13.33 ms per token)\n"


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
    (group,) = answer["judgement"]["imported"]
    assert group["verdict"] is None and group["windows"] == 1
    assert "--baseline-tps" in group["missing"][0]


def test_both_arms_give_a_verdict_with_its_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, out = tmp_path / "plain.log", tmp_path / "x.specview.jsonl"
    plain.write_text(PLAIN)
    assert run(plain, log(tmp_path), "--out", out) == 0
    # 1.5 tokens a round at 20 ms each, 13.33 ms without drafts
    assert "Cannot win: a round costs 2.25 decode steps" in capsys.readouterr().out


def test_notes_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.specview.jsonl"
    contradiction = LOG.replace("mean len =  1.50", "mean len =  2.90")
    (tmp_path / "server.log").write_text(contradiction)
    run(tmp_path / "server.log", "--out", out)
    told = capsys.readouterr().out
    notes = [note.text for note in read_session(out).notes]
    assert notes and all(told.count(note) == 1 for note in notes)


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
            await until(pilot, lambda: app.settled)
            return text_of(app)

    text = asyncio.run(look())
    assert "saved, finished" in text
    assert "tokens per round, 50.0 tok/s with drafts" in text and "give --baseline-tps" in text
