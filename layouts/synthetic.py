"""Which drafters are synthetic, and how that is said beside their numbers."""

from __future__ import annotations

CHOSEN = "acceptance is chosen, not measured"


def is_synthetic(drafter: str) -> bool:
    """Whether a drafter, by its name in a session, is right with a chance that somebody chose, as in `fixed:0.7`."""
    return drafter.partition(":")[0] == "fixed"


def drafter_words(drafter: str) -> str:
    """The drafter's name, and that it is synthetic where it is."""
    return f"{drafter} (synthetic)" if is_synthetic(drafter) else drafter
