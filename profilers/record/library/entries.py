"""What a library says of one session, read from the head and the tail of its file only."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ....engine.errors import SpecviewError
from ..codec import safe_text
from ..lines import read_line
from ..records import Footer, Header, Note, Record, Run, from_object
from ..session import SessionReader
from .names import session_name
from .writer_lock import is_held

Kind = Literal["recording", "survey", "experiment", "imported", "attached", "own loop", "unknown"]
Status = Literal["unread", "recording", "finished", "stopped", "failed", "interrupted", "empty", "unreadable"]

BY_HAND = "by hand"  # the first tag of a note that a person wrote in the library
HEAD_BYTES = 16 * 1024
HEADER_BYTES = 1 << 20
SHORT_TAIL_BYTES = 4 * 1024
TAIL_BYTES = 64 * 1024
LONG_TAIL_BYTES = 1 << 20
KIND_WITHIN = 300  # bytes of a line in which its kind stands; first of all where specview wrote it
BEGINNING = re.compile(rb'"kind"\s*:\s*"(?:run|note)"')
ENDING = re.compile(rb'"kind"\s*:\s*"(?:footer|note)"')
REMARKS = 8
UNKNOWN = ("unknown", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One session of a library; None and empty texts are what its file does not say, or what is not read yet.

    `started_unix_ns` is when it was recorded, `changed_ns` when the file was last written, both since 1970. `note` and
    `tags` are a person's, `remarks` what else is written down near the file's ends. `reason` says why it failed or
    cannot be read.
    """

    path: Path
    name: str
    size_bytes: int
    changed_ns: int
    inode: int = 0
    status: Status = "unread"
    kind: Kind = "unknown"
    reason: str = ""
    started_unix_ns: int | None = None
    model: str = ""
    quantisation: str = ""
    dtype: str = ""
    architecture: str = ""
    drafter: str = ""
    k: int | None = None
    device: str = ""
    blas: str = ""
    chip: str = ""
    plan: str = ""
    source: str = ""
    rounds: int | None = None
    steps: int | None = None
    tokens: int | None = None
    duration_ns: int | None = None
    tags: tuple[str, ...] = ()
    note: str = ""
    noted_unix_ns: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def when_ns(self) -> int:
        """When it was recorded, or where nobody says, when its file was written; ns since 1970."""
        return self.started_unix_ns or self.changed_ns


def unread_entry(path: Path, found: os.stat_result) -> Entry:
    """What is known before a file is read."""
    return Entry(
        path=path,
        name=session_name(path),
        size_bytes=found.st_size,
        changed_ns=found.st_mtime_ns,
        inode=found.st_ino,
    )


