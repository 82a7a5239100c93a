"""A library's index: entries from the ends of files, only what changed read again, two of them on one folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from specview.profilers.record import records as r
from specview.profilers.record.library.disk import LibraryError
from specview.profilers.record.library.entries import BY_HAND, HEAD_BYTES, TAIL_BYTES, Entry, read_entry
from specview.profilers.record.library.index import Index, read_library
from specview.profilers.record.library.trash import delete, undelete
from specview.profilers.record.library.writing import rename, write_note
from specview.profilers.record.session import read_session
from specview.profilers.record.store import SessionStore

EXAMPLES = Path(__file__).parents[4] / "assets" / "examples"
MODEL = r.ModelFacts(
    id="org/tiny",
    architecture="llama",
    layers=(("full attention", 2),),
    quantisation="4-bit, groups of 64",
    dtype="float32",
    weight_bytes=4,
    vocabulary=100,
    tokenizer_hash="77aa",
)


def header(plan: str = "a plan", source: str | None = None, started: int = 1_700_000_000_000_000_000) -> r.Header:
    return r.Header(
        specview="0.1.0",
        plan=plan,
        environment=r.Environment(chip="chip", device="cpu", blas="some BLAS"),
        model=MODEL,
        drafter=r.DrafterFacts(kind="mtp", k=2),
        started_unix_ns=started,
        text_kept=False,
        prompts_kept=False,
        source=source,
    )


FOOTER = r.Footer(status="finished", rounds=12, steps=3, tokens=40, t_ns=5_000_000_000)


def saved(folder: Path, name: str, *records: r.Record, first: r.Header | None = None) -> Path:
    path = folder / f"{name}.specview.jsonl"
    path.write_bytes(b"".join(r.to_line(each) for each in (first or header(), *records)))
    return path


def names(index: Index) -> list[str]:
    index.look()
    index.read_some(10_000)
    return [entry.name for entry in index.snapshot().entries]


def test_an_entry_says_what_head_and_tail_say() -> None:
    entry = read_entry(EXAMPLES / "bundled-mtp.specview.jsonl")
    assert (entry.name, entry.status, entry.kind) == ("bundled-mtp", "finished", "recording")
    assert (entry.model, entry.drafter, entry.k, entry.rounds, entry.tokens) == ("bundled", "mtp", 1, 519, 1735)
    july = read_entry(EXAMPLES / "article-a-july.specview.jsonl")
    assert july.kind == "imported" and july.source == "article A" and july.started_unix_ns is None
    assert len(july.remarks) >= 3 and july.tags == () and july.note == ""
    assert read_entry(EXAMPLES / "shape-35b-a3b.specview.jsonl").kind == "survey"


@pytest.mark.parametrize(
    ("plan", "source", "kind"),
    [
        ("costs only (experiment), widths 1", None, "experiment"),
        ("costs only (curve), widths 1", None, "survey"),
        ("attached to a server of vLLM", "vLLM", "attached"),
        ("recorded by mine", "mine", "own loop"),
        ("imported: log", "llama.cpp", "imported"),
    ],
)
def test_the_kind_is_told_by_plan_and_source(tmp_path: Path, plan: str, source: str | None, kind: str) -> None:
    assert read_entry(saved(tmp_path, "a", FOOTER, first=header(plan, source))).kind == kind


def test_a_large_file_is_read_at_its_ends_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = r.Memory(t_ns=1, active_bytes=1, peak_bytes=1, cache_bytes=1)
    path = saved(tmp_path, "large", *([memory] * 20_000), FOOTER)
    whole = path.stat().st_size
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *given: (found := pread(*given), read.append(len(found)))[0])
    assert read_entry(path).status == "finished"
    assert sum(read) <= HEAD_BYTES + TAIL_BYTES < whole


def test_what_is_no_session_or_torn_or_empty_is_listed_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.specview.jsonl").write_bytes(b"\xff\n")
    (tmp_path / "empty.specview.jsonl").write_bytes(b"")
    (tmp_path / "newer.specview.jsonl").write_bytes(b'{"kind":"header","schema":99}\n')
    (tmp_path / "torn.specview.jsonl").write_bytes(r.to_line(header()) + b'{"kind":"fo')
    (tmp_path / "folder.specview.jsonl").mkdir()
    (tmp_path / ".hidden.specview.jsonl").write_bytes(b"")
    found = {entry.name: entry for entry in read_library(tmp_path).entries}
    assert sorted(found) == ["bad", "empty", "newer", "torn"]
    assert found["bad"].status == "unreadable" and "not a specview session" in found["bad"].reason
    assert "newer specview" in found["newer"].reason
    assert found["empty"].status == "empty" and found["torn"].status == "interrupted"


def test_a_session_counts_as_being_recorded_while_its_writer_lives(tmp_path: Path) -> None:
    path = tmp_path / "live.specview.jsonl"
    with SessionStore.create(path) as store:
        assert read_entry(path).status == "recording"
        store.append(header())
        entry = read_entry(path)
        assert entry.status == "recording" and entry.model == "org/tiny"
        with pytest.raises(LibraryError, match="being recorded"):
            write_note(path, "now", (), 0)
        with pytest.raises(LibraryError, match="being recorded"):
            rename(path, "other")
        with pytest.raises(LibraryError, match="being recorded"):
            delete(tmp_path, [path], 1)
        store.append(r.Memory(t_ns=1, active_bytes=1, peak_bytes=1, cache_bytes=1))
    assert read_entry(path).status == "interrupted"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [path.name]


def test_notes_of_recorders_are_remarks_and_a_persons_last_note_counts(tmp_path: Path) -> None:
    path = saved(tmp_path, "a", r.Note(t_ns=1, text="said by a recorder", tags=("refused",)), FOOTER)
    write_note(path, "first", ("one", "#two"), 1_700_000_000_000_000_007)
    write_note(path, "second\nthought", ("two",), 1_700_000_000_000_000_009)
    entry = read_entry(path)
    assert entry.note == "second thought" and entry.tags == ("two",)
    assert entry.noted_unix_ns == 1_700_000_000_000_000_009
    assert entry.remarks == ("said by a recorder",) and entry.rounds == 12
    session = read_session(path)
    assert session.problems == () and session.footer == FOOTER
    assert [note.tags for note in session.notes][1:] == [(BY_HAND, "one", "two"), (BY_HAND, "two")]
    for n in range(30):  # so many that the footer is out of the usual tail
        write_note(path, f"{n} " + "long " * 700, (), 1_700_000_000_000_000_010 + n)
    assert read_entry(path).status == "finished"


def test_a_note_on_an_interrupted_session_leaves_the_torn_line_alone(tmp_path: Path) -> None:
    path = saved(tmp_path, "a")
    path.write_bytes(path.read_bytes() + b'{"kind":"rou')
    write_note(path, "killed", (), 0)
    assert read_entry(path).note == "killed" and read_entry(path).status == "interrupted"
    assert b'{"kind":"rou\n' in path.read_bytes()
    assert [problem.line for problem in read_session(path).problems] == [2]


def test_two_libraries_on_one_folder_see_each_others_changes(tmp_path: Path) -> None:
    here, there = Index(tmp_path), Index(tmp_path)
    path = saved(tmp_path, "night", FOOTER)
    assert names(here) == names(there) == ["night"]
    moved = rename(path, "day")
    assert names(there) == ["day"]
    write_note(moved, "said", ("x",), 0)
    assert here.look() and here.read_some(9)
    assert here.snapshot().entries[0].note == "said"
    delete(tmp_path, [moved], 1)
    assert names(there) == [] and there.snapshot().trash.sessions == 1
    undelete(tmp_path)
    assert names(here) == ["day"] and here.snapshot().trash.sessions == 0


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    first = saved(tmp_path, "first", FOOTER)
    for n in range(1, 2000):
        shutil.copyfile(first, tmp_path / f"s{n}.specview.jsonl")
    read: list[str] = []

    def reading(path: Path) -> Entry:
        read.append(path.name)
        return read_entry(path)

    index = Index(tmp_path, reading)
    assert index.look() and index.snapshot().unread == index.due == 2000 and read == []
    assert index.read_some(50) and len(read) == 50 and index.snapshot().unread == 1950
    while index.due:
        index.read_some(500)
    assert len(read) == 2000 and index.snapshot().unread == 0
    snapshot = index.snapshot()
    assert not index.look() and index.snapshot() is snapshot and len(read) == 2000
    saved(tmp_path, "new", FOOTER)
    (tmp_path / "s7.specview.jsonl").unlink()
    assert index.look() and index.due == 1 and index.read_some(50)
    assert len(read) == 2001 and len(index.snapshot().entries) == 2000


def test_a_folder_that_is_missing_is_empty_and_one_that_cannot_be_read_keeps_what_was_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_library(tmp_path / "none").entries == ()
    saved(tmp_path, "a", FOOTER)
    index = Index(tmp_path)
    assert names(index) == ["a"]

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    assert names(index) == ["a"]
    assert "cannot be read (permission denied)" in index.snapshot().trouble


def test_files_elsewhere_can_be_listed_too(tmp_path: Path) -> None:
    outside = saved(tmp_path, "outside", FOOTER)
    (tmp_path / "library").mkdir()
    index = Index(tmp_path / "library")
    assert index.look((outside, tmp_path / "gone")) and index.read_some(9)
    assert [entry.name for entry in index.snapshot().entries] == ["outside"]
