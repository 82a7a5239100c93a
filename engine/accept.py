"""The acceptance rules: which prefix of the drafts the target keeps, and which token it adds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import mlx.core as mx

from .errors import SpecviewError
from .sampling import Sampling, Stream, distribution, draw, drawn, uniforms

if TYPE_CHECKING:
    from .drafters.protocol import Draft

GREEDY = "greedy match"
REJECTION = "rejection sampling"
EXACT = "exact match"

Rule = Literal["greedy", "rejection", "exact"]


class RuleError(SpecviewError):
    """An acceptance rule that does not exist or does not go with the sampling."""


class AcceptanceRule(Protocol):
    """Decides a round in one array, so that a round waits for the device once.

    `name` is what a session writes; `sampling` is how the same text is written
    without drafts (None: greedily).
    """

    @property
    def name(self) -> str:
        """Greedy match, rejection sampling or exact match."""
        ...

    @property
    def sampling(self) -> Sampling | None:
        """How the target draws its tokens."""
        ...

    def ask(self, logits: mx.array, draft: Draft, first: int) -> mx.array:
        """What the target says: a small array of ids, lazy.

        Logits [1, m+1, vocabulary] of the last committed token and the m
        drafts; `first` is the place in the text of the first draft.
        """
        ...

    def read(self, drafted: Sequence[int], answer: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """From that array: how many drafts are kept, and the tokens a round commits."""
        ...


class GreedyMatch:
    """Keeps a draft while it is the target's likeliest token."""

    name = GREEDY
    sampling = None

    def ask(self, logits: mx.array, draft: Draft, first: int) -> mx.array:
        """The target's likeliest tokens [m+1]."""
        return greedy_choices(logits)

    def read(self, drafted: Sequence[int], answer: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """As `accept_greedy`."""
        return accept_greedy(drafted, answer)


class ExactMatch:
    """Keeps a draft while it is the token that the target draws at its place.

    It accepts with chance Σ p·q, and its text is the one that plain decoding
    draws from the same seed. Source: mlx-lm's `speculative_generate_step`.
    """

    name = EXACT

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling

    def ask(self, logits: mx.array, draft: Draft, first: int) -> mx.array:
        """The tokens [m+1] that the target draws."""
        return drawn(logits, self.sampling, first, Stream.TARGET)[0]

    def read(self, drafted: Sequence[int], answer: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """As `accept_greedy`, the draws in place of the choices."""
        return accept_greedy(drafted, answer)


class RejectionSampling:
    """Keeps a draft x with chance min(1, p(x) / q(x)), the most that leaves the target's distribution as it is.

    It accepts with chance Σ min(p, q); q is what the drafter drew from, or all
    on its one choice. Source: Leviathan et al. 2023, algorithm 1.
    """

    name = REJECTION

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling

    def ask(self, logits: mx.array, draft: Draft, first: int) -> mx.array:
        """How many drafts are kept, and the token after them: [2]."""
        p, q, seed = distribution(logits, self.sampling), draft.probabilities, self.sampling.seed
        m = draft.tokens.shape[0]
        return keep_or_replace(
            p,
            None if q is None else q[None],
            draft.tokens[None],
            uniforms(seed, first, m, Stream.ACCEPT)[None, :, 0],
            uniforms(seed, first, m + 1, Stream.TARGET)[None],
        )[0]

    def read(self, drafted: Sequence[int], answer: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """The array already says it."""
        accepted, token = answer
        return accepted, (*drafted[:accepted], token)


GREEDY_MATCH = GreedyMatch()


def acceptance_rule(rule: Rule | None, sampling: Sampling | None) -> AcceptanceRule:
    """The rule of that name; None takes the one that leaves the text as plain decoding writes it.

    Raises RuleError where the rule does not exist or does not go with the sampling.
    """
    if rule not in (None, "greedy", "rejection", "exact"):
        raise RuleError(f"There is no acceptance rule {rule!r}: use greedy, rejection or exact.")
    if sampling is None:
        if rule in (None, "greedy"):
            return GREEDY_MATCH
        raise RuleError(f"The rule {rule} needs drawn tokens: choose a temperature above 0, or the rule greedy.")
    if rule == "greedy":
        raise RuleError(
            f"The rule greedy draws no tokens: choose temperature 0, or the rule rejection or exact for temperature "
            f"{sampling.temperature:g}."
        )
    return ExactMatch(sampling) if rule == "exact" else RejectionSampling(sampling)


def greedy_choices(logits: mx.array) -> mx.array:
    """The target's own token at each position: logits [1, n, vocabulary] to ids [n]. Lazy."""
    return mx.argmax(logits[0], axis=-1)


def cut_at_stop(tokens: Sequence[int], stop_ids: Collection[int]) -> tuple[tuple[int, ...], bool]:
    """The tokens up to and with the first that ends a text, and whether there was one."""
    for i, token in enumerate(tokens):
        if token in stop_ids:
            return tuple(tokens[: i + 1]), True
    return tuple(tokens), False


def accept_greedy(drafted: Sequence[int], choices: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """How many drafts are kept, and the tokens a round commits.

    `choices` are the target's own tokens at the last committed token and at
    each draft (one more than drafts). A draft is kept while it equals the
    target's choice at its place; the choice after the last kept draft is the
    bonus token. Source: greedy match, as mlx-lm's `speculative_generate_step`.
    """
    accepted = 0
    for draft, choice in zip(drafted, choices, strict=False):
        if draft != choice:
            break
        accepted += 1
    return accepted, (*drafted[:accepted], choices[accepted])


def keep_or_replace(
    p: mx.array, q: mx.array | None, drafted: mx.array, accept_u: mx.array, draw_pairs: mx.array
) -> mx.array:
    """Rejection sampling of B rounds: how many drafts each keeps and the token after them, ids [B, 2]. Lazy.

    Target probabilities p [B, m+1, V] and what the drafts [B, m] were drawn
    from, q [B, m, W] (None: each was certain); random numbers [B, m] for
    accepting and pairs [B, m+1, 2] for drawing. The token after a rejected
    draft comes from the residual at its place, the token after the last draft
    from p itself. Both vocabularies may differ in length: a token that one
    lacks has probability 0 there. Where p equals q bitwise all is kept.
    """
    rounds, m = drafted.shape
    size = p.shape[-1]
    if m == 0:
        accepted = mx.zeros((rounds,), dtype=mx.int32)
        tokens = draw(p[:, 0], draw_pairs[:, 0])
    else:
        ids = drafted.astype(mx.int32)
        p_of_drafts = mx.where(ids < size, _at(p[:, :m], mx.minimum(ids, size - 1)), 0)
        kept = accept_u < (p_of_drafts if q is None else p_of_drafts / _at(q, ids))
        accepted = mx.cumprod(kept.astype(mx.int32), axis=1).sum(axis=1)
        place = mx.minimum(accepted, m - 1)
        if q is None:
            other = (mx.arange(size) == mx.take_along_axis(ids, place[:, None], axis=1)).astype(mx.float32)
        else:
            other = _of_length(_row(q, place), size)
        rejected = (accepted < m)[:, None]
        tokens = draw(residual(_row(p, accepted), mx.where(rejected, other, 0)), _row(draw_pairs, accepted))
    return mx.stack([accepted, tokens.astype(mx.int32)], axis=-1)


def residual(p: mx.array, q: mx.array) -> mx.array:
    """What the target has left to give after a rejected draft: norm(max(0, p − q)), both [..., vocabulary]. Lazy.

    Where rounding left nothing, p itself.
    """
    left = mx.maximum(p - q, 0)
    total = left.sum(axis=-1, keepdims=True)
    return mx.where(total > 0, left / total, p)


def _at(rows: mx.array, ids: mx.array) -> mx.array:
    """Of each row [..., vocabulary] the entry of its id [...]."""
    return mx.take_along_axis(rows, ids[..., None], axis=-1).squeeze(-1)


def _row(rows: mx.array, place: mx.array) -> mx.array:
    """Of rows [B, m, n] the one at a place [B]: [B, n]."""
    return mx.take_along_axis(rows, place[:, None, None], axis=1).squeeze(1)


def _of_length(rows: mx.array, size: int) -> mx.array:
    """Rows [B, n] cut, or filled with zeros, to `size`."""
    return rows[:, :size] if rows.shape[-1] >= size else mx.pad(rows, [(0, 0), (0, size - rows.shape[-1])])