def read_entry(path: Path) -> Entry:
    """Read the head and the tail of a session file; whatever is wrong with it is said in the entry.

    FileNotFoundError where it is gone.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = os.fstat(descriptor)
        entry = unread_entry(path, found)
        if not stat.S_ISREG(found.st_mode):
            return replace(entry, status="unreadable", reason="It is not a regular file.")
        return _read(descriptor, entry)
    finally:
        os.close(descriptor)


def _read(descriptor: int, entry: Entry) -> Entry:
    size = entry.size_bytes
    if size == 0:
        held = is_held(descriptor)
        return replace(entry, status="recording" if held else "empty", reason="Nothing is written yet.")
    head = os.pread(descriptor, HEAD_BYTES, 0)
    if b"\n" not in head and size > HEAD_BYTES:
        head = os.pread(descriptor, HEADER_BYTES, 0)
    reader = SessionReader(entry.name)
    first, newline, rest = head.partition(b"\n")
    try:
        reader.feed(first + newline)
        if not newline:
            reader.finish()
    except SpecviewError as error:
        held = not newline and is_held(descriptor)
        return replace(entry, status="recording" if held else "unreadable", reason=str(error))
    header = reader.header
    if header is None:
        return replace(entry, status="recording" if is_held(descriptor) else "empty", reason="It holds no record yet.")
    start, ending = _tail(descriptor, size)
    seen = len(head)
    begun = _records(rest, partial_end=seen < size, want=BEGINNING)
    ended = _records(ending, partial_end=False, want=ENDING, partial_start=start > 0)
    notes = [each for each in begun if isinstance(each, Note)] if start >= seen else []
    if 0 < start < seen:  # what both ends hold counts once
        notes = [each for each in begun if isinstance(each, Note) and each not in ended]
    notes += [each for each in ended if isinstance(each, Note)]
    entry = _with_header(entry, header, [each for each in begun if isinstance(each, Run)])
    entry = _with_notes(entry, header, notes)
    return _with_end(entry, next((each for each in ended if isinstance(each, Footer)), None), descriptor)


def _tail(descriptor: int, size: int) -> tuple[int, bytes]:
    """The end of a file and where it begins: a short one where that holds a footer, else a longer one.

    A much longer one only where a person's notes fill it, so that the footer may stand before them.
    """
    start, ending = 0, b""
    for length in (SHORT_TAIL_BYTES, TAIL_BYTES, LONG_TAIL_BYTES):
        if length == LONG_TAIL_BYTES and BY_HAND.encode() not in ending:
            break
        start = max(0, size - length)
        ending = os.pread(descriptor, length, start)
        if start == 0 or b'\n{"kind":"footer"' in ending:
            break
    return start, ending


def _records(
    data: bytes, *, partial_end: bool, want: re.Pattern[bytes], partial_start: bool = False
) -> tuple[Record, ...]:
    """The records of the wanted kinds among whole lines; a bad line is left to the reader of the whole file."""
    lines = data.split(b"\n")
    if partial_start:
        lines = lines[1:]
    if partial_end:
        lines = lines[:-1]
    found = []
    for line in lines:
        if want.search(line, 0, KIND_WITHIN):
            try:
                record = from_object(read_line(line))
            except SpecviewError:
                continue
            if record is not None:
                found.append(record)
    return tuple(found)


def _with_header(entry: Entry, header: Header, runs: list[Run]) -> Entry:
    model, machine = header.model, header.environment
    drafting = next((run for run in runs if run.arm != "plain"), None)
    drafter, k = ("", None) if header.drafter is None else (header.drafter.kind, header.drafter.k)
    if drafting is not None:
        drafter, k = drafting.drafter, drafting.k
    return replace(
        entry,
        kind=_kind(header),
        started_unix_ns=header.started_unix_ns or None,
        model=_known(model.id),
        quantisation=model.quantisation or "",
        dtype=_known(model.dtype),
        architecture=_known(model.architecture),
        drafter=drafter,
        k=k,
        device=machine.device or "",
        blas=machine.blas or "",
        chip=_known(machine.chip or ""),
        plan=header.plan,
        source=header.source or "",
    )


def _known(text: str) -> str:
    return "" if text in UNKNOWN else text


def _kind(header: Header) -> Kind:
    if header.source is None:
        if not header.plan.startswith("costs only"):
            return "recording"
        return "experiment" if "experiment" in header.plan else "survey"
    if header.plan.startswith("attached to"):
        return "attached"
    return "own loop" if header.plan.startswith("recorded by") else "imported"


def _with_notes(entry: Entry, header: Header, notes: list[Note]) -> Entry:
    """The last word of a person counts whole; the rest are remarks."""
    remarks = tuple(note.text for note in notes if note.tags[:1] != (BY_HAND,))[:REMARKS]
    entry = replace(entry, remarks=remarks)
    told = [note for note in notes if note.tags[:1] == (BY_HAND,)]
    if not told:
        return entry
    last = told[-1]
    return replace(entry, note=last.text, tags=last.tags[1:], noted_unix_ns=header.started_unix_ns + last.t_ns)


def _with_end(entry: Entry, footer: Footer | None, descriptor: int) -> Entry:
    if footer is None:
        return replace(entry, status="recording" if is_held(descriptor) else "interrupted")
    return replace(
        entry,
        status=footer.status,
        reason=safe_text(footer.reason or ""),
        rounds=footer.rounds,
        steps=footer.steps,
        tokens=footer.tokens,
        duration_ns=footer.t_ns,
    )
