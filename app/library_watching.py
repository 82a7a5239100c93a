"""Watches the library's folder: what appears, grows or goes, also by other terminals, reaches the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ..profilers.record.library.index import Index, Library
from .following import Waker

AT_ONCE = 200  # entries read between two deliveries
GROWING_S = 1.0  # between two looks while a session is being recorded: an event a record would cost more
POLL_S = 2.0  # between two looks where the file system sends no events
REST_S = 0.2  # after an event, so that many of them are one look


class LibraryWatch:
    """Looks at a folder in a thread that `run` starts, while `start`ed; `tell` is called in that thread."""

    def __init__(
        self,
        index: Index,
        run: Callable[[Callable[[], None]], object],
        tell: Callable[[Library], object],
        also: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        self._index, self._run, self._tell, self._also = index, run, tell, also
        self._number = 0
        self._waker: Waker | None = None
        self._one_at_a_time = threading.Lock()

    @property
    def on(self) -> bool:
        """Whether it watches."""
        return self._waker is not None

    def start(self) -> None:
        """Look now, and from now on."""
        if self._waker is not None:
            self._waker.wake()
            return
        number, waker = self._number, Waker(self._index.folder / "sessions")
        self._waker = waker
        self._run(lambda: self._watch(waker, lambda: number != self._number))

    def stop(self) -> None:
        """Watch no more."""
        self._number += 1
        if self._waker is not None:
            self._waker.wake()
            self._waker = None

    def _watch(self, waker: Waker, stopped: Callable[[], bool]) -> None:
        with self._one_at_a_time:  # one that was told to stop may still be reading
            watch_library(self._index, self._tell, stopped, waker, self._also)


def watch_library(
    index: Index,
    tell: Callable[[Library], object],
    stopped: Callable[[], bool],
    waker: Waker,
    also: Callable[[], Sequence[Path]] = tuple,
) -> None:
    """Look, read what is new, tell, rest, until stopped; the first delivery comes before any file is read."""
    first = True
    while not stopped():
        if index.look(also()) or first:
            tell(index.snapshot())
        while index.due and not stopped():
            if index.read_some(AT_ONCE):
                tell(index.snapshot())
        first = False
        recording = any(entry.status == "recording" for entry in index.snapshot().entries)
        if not stopped():
            waker.wait(GROWING_S if recording else POLL_S, armed=not recording)
        if not stopped():
            waker.wait(REST_S, armed=False)
