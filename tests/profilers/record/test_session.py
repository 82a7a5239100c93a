"""Whatever the bytes, a session opens with what is whole, or one sentence says why it does not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.engine.errors import SpecviewError
from specview.profilers.record.records import Footer, Memory, Note, Record, to_line
from specview.profilers.record.session import (
    Limits,
    Problem,
    Session,
    SessionError,
    SessionReader,
    read_session,
)

Opener = Callable[[bytes], Session]


def note(number: int) -> Note:
    return Note(t_ns=number, text=f"note {number}")


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Write bytes as NAME.jsonl and open them."""

    def open_bytes(data: bytes, limits: Limits | None = None) -> Session:
        path = tmp_path / "NAME.jsonl"
        path.write_bytes(data)
        return read_session(path, limits or Limits())

    return open_bytes


@pytest.fixture
def head(records: tuple[Record, ...]) -> bytes:
    """The line of a header."""
    return to_line(records[0])


def test_a_finished_session_holds_its_records_by_kind(opened: Opener, records: tuple[Record, ...]) -> None:
    session = opened(b"".join(map(to_line, records)))
    assert session.header == records[0]
    assert session.footer == records[-1]
    assert session.memory == tuple(record for record in records if isinstance(record, Memory))
    assert [len(session.rounds), len(session.steps), len(session.outputs)] == [2, 2, 2]
    assert session.problems == ()


@pytest.mark.parametrize("status", ["finished", "stopped", "failed"])
def test_the_footer_tells_the_status(opened: Opener, head: bytes, status: str) -> None:
    footer = Footer(status=status, rounds=0, steps=0, tokens=0, t_ns=0)  # type: ignore[arg-type]
    assert opened(head + to_line(footer)).status == status


def test_without_a_footer_it_was_interrupted_and_still_opens(opened: Opener, head: bytes) -> None:
    session = opened(head + to_line(note(1)))
    assert session.status == "interrupted"
    assert session.notes == (note(1),)


def test_a_torn_last_line_is_skipped(opened: Opener, head: bytes) -> None:
    last = to_line(note(2))
    for cut in range(1, len(last) - 1):
        session = opened(head + to_line(note(1)) + last[:cut])
        assert session.notes == (note(1),)
        assert session.problems == ()


def test_a_last_record_that_lacks_only_its_newline_is_read(opened: Opener, head: bytes) -> None:
    session = opened((head + to_line(note(1)))[:-1])
    assert session.notes == (note(1),)


def test_a_partial_last_line_waits_for_its_rest(head: bytes) -> None:
    reader = SessionReader("live")
    data = head + to_line(note(1))
    found: list[Record] = []
    for byte in data[:-1]:
        found += reader.feed(bytes([byte]))
    assert len(found) == 1
    assert reader.header == found[0]
    assert reader.session().notes == ()
    assert reader.pending_bytes == len(to_line(note(1))) - 1
    assert reader.feed(b"\n") == (note(1),)
    assert reader.session().notes == (note(1),)


def test_a_partial_line_the_writer_took_back_can_be_forgotten(head: bytes) -> None:
    reader = SessionReader("live")
    reader.feed(head + to_line(note(1))[:10])
    assert reader.drop_pending() == 10
    assert reader.feed(to_line(note(2))) == (note(2),)
    assert reader.session().problems == ()


def test_a_bad_middle_line_is_reported_with_its_number_and_the_rest_opens(opened: Opener, head: bytes) -> None:
    bad = [
        b"\x80\x81",
        b"{",
        b'{"kind":"note","t_ns":-1,"text":""}',
        b'{"kind":"note","t_ns":1e999,"text":""}',
        b"[" * 5000,
        b'{"no":"kind"}',
    ]
    session = opened(head + b"\n".join(bad) + b"\n" + to_line(note(1)))
    assert session.notes == (note(1),)
    assert [problem.line for problem in session.problems] == [2, 3, 4, 5, 6, 7]
    assert session.problems[2] == Problem(
        4, "A record of kind note has a wrong field: t_ns must be a whole number from 0 to 2^63 - 1."
    )


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_tolerated(opened: Opener, head: bytes) -> None:
    session = opened(b"\xef\xbb\xbf" + (head + b"\n" + to_line(note(1)) + b"  ").replace(b"\n", b"\r\n"))
    assert session.notes == (note(1),)
    assert session.problems == ()


