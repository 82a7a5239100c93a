"""The one writer of a session file: whole records only, readable whatever happens next."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from ...engine.errors import SpecviewError
from .codec import safe_text
from .library.writer_lock import hold
from .records import Footer, Header, Record, Round, Step, to_line

SUFFIX = ".specview.jsonl"


class StoreError(SpecviewError):
    """A session that cannot be created or written; the text says what is safe and what to do."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a store holds in whole records; `tokens` is of rounds and steps, replays and warm-up included."""

    records: int = 0
    rounds: int = 0
    steps: int = 0
    tokens: int = 0
    size_bytes: int = 0

    def and_one(self, record: Record, size_bytes: int) -> Counts:
        """Return the counts with one more record of `size_bytes`."""
        return Counts(
            records=self.records + 1,
            rounds=self.rounds + isinstance(record, Round),
            steps=self.steps + isinstance(record, Step),
            tokens=self.tokens + (record.tokens if isinstance(record, Round | Step) else 0),
            size_bytes=self.size_bytes + size_bytes,
        )


def new_session_path(folder: Path, stem: str, started: datetime) -> Path:
    """Return a free path in `folder`: the stem in safe characters, the start, a number if need be."""
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", stem)[:80].strip("-.") or "session"
    name = f"{safe}-{started:%Y%m%d-%H%M%S}"
    path = folder / f"{name}{SUFFIX}"
    number = 2
    # lexists, because the name of a dangling link is taken too
    while os.path.lexists(path):
        path = folder / f"{name}-{number}{SUFFIX}"
        number += 1
    return path


class SessionStore:
    """An open session file that grows by whole records, the header first; a context manager that closes it.

    After a StoreError from `append` the file ends with its last whole record; a footer may still be tried.
    """

    def __init__(self, descriptor: int, name: str, write: Callable[[int, bytes], int] = os.write) -> None:
        self._descriptor: int | None = descriptor
        self._name = name
        self._write = write
        self._counts = Counts()
        self._held = hold(descriptor)

    @classmethod
    def create(cls, path: Path, write: Callable[[int, bytes], int] = os.write) -> Self:
        """Create the file, and its folder if need be; StoreError if the name is taken or refused."""
        name, folder = safe_text(path.name), safe_text(str(path.parent))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise StoreError(f"{folder} is not a folder; choose another --out.") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"The folder {folder} cannot be made ({_why(error)}); choose another --out.") from error
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise StoreError(f"{name} exists already; choose another --out.") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{name} cannot be created in {folder} ({_why(error)}); choose another --out.") from error
        return cls(descriptor, name, write)

    @property
    def counts(self) -> Counts:
        """What the file holds so far."""
        return self._counts

    def append(self, record: Record) -> None:
        """Write one whole record, or nothing: a StoreError or an interrupt leaves the file as it was."""
        descriptor = self._open_descriptor()
        if isinstance(record, Header) is not (self._counts.records == 0):
            raise StoreError(f"{self._name} must hold one header, and it comes first.")
        line = to_line(record)
        self._held = self._held or hold(descriptor)
        try:
            self._write_whole(descriptor, line)
            # one assignment, so that an interrupt leaves the counts from before or after, never a mixture
            self._counts = self._counts.and_one(record, len(line))
        except OSError as error:
            self._drop_torn_record(descriptor)
            raise StoreError(self._loss(error)) from error
        except BaseException:
            self._drop_torn_record(descriptor)
            raise

    def sync(self) -> None:
        """Wait until all records are on the disk; called at the end of a run."""
        try:
            os.fsync(self._open_descriptor())
        except OSError as error:
            raise StoreError(
                f"{self._name} did not reach the disk ({_why(error)}); check the disk and record again."
            ) from error

    def finish(self, footer: Footer) -> None:
        """Write the footer, wait for the disk, and close."""
        try:
            self.append(footer)
            self.sync()
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; without a footer the session counts as interrupted. Closing twice is allowed."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError as error:
                raise StoreError(self._loss(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise StoreError(f"{self._name} is closed; a session is written once, so record a new one.")
        return self._descriptor

    def _write_whole(self, descriptor: int, line: bytes) -> None:
        """Write the line at once; a short write goes on where it stopped, which brings out its reason."""
        sent = 0
        while sent < len(line):
            count = self._write(descriptor, line[sent:])
            if count <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            sent += count

    def _drop_torn_record(self, descriptor: int) -> None:
        """Cut the file back to its last whole record, or close it, so that nothing joins the torn one."""
        whole = self._counts.size_bytes
        try:
            if os.fstat(descriptor).st_size > whole:
                os.ftruncate(descriptor, whole)
        except OSError:
            with suppress(StoreError):
                self.close()

    def _loss(self, error: OSError) -> str:
        safe = f"{self._counts.records:,} records are safe in {self._name}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"The disk is full: {safe}; free some space and record again."
        if error.errno == errno.EFBIG:
            return f"The file has reached its size limit: {safe}; raise ulimit -f and record again."
        return f"The disk refused a record ({_why(error)}): {safe}; check the disk and record again."


def _why(error: OSError | ValueError) -> str:
    """Return the system's own reason, without the path that Python adds."""
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or "not a possible name").lower()
