"""The canary: one fixed matmul, its median, and the pause it asks for."""

from __future__ import annotations

import pytest

from specview.profilers.measure.canary import REPEATS, Canary


def clock_of(times_ns):
    """A clock that makes each timed stretch as long as the next of these."""
    now, waiting, begun = [0], iter(times_ns), [False]

    def clock():
        if begun[0]:
            now[0] += next(waiting)
        begun[0] = not begun[0]
        return now[0]

    return clock


def canary_reading(*readings):
    """A canary whose readings, after the first warm one, are these."""
    return Canary(clock_of([1] * REPEATS + [ns for reading in readings for ns in [reading] * REPEATS]))


def sleeping(naps):
    """A nap that nothing interrupts."""

    def nap(seconds):
        naps.append(seconds)
        return True

    return nap


def test_a_reading_is_the_median_of_its_repeats():
    times = [1] * REPEATS + [500, 100, 100_000, 300, 200]
    assert Canary(clock_of(times)).read_ns() == 300


def test_a_well_canary_asks_for_no_pause():
    naps = []
    assert canary_reading(1000).cool_down(1000.0, 10.0, sleeping(naps)) == 0.0
    assert naps == []


def test_a_slow_canary_waits_until_it_is_well():
    naps = []
    waited = canary_reading(2000, 1500, 1010).cool_down(1000.0, 10.0, sleeping(naps))
    assert waited == sum(naps) == pytest.approx(1.0)


def test_a_canary_that_stays_slow_waits_no_longer_than_allowed():
    naps = []
    waited = canary_reading(*[2000] * 9).cool_down(1000.0, 1.2, sleeping(naps))
    assert waited == sum(naps) == pytest.approx(1.2)


def test_a_canary_that_is_woken_waits_no_longer_though_it_is_slow():
    naps = []

    def woken(seconds):
        naps.append(seconds)
        return len(naps) < 2

    waited = canary_reading(*[2000] * 9).cool_down(1000.0, 10.0, woken)
    assert len(naps) == 2
    assert waited == sum(naps)


def test_the_real_matmul_takes_time(fake_clock):
    assert Canary(fake_clock).read_ns() == 1000
