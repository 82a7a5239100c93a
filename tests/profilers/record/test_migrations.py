"""Older records are lifted one schema at a time, and what cannot be lifted says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specview.profilers.record.migrations import MIGRATION_BY_SCHEMA, MigrationError, is_liftable, lift
from specview.profilers.record.records import SCHEMA, Record, Step, to_line
from specview.profilers.record.session import SessionError, SessionReader, read_session


def from_schema_0(raw: dict[str, Any]) -> dict[str, Any] | None:
    """Schema 0, which never was, timed steps in milliseconds and had a kind that schema 1 has not."""
    if raw["kind"] == "weather":
        return None
    if raw["kind"] == "step":
        raw["step_ns"] = round(raw.pop("step_ms") * 1e6)
    return raw


FAKE = {0: from_schema_0}


def as_schema_0(records: tuple[Record, ...]) -> bytes:
    lines = b"".join(map(to_line, records)).replace(b'"schema":1', b'"schema":0')
    lines = lines.replace(b'"step_ns":31000000', b'"step_ms":31.0')
    return lines.replace(b'"step_ns":30500000', b'"step_ms":30.5')


def test_there_is_a_migration_from_every_schema_since_the_first() -> None:
    assert is_liftable(1, MIGRATION_BY_SCHEMA)
    assert set(MIGRATION_BY_SCHEMA) == set(range(1, SCHEMA))


def test_a_session_of_an_older_schema_opens_as_if_written_today(records: tuple[Record, ...]) -> None:
    reader = SessionReader("old", migrations=FAKE)
    read = reader.feed(as_schema_0(records) + b'{"kind":"weather"}\n')
    assert read == records
    assert reader.session().problems == ()


def test_an_old_record_that_cannot_be_lifted_is_a_problem_and_the_rest_opens(
    records: tuple[Record, ...],
) -> None:
    reader = SessionReader("old", migrations=FAKE)
    broken = b'{"kind":"step","step_ms":"soon"}\n{"kind":"step"}\n{"step_ms":1}\n'
    read = reader.feed(as_schema_0(records[:1]) + broken + as_schema_0(records[7:8]))
    assert [type(record) for record in read[1:]] == [Step]
    assert [problem.line for problem in reader.session().problems] == [2, 3, 4]


def test_an_older_schema_without_a_migration_is_refused(records: tuple[Record, ...]) -> None:
    for schema in (b"0", b"-5", b"-9999999999999999999"):
        reader = SessionReader("old", migrations={-7: from_schema_0})
        with pytest.raises(SessionError, match=r"old has schema -?[0-9]+, which this specview cannot open"):
            reader.feed(as_schema_0(records).replace(b'"schema":0', b'"schema":' + schema))


def test_a_chain_of_migrations_is_walked_in_order() -> None:
    def tagged(step: int) -> Any:
        return lambda raw: raw | {"way": [*raw["way"], step]}

    chain = {schema: tagged(schema) for schema in (3, 4, 5)}
    raw = {"kind": "header", "schema": 3, "way": []}
    assert lift(raw, 3, chain, target=6) == {"kind": "header", "schema": 6, "way": [3, 4, 5]}
    assert raw == {"kind": "header", "schema": 3, "way": []}
    with pytest.raises(MigrationError, match="from schema 6"):
        lift(raw, 3, chain, target=7)


def test_the_first_schema_still_opens_to_the_same_values(first_records: tuple[Record, ...], schema_1_path: Any) -> None:
    session = read_session(schema_1_path)
    opened: tuple[Record, ...] = (
        session.header,
        *session.calibrations,
        *session.census,
        *session.probes,
        *session.runs,
        *session.steps,
        *session.rounds,
        *session.memory,
        *session.guards,
        *session.notes,
        *session.outputs,
    )
    assert session.footer == first_records[-1]
    assert sorted(map(repr, opened)) == sorted(map(repr, first_records[:-1]))
    assert session.problems == ()
    assert session.status == "stopped"


def test_what_is_written_today_only_adds_to_the_first_schema(
    first_records: tuple[Record, ...], schema_1_path: Any
) -> None:
    for record, line in zip(first_records, schema_1_path.read_bytes().splitlines(), strict=True):
        assert contains(json.loads(to_line(record)), json.loads(line))


def contains(now: Any, then: Any) -> bool:
    """Whether every field of `then` is in `now` with the same value."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(key in now and contains(now[key], value) for key, value in then.items())
    return bool(now == then)
