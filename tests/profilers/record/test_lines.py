"""Hostile lines are refused at little cost, and lines are cut the same however the bytes arrive."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.lines import LineError, LineSplitter, read_line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":' * 20 + b"1" + b"}" * 20, "nested"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 300_000, "nested"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":-1e999}', "too large"),
        (b'{"a":' + b"9" * 1_000_000 + b"}", "64 bits"),
        (b'{"a":-' + b"9" * 20 + b"}", "64 bits"),
        (b'{"a":"\xff"}', "UTF-8"),
        ('{"a":1}'.encode("utf-16"), "UTF-8"),
        (b"\x00" * 100, "JSON"),
        (b'{"a":1', "JSON"),
        (b'{"a":1} {"b":2}', "JSON"),
        (b'{"a":"\n"}', "JSON"),
        (b"[1]", "object"),
        (b"3", "object"),
        (b'"text"', "object"),
        (b"null", "object"),
    ],
)
def test_a_line_beyond_the_limits_is_refused_with_its_reason(line: bytes, reason: str) -> None:
    with pytest.raises(LineError, match=reason):
        read_line(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":"' + b"[{" * 1000 + b'"}',
        b'{"a":"\\"[[[[[[[[[[[[[[[[[[[[[[["}',
        b'{"a":"\\\\","b":[' + b"[]," * 40 + b"[]]}",
        b'{"a":[' + b"{}," * 100 + b"{}]}",
    ],
)
def test_brackets_in_texts_and_side_by_side_are_not_nesting(line: bytes) -> None:
    read_line(line)


def test_the_last_of_two_equal_keys_counts() -> None:
    assert read_line(b'{"a":1,"a":2}') == {"a": 2}


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":"' + b'\\"' * 500_000 + b"[" * 40,
        b'"' * 1_000_000 + b"[" * 40,
        b"[" * 40 + b'"' + b"\\" * 999_999,
        b'{"a":0.' + b"1" * 1_000_000 + b"}",
        b"[]," * 330_000,
        b'{"a":1e' + b"9" * 1_000_000 + b"}",
    ],
)
def test_a_hostile_line_costs_time_linear_in_its_length(line: bytes) -> None:
    start = time.process_time()
    with suppress(LineError):
        read_line(line)
    # quadratic work on a million characters takes minutes
    assert time.process_time() - start < 2


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_an_object_or_a_line_error(line: bytes) -> None:
    try:
        assert isinstance(read_line(line), dict)
    except LineError as error:
        assert str(error).startswith("It ")


@settings(deadline=None)
@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"", b"longer\n", b"toolongline"]), max_size=20))
def test_lines_do_not_depend_on_how_the_bytes_arrive(chunks: list[bytes]) -> None:
    at_once, in_parts = LineSplitter(8), LineSplitter(8)
    whole = at_once.feed(b"".join(chunks))
    assert [line for chunk in chunks for line in in_parts.feed(chunk)] == whole
    assert in_parts.take_pending() == at_once.take_pending()


def test_a_line_too_long_is_named_once_and_not_kept() -> None:
    splitter = LineSplitter(limit_bytes=1000)
    found = []
    for _ in range(1000):
        found += splitter.feed(b"x" * 100_000)
        assert splitter.pending_bytes <= 1000
    found += splitter.feed(b"x\nnext\n")
    assert found == [(1, None), (2, b"next")]
