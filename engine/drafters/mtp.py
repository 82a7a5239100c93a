"""Drafts with the MTP heads of a checkpoint: layers trained to guess the token after next from the target's states.

Head 0 pairs hidden state t with token t+1 and guesses token t+2; head j pairs
what head j−1 made of hidden state t with token t+1+j and guesses token t+2+j.
Beyond the last head, that head is fed its own output (most checkpoints have
one head only), where vLLM begins with the first head again. Layouts are in
`mtp_heads`, loading in `mtp_loading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from ..cache import PREFILL_STEP, Snapshot, arrays_of, cache_bytes, restore, take_snapshot
from ..models import Target
from ..rewind import rewind
from ..sampling import Sampling
from ..trees import nbytes
from .mtp_heads import MtpHeads
from .mtp_loading import load_mtp_head
from .mtp_weights import MtpError
from .protocol import Draft, Guess, draft_of, guess, no_tokens

__all__ = ["MtpDrafter", "MtpError", "MtpMark", "load_mtp_head"]


@dataclass(frozen=True, slots=True)
class MtpMark:
    """The heads' moment: their caches, how far each has read, and what each has yet to take in."""

    snapshot: Snapshot
    tokens: tuple[int, ...]
    position: int
    taken: tuple[int, ...]
    waiting: tuple[mx.array | None, ...]


