"""What is done with sessions, and taken back, told in sentences whatever the disk does."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from specview.app.librarian import Librarian
from specview.layouts.library_deeds import Annotate, Delete, Rename, Undo, Words
from specview.profilers.record.library.disk import Disk
from specview.profilers.record.library.entries import read_entry

EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "article-a-july.specview.jsonl"


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, ...]:
    """Three sessions."""
    found = tuple(tmp_path / f"{name}.specview.jsonl" for name in "abc")
    for path in found:
        shutil.copyfile(EXAMPLE, path)
    return found


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only")])
def test_on_a_full_or_read_only_disk_every_deed_is_a_sentence_and_nothing_is_lost(
    tmp_path: Path, paths: tuple[Path, ...], code: int, words: str
) -> None:
    def no(*given: Any, **more: Any) -> Any:
        raise OSError(code, os.strerror(code))

    librarian = Librarian(tmp_path, lambda: 1, Disk(link=no, replace=no, unlink=no, mkdir=no, open=no, write=no))
    before = bytes_of(tmp_path)
    for deed in (Rename(paths[0], "x"), Annotate((Words(paths[0], "said", ()),)), Delete(paths)):
        outcome = librarian.do(deed)
        assert not outcome.well and words in outcome.sentence
    assert bytes_of(tmp_path) == before
    assert "trash is empty" in librarian.do(Undo()).sentence  # a deed that failed leaves nothing to take back


def test_deeds_are_taken_back_last_first_and_then_what_another_terminal_deleted(
    tmp_path: Path, paths: tuple[Path, ...]
) -> None:
    here, there = Librarian(tmp_path, lambda: 5), Librarian(tmp_path, lambda: 1)
    a, b, c = paths
    before = bytes_of(tmp_path)
    assert there.do(Delete((c,))).well
    assert here.do(Rename(a, "z")).moved == ((a, tmp_path / "z.specview.jsonl"),)
    assert here.do(Delete((b,))).sentence.startswith("b is in the trash")
    assert here.do(Undo()).back == (b,)
    assert here.do(Undo()).sentence == "Taken back: renamed z to a."
    assert here.do(Undo()).back == (c,)
    assert bytes_of(tmp_path) == before
    assert not here.do(Undo()).well


def test_of_notes_on_several_sessions_those_that_were_written_can_be_taken_back(
    tmp_path: Path, paths: tuple[Path, ...]
) -> None:
    librarian = Librarian(tmp_path, lambda: 1)
    a, b, c = paths
    b.unlink()
    outcome = librarian.do(Annotate(tuple(Words(path, "said", ("x",)) for path in (a, b, c))))
    assert not outcome.well and "it is gone" in outcome.sentence
    assert read_entry(a).tags == ("x",) and read_entry(c).tags == ()
    assert librarian.do(Undo()).well and read_entry(a).tags == () and read_entry(a).note == ""


def test_nothing_to_change_changes_nothing(tmp_path: Path, paths: tuple[Path, ...]) -> None:
    librarian = Librarian(tmp_path, lambda: 1)
    before = bytes_of(tmp_path)
    assert "already" in librarian.do(Rename(paths[0], "a")).sentence
    assert "already" in librarian.do(Annotate((Words(paths[0], "", ()),))).sentence
    assert bytes_of(tmp_path) == before and not librarian.do(Undo()).well