def test_unknown_kinds_and_fields_are_ignored(opened: Opener, head: bytes) -> None:
    session = opened(head + b'{"kind":"aurora"}\n{"kind":"note","t_ns":1,"text":"note 1","mood":[]}\n')
    assert session.notes == (note(1),)
    assert session.problems == ()


@pytest.mark.parametrize("schema", [2, 7, 10**18])
def test_a_newer_schema_is_refused_in_one_plain_sentence(opened: Opener, head: bytes, schema: int) -> None:
    with pytest.raises(SessionError) as caught:
        opened(head.replace(b'"schema":1', b'"schema":%d' % schema) + b"no JSON\n")
    assert str(caught.value) == (
        f"NAME.jsonl was written by a newer specview (schema {schema}); upgrade specview to open it."
    )


@pytest.mark.parametrize(
    "data",
    [
        to_line(note(1)),
        b"# A readme\n",
        b"\x7fELF\x02\x01\x01\x00\n",
        b"\x00" * 3_000_000,
        b"no newline at all",
        b'{"kind":"header"}\n',
        b'{"kind":"header","schema":true}\n',
        b'{"kind":"header","schema":"1"}\n',
        b'{"kind":"header","schema":1.0}\n',
        b'{"kind":"header","sch',
        b"[1]\n",
    ],
)
def test_another_file_is_no_session(opened: Opener, data: bytes) -> None:
    with pytest.raises(SessionError, match=r"^NAME\.jsonl is not a specview session: "):
        opened(data)


def test_a_damaged_header_says_which_field(opened: Opener, head: bytes) -> None:
    with pytest.raises(SessionError, match=r"^NAME\.jsonl cannot be opened.* model\.vocabulary must be"):
        opened(head.replace(b'"vocabulary":151936', b'"vocabulary":"many"'))


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n  \n"])
def test_an_empty_file_is_said_to_be_empty(opened: Opener, data: bytes) -> None:
    with pytest.raises(SessionError, match=r"^NAME\.jsonl is empty"):
        opened(data)


def test_a_refused_file_stays_refused(head: bytes) -> None:
    reader = SessionReader("x")
    for call in (lambda: reader.feed(b"no\n"), lambda: reader.feed(head), reader.finish, reader.session):
        with pytest.raises(SessionError, match="not a specview session"):
            call()


def test_records_after_the_footer_are_kept_and_reported_but_for_notes(opened: Opener, head: bytes) -> None:
    footer = Footer(status="finished", rounds=0, steps=0, tokens=0, t_ns=0)
    second = Footer(status="failed", rounds=0, steps=0, tokens=0, t_ns=0)
    session = opened(head + to_line(footer) + to_line(note(1)) + to_line(second))
    assert session.notes == (note(1),)
    assert session.footer == footer
    assert session.problems == (Problem(4, "It comes after the footer."),)


def test_a_second_header_is_reported_and_the_first_counts(opened: Opener, head: bytes) -> None:
    other = head.replace(b'"plan":"quick"', b'"plan":"other"')
    session = opened(head + other)
    assert session.header.plan == "quick"
    assert session.problems == (Problem(2, "It is a second header; the first one counts."),)


