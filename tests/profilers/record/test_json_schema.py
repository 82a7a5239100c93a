"""The published schema is the one the records make, and every record that is written keeps it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from specview.profilers.record.codec import RecordError
from specview.profilers.record.json_schema import schema_text, session_schema
from specview.profilers.record.own_loop import own_loop
from specview.profilers.record.records import CLASS_BY_KIND, from_object, to_line

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "docs" / "schemas" / "session.schema.json"
EXAMPLES = sorted((ROOT / "assets" / "examples").glob("*.jsonl"))


@pytest.fixture(scope="module")
def validator():
    schema = session_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_file_is_the_generated_one():
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), (
        "records.py changed: write json_schema.schema_text() to docs/schemas/session.schema.json"
    )


def test_every_kind_is_described(validator):
    assert [each["if"]["properties"]["kind"]["const"] for each in session_schema()["allOf"]] == list(CLASS_BY_KIND)
    assert all(each["description"] for each in session_schema()["$defs"].values())


def test_every_kind_of_record_is_valid(validator, records):
    for record in records:
        validator.validate(json.loads(to_line(record)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_sessions_that_ship_are_valid(validator, path):
    seen = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        # one of each shape is enough: the files hold thousands of alike lines
        shape = (record["kind"], *sorted(record))
        if shape not in seen:
            seen.add(shape)
            validator.validate(record)
    assert seen


def test_a_loop_of_ones_own_writes_valid_records(validator, tmp_path):
    with own_loop(tmp_path / "x", clock=lambda: 5) as loop:
        loop.run("a", arm="plain")
        loop.plain(5)
        loop.run("a", arm="drafting", k=2)
        loop.round(2, 1, 9, draft_ns=1, verify_ns=7, rest_ns=1)
        loop.verify(3, 8)
        loop.note("done")
    for line in loop.path.read_text().splitlines():
        validator.validate(json.loads(line))


def test_unknown_kinds_and_fields_are_allowed(validator):
    validator.validate({"kind": "newer", "anything": 1})
    validator.validate({"kind": "note", "t_ns": 0, "text": "x", "newer": {"a": []}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "note", "t_ns": -1, "text": "x"},
        {"kind": "note", "t_ns": 0.5, "text": "x"},
        {"kind": "note", "text": "x"},
        {"kind": "note", "t_ns": 0, "text": 7},
        {"kind": "note", "t_ns": 0, "text": "x", "tags": "one"},
        {"kind": "note", "t_ns": 2**63, "text": "x"},
        {"kind": "footer", "status": "tired", "rounds": 0, "steps": 0, "tokens": 0, "t_ns": 0},
        {"t_ns": 0},
        {"kind": 7},
    ],
)
def test_what_readers_refuse_the_schema_refuses(validator, wrong):
    assert not validator.is_valid(wrong)
    with pytest.raises(RecordError):
        from_object(wrong)
