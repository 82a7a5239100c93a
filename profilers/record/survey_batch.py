"""The records of several sequences at once, passes and texts, and the memory that these will need, reckoned first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from ...engine.batch import start_batch
from ...engine.batch_cache import BatchError
from ...engine.drafters import Drafter
from ...engine.drafters.fixed import FixedAcceptance
from ...engine.fit import fit
from ...engine.models import Target
from ..measure.batch import STEPS, BatchTiming, batch_timings
from ..measure.batch_drafting import WARM_UP, Stretch, drafters_alike, stretches
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


def batched_records(
    target: Target,
    text: Callable[[int], Sequence[int]],
    context: int,
    batches: Sequence[int],
    drafter: Drafter,
    name: str,
    k: int,
    count: int,
    pairs: int,
    clock: Callable[[], int],
    random_source: random.Random,
    seed: int,
    available_bytes: int | None,
    progress: Callable[[int, int], None],
) -> Iterator[records.Record]:
    """Generate every batch with drafts of `k` and without, `pairs` times on texts of their own.

    `count` tokens a text at least. A note with the memory comes first, or with the reason where this model cannot
    generate rows of different lengths together. Raises SurveyError where more memory is needed than there is.
    """
    sizes, most = sorted(set(batches)), max(batches)
    longest = context + longest_text(k, count)
    yield records.Note(t_ns=clock(), text=_room_for_texts(target, most, longest, available_bytes), tags=("batch",))
    each = context + 1
    tokens = text(each * most * pairs)

    def texts(pair: int) -> list[list[int]]:
        return [list(tokens[each * (pair * most + b) : each * (pair * most + b + 1)]) for b in range(most)]

    rows = _for_rows(target, drafter, most, seed)
    try:
        for stretch in stretches(target, texts, rows, k, count, sizes, pairs, clock, random_source, progress):
            yield batched_record(stretch, name)
    except BatchError as error:
        yield records.Note(t_ns=clock(), text=f"No drafts in batches: {error}", tags=("batch",))


def longest_text(k: int, count: int) -> int:
    """Positions that a stretch adds at most: one text may accept every draft while another accepts none."""
    return (k + 1) * (count + WARM_UP + 1)


def batched_record(stretch: Stretch, drafter: str) -> records.Batched:
    """A stretch as the session keeps it."""
    return records.Batched(
        t_ns=stretch.t_ns,
        pair=stretch.pair,
        arm=stretch.arm,
        batch=stretch.batch,
        drafter=drafter if stretch.arm != "plain" else "none",
        k=stretch.k,
        context=stretch.context,
        passes=stretch.passes,
        tokens=stretch.tokens,
        elapsed_ns=stretch.elapsed_ns,
        drafted=stretch.drafted,
        accepted=stretch.accepted,
        tested=stretch.tested,
        draft_ns=stretch.draft_ns,
        verify_ns=stretch.verify_ns,
        rest_ns=stretch.rest_ns,
    )


def _for_rows(target: Target, drafter: Drafter, count: int, seed: int) -> list[Drafter]:
    """A drafter for each row; synthetic ones are right at places of their own, else all rows would accept alike."""
    if not isinstance(drafter, FixedAcceptance):
        return drafters_alike(drafter, count)
    return [FixedAcceptance(target, drafter.p, seed + b) for b in range(count)]


def _room_for_texts(target: Target, most: int, positions: int, available_bytes: int | None) -> str:
    estimate = fit(target, positions, batch=2 * most)  # what was read, and a copy to go on from
    sentence = f"Generating {most} texts at once, from a copy of what was read: {estimate.sentence}"
    if available_bytes is not None and estimate.needed_bytes > available_bytes:
        raise SurveyError(
            f"{sentence.removesuffix('.')}; {available_bytes / 1e9:.1f} GB are free: name smaller --batches, or fewer "
            "--tokens."
        )
    return sentence
