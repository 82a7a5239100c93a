"""Ways to read memory as fast as the device can: sweeps over one array, by MLX and on a CPU by NumPy too.

MLX's own kernels run on one core, and the reference BLAS reaches a fraction of what the memory gives.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import mlx.core as mx
import numpy as np

from .routes_timed import Route

COLUMNS = 4096
FLOAT_BYTES = 4


def numpy_sweeps(size_bytes: int, sweeps: int, threads: int, pool: Executor) -> tuple[Route, ...]:
    """Reads of a float32 array of about `size_bytes`: products with a vector and copies, on one core and on all.

    A copy counts what it reads and what it writes.
    """
    matrix = np.ones((max(threads, size_bytes // (COLUMNS * FLOAT_BYTES)), COLUMNS), np.float32)
    vector = np.ones(COLUMNS, np.float32)
    parts = np.array_split(matrix, threads)
    copies = np.array_split(np.ones_like(matrix), threads)

    def times(work: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            for _ in range(sweeps):
                work()

        return run

    amount = float(matrix.nbytes) * sweeps
    at_once = f"{threads} threads"
    return (
        Route("numpy matrix-vector", amount, times(lambda: matrix @ vector)),
        Route(
            f"numpy matrix-vector, {at_once}", amount, times(lambda: list(pool.map(lambda part: part @ vector, parts)))
        ),
        Route(
            f"numpy dot, {at_once}",
            amount,
            times(lambda: list(pool.map(lambda part: np.dot(part.reshape(-1), part.reshape(-1)), parts))),
        ),
        Route(f"numpy copy, {at_once}", 2 * amount, times(lambda: list(pool.map(np.copyto, copies, parts)))),
    )


def mlx_sweeps(size_bytes: int, sweeps: int) -> tuple[Route, ...]:
    """A sum and a copy (read and written) of `size_bytes` by MLX on its default device, `sweeps` in one graph."""
    flat = mx.ones((max(1, size_bytes // FLOAT_BYTES),))
    mx.eval(flat)

    def copied() -> list[mx.array]:
        # one after another, so that no more than two arrays are alive
        copy = flat
        for _ in range(sweeps):
            copy = copy + 1.0
        return [copy]

    return (
        _graph("mlx sum", float(flat.nbytes) * sweeps, lambda: [mx.sum(flat) for _ in range(sweeps)]),
        _graph("mlx copy", 2.0 * flat.nbytes * sweeps, copied),
    )


def mlx_matrix_vector(size_bytes: int, sweeps: int) -> tuple[Route, ...]:
    """Weights times one position by MLX, as decoding reads them: about `size_bytes` in float16, a quarter in 4 bits.

    For a GPU: on a CPU either takes seconds and is far from what the memory gives.
    """
    matrix = mx.ones((max(1, size_bytes // (2 * COLUMNS)), COLUMNS), mx.float16)
    weights, scales, biases = mx.quantize(matrix, group_size=64, bits=4)
    rows = [mx.ones((1, COLUMNS), mx.float16) for _ in range(sweeps)]
    mx.eval(matrix, weights, scales, biases, rows)

    def quantised() -> list[mx.array]:
        return [mx.quantized_matmul(row, weights, scales, biases, group_size=64, bits=4) for row in rows]

    return (
        _graph("mlx matrix-vector, float16", float(matrix.nbytes) * sweeps, lambda: [row @ matrix.T for row in rows]),
        _graph("mlx matrix-vector, 4-bit", float(weights.nbytes + scales.nbytes + biases.nbytes) * sweeps, quantised),
    )


def _graph(name: str, amount: float, graph: Callable[[], list[mx.array]]) -> Route:
    return Route(name, amount, lambda: mx.eval(graph()))
