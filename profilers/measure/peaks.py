"""Ways to multiply large matrices as fast as the device can, each grown until a product takes long enough to time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from .routes_timed import REFUSALS, Clock, Route, best_ns

SMALLEST_SIDE = 256
LONG_ENOUGH_NS = 20_000_000
SMALL = 64
BATCH = 64

Product = Callable[[int], Callable[[], object]]


def numpy_product(side: int) -> Callable[[], object]:
    """float32 [side, side] × [side, side] by NumPy's own BLAS."""
    left, right = _floats(side)
    return lambda: left @ right


def numpy_product_in_threads(side: int, threads: int, pool: Executor) -> Callable[[], object]:
    """The same with the rows shared out to threads, since a BLAS may be told to use one core."""
    left, right = _floats(side)
    parts = np.array_split(left, threads)
    return lambda: list(pool.map(lambda part: part @ right, parts))


def numpy_small_products(threads: int, pool: Executor) -> Route:
    """Many float32 [64, 64] × [64, 64] in each thread: so small that no BLAS shares one out to cores.

    A large product waits for its slowest core at every step, which on a busy machine takes a hundred times as long.
    """
    count = BATCH * threads
    left, right = (np.random.default_rng(i).standard_normal((count, SMALL, SMALL), np.float32) for i in range(2))
    out = np.empty_like(left)
    parts = [np.array_split(array, threads) for array in (left, right, out)]
    return Route(
        f"numpy small matmuls, {threads} threads",
        2.0 * SMALL**3 * count,
        lambda: list(pool.map(lambda a, b, c: np.matmul(a, b, out=c), *parts)),
    )


def _floats(side: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    source = np.random.default_rng(0)
    return source.standard_normal((side, side), np.float32), source.standard_normal((side, side), np.float32)


def mlx_product(side: int, dtype: str) -> Callable[[], object]:
    """[side, side] × [side, side] in a dtype by MLX on its default device."""
    kind: mx.Dtype = getattr(mx, dtype)
    left, right = (mx.random.normal((side, side), key=mx.random.key(i)).astype(kind) for i in range(2))
    mx.eval(left, right)
    return lambda: mx.eval(left @ right)


def grown(name: str, product: Product, clock: Clock, largest_side: int) -> Route | None:
    """The product at the first side, doubled from 256, that takes 20 ms or is the largest; None if it cannot run."""
    side = min(SMALLEST_SIDE, largest_side)
    try:
        while True:
            run = product(side)
            if best_ns(run, clock) >= LONG_ENOUGH_NS or 2 * side > largest_side:
                return Route(name, 2.0 * side**3, run)
            side *= 2
    except REFUSALS:
        return None
