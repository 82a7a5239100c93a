"""What the terminal can show, by its environment."""

from __future__ import annotations

import argparse

import pytest
from textual.app import App

from specview.app.appearance import colours_of, first_theme, wants_ascii
from specview.app.watching import look


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "many"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "xterm-16color"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "tmux-256color"}, "256"),
        ({"TERM": "dumb"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256"),
        ({"TERM": "xterm", "TEXTUAL_COLOR_SYSTEM": "truecolor"}, "many"),
    ],
)  # fmt: skip
def test_colours_are_counted(environ: dict[str, str], colours: str) -> None:
    assert colours_of(environ) == colours


@pytest.mark.parametrize(
    ("environ", "encoding", "plain"),
    [
        ({"LANG": "en_GB.UTF-8"}, "utf-8", False),
        ({}, "utf-8", False),
        ({"LANG": "C"}, "ascii", True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", True),
        ({"LANG": "C.UTF-8"}, "utf-8", False),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, "utf-8", False),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1", True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux"}, "utf-8", True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux", "SPECVIEW_ASCII": "0"}, "utf-8", False),
        ({"LANG": "en_GB.UTF-8", "SPECVIEW_ASCII": "1"}, "utf-8", True),
    ],
)  # fmt: skip
def test_ascii_is_for_terminals_without_more(environ: dict[str, str], encoding: str, plain: bool) -> None:
    assert wants_ascii(environ, encoding) is plain


def test_the_first_theme_is_the_asked_one_then_the_terminals_own_then_the_last() -> None:
    assert first_theme("light", "dark", "16") == "light"
    assert first_theme(None, "light", "16") == "ansi" == first_theme(None, None, "none")
    assert first_theme(None, "light", "256") == "light" and first_theme(None, None, "many") == "dark"
    assert first_theme(None, "ansi", "many") == "dark"


def test_textual_counts_colours_as_we_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for environ in ({"TERM": "xterm-256color"}, {"TERM": "xterm"}, {"TERM": "xterm", "COLORTERM": "24bit"}):
        for name in ("TERM", "COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        told = {"standard": "16", "256": "256", "truecolor": "many"}
        assert told[App().console.color_system or ""] == colours_of(environ)


def test_the_command_line_and_the_environment_say_how_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "COLORTERM", "NO_COLOR", "SPECVIEW_ASCII", "TEXTUAL_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    found = look(argparse.Namespace(light=True))
    assert (found["theme"], found["few_colours"]) == ("light", False)
    assert look(argparse.Namespace(theme="contrast-dark", ascii=True))["ascii"] is True
    monkeypatch.setenv("TERM", "xterm")
    found = look(argparse.Namespace(fresh=True))
    assert (found["theme"], found["few_colours"]) == ("ansi", True)
    monkeypatch.setenv("TEXTUAL_DRIVER", "somewhere:Driver")
    assert look(argparse.Namespace())["theme"] == "dark"
