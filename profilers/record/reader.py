"""The bytes of a session file as they come: untrusted lines in, whole records and numbered problems out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ...engine.errors import SpecviewError
from .codec import RecordError, safe_text
from .contents import LIMITS, Limits, Problem, Session, SessionError
from .event_blocks import EventBlocks
from .lines import LineError, LineSplitter, read_line
from .migrations import MIGRATION_BY_SCHEMA, Migration, MigrationError, is_liftable, lift
from .plain_lines import PlainLines
from .records import (
    SCHEMA,
    Batched,
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

# blocks smaller than this are read line by line
_BLOCK_BYTES = 512
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BAD_LINE = (LineError, RecordError, MigrationError)


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
        self._events = EventBlocks()
        self._plain = PlainLines()
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
        self._events.settle()
        return tuple(found)

    def take(self, data: bytes) -> None:
        """Take the next bytes as `feed` does, many lines at a time, and return nothing."""
        if self._failure is not None:
            raise self._failure
        first = data.find(b"\n") + 1 if self._header is None or self.pending_bytes else 0
        last = data.rfind(b"\n") + 1
        if first:
            self.feed(data[:first])
        plain = self._header is not None and self._schema == SCHEMA and self._lines.between_lines
        if plain and last - first >= _BLOCK_BYTES and self._take_block(data[first:last]):
            first = last
        self.feed(data[first:])

    def _take_block(self, data: bytes) -> bool:
        """Read whole lines, what is alike in them at once; False to have them read one by one."""
        if self._footer is not None:
            return False
        found = self._events.sorted_out(data, self._limits.line_bytes, self._carefully)
        if self._record_count + found.block.starts.size > self._limits.records:
            return False
        self._events.settle()
        number = self._lines.pass_by(found.block.starts.size)
        waiting, ended = found.others.tolist()[::-1], False
        while waiting:
            line = waiting.pop()
            self._take_line(number + line, found.block.line(line), order=line)
            if self._footer is not None and not ended:
                # whatever comes after the footer is reported line by line
                found, ended = found.before(line), True
                waiting = found.others[found.others > line].tolist()[::-1]
        if found.events:
            self._record_count += found.events
            self._snapshot = None
        self._events.keep(found)
        return True

    def _carefully(self, line: bytes) -> Record | None:
        return self._lifted(read_line(line, self._limits.depth))

    def _take_line(self, number: int, line: bytes, order: int) -> None:
        try:
            if len(line) > self._limits.line_bytes:
                raise LineError(f"It is longer than {self._limits.line_bytes:,} bytes.")
            self._read(number, line, order)
        except _BAD_LINE as error:
            self._skip(number, error)

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
                rounds=self._events.columns[Round].view(),
                steps=self._events.columns[Step].view(),
                probes=self._events.columns[Probe].view(),
                census=self._tuple_of(Census),
                demands=self._tuple_of(Demand),
                routes=self._tuple_of(Routes),
                replays=self._tuple_of(Replay),
                experiments=self._tuple_of(Experiment),
                batched=self._tuple_of(Batched),
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

    def _read(self, number: int, line: bytes, order: int = 0) -> Record | None:
        """Read a whole line and keep its record; None for a blank line, an unknown kind, a second header.

        `order` is the line's place in its block.
        """
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        record: Record | None = self._plain.read(line)
        if record is not None:
            self._keep(number, record, order)
            return record
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
            if self._schema == SCHEMA:
                self._plain.learn(line, record)
            self._keep(number, record, order)
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

    def _keep(self, number: int, record: Record, order: int) -> None:
        if self._record_count == self._limits.records:
            raise self._fail(f"holds more than {self._limits.records:,} records, too many to open.")
        if self._footer is not None and not isinstance(record, Note):  # people add notes to finished sessions
            self._report(number, "It comes after the footer.")
        if isinstance(record, Footer):
            self._footer = self._footer or record
        elif isinstance(record, Probe) and record.of_many:
            self._batch_probes.append(record)
        elif isinstance(record, Round | Step | Probe):
            self._events.columns[type(record)].add(record, order)
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
