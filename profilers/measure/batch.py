"""T_decode(B) and T_verify(B, n): passes of several sequences at once, sizes and widths taking turns.

What verify has for free in a batch of one, weights that were read anyway, a large batch has used up itself;
`judge.batch` reads off where drafts begin to lose. Rows should hold texts of their own, because equal rows touch the
same experts, and contexts of one length unless ragged ones are what is asked about: they cost a mask and a scatter.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import mlx.core as mx

from ...engine.batch import Batch, batch_pass, decode_batch, smaller_batch
from ...engine.batch_cache import RaggedKVCache
from ...engine.cache import arrays_of
from ...engine.errors import SpecviewError
from ...engine.replay import TapedCache
from ...engine.rewind import start_tape, stop_tape
from ...engine.verify_policies import Policy, one_pass
from .schedule import DROPPED

STEPS = 8  # decode steps that a visit counts, after two that it drops and before the last, which submits no successor


class BatchTimingError(SpecviewError):
    """Batches that cannot be timed as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTiming:
    """One visit to one batch size: decode steps, pipelined, or one verify pass `width` positions of each row wide.

    `samples_ns` are of all rows together; for verify `build_ns` is the part of them that built the graph. `context` is
    of the longest row, `ragged` says that rows differ in length.
    """

    t_ns: int
    part: Literal["decode", "verify"]
    batch: int
    width: int
    context: int
    ragged: bool
    samples_ns: tuple[int, ...]
    build_ns: tuple[int, ...] = ()
    pipelined: bool
    peak_bytes: int


def batch_timings(
    batch: Batch,
    coming: Sequence[Sequence[int]],
    sizes: Sequence[int],
    widths: Sequence[int],
    repeats: int,
    clock: Callable[[], int],
    random_source: random.Random,
    *,
    steps: int = STEPS,
    policy: Policy = one_pass,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[BatchTiming]:
    """Time the first B rows of a batch, for each B of `sizes`: plain decoding, and verify passes of all `widths`.

    `coming` holds the tokens of each row to verify; `policy` runs the verify passes. All sizes are held at once and
    take turns, `repeats` times in an order of their own and back; a verify pass has one of its own before it that does
    not count. Every size is as before at every visit that is yielded. Raises BatchTimingError, before anything is
    timed, for sizes, widths or repeats that make no sense, and BatchError for more rows than there are.
    """
    asked, wide = sorted(set(sizes)), sorted(set(widths))
    most = min(map(len, coming), default=0)
    if not asked or not wide or wide[0] < 1 or wide[-1] > most or len(coming) < asked[-1]:
        raise BatchTimingError(
            f"Batches {list(sizes)} over widths {list(widths)} cannot be timed with {len(coming)} rows of {most} "
            "tokens to come: ask for at least one of each, no wider than that."
        )
    if repeats < 1 or steps < 1:
        raise BatchTimingError(f"{repeats} repeats of {steps} steps measure nothing: ask for at least one of each.")
    batches = {size: smaller_batch(batch, size) for size in asked}
    tasks: list[tuple[int, int | None]] = [(size, width) for size in asked for width in (None, *wide)]

    def visits() -> Iterator[BatchTiming]:
        total, done = repeats * 2 * len(tasks), 0
        for _ in range(repeats):
            order = random_source.sample(tasks, len(tasks))
            for size, width in (*order, *reversed(order)):
                rows = batches[size]
                if width is None:
                    yield _decoded(rows, steps, clock)
                else:
                    yield _verified(rows, [tokens[:width] for tokens in coming[:size]], clock, policy)
                done += 1
                progress(done, total)

    return visits()


def _decoded(batch: Batch, steps: int, clock: Callable[[], int]) -> BatchTiming:
    contexts = batch.contexts
    with rows_as_before(batch):
        times = [step.step_ns for step in decode_batch(batch, DROPPED + steps + 1, clock)]
    return BatchTiming(
        t_ns=clock(),
        part="decode",
        batch=len(contexts),
        width=1,
        context=max(contexts) + DROPPED,
        ragged=len(set(contexts)) > 1,
        samples_ns=tuple(times[DROPPED:-1]),
        pipelined=True,
        peak_bytes=mx.get_peak_memory(),
    )


def _verified(batch: Batch, tokens: Sequence[Sequence[int]], clock: Callable[[], int], policy: Policy) -> BatchTiming:
    positions = mx.array([list(row) for row in tokens])
    mx.eval(positions, arrays_of(batch.cache))
    for _ in range(2):
        with rows_as_before(batch):
            began = clock()
            choices = mx.argmax(batch_pass(batch, positions, policy=policy)[1], axis=-1)
            built = clock()
            mx.eval(choices)
            ended = clock()
    return BatchTiming(
        t_ns=ended,
        part="verify",
        batch=len(tokens),
        width=len(tokens[0]),
        context=max(batch.contexts),
        ragged=len(set(batch.contexts)) > 1,
        samples_ns=(ended - began,),
        build_ns=(built - began,),
        pipelined=False,
        peak_bytes=mx.get_peak_memory(),
    )


@contextmanager
def rows_as_before(batch: Batch) -> Iterator[None]:
    """Whatever passes inside do, afterwards tokens and caches are as before; tapes run meanwhile, as in a round."""
    lengths = [len(tokens) for tokens in batch.tokens]
    offsets = {id(c): list(c.offsets) for c in batch.cache if isinstance(c, RaggedKVCache)}
    states = {id(c): list(c.cache) for c in batch.cache if isinstance(c, TapedCache)}
    mx.reset_peak_memory()
    start_tape(batch.cache)
    try:
        yield
    finally:
        stop_tape(batch.cache)
        for tokens, length in zip(batch.tokens, lengths, strict=True):
            del tokens[length:]
        for cache in batch.cache:
            if isinstance(cache, RaggedKVCache):
                cache.offsets = offsets[id(cache)]
            elif isinstance(cache, TapedCache):
                cache.cache = states[id(cache)]