class MtpDrafter:
    """Drafts with MTP heads.

    A head's cache holds one position per pair of hidden state and committed
    token; pairs with drafted tokens are taken out again when a round settles.
    So every round head 0 takes in accepted + 1 positions, and head j takes in
    j more, which it had only guessed at before. `sees_prompt` False leaves the
    prompt out of the caches, as engines do that start a head's cache at the
    first draft: acceptance suffers (article A).
    """

    kind = "mtp"
    needs_hidden = True
    has_steps = True

    def __init__(self, target: Target, head: MtpHeads, sees_prompt: bool = True) -> None:
        self.target = target
        self.head = head
        self.sees_prompt = sees_prompt
        self.sampling: Sampling | None = None
        self._cache: list[Any] = []
        self._tokens: list[int] = []  # committed ones; position p of a cache pairs hidden state p with token p + 1
        self._position = 0  # where in the text the next token goes
        self._taken: list[int] = []
        self._waiting: list[mx.array | None] = []
        self._unsure: list[int] = []

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Take in the prompt: pairs of hidden state t and token t+1, all but the last pair."""
        count = len(self.head.heads)
        self._cache = [head.new_cache() for head in self.head.heads]
        self._taken, self._unsure = [0] * count, [0] * count
        self._waiting = [None] * count
        self._tokens, self._position = list(tokens), len(tokens)
        if hidden is None:  # a prompt of one token has no hidden state yet
            return
        hidden = self.head.taken(self.target, hidden)
        if not self.sees_prompt:
            self._tokens, hidden = list(tokens[-2:]), hidden[:, -1:]
        self._waiting[0] = hidden
        for start in range(0, len(self._tokens) - 2, PREFILL_STEP):
            self._read_prompt(min(start + PREFILL_STEP, len(self._tokens) - 2))

    def _read_prompt(self, last: int) -> None:
        """Have every head take in what the tokens up to `last` let it."""
        for i in range(len(self.head.heads)):
            inputs = self._waiting[i]
            width = last - i - self._taken[i]
            if inputs is None or width <= 0:
                return
            first = self._taken[i] + 1 + i
            made = self._pass(i, mx.array(self._tokens[first : first + width]), inputs[:, :width])
            self._waiting[i], self._taken[i] = inputs[:, width:], self._taken[i] + width
            self._hand_on(i, made)
            mx.eval(made, arrays_of(self._cache))

    def _pass(self, i: int, tokens: mx.array, hidden: mx.array) -> mx.array:
        """Hidden states [1, n, D] of head i over tokens [n] and hidden [1, n, D]."""
        made: mx.array = self.head.heads[i](self.head.embedded(i, self.target, tokens), hidden, self._cache[i])
        return made

    def _hand_on(self, i: int, made: mx.array) -> None:
        """What head i made of committed tokens waits for the next head."""
        if i + 1 < len(self._waiting):
            self._keep(i + 1, made)

    def _keep(self, i: int, made: mx.array) -> None:
        """Hidden states that head i has yet to take in."""
        waited = self._waiting[i] is not None
        self._waiting[i] = _joined(self._waiting[i], made)
        if waited:  # of a head that rarely drafts: else every round would lengthen the graph of what waits
            mx.async_eval(self._waiting[i])

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """k tokens, submitted step by step and left lazy."""
        if k == 0 or self._waiting[0] is None:
            return Draft(no_tokens(), 0)
        last = len(self._tokens) - 1
        width = last - self._taken[0]
        guesses: list[Guess] = []
        guessed_inputs: mx.array | None = None
        for i in range(min(k, len(self.head.heads))):
            made, guessed_inputs = self._first_step(i, last, guessed_inputs, guesses)
            self._guess(i, made, guesses)
        final = len(guesses) - 1
        for _ in range(k - len(guesses)):
            made = self._pass(final, guesses[-1].token, made[:, -1:])
            self._unsure[final] += 1
            self._guess(final, made, guesses)
        return draft_of(guesses, width)

    def _first_step(
        self, i: int, last: int, guessed_inputs: mx.array | None, guesses: Sequence[Guess]
    ) -> tuple[mx.array, mx.array]:
        """Head i over all it has not read, up to the last committed position.

        Its last i tokens are drafts, so what it makes of them is taken back
        later. Returns all it made, and the part of it that rests on drafts.
        """
        start = self._taken[i]
        waiting = self._waiting[i]
        inputs = _joined(waiting, guessed_inputs)
        committed = self._tokens[start + 1 + i : last + 1]
        drafted = [g.token.astype(mx.int32) for g in guesses[max(0, start + i - last) :]]
        made = self._pass(i, mx.concatenate([mx.array(committed, dtype=mx.int32), *drafted]), inputs)
        sure = max(0, last - i - start)
        known = 0 if waiting is None else waiting.shape[1]
        self._unsure[i] = last - start - sure
        self._taken[i] = start + sure
        self._waiting[i] = None if known <= sure else inputs[:, sure:known]
        if sure > 0:
            self._hand_on(i, made[:, :sure])
        return made, made[:, sure:]

    def _guess(self, i: int, made: mx.array, guesses: list[Guess]) -> None:
        logits = self.head.logits(i, self.target, made[:, -1:])
        guesses.append(guess(logits, self.sampling, self._position + len(guesses)))
        mx.async_eval(guesses[-1].token)

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Forget what rests on drafts; take the true hidden states in with the next draft."""
        assert hidden is not None
        self._forget_drafts()
        fresh = self.head.taken(self.target, hidden[:, : accepted + 1])
        self._keep(0, fresh)
        self._tokens.extend(tokens)
        self._position += len(tokens)

    def _forget_drafts(self) -> None:
        for cache, unsure in zip(self._cache, self._unsure, strict=True):
            if unsure:
                cache.trim(unsure)
        self._unsure = [0] * len(self._unsure)

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """The guess of head 0 after `tokens`, each paired with the last hidden state: what a step costs is the same.

        It stands for all heads, which are layers of one make.
        """
        if self._waiting[0] is None:
            return None
        hidden = mx.repeat(self._waiting[0][:, -1:], len(tokens), axis=1)
        mx.eval(hidden, arrays_of(self._cache))
        made = self._pass(0, mx.array(list(tokens)), hidden)
        return guess(self.head.logits(0, self.target, made[:, -1:]), self.sampling, self._position).token

    def take_back(self, width: int) -> None:
        """Take the cache of head 0 back by a step."""
        rewind(self._cache[:1], width, 0)

    def mark(self) -> MtpMark:
        """The caches and what they have not seen."""
        return MtpMark(
            take_snapshot(self._cache), tuple(self._tokens), self._position, tuple(self._taken), tuple(self._waiting)
        )

    def restore(self, mark: MtpMark) -> None:
        """Put the caches back."""
        restore(self._cache, mark.snapshot)
        self._tokens, self._position = list(mark.tokens), mark.position
        self._taken, self._waiting = list(mark.taken), list(mark.waiting)
        self._unsure = [0] * len(self._unsure)

    def weight_bytes(self) -> int:
        """Bytes of the heads' weights."""
        return nbytes(self.head.parameters())  # type: ignore[no-untyped-call]

    def cache_bytes(self) -> int:
        """Bytes of the heads' caches."""
        return cache_bytes(self._cache) if self._cache else 0


def head_count(drafter: object) -> int:
    """How many MTP heads a drafter has, each with a first step of its own; 1 for all other drafters."""
    return len(drafter.head.heads) if isinstance(drafter, MtpDrafter) else 1


def _joined(before: mx.array | None, after: mx.array | None) -> mx.array:
    """Positions [1, n, D] one after the other; at least one of the two is there."""
    if before is None or before.shape[1] == 0:
        assert after is not None
        return after
    return before if after is None or after.shape[1] == 0 else mx.concatenate([before, after], axis=1)
