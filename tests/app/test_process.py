"""The recorder as a child: reports, garbage, death, deafness, and no orphan."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from session_builder import written

from specview.app.process import (
    Ended,
    Garbage,
    News,
    RecorderProcess,
    Report,
    parsed_report,
    recorder_command,
    survey_command,
)

FAKE = Path(__file__).parent / "fake_recorder.py"


def fake(tmp_path: Path, mode: str) -> list[str]:
    source = written(tmp_path, "wins")
    return [sys.executable, str(FAKE), mode, str(tmp_path / "out.jsonl"), str(source), str(tmp_path / "heard")]


def run(command: list[str], then: Callable[[RecorderProcess, News], object], grace_s: float = 5.0) -> list[News]:
    """Start it, call `then` with every news; a truthy answer stops it."""
    heard: list[News] = []

    async def main() -> None:
        done = asyncio.Event()

        def hear(news: News) -> None:
            heard.append(news)
            if isinstance(news, Ended) or then(recorder, news):
                done.set()

        recorder = RecorderProcess(command, hear, grace_s)
        await recorder.start()
        await asyncio.wait_for(done.wait(), 30)
        await recorder.stop()
        assert not recorder.running
        if recorder.pid is not None:
            with pytest.raises(ProcessLookupError):
                os.kill(recorder.pid, 0)

    asyncio.run(main())
    return heard


def ended(news: list[News]) -> Ended:
    found = [n for n in news if isinstance(n, Ended)]
    assert len(found) == 1
    return found[0]


def test_the_command_is_this_python_and_this_specview() -> None:
    command = recorder_command(Path("/tmp/a.jsonl"), ("--k", "2"))
    assert command[1:] == ["-m", "specview", "record", "--control", "--out", "/tmp/a.jsonl", "--k", "2"]


def test_reports_come_in_order_and_a_finished_recorder_ends_without_a_complaint(tmp_path: Path) -> None:
    news = run(fake(tmp_path, "finishes"), lambda recorder, n: False)
    assert [n.event for n in news if isinstance(n, Report)] == ["loading", "session", "progress", "finished"]
    assert ended(news) == Ended(0, "")


def test_a_killed_recorder_is_a_sentence_with_the_signal(tmp_path: Path) -> None:
    end = ended(run(fake(tmp_path, "dies"), lambda recorder, n: False))
    assert "SIGKILL" in end.sentence and "Press r" in end.sentence


def test_a_recorder_that_dies_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    end = ended(run(fake(tmp_path, "dies early"), lambda recorder, n: False))
    assert "status 3" in end.sentence and "ImportError: no model here" in end.sentence


def test_garbage_is_told_apart_and_made_harmless(tmp_path: Path) -> None:
    news = run(fake(tmp_path, "lies"), lambda recorder, n: isinstance(n, Report) and n.event == "progress")
    garbage = [n for n in news if isinstance(n, Garbage)]
    assert [g.text for g in garbage][:1] == ["hello, I am no JSON [31m"]
    assert all("\x1b" not in g.text for g in garbage)


def test_stopping_closes_stdin_and_leaves_a_footer(tmp_path: Path) -> None:
    run(fake(tmp_path, "replays"), lambda recorder, n: isinstance(n, Report) and n.event == "progress")
    assert b'"kind":"footer"' in (tmp_path / "out.jsonl").read_bytes()


def test_a_deaf_recorder_is_killed(tmp_path: Path) -> None:
    command = fake(tmp_path, "deaf")
    run(command, lambda recorder, n: isinstance(n, Report) and n.event == "progress", grace_s=0.1)


def test_a_command_that_cannot_be_started_is_a_sentence() -> None:
    end = ended(run(["/no/such/python"], lambda recorder, n: False))
    assert "cannot be started" in end.sentence


@pytest.mark.parametrize(
    "line",
    [b"", b"\xff\xfe", b"[]", b"7", b'{"event": 3}', b'{"event": "x"}', b'{"a": 1}', b"[" * 100_000, b"{" * 20],
)
def test_no_line_breaks_the_reader_of_reports(line: bytes) -> None:
    assert isinstance(parsed_report(line), Garbage)


def test_wrong_numbers_in_a_report_become_nothing() -> None:
    report = parsed_report(b'{"event": "progress", "prompts_done": true, "prompts_all": -5}')
    assert report == Report("progress")


def test_a_survey_is_started_with_its_question_and_named_in_its_end(tmp_path: Path) -> None:
    command = survey_command("experiment", Path("out.jsonl"), ("--switch", "compile"))
    assert command[1:] == ["-m", "specview", "experiment", "--control", "--out", "out.jsonl", "--switch", "compile"]
    heard: list[News] = []

    async def main() -> None:
        done = asyncio.Event()

        def hear(news: News) -> None:
            heard.append(news)
            if isinstance(news, Ended):
                done.set()

        child = RecorderProcess(fake(tmp_path, "dies early"), hear, 5.0, name="survey", again="y to survey again")
        await child.start()
        await asyncio.wait_for(done.wait(), 30)
        await child.stop()

    asyncio.run(main())
    assert "The survey ended" in ended(heard).sentence and "Press y to survey again" in ended(heard).sentence
