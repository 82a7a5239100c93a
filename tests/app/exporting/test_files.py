"""Exports never lie over another file, and what a disk refuses is one sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from specview.app.exporting import files
from specview.app.exporting.files import ExportError, TakenError, free_path, write_new


def test_pieces_of_text_and_bytes_are_written_into_a_new_folder(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "x.md"
    write_new(out, iter(["a", "ü"]))
    assert out.read_text(encoding="utf-8") == "aü"
    assert [each.name for each in out.parent.iterdir()] == ["x.md"]


def test_a_file_that_is_there_stays_unless_told_otherwise(tmp_path: Path) -> None:
    out = tmp_path / "x.md"
    out.write_text("mine")
    with pytest.raises(TakenError, match=r"x\.md is there already"):
        write_new(out, ["other"])
    assert out.read_text() == "mine"
    assert free_path(out).name == "x-2.md"
    write_new(out, ["other"], force=True)
    assert out.read_text() == "other"


def test_a_name_taken_meanwhile_stays_too(tmp_path: Path) -> None:
    out = tmp_path / "x.md"

    def slowly():
        yield "a"
        out.write_text("came first")

    with pytest.raises(TakenError):
        write_new(out, slowly())
    assert out.read_text() == "came first" and len(list(tmp_path.iterdir())) == 1


def test_half_an_export_is_none(tmp_path: Path) -> None:
    def breaking():
        yield "half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ExportError, match=r"The disk is full, so x\.md was not written"):
        write_new(tmp_path / "x.md", breaking())
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    def failing():
        yield "half"
        raise ExportError("There is no table.")

    with pytest.raises(ExportError, match="no table"):
        write_new(tmp_path / "x.md", failing())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "Nothing can be written in"),
        (errno.EACCES, "Nothing can be written in"),
        (errno.EIO, "cannot be written"),
    ],
)
def test_a_refusal_says_where_and_what_to_do(tmp_path: Path, monkeypatch, number, said) -> None:
    def refuse(**_):
        raise OSError(number, "system words")

    monkeypatch.setattr(files.tempfile, "mkstemp", refuse)
    with pytest.raises(ExportError, match=said):
        write_new(tmp_path / "x.md", ["a"])


def test_a_file_where_a_folder_should_be_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="is no folder"):
        write_new(tmp_path / "file" / "x.md", ["a"])
