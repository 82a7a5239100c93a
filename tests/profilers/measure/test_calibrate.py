"""Calibration on tiny arrays with fake clocks: what comes out, not how fast this machine is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate, count, repeat

import pytest

from specview.profilers.measure.calibrate import CalibrationPlan, calibrate, plan_of_machine
from specview.profilers.measure.peaks import grown
from specview.profilers.measure.streams import numpy_sweeps

PLAN = CalibrationPlan(
    gpu=False, sweep_bytes=1 << 20, sweeps=2, cache_bytes=1 << 18, largest_side=32, threads=2, repeats=3
)


def even() -> Callable[[], int]:
    """A clock on which everything takes 1 µs."""
    ticks = count(step=1000)
    return lambda: next(ticks)


def slowing() -> Callable[[], int]:
    """A clock on which everything takes longer than what came before."""
    ticks = accumulate(count(1000))
    return lambda: next(ticks)


def test_every_constant_has_a_unit_an_interval_and_the_route_that_reached_it() -> None:
    found = calibrate(PLAN, clock=even())
    assert [(c.what, c.dtype, c.unit) for c in found] == [
        ("bandwidth", None, "B/s"),
        ("cache bandwidth", None, "B/s"),
        ("cache size", None, "B"),
        ("peak", "float32", "flop/s"),
        ("peak", "float16", "flop/s"),
        ("peak", "bfloat16", "flop/s"),
    ]
    assert all(0 < c.low <= c.value <= c.high and c.route for c in found)


def test_a_copy_counts_what_it_reads_and_what_it_writes() -> None:
    bandwidth = calibrate(PLAN, clock=even())[0]
    assert bandwidth.route in ("mlx copy", "numpy copy, 2 threads")
    assert bandwidth.value == pytest.approx(2 * PLAN.sweeps * PLAN.sweep_bytes / 1e-6)


def test_the_peak_counts_two_flops_for_each_product() -> None:
    peak = calibrate(replace(PLAN, gpu=True, cache_bytes=None, dtypes=("float16",)), clock=even())[-1]
    assert peak.value == pytest.approx(2 * 32**3 / 1e-6) and peak.route == "mlx matmul"


def test_numpy_races_in_float32_on_a_cpu_only() -> None:
    plan = replace(PLAN, gpu=True, cache_bytes=None, dtypes=("float32",), sweep_bytes=1 << 16)
    found = calibrate(plan, clock=even())
    assert [c.what for c in found] == ["bandwidth", "peak"]
    assert all(c.route.startswith("mlx") for c in found)


def test_a_short_dtype_never_has_a_lower_peak_than_float32() -> None:
    single, half, brain = (c for c in calibrate(PLAN, clock=slowing()) if c.what == "peak")
    assert half.value == brain.value == single.value and (half.dtype, brain.dtype) == ("float16", "bfloat16")
    assert half.route == brain.route == f"converted to float32, {single.route}"


def test_progress_names_each_step_and_its_place_among_all() -> None:
    told: list[tuple[str, int, int]] = []
    calibrate(PLAN, clock=even(), progress=lambda what, done, total: told.append((what, done, total)))
    assert [(done, total) for _, done, total in told] == [(i, 5) for i in range(6)]
    assert [what for what, _, _ in told][:2] == ["memory bandwidth", "cache bandwidth"]


def test_a_plan_of_this_machine_sweeps_far_beyond_its_cache() -> None:
    plan = plan_of_machine()
    assert plan.threads >= 1 and plan.repeats >= 6
    assert plan.cache_bytes is None or plan.sweep_bytes >= 2 * plan.cache_bytes


def test_a_product_grows_until_it_takes_long_enough() -> None:
    now, sides = [0], []

    def product(side: int) -> Callable[[], object]:
        def run() -> None:
            sides.append(side)
            now[0] += side**3

        return run

    route = grown("a", product, lambda: now[0], 4096)
    assert route is not None and route.amount == 2 * 512**3
    assert sides == [256] * 4 + [512] * 4


def test_a_product_stops_growing_at_the_largest_side() -> None:
    route = grown("a", lambda side: lambda: None, even(), 1000)
    assert route is not None and route.amount == 2 * 512**3


def test_a_product_that_cannot_run_is_no_route() -> None:
    def product(side: int) -> Callable[[], object]:
        raise ValueError("not in this dtype")

    assert grown("a", product, even(), 1024) is None


def test_sweeps_read_all_of_their_array_whatever_the_threads() -> None:
    with ThreadPoolExecutor(3) as pool:
        routes = numpy_sweeps(1 << 18, 1, 3, pool)
        assert [route.amount for route in routes] == [1 << 18, 1 << 18, 1 << 18, 1 << 19]
        assert all(list(repeat(route.run(), 1)) for route in routes)
