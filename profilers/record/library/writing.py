"""Changes to one session of a library: another name, and a person's note, which is appended and never rewritten."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..codec import safe_text
from ..records import Note, to_line
from .disk import DISK, Disk, LibraryError, failure
from .entries import BY_HAND, read_entry
from .moving import move
from .names import checked_name, path_named, session_name
from .writer_lock import is_held, join

LONGEST_NOTE = 4000
LONGEST_TAG = 40
MOST_TAGS = 20


def refuse_while_written(path: Path, what: str) -> None:
    """LibraryError if a recorder writes the file at this moment; `what` is e.g. "night was not renamed"."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except PermissionError:
        return  # the folder decides whether a file may move, not the file
    try:
        if is_held(descriptor):
            raise LibraryError(f"{what}, because it is being recorded; stop the recording first.")
    finally:
        os.close(descriptor)


def rename(path: Path, new_name: str, disk: Disk = DISK) -> Path:
    """Give a session another name in its folder, never over another one; LibraryError if it keeps its own."""
    old = session_name(path)
    target = path_named(path.parent, checked_name(new_name))
    if target == path:
        return path
    what = f"{old} was not renamed"
    try:
        refuse_while_written(path, what)
        move(path, target, disk)
    except FileExistsError:
        raise LibraryError(f"{what}, because {session_name(target)} exists already; choose another name.") from None
    except OSError as error:
        raise failure(what, error) from error
    return target


def checked_tags(words: str | tuple[str, ...]) -> tuple[str, ...]:
    """Tags from a line of them or one by one, each once, without #; LibraryError for too many or too long ones."""
    given = words.replace(",", " ").split() if isinstance(words, str) else words
    tags = tuple(dict.fromkeys(safe_text(tag).strip().lstrip("#").strip() for tag in given))
    tags = tuple(tag for tag in tags if tag and tag != BY_HAND)
    if len(tags) > MOST_TAGS:
        raise LibraryError(f"{MOST_TAGS} tags are the most for one session; these are {len(tags)}.")
    if any(len(tag) > LONGEST_TAG for tag in tags):
        raise LibraryError(f"A tag is one word of at most {LONGEST_TAG} characters; a note may be longer.")
    return tags


def write_note(path: Path, text: str, tags: tuple[str, ...], now_unix_ns: int, disk: Disk = DISK) -> None:
    """Append what a person says of a session, all of it: the last such note counts, earlier ones stay in the file.

    LibraryError if it was not written; then the file is as it was.
    """
    name = session_name(path)
    what = f"The note on {name} was not written"
    text = text.strip()
    if len(text) > LONGEST_NOTE:
        raise LibraryError(f"{what}: {LONGEST_NOTE:,} characters are the most, and these are {len(text):,}.")
    tags = checked_tags(tags)
    try:
        entry = read_entry(path)
        if entry.status == "recording":
            raise LibraryError(f"{what}, because it is being recorded; wait for its end.")
        if entry.status in ("unreadable", "empty"):
            raise LibraryError(f"{what}: {entry.reason}")
        t_ns = max(0, now_unix_ns - (entry.started_unix_ns or 0))
        _append(path, to_line(Note(t_ns=t_ns, text=safe_text(text), tags=(BY_HAND, *tags))), what, disk)
    except OSError as error:
        raise failure(what, error) from error


def _append(path: Path, line: bytes, what: str, disk: Disk) -> None:
    """Write the line at the end of the file, whole or not at all."""
    descriptor = disk.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LibraryError(f"{what}, because it is not a regular file.")
        if join(descriptor) is False:
            raise LibraryError(f"{what}, because it is being recorded; wait for its end.")
        before = os.fstat(descriptor).st_size
        if before and os.pread(descriptor, 1, before - 1) != b"\n":
            line = b"\n" + line  # its writer was killed within a line, which stays as it is
        sent = 0
        try:
            while sent < len(line):
                count = disk.write(descriptor, line[sent:])
                if count <= 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                sent += count
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                if os.fstat(descriptor).st_size == before + sent:  # nobody else has appended since
                    os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
