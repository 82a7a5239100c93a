"""Follows a session file that may be growing: what is new in it, and what happened to it."""

from __future__ import annotations

import gc
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # heavy: loaded in the following thread, after the first frame
    from ..layouts.views import Reckoning
    from ..profilers.record.records import Header
    from ..profilers.record.session import Session, SessionReader

FIRST_BYTES = 1 << 16  # the header is in them, and on the screen before the rest is read
CHUNK_BYTES = 4 << 20
FILE_BYTES = 2 << 30
TOLD_S = 0.2  # between two reports of how far a long file is read
GROWING_S = 1.0  # between two looks at a file that grows: each costs the recorder a little
QUIET_S = 3.0  # without news for so long, the file system is asked to wake us
POLL_S = 2.0  # and we look this often all the same, for file systems that send no events
REST = 50.0  # rest so many times as long as the last look and computation used the processor
LONGEST_REST_S = 2.0  # but no longer than this
LEAST_REST = 4.0  # unless a fifth of a core is not enough: then the screen falls behind, and says so


class Stopped(Exception):
    """Nobody wants this file any more."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a file is read for the first time, as a share of it, and its header once that is known."""

    share: float
    header: Header | None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at the file brought: whether anything is new, and a sentence when something is wrong."""

    changed: bool
    session: Session | None
    trouble: str = ""
    waiting: bool = False


class FileFollower:
    """Reads what was appended since the last look. A file that shrank or was replaced is read anew, and it says so."""

    def __init__(self, path: Path, told: Callable[[Reading], None] | None = None) -> None:
        self._path, self._told = path, told
        self._reader: SessionReader | None = None
        self._inode: tuple[int, int] | None = None
        self._offset = 0
        self._trouble = ""
        self._settled = False

    def look(self, settle: bool = False) -> Look:
        """Read on. With `settle` nobody is writing: a last line that lacks only its newline counts."""
        from ..engine.errors import SpecviewError

        before = (self._offset, self._trouble, self._inode)
        try:
            self._read()
            if settle and not self._settled and self._reader is not None and self._reader.pending_bytes:
                self._reader.finish()
                self._settled = True
        except FileNotFoundError:
            return self._missing(before)
        except SpecviewError as error:
            self._trouble = str(error)
        except OSError as error:
            self._trouble = f"{self._path.name} cannot be read ({(error.strerror or 'unknown error').lower()})."
        changed = (self._offset, self._trouble, self._inode) != before
        return Look(changed, self._session(), self._trouble, waiting=self._session() is None and not self._trouble)

    def _missing(self, before: object) -> Look:
        if self._inode is None:
            return Look(False, None, waiting=True)
        self._trouble = f"{self._path.name} is gone from the folder; what had been read is still here."
        return Look((self._offset, self._trouble, self._inode) != before, self._session(), self._trouble)

    def _session(self) -> Session | None:
        reader = self._reader
        return None if reader is None or reader.header is None else reader.session()

    def _read(self) -> None:
        # O_NONBLOCK: a pipe in the file's place must not hang the reader
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                self._start((found.st_dev, found.st_ino))
                self._trouble = f"{self._path.name} is not a regular file; choose a session file."
                return
            self._notice((found.st_dev, found.st_ino), found.st_size)
            os.lseek(descriptor, self._offset, os.SEEK_SET)
            while chunk := os.read(descriptor, CHUNK_BYTES if self._offset else FIRST_BYTES):
                self._offset += len(chunk)
                if self._offset > FILE_BYTES:
                    self._trouble = f"{self._path.name} is larger than {FILE_BYTES:,} bytes; the rest is not read."
                    return
                assert self._reader is not None
                self._reader.take(chunk)
                if self._told is not None and self._offset < found.st_size:
                    self._told(Reading(self._offset / found.st_size, self._reader.header))
        finally:
            os.close(descriptor)

    def _notice(self, inode: tuple[int, int], size: int) -> None:
        """Start anew on another file, or on this one cut short; a partial last line taken back is normal."""
        if self._reader is None:
            self._start(inode)
        elif inode != self._inode:
            self._start(inode)
            self._trouble = f"{self._path.name} was replaced by another file, which is read from its start."
        elif size < self._offset - self._reader.pending_bytes:
            self._start(inode)
            self._trouble = f"{self._path.name} was cut short, and is read again from its start."
        elif size < self._offset:
            self._offset -= self._reader.drop_pending()
        elif size > self._offset and self._settled:
            self._start(inode)

    def _start(self, inode: tuple[int, int]) -> None:
        from ..profilers.record.session import SessionReader

        self._reader = SessionReader(self._path.name)
        self._inode, self._offset, self._trouble, self._settled = inode, 0, "", False


def _load() -> None:
    """Load what numbers are computed with, while the file is read."""
    import scipy.special  # noqa: F401

    from ..layouts import views  # noqa: F401


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without garbage collection: a long file's records form no cycles, and it would go through all again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def rest_after(used_s: float) -> float:
    """How long to rest after a look and computation that used the processor for so long."""
    return max(GROWING_S, min(LONGEST_REST_S, REST * used_s), LEAST_REST * used_s)


class Waker:
    """Wakes a sleeping follower when something happens in the file's folder.

    It is armed only while the file is quiet: a recorder writes a hundred
    records a second, and an event for each would cost more than looking twice.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._event = threading.Event()
        self._observer: Any = None

    def wait(self, seconds: float, armed: bool) -> None:
        """Sleep so long, or less when armed and something happens; `wake` ends it in any case."""
        if armed:
            self._arm()
        self._event.wait(seconds)
        self._event.clear()
        if armed:
            self.disarm()

    def wake(self) -> None:
        """End the sleep now."""
        self._event.set()

    def _arm(self) -> None:
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        event = self._event

        class Handler(FileSystemEventHandler):
            def on_any_event(self, happened: FileSystemEvent) -> None:
                if happened.event_type not in ("opened", "closed_no_write"):  # reading is no news
                    event.set()

        # no events on this file system, or no such folder yet: polling has to do
        with suppress(OSError):
            observer = Observer()
            observer.schedule(Handler(), str(self._folder))
            observer.start()
            self._observer = observer

    def disarm(self) -> None:
        """Stop listening."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(1.0)


@dataclass(frozen=True, slots=True)
class Update:
    """One delivery: the file, what it says, what is wrong, whether it grew since the one before.

    `reading` is there while a long file is read for the first time, and then there is nothing else yet. `behind_s`:
    what is written now is on the screen after so many seconds at most.
    """

    path: Path
    reckoning: Reckoning | None
    trouble: str
    waiting: bool
    grew: bool
    reading: Reading | None = None
    behind_s: float = 0.0


class Following:
    """Follows one file after another, each in a thread that `run` starts; `deliver` is called in that thread."""

    def __init__(self, run: Callable[[Callable[[], None]], object], deliver: Callable[[Update], object]) -> None:
        self._run, self._deliver = run, deliver
        self._number = 0
        self._waker: Waker | None = None

    def start(self, path: Path) -> None:
        """Follow this file, and no other any more."""
        self.stop()
        number, waker = self._number, Waker(path)
        self._waker = waker

        reckoning: Reckoning | None = None

        def deliver(update: Update) -> None:
            nonlocal reckoning
            if number == self._number:
                reckoning = update.reckoning
                self._deliver(update)

        def work() -> None:
            from .process import error_words

            try:
                follow(path, deliver, lambda: number != self._number, waker)
            except Exception as error:  # what nobody foresaw must not leave a screen that waits for ever
                trouble = f"{path.name} cannot be followed any further ({error_words(error)})."
                deliver(Update(path, reckoning, trouble, waiting=False, grew=False))

        self._run(work)

    def stop(self) -> None:
        """Follow nothing."""
        self._number += 1
        if self._waker is not None:
            self._waker.wake()
            self._waker = None


def follow(
    path: Path,
    deliver: Callable[[Update], None],
    stopped: Callable[[], bool],
    waker: Waker,
    clock: Callable[[], float] = time.monotonic,
    processor_clock: Callable[[], float] = time.thread_time,
) -> None:
    """Look, compute, deliver, rest, until stopped; runs in a thread of its own and never touches a widget.

    The first delivery comes at once, even with nothing to say; how far a long file is read is told meanwhile. A file
    that nobody writes any more is settled after one look without news.
    """
    last_told: float | None = None

    def told(reading: Reading) -> None:
        nonlocal last_told
        if stopped():
            raise Stopped
        if first and (last_told is None or clock() - last_told >= TOLD_S):
            last_told = clock()
            deliver(Update(path, None, "", waiting=False, grew=False, reading=reading))

    loading = threading.Thread(target=_load, daemon=True)
    loading.start()
    follower = FileFollower(path, told)
    first, last_news, reckoning = True, clock(), None
    rest = GROWING_S
    while not stopped():
        began, used = clock(), processor_clock()
        try:
            with _no_collector() if first else nullcontext():
                look = follower.look()
            if not look.changed and not first:
                look = follower.look(settle=True)
        except Stopped:
            return
        behind = reckoning is not None and reckoning.unfinished
        if look.changed or first or behind:
            loading.join()
            from ..layouts.views import reckon

            with _no_collector() if first else nullcontext():
                before = reckoning if look.changed else None
                reckoning = None if look.session is None else reckon(look.session, before)
            took = clock() - began
            rest = GROWING_S if first else rest_after(processor_clock() - used)
            if stopped():
                return
            grew = not first and look.changed
            behind_s = rest + took if grew else 0.0
            deliver(Update(path, reckoning, look.trouble, look.waiting, grew=grew, behind_s=behind_s))
            if not first:
                last_news = clock()
            first = False
        quiet = clock() - last_news > QUIET_S
        waker.wait(POLL_S if quiet else rest, armed=quiet)