def test_a_line_too_long_is_reported_and_the_rest_opens(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "long"
    path.write_bytes(head + b'{"kind":"' + b"x" * 4_000_000 + b'"}\n' + to_line(note(1)))
    session = read_session(path, Limits(line_bytes=2000))
    assert session.notes == (note(1),)
    assert session.problems == (Problem(2, "It is longer than 2,000 bytes."),)


def test_too_many_records_or_bytes_are_refused(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "big"
    path.write_bytes(head + to_line(note(1)) * 20)
    assert len(read_session(path, Limits(records=20)).notes) == 20
    with pytest.raises(SessionError, match="more than 19 records"):
        read_session(path, Limits(records=19))
    with pytest.raises(SessionError, match="larger than 100 bytes"):
        read_session(path, Limits(file_bytes=100))


def test_a_list_of_problems_ends_with_how_many_more(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "bad"
    path.write_bytes(head + b"bad\n" * 50)
    problems = read_session(path, Limits(problems=3)).problems
    assert [problem.line for problem in problems] == [2, 3, 4, 51]
    assert problems[-1].text == "47 more lines up to this one have problems."


def test_the_snapshot_is_the_same_object_until_something_changes(head: bytes) -> None:
    reader = SessionReader("live")
    reader.feed(head + to_line(note(1)))
    first = reader.session()
    assert reader.session() is first
    reader.feed(b'{"kind":"aurora"}\n' + to_line(note(2))[:5])
    assert reader.session() is first
    reader.feed(to_line(note(2))[5:])
    reader.feed(to_line(Memory(t_ns=0, active_bytes=0, peak_bytes=0, cache_bytes=0)))
    second = reader.session()
    assert second.notes == (note(1), note(2))
    assert first.notes == (note(1),)
    reader.feed(b"bad\n")
    third = reader.session()
    assert third.notes is second.notes
    assert len(third.problems) == 1


def test_a_folder_a_pipe_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path, "a folder"), (tmp_path / "pipe", "not a regular"), ("/dev/zero", "not a")):
        with pytest.raises(SessionError, match=f"is {what}.*; choose a session file"):
            read_session(Path(path))


@pytest.mark.parametrize("name", ["missing", "nul\0", "n" * 300, "loop"])
def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(SessionError, match=r"\.$"):
        read_session(tmp_path / name)


def test_escapes_in_a_file_name_do_not_reach_the_message(tmp_path: Path) -> None:
    with pytest.raises(SessionError) as caught:
        read_session(tmp_path / "\x1b[2J\udcff")
    assert str(caught.value) == "There is no file [2J\ufffd."


SEEDS = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"', b"\\", b"\n", b":", b",", b"1e999", b"NaN", b"-", b"9" * 30, b"\xff"]
)


@settings(deadline=None)
@given(data=st.data())
def test_hostile_bytes_open_or_raise_only_specview_errors(data: st.DataObject, records: tuple[Record, ...]) -> None:
    whole = b"".join(map(to_line, records))
    reader = SessionReader("hostile", Limits(line_bytes=4096, depth=8, records=40, problems=5))
    hostile = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 4))):
        position = data.draw(st.integers(0, len(hostile)))
        length = data.draw(st.integers(0, 40))
        hostile[position : position + length] = data.draw(SEEDS | st.binary(max_size=40))
    stream = bytes(hostile) if data.draw(st.booleans()) else data.draw(st.binary(max_size=500))
    try:
        for start in range(0, len(stream), 700):
            reader.feed(stream[start : start + 700])
        reader.finish()
        session = reader.session()
    except SpecviewError as error:
        assert str(error).endswith(".")
    else:
        assert session.status in ("finished", "stopped", "failed", "interrupted")


@settings(deadline=None)
@given(cut=st.integers(0, 6000))
def test_a_session_cut_anywhere_keeps_every_whole_record(cut: int, records: tuple[Record, ...]) -> None:
    lines = [to_line(record) for record in records]
    data = b"".join(lines)[:cut]
    reader = SessionReader("cut")
    assert reader.feed(data) == records[: data.count(b"\n")]
