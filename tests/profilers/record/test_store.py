"""A store writes whole records or nothing, and every refusal is one sentence."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from specview.profilers.record.codec import RecordError
from specview.profilers.record.records import Footer, Note, Record, Round, Step, to_line
from specview.profilers.record.session import read_session
from specview.profilers.record.store import SessionStore, StoreError, new_session_path

FOOTER = Footer(status="failed", reason="disk", rounds=0, steps=0, tokens=0, t_ns=1)
NOON = datetime(2026, 7, 14, 12, 0, 5)


def failing_after(good_writes: int, error: int, torn_bytes: int = 0) -> Callable[[int, bytes], int]:
    """Write normally `good_writes` times, then a few bytes of a record, then fail for ever."""
    calls = 0

    def write(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls <= good_writes:
            return os.write(descriptor, data)
        if calls == good_writes + 1 and torn_bytes:
            return os.write(descriptor, data[:torn_bytes])
        raise OSError(error, os.strerror(error))

    return write


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_store_holds_what_was_appended(tmp_path: Path, records: tuple[Record, ...]) -> None:
    path = tmp_path / "new" / "folder" / "a.specview.jsonl"
    with SessionStore.create(path) as store:
        for record in records[:-1]:
            store.append(record)
        store.sync()
        counts = store.counts
        assert isinstance(records[-1], Footer)
        store.finish(records[-1])
    assert path.read_bytes() == b"".join(map(to_line, records))
    assert counts.records == len(records) - 1
    assert counts.rounds == sum(isinstance(record, Round) for record in records)
    assert counts.steps == sum(isinstance(record, Step) for record in records)
    assert counts.tokens == sum(record.tokens for record in records if isinstance(record, Round | Step))
    assert store.counts.size_bytes == path.stat().st_size


def test_each_record_is_one_write(tmp_path: Path, records: tuple[Record, ...]) -> None:
    written = []

    def write(descriptor: int, data: bytes) -> int:
        written.append(data)
        return os.write(descriptor, data)

    with SessionStore.create(tmp_path / "a", write) as store:
        for record in records:
            store.append(record)
    assert written == [to_line(record) for record in records]


def test_a_file_that_exists_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "taken.specview.jsonl"
    path.write_bytes(b"precious")
    with pytest.raises(StoreError, match=r"^taken\.specview\.jsonl exists already; choose another --out\.$"):
        SessionStore.create(path)
    assert path.read_bytes() == b"precious"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="exists already"):
        SessionStore.create(link)


@pytest.mark.parametrize("inside", ["file/a.jsonl", "file/deeper/a.jsonl"])
def test_a_file_in_place_of_the_folder_is_one_clear_sentence(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"is not a folder; choose another --out\.$"):
        SessionStore.create(tmp_path / inside)


@pytest.mark.parametrize("name", ["n" * 300, "nul\0", "x/nul\0/y", "n" * 300 + "/a"])
def test_an_impossible_name_is_one_clear_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=r"cannot be (created|made).*; choose another --out\.$"):
        SessionStore.create(tmp_path / name)


def test_a_folder_that_cannot_be_written_is_one_clear_sentence() -> None:
    # root may write anywhere but here
    with pytest.raises(StoreError, match=r"cannot be (created|made).*; choose another --out\.$"):
        SessionStore.create(Path("/proc/self/a.specview.jsonl"))


@pytest.mark.parametrize("torn_bytes", [0, 1, 40])
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errno.ENOSPC, "The disk is full: 3 records are safe in a.jsonl; free some space and record again."),
        (errno.EDQUOT, "The disk is full: 3 records are safe in a.jsonl; free some space and record again."),
        (errno.EFBIG, "The file has reached its size limit: 3 records are safe in a.jsonl; raise ulimit -f"),
        (errno.EIO, "The disk refused a record (input/output error): 3 records are safe in a.jsonl; check"),
    ],
)
def test_a_disk_that_fails_loses_only_the_record_in_hand(
    tmp_path: Path, records: tuple[Record, ...], error: int, sentence: str, torn_bytes: int
) -> None:
    path = tmp_path / "a.jsonl"
    with SessionStore.create(path, failing_after(3, error, torn_bytes)) as store:
        for record in records[:3]:
            store.append(record)
        with pytest.raises(StoreError) as caught:
            store.append(records[3])
        assert str(caught.value).startswith(sentence)
        assert store.counts.records == 3
    assert path.read_bytes() == b"".join(map(to_line, records[:3]))


def test_a_full_disk_by_the_system_itself_leaves_whole_records(tmp_path: Path, records: tuple[Record, ...]) -> None:
    path = tmp_path / "a.jsonl"
    head = to_line(records[0])
    note = Note(t_ns=1, text="x" * 200)
    with SessionStore.create(path) as store:
        store.append(records[0])
        with file_size_limit(len(head) + 4 * len(to_line(note)) - 10):
            with pytest.raises(StoreError, match="size limit: 4 records are safe"):
                for _ in range(10):
                    store.append(note)
            assert path.stat().st_size == store.counts.size_bytes
            store.finish(FOOTER)
    session = read_session(path)
    assert session.notes == (note,) * 3
    assert session.status == "failed"
    assert session.problems == ()


def test_a_short_write_goes_on_where_it_stopped(tmp_path: Path, records: tuple[Record, ...]) -> None:
    path = tmp_path / "a.jsonl"
    with SessionStore.create(path, lambda descriptor, data: os.write(descriptor, data[:7])) as store:
        for record in records:
            store.append(record)
    assert path.read_bytes() == b"".join(map(to_line, records))


def test_a_write_that_writes_nothing_is_no_endless_loop(tmp_path: Path, records: tuple[Record, ...]) -> None:
    with (
        SessionStore.create(tmp_path / "a", lambda descriptor, data: 0) as store,
        pytest.raises(StoreError, match="0 records are safe"),
    ):
        store.append(records[0])


def test_an_interrupt_in_a_write_leaves_whole_records(tmp_path: Path, records: tuple[Record, ...]) -> None:
    def write(descriptor: int, data: bytes) -> int:
        count = os.write(descriptor, data)
        if b'"note"' in data:
            raise KeyboardInterrupt
        return count

    path = tmp_path / "a.jsonl"
    with SessionStore.create(path, write) as store:
        store.append(records[0])
        with pytest.raises(KeyboardInterrupt):
            store.append(Note(t_ns=1, text="x"))
        store.finish(FOOTER)
    assert path.read_bytes() == to_line(records[0]) + to_line(FOOTER)


def test_a_torn_record_that_cannot_be_cut_closes_the_store(
    tmp_path: Path, records: tuple[Record, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, length: int) -> None:
        raise OSError(errno.EIO, "broken")

    path = tmp_path / "a.jsonl"
    with SessionStore.create(path, failing_after(1, errno.ENOSPC, torn_bytes=5)) as store:
        store.append(records[0])
        monkeypatch.setattr(os, "ftruncate", refuse)
        with pytest.raises(StoreError, match="1 records are safe"):
            store.append(records[1])
        with pytest.raises(StoreError, match="is closed"):
            store.append(records[1])
    session = read_session(path)
    assert session.header == records[0]
    assert session.problems == ()


def test_a_record_no_reader_takes_leaves_the_file_alone(tmp_path: Path, records: tuple[Record, ...]) -> None:
    path = tmp_path / "a"
    with SessionStore.create(path) as store:
        store.append(records[0])
        with pytest.raises(RecordError):
            store.append(Note(t_ns=-1, text=""))
        store.append(Note(t_ns=1, text=""))
    assert path.read_bytes() == to_line(records[0]) + to_line(Note(t_ns=1, text=""))


def test_the_header_comes_first_and_once(tmp_path: Path, records: tuple[Record, ...]) -> None:
    with SessionStore.create(tmp_path / "a") as store:
        with pytest.raises(StoreError, match="one header"):
            store.append(records[1])
        store.append(records[0])
        with pytest.raises(StoreError, match="one header"):
            store.append(records[0])


def test_nothing_is_appended_after_the_end(tmp_path: Path, records: tuple[Record, ...]) -> None:
    store = SessionStore.create(tmp_path / "a")
    store.append(records[0])
    store.finish(FOOTER)
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.append(records[1])
    with pytest.raises(StoreError, match="is closed"):
        store.sync()


def test_a_flush_that_fails_is_said(
    tmp_path: Path, records: tuple[Record, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)
    with SessionStore.create(tmp_path / "a") as store:
        store.append(records[0])
        with pytest.raises(StoreError, match="did not reach the disk"):
            store.finish(FOOTER)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("mlx-community/Qwen3-8B-4bit", "mlx-community-Qwen3-8B-4bit"),
        ("../../etc/passwd", "etc-passwd"),
        ("\x1b[31m évil name", "31m-vil-name"),
        ("...", "session"),
        ("", "session"),
        ("x" * 500, "x" * 80),
    ],
)
def test_a_session_name_has_only_safe_characters(tmp_path: Path, stem: str, name: str) -> None:
    assert new_session_path(tmp_path, stem, NOON) == tmp_path / f"{name}-20260714-120005.specview.jsonl"


def test_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    new_session_path(tmp_path, "a", NOON).write_bytes(b"")
    second = new_session_path(tmp_path, "a", NOON)
    second.symlink_to(tmp_path / "nowhere")
    third = new_session_path(tmp_path, "a", NOON)
    assert [second.name, third.name] == [
        "a-20260714-120005-2.specview.jsonl",
        "a-20260714-120005-3.specview.jsonl",
    ]
