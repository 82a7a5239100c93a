"""Numbers of any locale mean what was meant."""

from __future__ import annotations

import re

import pytest

from specview.profilers.record.importers.written_numbers import (
    NUMBER,
    nanoseconds,
    number,
    number_with_point,
    plain_line,
    whole,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("55.41", 55.41),
        ("55,41", 55.41),
        ("11,082.61", 11082.61),
        ("11.082,61", 11082.61),
        ("11 082,61", None),
        ("11\u202f082,61", 11082.61),
        ("1'234.5", 1234.5),
        ("1.234.567", 1234567.0),
        ("1e3", 1000.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("9" * 40, None),
        ("", None),
        ("x", None),
    ],
)
def test_a_number_is_read(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("347", 347),
        ("0", 0),
        ("1,234", 1234),
        ("1.234", 1234),
        ("1.234.567", 1234567),
        ("12.0", 12),
        ("12.5", None),
        ("0.500", None),
        ("0,149", None),
        ("012.500", None),
        ("1000000000000000000", None),
    ],
)
def test_a_count_is_read(text: str, value: int | None) -> None:
    assert whole(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234.0),
        ("1,234,567.5", 1234567.5),
        (" 12.5 ", 12.5),
        ("55,41", None),
        ("0,500", None),
        ("1.234,5", None),
        ("1,234 x", None),
        ("-1,234", None),
    ],
)
def test_where_points_are_decimal_commas_stand_between_thousands(text: str, value: float | None) -> None:
    assert number_with_point(text) == value


def test_a_comma_before_a_space_ends_a_number() -> None:
    assert re.findall(NUMBER, "0,149, 0,347, 5") == ["0,149", "0,347", "5"]


def test_digits_of_other_scripts_and_colours_become_plain() -> None:
    assert plain_line("\x1b[1;31m١٢٫٥ ms\x1b[0m １２ ①\r\n") == "12.5 ms 12 ①"


def test_a_time_is_whole_nanoseconds_or_none() -> None:
    assert nanoseconds(1.5, 1e6) == 1_500_000
    assert nanoseconds(0.0, 1e6) is None
    assert nanoseconds(1e30, 1e6) is None
    assert nanoseconds(None, 1e6) is None
