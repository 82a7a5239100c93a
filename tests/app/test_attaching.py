"""`specview attach` from options to a saved session: headless, under control, and what the screen would start."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
from pathlib import Path

import pytest
from metrics_server import MetricsServer, Vllm, reply
from screen_text import text_of, until

from specview.app import attaching
from specview.app.application import Source, SpecviewApp
from specview.engine.errors import SpecviewError
from specview.profilers.record.session import read_session
from specview.profilers.record.steering import Steering


class Hasty(Steering):
    """Naps take no time."""

    def nap(self, seconds):
        return super().nap(0)


@pytest.fixture
def page():
    page = Vllm()
    page.running = 1
    return page


@pytest.fixture
def server(page):
    """A server that drafts between any two looks."""

    def answer():
        text = page.text()
        page.draft(40, 30, 10)
        return text

    with MetricsServer(answer) as server:
        yield server


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new.specview.jsonl"


@pytest.fixture
def run(monkeypatch, capsys, server, out):
    """Attach with these options; returns status, stdout and stderr."""
    monkeypatch.setattr(attaching, "Steering", Hasty)
    ticks = iter(range(0, 10**15, 100_000_000))
    monkeypatch.setattr(attaching.time, "monotonic_ns", lambda: next(ticks))

    def attach(*options, url=None):
        status = attaching.attach(parsed(url or server.url, "--out", str(out), *options))
        said = capsys.readouterr()
        return status, said.out, said.err

    return attach


def parsed(*options):
    parser = argparse.ArgumentParser()
    attaching.add_attach(parser)
    return parser.parse_args(options)


def test_a_summary_is_printed_at_the_end(run, out, server):
    status, said, errors = run("--budget", "100", "--baseline-tps", "55")
    assert status == 0
    lines = said.splitlines()
    assert lines[0].startswith("with drafts: 3 stretches, 240 tokens, ")
    assert "2.00 tokens per round, 50.0% of drafts accepted, cumulative by position 0.75, 0.25" in lines[0]
    assert lines[1] == "without drafts: 1 stretch, 55.0 tok/s"
    assert any(line.startswith(("Wins", "Loses", "Cannot win", "Too close", "No verdict")) for line in lines)
    assert not any("record longer" in line for line in lines)
    assert lines[-1].startswith("Saved: ") and lines[-1].endswith("new.specview.jsonl")
    assert errors.count("\n") == 1 and f"Watching {server.url}/metrics" in errors
    assert read_session(out).status == "finished"


def test_json_is_one_object(run):
    status, said, _ = run("--budget", "100", "--json")
    answer = json.loads(said)
    assert status == 0
    assert (answer["engine"], answer["model"], answer["status"], answer["plain"]) == (
        "vllm",
        "org/model",
        "finished",
        None,
    )
    assert answer["drafting"]["tokens_per_round"] == 2.0
    assert answer["drafting"]["accepted_by_position"] == [0.75, 0.25]
    assert "--baseline-tps" in " ".join(answer["judgement"]["imported"][0]["missing"])


def test_the_dashboard_follows_an_attached_session_live(run, out, tmp_path):
    run("--budget", "200", "--baseline-tps", "55")
    lines = out.read_bytes().splitlines(keepends=True)
    grown = tmp_path / "grown.specview.jsonl"
    first = next(i for i, line in enumerate(lines) if b'"arm":"drafting"' in line)
    grown.write_bytes(b"".join(lines[:first]))
    app = SpecviewApp(Source(grown, following=True), folder=tmp_path)

    async def look():
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            before = app.view.headline
            with grown.open("ab") as file:
                file.write(b"".join(lines[first:-1]))
            await until(pilot, lambda: app.view.headline.kind != "measuring", "a verdict")
            return before, app.view, text_of(app)

    before, view, text = asyncio.run(look())
    assert (before.word, before.first) == ("NO VERDICT YET", "55.0 tok/s without drafts")
    assert view.headline.kind in ("wins", "loses", "cannot_win", "too_close")
    assert view.break_even.curve is not None
    assert view.stream.where.endswith("windows") and "given on the command line" in str(view.rounds.rows)
    assert "following" in text


def test_a_session_finds_a_name_of_its_own(run, monkeypatch, tmp_path, server, capsys):
    monkeypatch.setattr(attaching, "sessions_folder", lambda: tmp_path / "sessions")
    assert attaching.attach(parsed(server.url, "--budget", "40")) == 0
    (path,) = (tmp_path / "sessions").iterdir()
    assert path.name.startswith("attached-vllm-")


def test_escape_codes_of_a_server_reach_no_terminal(run, page):
    page.model = "\x1b[31m[red]x"
    _, said, errors = run("--budget", "100", "--json")
    assert "\x1b" not in said + errors and "\\u001b" not in said


@pytest.mark.parametrize("control", [(), ("--control",)])
def test_a_server_that_never_answers_properly_is_an_error_and_leaves_no_file(run, server, out, control, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    server.behave = lambda handler: reply(handler, "<html>")
    with pytest.raises(SpecviewError, match="is a web page"):
        run(*control)
    assert not out.exists()


@pytest.mark.parametrize(
    "options", [("--interval", "nan"), ("--interval", "0"), ("--budget", "soon"), ("--baseline-tps", "-1")]
)
def test_options_that_make_no_sense_are_refused_before_anything_is_asked(run, server, options):
    with pytest.raises(SpecviewError):
        run(*options)
    assert server.requests == []


def test_under_control_reports_go_to_stdout_and_the_end_of_stdin_stops_it(run, out, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    status, said, errors = run("--control")
    reports = [json.loads(line) for line in said.splitlines()]
    assert (status, errors) == (0, "")
    assert [report["event"] for report in reports][:2] == ["loading", "session"]
    assert reports[1]["name"] == out.name
    assert reports[-1] == {
        "event": "finished",
        "status": "stopped",
        "reason": "whoever started the recorder is gone",
    }
    assert read_session(out).status == "stopped"


def test_under_control_a_failure_is_a_report_too(run, capsys, server, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    server.close()
    with pytest.raises(SpecviewError, match="Nothing listens"):
        run("--control")
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["event"] == "failed" and "Nothing listens" in last["message"]


def test_a_quiet_server_gives_signs_of_life(run, server, monkeypatch):

    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr(attaching, "Steering", lambda stream: Hasty())
    idle = Vllm().text()
    server.answer = lambda: idle
    _, said, _ = run("--control", "--budget", "30s")
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert events.count("session") > 3


def test_the_screen_starts_a_recorder_with_the_same_wishes(server):
    options = parsed(server.url, "--interval", "0.5", "--baseline-tps", "55", "--budget", "5m", "--light")
    command = attaching.recorder_command(Path("x"), attaching.recorder_options(options))
    assert command[1:4] == ["-m", "specview", "attach"]
    again = parsed(*command[4:])
    assert (again.control, again.out) == (True, Path("x"))
    for name in ("url", "interval", "baseline_tps", "budget"):
        assert getattr(again, name) == getattr(options, name)


def test_on_a_terminal_a_wrong_address_is_told_before_the_screen_opens(monkeypatch, server):
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    monkeypatch.setattr(attaching, "_on_screen", lambda options: 7)
    assert attaching.attach(parsed(server.url)) == 7
    server.behave = lambda handler: reply(handler, "", 404)
    with pytest.raises(SpecviewError, match="no metrics page"):
        attaching.attach(parsed(server.url))
