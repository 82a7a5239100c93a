"""Timings far off the others are left out, and nothing is where there are few or all alike."""

from __future__ import annotations

import random

from specview.profilers.judge.interruptions import uninterrupted


def test_a_burst_is_left_out_and_its_place_goes_for_all_series():
    assert uninterrupted([10.0, 10.1, 9.9, 40.0, 10.2, 9.8]) == [0, 1, 2, 4, 5]
    assert uninterrupted([1.0, 1.1, 0.9, 1.0, 1.05], [5.0, 5.1, 99.0, 4.9, 5.0]) == [0, 1, 3, 4]


def test_few_values_and_equal_values_all_stay():
    assert uninterrupted([1.0, 100.0, 1.0, 1.0]) == [0, 1, 2, 3]
    assert uninterrupted([2.0] * 6) == list(range(6))
    assert uninterrupted([]) == []


def test_normal_noise_loses_hardly_a_value():
    source = random.Random(3)
    kept = sum(len(uninterrupted([source.gauss(50.0, 5.0) for _ in range(40)])) for _ in range(100))
    assert kept >= 3990
