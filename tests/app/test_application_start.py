"""What the command line asks of the app, with a terminal and without."""

from __future__ import annotations

import sys

import pytest

from specview.app import cli
from specview.app.looking import LookingMeter
from specview.app.watching import recorder_options


class Terminal:
    def __init__(self, there: bool) -> None:
        self.there = there

    def isatty(self) -> bool:
        return self.there


def given(monkeypatch: pytest.MonkeyPatch, terminal: bool, *words: str) -> list[str]:
    monkeypatch.setattr(sys, "stdin", Terminal(terminal))
    monkeypatch.setattr(cli.sys.stdout, "isatty", lambda: terminal, raising=False)
    return cli._with_command(list(words))


def test_on_a_terminal_everything_without_a_command_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given(monkeypatch, True) == ["watch"]
    assert given(monkeypatch, True, "a.specview.jsonl") == ["watch", "a.specview.jsonl"]
    assert given(monkeypatch, True, "--k", "2") == ["watch", "--k", "2"]
    assert given(monkeypatch, True, "show", "x") == ["show", "x"]


def test_without_a_terminal_it_records_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert given(monkeypatch, False, "--k", "2") == ["record", "--k", "2"]
    assert "no terminal" in capsys.readouterr().err
    assert given(monkeypatch, False, "a.specview.jsonl") == ["show", "a.specview.jsonl"]


def test_following_without_a_terminal_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    assert cli.main(["--follow", "a.specview.jsonl"]) == 1
    assert "needs a terminal" in capsys.readouterr().err


def test_recording_options_reach_the_recorder_and_the_apps_own_do_not() -> None:
    options = cli.parser().parse_args(["watch", "--k", "3", "--light", "--no-text", "--draft", "lookup"])
    passed = recorder_options(options)
    assert passed[passed.index("--k") + 1] == "3" and passed[passed.index("--draft") + 1] == "lookup"
    assert "--no-text" in passed and "--light" not in passed and "--out" not in passed and "--follow" not in passed
    cli.parser().parse_args(["record", "--control", *passed])


def test_a_value_that_begins_with_a_dash_is_no_other_option() -> None:
    words = ["--system=-brief", "--stop=--end", "--stop", "x"]
    passed = recorder_options(cli.parser().parse_args(["watch", *words]))
    assert {"--system=-brief", "--stop=--end"} <= set(passed) and passed[passed.index("--stop") + 1] == "x"
    options = cli.parser().parse_args(["record", "--control", *passed])
    assert options.system == "-brief" and options.stop == ["--end", "x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["watch", "--follow", "a.jsonl", "b.jsonl"], "--follow and SESSION each name a file to show"),
        (["watch", "b.jsonl", "--out", "x.jsonl"], "--out is for a new recording, and b.jsonl is to be shown"),
        (["watch", "--follow", "a.jsonl", "--out", "x.jsonl"], "--out is for a new recording, and a.jsonl"),
        (["watch", "b.jsonl", "--setup"], "--setup is for a new recording"),
        (["serve", "b.jsonl", "--out", "x.jsonl"], "--out is for a new recording"),
    ],
)
def test_what_would_be_left_out_without_a_word_is_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert cli.main(words) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(f"specview: {said}") and told.err.count("\n") == 1


def test_looking_is_a_share_of_all_cores_from_the_first_reading_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    wall, busy = [100.0], [7.0]
    meter = LookingMeter(lambda: wall[0], lambda: busy[0])
    assert meter.read() is None
    wall[0], busy[0] = 110.0, 8.0
    assert meter.read() == pytest.approx(0.025)
    meter.restart()
    assert meter.read() is None
