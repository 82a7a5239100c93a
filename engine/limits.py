"""Limits that loops and plans share. No MLX here."""

from __future__ import annotations

from .errors import SpecviewError

LONGEST_DRAFT = 64


class DraftLengthError(SpecviewError):
    """A draft length k that makes no sense."""


def checked_draft_length(k: int) -> int:
    """The same k, or DraftLengthError outside 0 … 64."""
    if not 0 <= k <= LONGEST_DRAFT:
        raise DraftLengthError(f"A draft of k = {k} tokens makes no sense: choose k from 0 to {LONGEST_DRAFT}.")
    return k
