"""The library from the command line: names for sessions, list, open, note, rename, rm with undo and purge."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from specview.app import cli, library_commands, listing
from specview.app.cli import main, parser
from specview.app.library_names import find_sessions, saved_names, session_path
from specview.profilers.record.library.disk import LibraryError

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of three sessions."""
    folder = tmp_path / "library"
    folder.mkdir()
    for source, name in (("bundled-mtp", "bundled-mtp"), ("article-a-july", "july"), ("article-a-july", "june")):
        (folder / f"{name}.specview.jsonl").write_bytes((EXAMPLES / f"{source}.specview.jsonl").read_bytes())
    monkeypatch.setattr(cli, "sessions_folder", lambda: folder)
    monkeypatch.setattr(library_commands, "sessions_folder", lambda: folder)
    monkeypatch.setattr(library_commands, "library_cache", lambda: tmp_path / "cache" / "library.json")
    monkeypatch.chdir(tmp_path)
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == status
    captured = capsys.readouterr()
    assert not (captured.out and captured.err and status == 0)
    return captured.err if status else captured.out


def test_a_word_means_a_file_a_name_or_the_beginning_of_one(library: Path) -> None:
    july = library / "july.specview.jsonl"
    assert session_path(Path("july"), library) == july
    assert session_path(Path("july.specview.jsonl"), library) == july
    assert session_path(Path("JUL"), library) == july
    assert session_path(july, library) == july
    assert session_path(Path("no/such.jsonl"), library) == Path("no/such.jsonl")
    with pytest.raises(LibraryError, match="fits 2 saved sessions: july, june"):
        session_path(Path("ju"), library)
    with pytest.raises(LibraryError, match="near names: bundled-mtp"):
        session_path(Path("mtp"), library)
    with pytest.raises(LibraryError, match="the command record"):
        session_path(Path("recrod"), library, ("record", "show"))
    with pytest.raises(LibraryError, match="specview list shows"):
        session_path(Path("xyzzy"), library)
    with pytest.raises(LibraryError, match="no session is saved yet"):
        session_path(Path("x"), library / "none")
    (library.parent / "july").write_text("a file of that name here")
    assert session_path(Path("july"), library) == Path("july")
    assert saved_names(library) == ["bundled-mtp", "july", "june"]


def test_show_and_open_take_names(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "1.066x" in told(capsys, "show", "jul")
    assert "1.066x" in told(capsys, "open", "july")
    assert "There is no file and no saved session nope" in told(capsys, "show", "nope", status=1)
    assert "There is no file gone.specview.jsonl" in told(capsys, "show", "./gone.specview.jsonl", status=1)


def test_sessions_that_are_compared_or_followed_have_names_too(library: Path) -> None:
    for words, field in ((["export", "july", "--with", "june"], "other"), (["watch", "--follow", "june"], "follow")):
        options = parser().parse_args(words)
        find_sessions(options, library)
        assert getattr(options, field) == library / "june.specview.jsonl"


def test_open_on_a_terminal_is_the_screen(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("specview.app.watching.watch", lambda options: opened.append(options.session) or 0)
    assert main(["open", "july"]) == 0 and main(["july"]) == 0
    assert opened == [library / "july.specview.jsonl"] * 2


def test_the_list_is_searched_sorted_and_tagged(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "note", "july", "the first article", "--tag", "#paper", "--tag", "old")
    text = told(capsys, "list", "--sort", "name")
    assert text.index("bundled-mtp") < text.index("july") < text.index("june")
    assert "3 sessions, " in text and "the first article" in text
    assert "1 of 3 sessions" in told(capsys, "list", "--tag", "paper", "--tag", "old")
    assert "No saved session" in told(capsys, "list", "--tag", "none")
    found = json.loads(told(capsys, "list", "first", "article", "--json", "--verdicts"))
    assert [each["name"] for each in found["sessions"]] == ["july"]
    assert found["sessions"][0]["tags"] == ["paper", "old"] and found["sessions"][0]["verdict"]["kind"] == "refused"
    assert "NO VERDICT" in told(capsys, "list", "first")  # known from the cache now


def test_an_empty_library_says_how_to_fill_it(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in library.iterdir():
        path.unlink()
    assert "specview record makes one" in told(capsys, "list")


def test_notes_are_added_changed_and_taken_away(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "note", "june") == "No note.\n"
    told(capsys, "note", "june", "one", "--tag", "a", "--tag", "b")
    told(capsys, "note", "june", "--untag", "a")
    assert told(capsys, "note", "june") == "one\n#b\n"
    told(capsys, "note", "june", "--clear")
    assert told(capsys, "note", "june") == "No note.\n"
    assert "There is no file" in told(capsys, "note", "./none.jsonl", "x", status=1)


def test_rename_and_rm_with_undo_and_purge(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "july exists already" in told(capsys, "rename", "june", "july", status=1)
    assert "library" in told(capsys, "rename", "june", "may")
    assert "Deleted july, may (2 sessions" in told(capsys, "rm", "july", "may", "july")
    assert "trash 2" in told(capsys, "list")
    assert told(capsys, "rm", "--undo").count("Back:") == 2
    assert "trash is empty" in told(capsys, "rm", "--undo", status=1)
    told(capsys, "rm", str(library / "may.specview.jsonl"))
    assert "0 sessions, 0 B; 1 left" in told(capsys, "rm", "--purge")
    assert "1 session, 2 kB; 0 left" in told(capsys, "rm", "--purge", "--older-than", "0")
    outside = library.parent / "out.specview.jsonl"
    outside.write_bytes(b"x")
    assert "in no library" in told(capsys, "rm", str(outside), status=1) and outside.exists()


def test_what_of_several_cannot_be_deleted_is_told(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rm", "june", "xyzzy"]) == 1
    captured = capsys.readouterr()
    assert "Deleted june" in captured.out and "no saved session xyzzy" in captured.err


@pytest.mark.parametrize("words", [["rm"], ["rm", "a", "--undo"], ["rm", "--undo", "--older-than", "3"], ["note"]])
def test_wrong_usage_is_status_two(library: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2


def test_a_folder_that_cannot_be_read_is_a_sentence(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    assert "cannot be read (permission denied)" in told(capsys, "list", status=1)
    assert listing.WIDE > 200
