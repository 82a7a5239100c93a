"""A session file as the reader sees it: untrusted lines in, whole records and numbered problems out."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from ...engine.errors import SpecviewError
from .codec import RecordError, safe_text
from .lines import DEPTH, LINE_BYTES, LineError, LineSplitter, read_line
from .migrations import MIGRATION_BY_SCHEMA, Migration, MigrationError, is_liftable, lift
from .records import (
    SCHEMA,
    Calibration,
    Census,
    Comparison,
    Counters,
    Demand,
    Experiment,
    Footer,
    Guard,
    Header,
    Memory,
    Note,
    Origin,
    Probe,
    Record,
    Replay,
    Round,
    Routes,
    Run,
    Step,
    from_object,
)

R = TypeVar("R")

_CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BAD_LINE = (LineError, RecordError, MigrationError)


class SessionError(SpecviewError):
    """A file that cannot be opened as a session; the text names it and says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a reader takes from a file before it stops believing it; `problems` is how many it lists."""

    line_bytes: int = LINE_BYTES
    depth: int = DEPTH
    records: int = 5_000_000
    file_bytes: int = 2 << 30
    problems: int = 1_000


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that was skipped, or stands where it should not; `line` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session file holds, in the order of its lines within each kind.

    `batch_probes` are those of several sequences at once; they stand apart from `probes` because whoever reads passes
    by width would pool them with passes of one.
    """

    header: Header
    runs: tuple[Run, ...]
    rounds: tuple[Round, ...]
    steps: tuple[Step, ...]
    probes: tuple[Probe, ...]
    census: tuple[Census, ...]
    demands: tuple[Demand, ...] = ()
    routes: tuple[Routes, ...] = ()
    replays: tuple[Replay, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    counters: tuple[Counters, ...] = ()
    origins: tuple[Origin, ...] = ()
    batch_probes: tuple[Probe, ...] = ()
    calibrations: tuple[Calibration, ...]
    memory: tuple[Memory, ...]
    guards: tuple[Guard, ...]
    notes: tuple[Note, ...]
    outputs: tuple[Comparison, ...]
    footer: Footer | None
    problems: tuple[Problem, ...]

    @property
    def status(self) -> Literal["finished", "stopped", "failed", "interrupted"]:
        """How it ended; interrupted while there is no footer."""
        return "interrupted" if self.footer is None else self.footer.status


class SessionReader:
    """Turns the bytes of a session file into records as they come; knows nothing of the file system.

    Bad lines become problems and the rest opens. Only what makes the whole file unreadable (no header, a
    newer schema, too many records) is a SessionError, and then every later call raises it too.
    """

    def __init__(
        self, name: str, limits: Limits = LIMITS, migrations: Mapping[int, Migration] = MIGRATION_BY_SCHEMA
    ) -> None:
        self._name = safe_text(name)
        self._limits = limits
        self._migrations = migrations
        self._lines = LineSplitter(limits.line_bytes)
        self._schema = SCHEMA
        self._header: Header | None = None
        self._footer: Footer | None = None
        self._records: dict[type[Any], list[Any]] = {}
        self._batch_probes: list[Probe] = []
        self._record_count = 0
        self._problems: list[Problem] = []
        self._unlisted_problems = 0
        self._last_problem_line = 0
        self._failure: SessionError | None = None
        self._tuples: dict[type[Any], tuple[Any, ...]] = {}
        self._snapshot: Session | None = None

    @property
    def header(self) -> Header | None:
        """The header, once its line is complete."""
        return self._header

    @property
    def pending_bytes(self) -> int:
        """The length of the last line so far, which has no newline yet."""
        return self._lines.pending_bytes

    def drop_pending(self) -> int:
        """Forget the partial last line and return its length, for a follower that reads it again.

        A writer on a full disk takes a partial line back, so a follower must not join it to what comes later.
        """
        return len(self._lines.take_pending()[1])

    def feed(self, data: bytes) -> tuple[Record, ...]:
        """Take the next bytes of the file and return the records they complete; a partial last line waits."""
        if self._failure is not None:
            raise self._failure
        found = []
        for number, line in self._lines.feed(data):
            try:
                if line is None:
                    raise LineError(f"It is longer than {self._limits.line_bytes:,} bytes.")
                record = self._read(number, line)
            except _BAD_LINE as error:
                self._skip(number, error)
            else:
                if record is not None:
                    found.append(record)
        return tuple(found)

    def finish(self) -> tuple[Record, ...]:
        """Take a last line that lacks only its newline, and skip a torn one: no bytes follow."""
        if self._failure is not None:
            raise self._failure
        number, line = self._lines.take_pending()
        try:
            record = self._read(number, line)
        except _BAD_LINE as error:
            if self._header is None:
                self._skip(number, error)
            return ()
        return () if record is None else (record,)

    def session(self) -> Session:
        """Return what has been read, the same object while nothing changes; SessionError without a header."""
        if self._header is None:
            raise self._failure or SessionError(f"{self._name} is empty: it holds no whole record yet.")
        if self._snapshot is None:
            problems = tuple(self._problems)
            if self._unlisted_problems:
                more = f"{self._unlisted_problems:,} more lines up to this one have problems."
                problems += (Problem(self._last_problem_line, more),)
            self._snapshot = Session(
                header=self._header,
                runs=self._tuple_of(Run),
                rounds=self._tuple_of(Round),
                steps=self._tuple_of(Step),
                probes=self._tuple_of(Probe),
                census=self._tuple_of(Census),
                demands=self._tuple_of(Demand),
                routes=self._tuple_of(Routes),
                replays=self._tuple_of(Replay),
                experiments=self._tuple_of(Experiment),
                counters=self._tuple_of(Counters),
                origins=self._tuple_of(Origin),
                batch_probes=tuple(self._batch_probes),
                calibrations=self._tuple_of(Calibration),
                memory=self._tuple_of(Memory),
                guards=self._tuple_of(Guard),
                notes=self._tuple_of(Note),
                outputs=self._tuple_of(Comparison),
                footer=self._footer,
                problems=problems,
            )
        return self._snapshot

    def _tuple_of(self, cls: type[R]) -> tuple[R, ...]:
        """Return the records of one kind, the same tuple as before if none came since."""
        known, current = self._tuples.get(cls, ()), self._records.get(cls, [])
        if len(known) != len(current):
            known = self._tuples[cls] = tuple(current)
        return known

    def _read(self, number: int, line: bytes) -> Record | None:
        """Read a whole line and keep its record; None for a blank line, an unknown kind, a second header."""
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line.strip():
            return None
        raw = read_line(line, self._limits.depth)
        if self._header is None:
            return self._read_header(raw)
        record = self._lifted(raw)
        if isinstance(record, Header):
            self._report(number, "It is a second header; the first one counts.")
            return None
        if record is not None:
            self._keep(number, record)
        return record

    def _read_header(self, raw: dict[str, Any]) -> Header:
        schema = raw.get("schema")
        if raw.get("kind") != "header" or type(schema) is not int:
            raise LineError("It is no header.")
        if schema > SCHEMA:
            raise self._fail(f"was written by a newer specview (schema {schema}); upgrade specview to open it.")
        if not is_liftable(schema, self._migrations):
            raise self._fail(f"has schema {schema}, which this specview cannot open.")
        self._schema = schema
        try:
            header = self._lifted(raw)
        except (RecordError, MigrationError) as error:
            raise self._fail(f"cannot be opened, because its header is damaged: {error}") from None
        if not isinstance(header, Header):
            raise self._fail("cannot be opened, because its header is damaged.")
        self._header = header
        return header

    def _lifted(self, raw: dict[str, Any]) -> Record | None:
        if self._schema != SCHEMA:
            lifted = lift(raw, self._schema, self._migrations)
            return None if lifted is None else from_object(lifted)
        return from_object(raw)

    def _keep(self, number: int, record: Record) -> None:
        if self._record_count == self._limits.records:
            raise self._fail(f"holds more than {self._limits.records:,} records, too many to open.")
        if self._footer is not None:
            self._report(number, "It comes after the footer.")
        if isinstance(record, Footer):
            self._footer = self._footer or record
        elif isinstance(record, Probe) and record.of_many:
            self._batch_probes.append(record)
        else:
            self._records.setdefault(type(record), []).append(record)
        self._record_count += 1
        self._snapshot = None

    def _skip(self, number: int, error: SpecviewError) -> None:
        """Report a bad line; before the header it means that the file is something else."""
        if self._header is None:
            raise self._fail("is not a specview session: its first line is not a header.") from error
        self._report(number, str(error))

    def _report(self, number: int, text: str) -> None:
        if len(self._problems) < self._limits.problems:
            self._problems.append(Problem(number, text))
        else:
            self._unlisted_problems += 1
        self._last_problem_line = number
        self._snapshot = None

    def _fail(self, what: str) -> SessionError:
        self._failure = SessionError(f"{self._name} {what}")
        return self._failure


def session_of(records: Sequence[Record]) -> Session:
    """Return the session that these records make, e.g. those a recorder has written so far; the header comes first."""
    by_class: dict[type[Record], list[Record]] = {}
    for record in records:
        by_class.setdefault(type(record), []).append(record)

    def all_of(cls: type[R]) -> tuple[R, ...]:
        return tuple(cast("list[R]", by_class.get(cast("type[Record]", cls), [])))

    header, footers = all_of(Header), all_of(Footer)
    if not header:
        raise SessionError("These records have no header, so they are no session.")
    return Session(
        header=header[0],
        runs=all_of(Run),
        rounds=all_of(Round),
        steps=all_of(Step),
        probes=tuple(probe for probe in all_of(Probe) if not probe.of_many),
        census=all_of(Census),
        demands=all_of(Demand),
        routes=all_of(Routes),
        replays=all_of(Replay),
        experiments=all_of(Experiment),
        counters=all_of(Counters),
        origins=all_of(Origin),
        batch_probes=tuple(probe for probe in all_of(Probe) if probe.of_many),
        calibrations=all_of(Calibration),
        memory=all_of(Memory),
        guards=all_of(Guard),
        notes=all_of(Note),
        outputs=all_of(Comparison),
        footer=footers[0] if footers else None,
        problems=(),
    )


def read_session(
    path: Path, limits: Limits = LIMITS, migrations: Mapping[int, Migration] = MIGRATION_BY_SCHEMA
) -> Session:
    """Read a whole session file, a chunk at a time; a SessionError if it is no session or no regular file."""
    name = safe_text(path.name or str(path))
    reader = SessionReader(name, limits, migrations)
    try:
        descriptor = _open_regular(path, name)
        try:
            left = limits.file_bytes
            while chunk := os.read(descriptor, _CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise SessionError(f"{name} is larger than {limits.file_bytes:,} bytes, too large to open.")
                reader.feed(chunk)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SessionError(f"{name} cannot be read ({(error.strerror or 'unknown error').lower()}).") from error
    reader.finish()
    return reader.session()


def _open_regular(path: Path, name: str) -> int:
    """Open a regular file; a pipe or a device is refused without waiting for its other end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise SessionError(f"There is no file {name}.") from None
    except ValueError:
        raise SessionError(f"{name} is not a possible file name.") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
    raise SessionError(f"{name} is {what}; choose a session file.")
