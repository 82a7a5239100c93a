"""A writer killed at any moment loses at most the record in its hands."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from specview.profilers.record.records import Record, to_line
from specview.profilers.record.session import read_session

# Says on stdout, after each append, that the record is in the file.
WRITER = """
import os, sys
from pathlib import Path
from specview.profilers.record.lines import read_line
from specview.profilers.record.records import Note, from_object
from specview.profilers.record.store import SessionStore

store = SessionStore.create(Path(sys.argv[1]))
store.append(from_object(read_line(sys.argv[2].encode())))
number = 0
while True:
    store.append(Note(t_ns=number, text="x" * (number % 3000)))
    os.write(1, b".")
    number += 1
"""


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_writer_loses_at_most_the_record_in_flight(
    tmp_path: Path, records: tuple[Record, ...], seed: int
) -> None:
    path = tmp_path / "killed.specview.jsonl"
    header = to_line(records[0]).decode()
    wanted = random.Random(seed).randrange(1, 2000)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), header], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        said = len(writer.stdout.read(wanted))
        os.kill(writer.pid, signal.SIGKILL)
        said += len(writer.stdout.read())
    session = read_session(path)
    assert said >= wanted
    assert said <= len(session.notes) <= said + 1
    assert [note.t_ns for note in session.notes] == list(range(len(session.notes)))
    assert session.problems == ()
    assert session.status == "interrupted"
