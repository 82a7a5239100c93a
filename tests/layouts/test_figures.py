"""Numbers as text."""

from __future__ import annotations

import pytest

from specview.layouts import figures
from specview.profilers.judge.statistics import Interval

INTERVAL = Interval(0.5, 0.4, 0.65, 0.95, 12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0.0, "0 tok/s"),
        (0.4567, "0.457 tok/s"),
        (4.567, "4.57 tok/s"),
        (45.67, "45.7 tok/s"),
        (456.7, "457 tok/s"),
        (45678.0, "45678 tok/s"),
    ],
)
def test_a_rate_has_three_digits_or_is_whole(value, text):
    assert figures.rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "—"), (12.3456, "12.35 ms"), (0.1, "0.10 ms"), (0.0123, "0.012 ms"), (0, "0.000 ms")]
)
def test_small_times_get_a_third_decimal(value, text):
    assert figures.ms(value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "—"), (0.8, "0.80x"), (12.345, "12.35x"), (1.0, "1.00x")])
def test_a_speedup_ends_in_x(value, text):
    assert figures.times(value) == text


def test_an_interval_is_an_estimate_and_its_ends():
    assert figures.with_span(INTERVAL) == "0.50 [0.40, 0.65]"
    assert figures.span(INTERVAL, 1) == "[0.4, 0.7]" or figures.span(INTERVAL, 1) == "[0.4, 0.6]"
    assert figures.with_span(None) == "—"
    assert figures.span(None) == ""


def test_half_an_interval_is_told_in_percent_of_the_estimate():
    assert figures.plus_minus(INTERVAL) == "± 25.0%"
    assert figures.plus_minus(None) == ""
    assert figures.plus_minus(Interval(0.0, -1.0, 1.0, 0.95, 3)) == ""


@pytest.mark.parametrize(
    ("fraction", "signed", "text"),
    [(None, False, "—"), (0.1234, False, "12.3%"), (0.1234, True, "+12.3%"), (-0.05, True, "-5.0%")],
)
def test_percent(fraction, signed, text):
    assert figures.percent(fraction, signed) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"), [(None, "—"), (0, "0.0 MB"), (11_724_406, "11.7 MB"), (4_607_835_136, "4.61 GB")]
)
def test_sizes_are_in_powers_of_ten(size_bytes, text):
    assert figures.size(size_bytes) == text


def test_one_is_not_plural():
    assert figures.count(1, "prompt") == "1 prompt"
    assert figures.count(2, "prompt") == "2 prompts"
    assert figures.count(0, "prompt") == "0 prompts"
    assert figures.count(2, "near tie", "near ties") == "2 near ties"
