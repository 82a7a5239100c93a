"""Generating several texts at once, plainly and with drafts: stretches from the same texts, sizes and arms in turns.

What passes alone cannot tell is in here: rows that accept different prefixes, so that masks and caches become ragged,
drafters that work for one text after another, and the rewind of every row.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import mlx.core as mx

from ...engine.batch import Batch, check_ragged, decode_batch, smaller_batch, speculate_batch
from ...engine.batch_cache import batch_caches
from ...engine.cache import arrays_of
from ...engine.drafters import Drafter
from ...engine.models import Target
from .schedule import DROPPED

Arm = Literal["plain", "drafting", "split"]
ARMS: tuple[Arm, ...] = get_args(Arm)
WARM_UP = 1  # rounds of a stretch that do not count: caches were just copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One stretch of one arm; counts and times are of all texts together, warm-up left out.

    `passes` are decode steps or rounds, `tokens` what they committed; `tested` counts drafts whose predecessors in
    their round were all accepted. The three phase times are there in the split arm and add up to `elapsed_ns` but for
    the clock calls.
    """

    t_ns: int
    pair: int
    arm: Arm
    batch: int
    k: int
    context: int
    passes: int
    tokens: int
    elapsed_ns: int
    drafted: int = 0
    accepted: int = 0
    tested: int = 0
    draft_ns: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """Texts read into caches, and the hidden states of each for drafters that want them."""

    batch: Batch
    hidden: Sequence[mx.array]


def drafters_alike(drafter: Drafter, count: int) -> list[Drafter]:
    """So many drafters of one kind that share its weights: all else a drafter holds is made anew as it begins."""
    return [drafter, *(copy.copy(drafter) for _ in range(count - 1))]


def stretches(
    target: Target,
    texts: Callable[[int], Sequence[Sequence[int]]],
    drafters: Sequence[Drafter],
    k: int,
    count: int,
    sizes: Sequence[int],
    pairs: int,
    clock: Callable[[], int],
    random_source: random.Random,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[Stretch]:
    """Stretches of at least `count` tokens a text: for each pair and each batch size every arm once, in random order.

    `texts(pair)` gives one text for each drafter, of at least two tokens; a batch of B takes the first B. Both arms of
    a pair read the same texts, each pair has its own. Raises BatchError for a model whose rows of different lengths
    differ from what each gives alone.
    """
    check_ragged(target)
    done, total = 0, pairs * len(sizes) * len(ARMS)
    progress(done, total)
    for pair in range(pairs):
        read = _read(target, texts(pair)[: max(sizes)], drafters)
        for size in random_source.sample(list(sizes), len(sizes)):
            if pair == 0:  # kernels of these shapes are compiled, and pages touched, before anything counts
                _drafting(read, drafters[:size], k, 2 * k + 2, clock, pair, "drafting")
            for arm in random_source.sample(ARMS, len(ARMS)):
                if arm == "plain":
                    yield _plain(read, size, count, clock, pair)
                else:
                    yield _drafting(read, drafters[:size], k, count, clock, pair, arm)
                done += 1
                progress(done, total)


def _read(target: Target, texts: Sequence[Sequence[int]], drafters: Sequence[Drafter]) -> _Read:
    wanted = any(drafter.needs_hidden for drafter in drafters)
    caches, hidden = batch_caches(target, [text[:-1] for text in texts], wanted)
    mx.eval(arrays_of(caches), hidden)
    return _Read(Batch(target, [list(text) for text in texts], caches), hidden)


def _plain(read: _Read, size: int, count: int, clock: Callable[[], int], pair: int) -> Stretch:
    batch = _copied(read, size)
    context = max(batch.contexts)
    times = [step.step_ns for step in decode_batch(batch, DROPPED + count + 1, clock)]
    counted = times[DROPPED:-1]
    return Stretch(
        t_ns=clock(),
        pair=pair,
        arm="plain",
        batch=size,
        k=0,
        context=context,
        passes=len(counted),
        tokens=size * len(counted),
        elapsed_ns=sum(counted),
    )


def _drafting(
    read: _Read, drafters: Sequence[Drafter], k: int, count: int, clock: Callable[[], int], pair: int, arm: Arm
) -> Stretch:
    batch = _copied(read, len(drafters))
    for b, drafter in enumerate(drafters):
        drafter.begin(list(batch.tokens[b]), read.hidden[b] if drafter.needs_hidden else None)
    context, split = max(batch.contexts), arm == "split"
    rounds = list(speculate_batch(batch, drafters, k, count + WARM_UP, clock, split=split))[WARM_UP:]
    pieces = [each for played in rounds for each in zip(played.drafted, played.accepted, strict=True)]

    def whole(times: Sequence[Any]) -> int | None:
        return sum(times) if split else None

    return Stretch(
        t_ns=clock(),
        pair=pair,
        arm=arm,
        batch=len(drafters),
        k=k,
        context=context,
        passes=len(rounds),
        tokens=sum(len(tokens) for played in rounds for tokens in played.tokens),
        elapsed_ns=sum(played.round_ns for played in rounds),
        drafted=sum(len(draft) for draft, _ in pieces),
        accepted=sum(accepted for _, accepted in pieces),
        tested=sum(min(accepted + 1, len(draft)) for draft, accepted in pieces),
        draft_ns=whole([played.draft_ns for played in rounds]),
        verify_ns=whole([played.verify_ns for played in rounds]),
        rest_ns=whole([played.rest_ns for played in rounds]),
    )


def _copied(read: _Read, size: int) -> Batch:
    """The first `size` texts in caches of their own, nothing of it pending."""
    batch = smaller_batch(read.batch, size)
    mx.eval(arrays_of(batch.cache))
    return batch
