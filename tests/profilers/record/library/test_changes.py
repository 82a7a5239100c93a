"""Renaming, noting, deleting and undoing on disks that are full, read-only or changed by others: nothing is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specview.profilers.record.library.disk import Disk, LibraryError
from specview.profilers.record.library.entries import read_entry
from specview.profilers.record.library.moving import move
from specview.profilers.record.library.names import checked_name, free_path
from specview.profilers.record.library.trash import delete, purge, trash_storage, undelete
from specview.profilers.record.library.writing import checked_tags, rename, write_note

NOW = 1_795_994_334_000_000_000
DAY = 86_400 * 10**9
EXAMPLE = Path(__file__).parents[4] / "assets" / "examples" / "article-a-july.specview.jsonl"


def session(folder: Path, name: str) -> Path:
    path = folder / f"{name}.specview.jsonl"
    path.write_bytes(EXAMPLE.read_bytes())
    return path


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refusing(code: int) -> Callable[..., Any]:
    def refused(*given: Any, **more: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return refused


def disk_that_refuses(code: int) -> Disk:
    no = refusing(code)
    return Disk(link=no, replace=no, unlink=no, mkdir=no, rmdir=no, open=no, write=no)


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "may not write")],
)
def test_a_disk_that_refuses_gets_a_sentence_and_nothing_is_lost(tmp_path: Path, code: int, words: str) -> None:
    path = session(tmp_path, "night")
    before, disk = state(tmp_path), disk_that_refuses(code)
    for change in (
        lambda: rename(path, "day", disk),
        lambda: write_note(path, "said", (), NOW, disk),
        lambda: delete(tmp_path, [path], NOW, disk),
    ):
        with pytest.raises(LibraryError, match=words) as caught:
            change()
        assert str(caught.value).count(". ") == 0 and "nothing was lost" in str(caught.value)
        assert state(tmp_path) == before
    delete(tmp_path, [path], NOW)
    lying = state(tmp_path)
    with pytest.raises(LibraryError, match=words):
        undelete(tmp_path, disk=disk)
    assert words in purge(tmp_path, NOW + 90 * DAY, disk=disk).problems[0]
    assert state(tmp_path) == lying


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_keeps_everything(tmp_path: Path) -> None:
    path = session(tmp_path, "night")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(LibraryError, match="may not write"):
            rename(path, "day")
        with pytest.raises(LibraryError, match="may not write"):
            delete(tmp_path, [path], NOW)
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
    finally:
        tmp_path.chmod(0o700)


def test_a_note_that_did_not_fit_whole_is_taken_back(tmp_path: Path) -> None:
    path = session(tmp_path, "night")
    before = path.read_bytes()
    calls: list[int] = []

    def short(descriptor: int, data: bytes) -> int:
        if calls:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        calls.append(1)
        return os.write(descriptor, data[:9])

    with pytest.raises(LibraryError, match="the disk is full"):
        write_note(path, "said", (), NOW, Disk(write=short))
    assert calls and path.read_bytes() == before


def test_a_rename_never_overwrites(tmp_path: Path) -> None:
    path, other = session(tmp_path, "night"), session(tmp_path, "day")
    other.write_bytes(b"other")
    with pytest.raises(LibraryError, match="day exists already"):
        rename(path, "day")
    assert rename(path, "night") == path
    assert rename(path, " dawn.specview.jsonl ").name == "dawn.specview.jsonl"
    assert other.read_bytes() == b"other" and not path.exists()
    with pytest.raises(LibraryError, match="it is gone"):
        rename(path, "dusk")


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_without_hard_links_a_file_moves_all_the_same(tmp_path: Path, code: int) -> None:
    disk = Disk(link=refusing(code))
    path, taken = session(tmp_path, "night"), session(tmp_path, "day")
    with pytest.raises(FileExistsError):
        move(path, taken, disk)
    move(path, tmp_path / "dawn", disk)
    assert not path.exists() and (tmp_path / "dawn").read_bytes() == EXAMPLE.read_bytes()
    with pytest.raises(FileNotFoundError):
        move(path, tmp_path / "dusk", disk)
    with pytest.raises(OSError):
        move(taken, tmp_path / "dusk", Disk(link=refusing(code), replace=refusing(errno.EIO)))
    assert taken.exists() and not (tmp_path / "dusk").exists()


def test_a_name_that_cannot_be_taken_back_is_not_given_twice(tmp_path: Path) -> None:
    path = session(tmp_path, "night")
    gone: list[Path] = []

    def unlink(target: Path) -> None:
        if target == path:
            raise OSError(errno.EACCES, "no")
        gone.append(target)
        target.unlink()

    with pytest.raises(LibraryError):
        rename(path, "day", Disk(unlink=unlink))
    assert path.exists() and gone and not gone[0].exists()


@pytest.mark.parametrize(
    "name",
    ["", "  ", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-rf", "a\x00b", "a\x1bb", "a\nb", "x" * 221, "é" * 111],
)
def test_tricks_with_names_are_refused(tmp_path: Path, name: str) -> None:
    path = session(tmp_path, "night")
    with pytest.raises(LibraryError):
        rename(path, name)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_names_and_tags_are_made_plain() -> None:
    assert checked_name(" k = 4, 夜 ") == "k = 4, 夜"
    assert checked_tags("#one, two  one\ttwo") == ("one", "two")
    assert checked_tags(("by hand", "x")) == ("x",)
    with pytest.raises(LibraryError, match="20 tags"):
        checked_tags(" ".join(str(n) for n in range(21)))
    with pytest.raises(LibraryError, match="one word"):
        checked_tags("y" * 41)


def test_a_note_too_long_is_refused_whole(tmp_path: Path) -> None:
    path = session(tmp_path, "night")
    with pytest.raises(LibraryError, match="4,000 characters are the most"):
        write_note(path, "y" * 4001, (), NOW)
    assert path.read_bytes() == EXAMPLE.read_bytes()
    (tmp_path / "other.specview.jsonl").write_bytes(b"no session\n")
    with pytest.raises(LibraryError, match="not a specview session"):
        write_note(tmp_path / "other.specview.jsonl", "y", (), NOW)


def test_undo_brings_back_deletion_by_deletion_the_last_first(tmp_path: Path) -> None:
    a, b, c = (session(tmp_path, name) for name in "abc")
    first = delete(tmp_path, [a], NOW)
    both = delete(tmp_path, [b, c], NOW)  # at the same moment, and yet later
    assert first.stamp < both.stamp and both.names == ("b", "c")
    assert trash_storage(tmp_path).sessions == 3
    assert {p.name for p in undelete(tmp_path).paths} == {b.name, c.name}
    session(tmp_path, "a").write_bytes(b"another one")
    assert [p.name for p in undelete(tmp_path).paths] == ["a-2.specview.jsonl"]
    assert a.read_bytes() == b"another one"
    with pytest.raises(LibraryError, match="the trash is empty"):
        undelete(tmp_path)
    with pytest.raises(LibraryError, match="another terminal"):
        undelete(tmp_path, both.stamp)


def test_a_clock_set_back_does_not_change_the_order_of_undos(tmp_path: Path) -> None:
    a, b = session(tmp_path, "a"), session(tmp_path, "b")
    delete(tmp_path, [a], NOW)
    delete(tmp_path, [b], NOW - 400 * DAY)
    assert [p.name for p in undelete(tmp_path).paths] == [b.name]


def test_what_can_be_deleted_is_and_the_rest_is_told(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    inside, outside = session(tmp_path / "library", "in"), session(tmp_path, "out")
    done = delete(tmp_path / "library", [inside, outside, inside], NOW)
    assert done.names == ("in",) and len(done.problems) == 2
    assert "in no library" in done.problems[0] and "it is gone" in done.problems[1]
    assert outside.exists() and not inside.exists()
    with pytest.raises(LibraryError, match="it is gone"):
        delete(tmp_path / "library", [inside], NOW)
    assert trash_storage(tmp_path / "library").sessions == 1


def test_only_old_trash_is_purged_and_nothing_but_sessions(tmp_path: Path) -> None:
    a, b = session(tmp_path, "a"), session(tmp_path, "b")
    old = delete(tmp_path, [a], NOW - 31 * DAY)
    delete(tmp_path, [b], NOW - 29 * DAY)
    (tmp_path / ".trash" / "mine").mkdir()
    (tmp_path / ".trash" / "mine" / "keep.specview.jsonl").write_bytes(b"x")
    (tmp_path / ".trash" / old.stamp / "letter.txt").write_bytes(b"x")
    done = purge(tmp_path, NOW)
    assert done.sessions == 1 and done.size_bytes == EXAMPLE.stat().st_size and not done.problems
    assert (tmp_path / ".trash" / old.stamp / "letter.txt").exists()
    assert (tmp_path / ".trash" / "mine" / "keep.specview.jsonl").exists()
    assert [p.name for p in undelete(tmp_path).paths] == [b.name]
    assert purge(tmp_path, NOW, 0).sessions == 0


def test_a_link_moves_as_a_link(tmp_path: Path) -> None:
    target = session(tmp_path, "target")
    (tmp_path / "library").mkdir()
    link = tmp_path / "library" / "link.specview.jsonl"
    link.symlink_to(target)
    delete(tmp_path / "library", [link], NOW)
    assert target.exists() and not os.path.lexists(link)
    undelete(tmp_path / "library")
    assert link.is_symlink() and read_entry(link).status == "finished"
    assert free_path(link).name == "link-2.specview.jsonl"
