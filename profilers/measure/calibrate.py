"""Measures in seconds what this machine could do at most: bytes a second from memory, flops a second by dtype.

Floors are computed from these. Every route that is at hand races, because the library that MLX multiplies with may
reach a twentieth of the chip.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import mlx.core as mx

from .constants import Constant, Unit, What
from .environment import memory_bytes
from .peaks import Product, grown, mlx_product, numpy_product, numpy_product_in_threads, numpy_small_products
from .routes_timed import Clock, Rate, fastest
from .streams import mlx_matrix_vector, mlx_sweeps, numpy_sweeps
from .touched import last_level_cache_bytes

DTYPES = ("float32", "float16", "bfloat16")
REPEATS = 12
BEYOND_CACHE = 8  # times the last-level cache: what is left in it from the sweep before is then an eighth at most
LEAST_SWEEP_BYTES = 256 << 20
MOST_SWEEP_BYTES = 1 << 30
MEMORY_SHARE = 32  # one array takes at most this part of the memory; four or five are alive at once
CACHE_SHARE = 4  # a sweep within the cache takes this part of it, since others use it too
CACHE_SWEPT_BYTES = 64 << 20  # how much sweeps within the cache read altogether, so that they can be timed

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPlan:
    """How large the work is: bytes of a sweep, how many sweeps are timed together, the largest side of a product.

    `cache_bytes` is the size of the last-level cache, None where there is none to speak of (a GPU) or it is unknown.
    """

    gpu: bool
    sweep_bytes: int
    sweeps: int
    cache_bytes: int | None
    largest_side: int
    threads: int
    repeats: int = REPEATS
    dtypes: tuple[str, ...] = DTYPES


def plan_of_machine() -> CalibrationPlan:
    """A plan that fits this machine and MLX's default device."""
    gpu = mx.default_device() == mx.Device(mx.gpu)
    cache, memory = last_level_cache_bytes(), memory_bytes()
    wanted = max(LEAST_SWEEP_BYTES, BEYOND_CACHE * (cache or 0))
    return CalibrationPlan(
        gpu=gpu,
        sweep_bytes=min(wanted, MOST_SWEEP_BYTES, (memory or MOST_SWEEP_BYTES) // MEMORY_SHARE),
        sweeps=8 if gpu else 1,
        cache_bytes=None if gpu else cache,
        largest_side=8192 if gpu else 4096,
        threads=_cores(),
    )


def calibrate(
    plan: CalibrationPlan, *, clock: Clock = time.perf_counter_ns, progress: Progress = lambda what, done, total: None
) -> tuple[Constant, ...]:
    """Bandwidth, cache bandwidth and size where there is a cache, and a peak for each dtype.

    `progress(what, done, total)` is called before each constant and after the last. What no route reaches is left out.
    """
    total = 1 + (plan.cache_bytes is not None) + len(plan.dtypes)
    found: list[Constant] = []
    with ThreadPoolExecutor(plan.threads) as pool:
        for done, (what, measured) in enumerate(_jobs(plan, clock, pool)):
            progress(what, done, total)
            found.extend(measured())
    progress("calibrated", total, total)
    return _never_below_float32(found)


def _jobs(
    plan: CalibrationPlan, clock: Clock, pool: Executor
) -> Iterator[tuple[str, Callable[[], Sequence[Constant]]]]:
    yield "memory bandwidth", partial(_bandwidth, plan, clock, pool)
    if plan.cache_bytes is not None:
        yield "cache bandwidth", partial(_cache, plan, plan.cache_bytes, clock, pool)
    for dtype in plan.dtypes:
        yield f"peak in {dtype}", partial(_peak, plan, dtype, clock, pool)


def _bandwidth(plan: CalibrationPlan, clock: Clock, pool: Executor) -> tuple[Constant, ...]:
    routes = mlx_sweeps(plan.sweep_bytes, plan.sweeps)
    if plan.gpu:
        routes += mlx_matrix_vector(plan.sweep_bytes, plan.sweeps)
    else:
        routes += numpy_sweeps(plan.sweep_bytes, plan.sweeps, plan.threads, pool)
    return _constants("bandwidth", fastest(routes, clock, plan.repeats))


def _cache(plan: CalibrationPlan, cache_bytes: int, clock: Clock, pool: Executor) -> tuple[Constant, ...]:
    sweep_bytes = max(1, cache_bytes // CACHE_SHARE)
    sweeps = max(1, min(plan.sweep_bytes, CACHE_SWEPT_BYTES) // sweep_bytes)
    routes = numpy_sweeps(sweep_bytes, sweeps, plan.threads, pool)
    size = Constant(
        what="cache size",
        value=float(cache_bytes),
        unit="B",
        low=float(cache_bytes),
        high=float(cache_bytes),
        route="as the system says",
    )
    return (*_constants("cache bandwidth", fastest(routes, clock, plan.repeats)), size)


def _peak(plan: CalibrationPlan, dtype: str, clock: Clock, pool: Executor) -> tuple[Constant, ...]:
    products: dict[str, Product] = {"mlx matmul": lambda side: mlx_product(side, dtype)}
    if dtype == "float32" and not plan.gpu:
        products["numpy matmul"] = numpy_product
        products[f"numpy matmul, {plan.threads} threads"] = lambda side: numpy_product_in_threads(
            side, plan.threads, pool
        )
    grown_routes = [grown(name, product, clock, plan.largest_side) for name, product in products.items()]
    routes = [route for route in grown_routes if route is not None]
    if dtype == "float32" and not plan.gpu:
        routes.append(numpy_small_products(plan.threads, pool))
    return _constants("peak", fastest(routes, clock, plan.repeats), dtype)


def _constants(what: What, rate: Rate | None, dtype: str | None = None) -> tuple[Constant, ...]:
    if rate is None:
        return ()
    unit: Unit = "flop/s" if what == "peak" else "B/s"
    return (
        Constant(what=what, dtype=dtype, value=rate.best, unit=unit, low=rate.median, high=rate.best, route=rate.route),
    )


def _never_below_float32(constants: Sequence[Constant]) -> tuple[Constant, ...]:
    """The same, a shorter dtype's peak lifted to float32's: converting first is allowed, and may be faster."""
    single = next((c for c in constants if c.what == "peak" and c.dtype == "float32"), None)
    return tuple(
        Constant(
            what="peak",
            dtype=c.dtype,
            value=single.value,
            unit="flop/s",
            low=single.low,
            high=single.high,
            route=f"converted to float32, {single.route}",
        )
        if single is not None and c.what == "peak" and c.value < single.value
        else c
        for c in constants
    )


def _cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
