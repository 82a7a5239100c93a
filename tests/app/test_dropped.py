"""The path in what a terminal pastes when a file is dragged onto it."""

from __future__ import annotations

from pathlib import Path

import pytest

from specview.app.dropped import dropped_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a/b.specview.jsonl", "/a/b.specview.jsonl"),
        (" '/a/b c.jsonl' ", "/a/b c.jsonl"),
        ('"/a/b c.jsonl"', "/a/b c.jsonl"),
        ("/a/b\\ c.jsonl", "/a/b c.jsonl"),
        ("file:///a/b%20c.jsonl\r\n", "/a/b c.jsonl"),
        ("/a/one.jsonl /a/two.jsonl", "/a/one.jsonl"),
        ("/a/one.jsonl\n/a/two.jsonl\n", "/a/one.jsonl"),
        ("x.specview.jsonl", "x.specview.jsonl"),
        ("/a/it's.jsonl", "/a/it's.jsonl"),
    ],
)
def test_a_path_is_read_in_every_terminals_way(text: str, path: str) -> None:
    assert dropped_path(text) == Path(path)


def test_a_home_is_opened_and_a_file_that_exists_needs_no_quotes(tmp_path: Path) -> None:
    assert dropped_path("~/x.jsonl") == Path.home() / "x.jsonl"
    assert dropped_path("~nobody-of-that-name hello") == Path("~nobody-of-that-name")
    blank = tmp_path / "a b.jsonl"
    blank.write_text("")
    assert dropped_path(str(blank)) == blank


@pytest.mark.parametrize("text", ["", "  ", "some words", "a\0b", "/" * 5000, "'", "file://[oops"])
def test_other_text_is_no_path(text: str) -> None:
    assert dropped_path(text) is None
