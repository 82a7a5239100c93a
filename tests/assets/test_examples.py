"""The shipped example sessions open, and the article's says that nothing in it was measured here."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import july
import pytest

from specview.layouts.summary import summary_lines
from specview.profilers.record.session import read_session

FOLDER = Path(str(resources.files("specview") / "assets" / "examples"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.name.split(".")[0])
def test_every_example_opens_whole_and_has_something_to_say(path):
    session = read_session(path)
    assert session.status == "finished" and not session.problems
    assert summary_lines(session)


def test_the_july_session_is_what_its_generator_writes():
    assert (FOLDER / july.NAME).read_bytes() == july.lines()


def test_the_july_session_names_its_source():
    session = read_session(FOLDER / july.NAME)
    assert session.header.source == "article A"
    assert "specview measured none of them" in session.notes[0].text
