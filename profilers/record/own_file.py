"""The session file of somebody's own loop: whatever goes wrong with it is told once and never reaches the loop."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from ...engine.errors import SpecviewError
from .codec import RecordError
from .privacy import without_paths
from .records import DrafterFacts, Environment, Footer, Header, ModelFacts, Record
from .store import SUFFIX, SessionStore

Warn = Callable[[str], None]
Clock = Callable[[], int]
Status = Literal["finished", "stopped", "failed"]


class OwnFile:
    """An open session file, or one that was given up; `path` is None where none could be made.

    A taken name gets a number, because a loop is run again and again.
    """

    def __init__(
        self, wanted: Path, header: Header, clock: Clock, warn: Warn, write: Callable[[int, bytes], int] = os.write
    ) -> None:
        self._clock, self._warn = clock, warn
        self._began_ns = clock()
        self._refused = 0
        self._store: SessionStore | None = None
        self.path: Path | None = None
        try:
            path = free_path(wanted)
            self._store = SessionStore.create(path, write)
            self._store.append(header)
            self.path = path
        except (SpecviewError, OSError) as error:
            self._give_up(error)

    @property
    def is_open(self) -> bool:
        """Whether records are still written."""
        return self._store is not None

    @property
    def refused(self) -> int:
        """How many records were left out, because something in them was wrong."""
        return self._refused

    def now_ns(self) -> int:
        """Time since the file was opened."""
        return max(0, self._clock() - self._began_ns)

    def append(self, record: Record) -> None:
        """Write one record; RecordError if it is wrong, and a file that cannot be written any more is given up."""
        if self._store is None:
            return
        try:
            self._store.append(record)
        except RecordError:
            raise
        except SpecviewError as error:
            self._give_up(error)

    def refuse(self, why: str) -> None:
        """A record is left out: told the first time, counted always."""
        self._refused += 1
        if self._refused == 1:
            self._warn(f"specview left a record out ({why.rstrip('.')}); the loop goes on, and so does its recording.")

    def close(self, status: Status, reason: str | None) -> None:
        """Write the footer and close."""
        store, self._store = self._store, None
        if store is not None:
            try:
                _finish(store, status, reason, self.now_ns())
            except SpecviewError as error:
                self._warn(f"specview: {error}")

    def _give_up(self, error: Exception) -> None:
        store, self._store = self._store, None
        self._warn(f"specview: {error} The loop goes on without being recorded.")
        if store is not None:
            try:
                _finish(store, "failed", "the recording was given up", self.now_ns())
            except SpecviewError:
                return  # it was told already, and a file without a footer opens too


def own_header(
    model: str, engine: str, device: str | None, drafter: tuple[str, int], text_kept: bool, started_unix_ns: int
) -> Header:
    """Return the header of such a session: what its loop says of itself, and `drafter` as a kind with its k."""
    from ... import __version__

    return Header(
        specview=__version__,
        plan=f"recorded by {engine}",
        environment=Environment(
            os=sys.platform, python=".".join(str(part) for part in sys.version_info[:3]), device=device
        ),
        model=ModelFacts(
            id=without_paths(model),
            architecture="unknown",
            layers=(),
            dtype="unknown",
            weight_bytes=0,
            vocabulary=0,
            tokenizer_hash="unknown",
        ),
        drafter=DrafterFacts(kind=drafter[0], k=drafter[1]),
        started_unix_ns=started_unix_ns,
        text_kept=text_kept,
        prompts_kept=False,
        source=engine,
    )


def warn_in_python(text: str) -> None:
    """Warn in Python's way, and not even then raise anything."""
    with suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def free_path(wanted: Path) -> Path:
    """Return the path with the suffix of sessions, and with a number if that name is taken."""
    name = wanted.name.removesuffix(SUFFIX).removesuffix(".jsonl") or "session"
    path, number = wanted.with_name(name + SUFFIX), 2
    while os.path.lexists(path):
        path = wanted.with_name(f"{name}-{number}{SUFFIX}")
        number += 1
    return path


def _finish(store: SessionStore, status: Status, reason: str | None, t_ns: int) -> None:
    counts = store.counts
    store.finish(
        Footer(status=status, reason=reason, rounds=counts.rounds, steps=counts.steps, tokens=counts.tokens, t_ns=t_ns)
    )
