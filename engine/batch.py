"""Several sequences at once: plain decoding, and rounds in which every sequence accepts a prefix of its own.

One target pass serves all rows. Rows draft by drafters of their own and may draft different lengths: a pass is as wide
as the longest draft, shorter rows are filled up, and what a row did not draft it cannot accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from .accept import accept_greedy
from .batch_cache import BatchError, batch_caches, first_rows, rewind_rows
from .cache import new_cache, prefill
from .compiled_pass import SAME, farthest
from .drafters import Drafter
from .errors import SpecviewError
from .limits import checked_draft_length
from .models import Target, first_line
from .rewind import start_tape
from .verify_policies import Policy, one_pass

FILLER = 0  # verified where a row drafted less than the longest; never accepted


@dataclass(slots=True)
class Batch:
    """Texts being generated together: `tokens[b]` are committed, the caches have seen all of them but the last."""

    target: Target
    tokens: list[list[int]]
    cache: list[Any]

    @property
    def contexts(self) -> tuple[int, ...]:
        """Positions that the caches hold of each sequence."""
        return tuple(len(tokens) - 1 for tokens in self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep:
    """One token of every sequence; `step_ns` since the step before was read (pipelined)."""

    i: int
    tokens: tuple[int, ...]
    step_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRound:
    """One round of all sequences: what each drafted, how many it accepted, what it committed.

    The three times are None in a free round; in a split one they add up to `round_ns` up to the clock calls.
    `width` is positions of each sequence in the verify pass.
    """

    i: int
    width: int
    drafted: tuple[tuple[int, ...], ...]
    accepted: tuple[int, ...]
    tokens: tuple[tuple[int, ...], ...]
    round_ns: int
    draft_ns: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None


def start_batch(target: Target, prompts: Sequence[Sequence[int]], drafters: Sequence[Drafter] = ()) -> Batch:
    """Read prompts, of at least two tokens each, and let each row's drafter see its own.

    Raises BatchError for no prompt, one too short, caches that are neither plain keys and values nor recurrent, and
    where rows will differ in length, for a model that cannot compute such rows together.
    """
    if not prompts or min(map(len, prompts)) < 2:
        raise BatchError("A batch needs at least one prompt, each of at least two tokens: give more, or longer ones.")
    _check_drafters(drafters, len(prompts), may_be_none=True)
    if drafters or len(set(map(len, prompts))) > 1:
        check_ragged(target)
    wanted = any(drafter.needs_hidden for drafter in drafters)
    cache, hidden = batch_caches(target, [prompt[:-1] for prompt in prompts], wanted)
    for b, drafter in enumerate(drafters):
        drafter.begin(list(prompts[b]), hidden[b] if drafter.needs_hidden else None)
    return Batch(target, [list(prompt) for prompt in prompts], cache)


def check_ragged(target: Target) -> None:
    """Raise BatchError unless rows of two lengths give together what each gives alone; a few tiny passes."""
    tokens, prompts = mx.array([[1], [1]]), [[0], [1, 2, 0]]
    batch = Batch(target, [list(prompt) for prompt in prompts], batch_caches(target, prompts, False)[0])
    together = batch_pass(batch, tokens)[1].astype(mx.float32)
    for b, prompt in enumerate(prompts):
        caches = new_cache(target)
        prefill(target, prompt, caches)
        alone = target.logits(tokens[b : b + 1], caches).astype(mx.float32)
        apart = farthest(together[b : b + 1], alone)
        if not apart <= SAME * farthest(alone, mx.zeros_like(alone)):
            raise BatchError(
                f"{target.name} computes other logits (by {apart:.2g}) for rows of different lengths than for each "
                "alone: give prompts of one length and no drafts, or one sequence."
            )


def smaller_batch(batch: Batch, count: int) -> Batch:
    """The first `count` sequences of a batch, with caches of their own."""
    if not 1 <= count <= len(batch.tokens):
        raise BatchError(f"{count} of {len(batch.tokens)} sequences cannot be had: choose from 1 to that many.")
    return Batch(
        batch.target, [list(tokens) for tokens in batch.tokens[:count]], first_rows(batch.target, batch.cache, count)
    )


def decode_batch(batch: Batch, count: int, clock: Callable[[], int]) -> Iterator[BatchStep]:
    """Plain greedy generation of `count` tokens of every sequence, pipelined as `decode.decode` is.

    The first step of a call has no predecessor to hide behind and the last submits no successor.
    """

    def submit(y: mx.array) -> mx.array:
        choices = mx.argmax(batch_pass(batch, y[:, None])[1][:, -1], axis=-1)
        mx.async_eval(choices)
        return choices

    read_ns = clock()
    y = submit(mx.array([tokens[-1] for tokens in batch.tokens]))
    for i in range(count):
        ahead = submit(y) if i + 1 < count else None
        step: list[int] = y.tolist()  # type: ignore[assignment]
        now = clock()
        for tokens, token in zip(batch.tokens, step, strict=True):
            tokens.append(token)
        yield BatchStep(i=i, tokens=tuple(step), step_ns=now - read_ns)
        read_ns = now
        if ahead is not None:
            y = ahead


def speculate_batch(
    batch: Batch,
    drafters: Sequence[Drafter],
    k: int,
    count: int,
    clock: Callable[[], int],
    *,
    split: bool = False,
    policy: Policy = one_pass,
) -> Iterator[BatchRound]:
    """Rounds until every sequence has committed at least `count` tokens; those that have go on with the others.

    `k` is the longest draft of a row, `split` fences the phases and times them. Acceptance is greedy match.
    """
    checked_draft_length(k)
    _check_drafters(drafters, len(batch.tokens))
    committed, i = [0] * len(batch.tokens), 0
    while min(committed) < count:
        played = play_batch_round(batch, drafters, k, i, clock, split=split, policy=policy)
        committed = [n + len(tokens) for n, tokens in zip(committed, played.tokens, strict=True)]
        i += 1
        yield played


def play_batch_round(
    batch: Batch,
    drafters: Sequence[Drafter],
    k: int,
    i: int,
    clock: Callable[[], int],
    *,
    split: bool = False,
    policy: Policy = one_pass,
) -> BatchRound:
    """Draft in every row, verify all rows in one pass, let each accept its own prefix and go back by itself."""
    began = clock()
    drafts = [drafter.draft(tokens, k).tokens for drafter, tokens in zip(drafters, batch.tokens, strict=True)]
    (mx.eval if split else mx.async_eval)(drafts)  # rows of lazy drafts are submitted together
    drafted = clock() if split else began
    width = 1 + max(draft.size for draft in drafts)
    hidden, logits = verify_rows(batch, drafts, width, any(d.needs_hidden for d in drafters), policy)
    choices = mx.argmax(logits, axis=-1)
    mx.eval(choices)
    verified = clock() if split else began
    proposed: list[tuple[int, ...]] = [tuple(draft.tolist()) for draft in drafts]  # type: ignore[arg-type]
    rows: list[list[int]] = choices.tolist()  # type: ignore[assignment]
    answers = [accept_greedy(draft, row) for draft, row in zip(proposed, rows, strict=True)]
    again = rewind_rows(batch.cache, width, [accepted + 1 for accepted, _ in answers])
    for b, (accepted, tokens) in enumerate(answers):
        batch.tokens[b].extend(tokens)
        seen = None if hidden is None else hidden[b : b + 1, : len(proposed[b]) + 1]
        drafters[b].settle(tokens, accepted, seen if drafters[b].needs_hidden else None)
    if split:
        mx.eval(again)
    elif again:
        mx.async_eval(again)
    ended = clock()
    return BatchRound(
        i=i,
        width=width,
        drafted=tuple(proposed),
        accepted=tuple(accepted for accepted, _ in answers),
        tokens=tuple(tokens for _, tokens in answers),
        round_ns=ended - began,
        draft_ns=drafted - began if split else None,
        verify_ns=verified - drafted if split else None,
        rest_ns=ended - verified if split else None,
    )


def verify_rows(
    batch: Batch, drafts: Sequence[mx.array], width: int, keep_hidden: bool, policy: Policy = one_pass
) -> tuple[mx.array | None, mx.array]:
    """One target pass over each row's last token and its draft [m ≤ width − 1], filled up to `width`.

    Returns hidden states [B, width, D] (None unless kept) and logits [B, width, vocabulary]; both lazy.
    """
    rows = [
        mx.concatenate(
            [mx.array(tokens[-1:]), draft.astype(mx.int32), mx.full((width - 1 - draft.size,), FILLER, mx.int32)]
        )
        for tokens, draft in zip(batch.tokens, drafts, strict=True)
    ]
    start_tape(batch.cache)
    return batch_pass(batch, mx.stack(rows), keep_hidden, policy)


def batch_pass(
    batch: Batch, positions: mx.array, keep_hidden: bool = False, policy: Policy = one_pass
) -> tuple[mx.array | None, mx.array]:
    """One target pass over positions [B, n]: hidden states [B, n, D] or None, logits [B, n, vocabulary]; lazy.

    Raises BatchError for attention that knows no masks of several rows.
    """
    try:
        return policy(batch.target, positions, batch.cache, keep_hidden)
    except SpecviewError:
        raise
    except Exception as error:  # a model file may raise anything
        raise BatchError(
            f"{batch.target.name} cannot run these sequences at once ({first_line(error)}): give prompts of one "
            "length, or one sequence."
        ) from error


def _check_drafters(drafters: Sequence[Drafter], rows: int, may_be_none: bool = False) -> None:
    if len(drafters) != rows and not (may_be_none and not drafters):
        raise BatchError(f"{rows} sequences need a drafter each and {len(drafters)} were given: make one for each.")
    if len({id(drafter) for drafter in drafters}) != len(drafters):
        raise BatchError("Two sequences share one drafter: make one for each, for each keeps its own text.")
