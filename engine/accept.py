"""The acceptance rule: which prefix of the drafts the target keeps."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

GREEDY = "greedy match"


def greedy_choices(logits: mx.array) -> mx.array:
    """The target's own token at each position: logits [1, n, vocabulary] to ids [n]. Lazy."""
    return mx.argmax(logits[0], axis=-1)


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
