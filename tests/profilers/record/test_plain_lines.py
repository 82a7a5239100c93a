"""Lines of a known form are read by its pattern, and everything else is left to the careful reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specview.profilers.record.codec import RecordError
from specview.profilers.record.lines import LineError, read_line
from specview.profilers.record.plain_lines import PLAIN_CLASSES, PlainLines
from specview.profilers.record.records import Calibration, Guard, Probe, Record, from_object, to_line

EXAMPLE = Path(__file__).parents[3] / "assets" / "examples" / "bundled-mtp.specview.jsonl"
PROBE = Probe(
    t_ns=5, ruler="queued", part="decode", width=1, context=28, block="model.layers.*.mlp", category="MoE",
    samples_ns=(3, 14), slope_ns=-6915.25, slope_low_ns=5.0, cached=True, layers=8, pipelined=False,
)  # fmt: skip


def line_of(record: Record) -> bytes:
    return to_line(record)[:-1]


@pytest.fixture
def plain() -> PlainLines:
    """A reader that knows the form of one probe."""
    found = PlainLines()
    found.learn(line_of(PROBE), PROBE)
    return found


def test_a_line_of_a_known_form_is_read(plain: PlainLines) -> None:
    other = replace(PROBE, t_ns=77, samples_ns=(1, 99999), slope_ns=-12.5, layers=0)
    assert plain.read(line_of(PROBE)) == PROBE and plain.read(line_of(other)) == other
    assert plain.read(line_of(replace(PROBE, width=1234, samples_ns=(7, 8)))) == replace(
        PROBE, width=1234, samples_ns=(7, 8)
    )


def test_other_texts_and_fields_are_left_to_the_careful_reader(plain: PlainLines) -> None:
    for other in (replace(PROBE, block="model.norm"), replace(PROBE, detail="gate"), replace(PROBE, layers=None)):
        assert plain.read(line_of(other)) is None
    assert plain.read(b"") is None and plain.read(b"\xff{") is None


@pytest.mark.parametrize("wrong", [b"01", b"-5", b"5.0", b"5e3", b"9223372036854775808", b"", b" 5", b"true"])
def test_a_number_that_is_not_plain_is_left_to_the_careful_reader(plain: PlainLines, wrong: bytes) -> None:
    line = line_of(PROBE).replace(b'"width":1', b'"width":' + wrong)
    found = plain.read(line)
    try:
        assert found is None or found == from_object(read_line(line))
    except (LineError, RecordError):
        assert found is None


@pytest.mark.parametrize(
    "real", [b"1e999", b"-1e999", b"0", b"-0", b"-0.0", b"12", b"1E5", b"0.1", b"1.", b".5", b"NaN"]
)
def test_a_real_number_is_read_as_the_careful_reader_does(real: bytes) -> None:
    record = Calibration(what="canary", value=1.5, unit="ns", t_ns=1)
    plain = PlainLines()
    for value in (b"1.5", b"15", b"-1.5", b"1.5e5", b"1E5", b"-0.0"):
        line = line_of(record).replace(b"1.5", value)
        known = from_object(read_line(line))
        assert known is not None
        plain.learn(line, known)
    line = line_of(record).replace(b"1.5", real)
    try:
        careful = repr(from_object(read_line(line)))
    except (LineError, RecordError):
        careful = "None"
    assert repr(plain.read(line)) in (careful, "None")


def test_texts_that_differ_are_no_form_of_each_other() -> None:
    plain = PlainLines()
    first = Guard(t_ns=1, code="cooling", message="Paused 0.2 s.", value=0.2)
    plain.learn(line_of(first), first)
    assert plain.read(line_of(replace(first, t_ns=9))) == replace(first, t_ns=9)
    assert plain.read(line_of(replace(first, message="Paused 0.3 s."))) is None


def test_most_lines_of_an_example_have_a_known_form() -> None:
    plain, known, read = PlainLines(), 0, 0
    for line in EXAMPLE.read_bytes().splitlines():
        record = from_object(json.loads(line))
        if not isinstance(record, PLAIN_CLASSES):
            continue
        found = plain.read(line)
        assert found is None or found == record
        known, read = known + (found is not None), read + 1
        if found is None:
            plain.learn(line, record)
    assert known > read / 2
