"""The records of passes of several sequences at once, and the memory that these will need, reckoned first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from ...engine.batch import start_batch
from ...engine.fit import fit
from ...engine.models import Target
from ..measure.batch import STEPS, BatchTiming, batch_timings
from ..measure.schedule import DROPPED
from . import records
from .survey_plan import SurveyError, listed

DECODED = DROPPED + STEPS + 1  # positions that a visit of plain decoding adds to a context


def batch_records(
    target: Target,
    text: Callable[[int], Sequence[int]],
    context: int,
    batches: Sequence[int],
    widths: Sequence[int],
    repeats: int,
    clock: Callable[[], int],
    random_source: random.Random,
    available_bytes: int | None,
    progress: Callable[[int, int], None],
) -> Iterator[records.Record]:
    """Time decode and verify of every batch; a note with the memory they need comes first.

    `text` gives so many tokens; every sequence has its own stretch of them. Raises SurveyError, before a cache is made,
    where more memory is needed than `available_bytes`.
    """
    sizes, widest = sorted(set(batches)), max(widths)
    sentence = room_for_batches(target, sizes, context + max(widest, DECODED), widest, available_bytes)
    yield records.Note(t_ns=clock(), text=sentence, tags=("batch",))
    each = context + 1 + widest
    tokens = text(each * sizes[-1])
    rows = [tokens[each * b : each * (b + 1)] for b in range(sizes[-1])]
    batch = start_batch(target, [row[: context + 1] for row in rows])
    coming = [row[context + 1 :] for row in rows]
    for timing in batch_timings(batch, coming, sizes, widths, repeats, clock, random_source, progress=progress):
        yield batch_record(timing)


def batch_record(timing: BatchTiming) -> records.Probe:
    """A visit as the session keeps it: `width` are positions of each sequence, times are of all of them together."""
    built = timing.build_ns or None
    return records.Probe(
        t_ns=timing.t_ns,
        ruler="whole",
        part=timing.part,
        width=timing.width,
        context=timing.context,
        samples_ns=timing.samples_ns,
        build_ns=built,
        eval_ns=built and tuple(ns - b for ns, b in zip(timing.samples_ns, built, strict=True)),
        pipelined=timing.pipelined,
        batch=timing.batch,
    )


def room_for_batches(
    target: Target, batches: Sequence[int], positions: int, widest: int, available_bytes: int | None
) -> str:
    """The sentence with what all batches need at once; SurveyError where that is more than `available_bytes`."""
    # every batch is a copy of the first rows of the one that was read, which stays
    held = sum(batches) + max(batches)
    estimate = fit(target, positions, batch=held, chunk=max(widest, 1))
    sentence = (
        f"Batches of {listed(tuple(batches))} and the one they are copied from are held at once: {estimate.sentence}"
    )
    if available_bytes is not None and estimate.needed_bytes > available_bytes:
        raise SurveyError(
            f"{sentence.removesuffix('.')}; {available_bytes / 1e9:.1f} GB are free: name smaller --batches or a "
            "shorter --context."
        )
    return sentence
