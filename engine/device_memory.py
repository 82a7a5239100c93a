"""Memory of a GPU as mlx-lm's generation keeps it: what MLX holds stays resident, freed buffers are given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mlx.core as mx

GIVEN_BACK_EVERY = 256  # positions; key and value buffers grow by as many, and leave the smaller ones behind


@contextmanager
def wired() -> Iterator[None]:
    """Let Metal keep everything MLX holds in memory meanwhile; without Metal nothing is done.

    Without it macOS may page out the weights of a model near the recommended working set between two passes.
    """
    if not mx.metal.is_available():
        yield
        return
    before = mx.set_wired_limit(int(mx.device_info()["max_recommended_working_set_size"]))
    try:
        yield
    finally:
        mx.synchronize()  # the limit must not change under a pass in flight
        mx.set_wired_limit(before)


def give_back(positions_before: int, positions_now: int) -> None:
    """Return freed buffers to the device where a text grew over a multiple of 256 positions."""
    if positions_before // GIVEN_BACK_EVERY != positions_now // GIVEN_BACK_EVERY:
        mx.clear_cache()
