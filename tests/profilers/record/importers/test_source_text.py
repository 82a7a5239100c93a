"""Files are read as text whatever their packing, and refused with a sentence where they are none."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from specview.profilers.record.importers import source_text
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.source_text import opened_text

TEXT = "eins\nzwei ü\n\ndrei"


def lines_of(path: Path) -> list[str]:
    with opened_text(path) as text:
        return list(text.lines())


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        gzip.compress(TEXT.encode(), mtime=0),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode("utf-16"), mtime=0),
    ],
)
def test_every_packing_gives_the_same_lines(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    assert lines_of(path) == ["eins\n", "zwei ü\n", "\n", "drei"]


def test_lines_across_the_end_of_the_beginning_are_whole(tmp_path: Path) -> None:
    written = [f"{i:09d}\n" for i in range(20_000)]
    path = tmp_path / "a.log"
    path.write_text("".join(written))
    assert lines_of(path) == written
    path.write_text("x" * source_text.HEAD_CHARACTERS + "\ny\n")
    assert lines_of(path) == ["x" * source_text.HEAD_CHARACTERS + "\n", "y\n"]


def test_a_line_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_text, "LINE_CHARACTERS", 100_000)
    path = tmp_path / "a.log"
    path.write_text("x" * 450_000 + "\nshort\n")
    long, short = lines_of(path)
    assert len(long) < 200_000
    assert short == "short\n"


def test_bad_bytes_become_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a\xffb\n")
    assert lines_of(path) == ["a\ufffdb\n"]


@pytest.mark.parametrize(
    "data", [b"GGUF\x03\x00\x00\x00", b"\x89PNG\r\n\x1a\n\x00", b"PK\x03\x04\x14\x00", bytes(range(1, 32))]
)
def test_binary_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(ImportFailed, match=r"^model\.gguf is a binary file"):
        lines_of(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="is a folder"):
        lines_of(tmp_path)
    with pytest.raises(ImportFailed, match=r"There is no file gone\.log"):
        lines_of(tmp_path / "gone.log")
    with pytest.raises(ImportFailed):
        lines_of(tmp_path / "nul\0.log")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImportFailed, match="not a regular file"):
        lines_of(tmp_path / "pipe")


def test_files_too_large_are_refused_before_and_after_unpacking(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x\n" * 600)
    with pytest.raises(ImportFailed, match="larger than 1,000 bytes"), opened_text(path, most_bytes=1000):
        pass
    path.write_bytes(gzip.compress(b"x" * 1000))
    with pytest.raises(ImportFailed, match="unpacks to more text"), opened_text(path, most_characters=900) as text:
        list(text.lines())


def test_a_damaged_gzip_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(os.urandom(400_000).hex().encode())
    for data in (b"\x1f\x8b", whole[:20], whole[:200_000], b"\x1f\x8bnonsense and more of it"):
        path.write_bytes(data)
        with pytest.raises(ImportFailed, match="damaged gzip"):
            lines_of(path)
