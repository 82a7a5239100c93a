"""On which side of a switch figures are, where keys and values are quantised from a later position on.

Before the switch passes read keys and values as computed, behind it all of them quantised: two costs, which are never
pooled. Figures are of what lies behind it, as that is what was asked for, or of what lies before it while too little
does. No MLX here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .counted import counted


class Side(StrEnum):
    """Where something lies that was measured."""

    BEFORE = "before"
    BEHIND = "behind"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a side has to measure: rounds, each text's once, and pairs of segments."""

    rounds: int = 0
    pairs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The position from which keys and values are quantised, and the side that the figures are of.

    `across`: some segments have a part on either side and count on neither.
    """

    start: int
    side: Side
    before: Measured
    behind: Measured
    across: bool = False

    @property
    def split(self) -> bool:
        """Whether anything was left out because it lies elsewhere."""
        return self.across or (self.before if self.side is Side.BEHIND else self.behind) != Measured()

    @property
    def sentence(self) -> str:
        """What the figures are of; empty where everything lies behind the switch, as it was asked for."""
        before, behind = (counted(each.rounds, "round") for each in (self.before, self.behind))
        at = f"position {self.start:,}"
        if self.side is Side.BEFORE:
            few = f"only {behind}" if self.behind.rounds else "none"
            return (
                f"Figures are of the {before} before {at}, where keys and values are not quantised yet, because {few} "
                "came behind it: record with --kv-start 0, or with more --tokens."
            )
        if not self.split:
            return ""
        return (
            f"Figures are of the {behind} from {at} on, where keys and values are quantised; what came before is left "
            "out."
        )

    @property
    def reason(self) -> str:
        """Why there is too little to measure on either side."""
        return (
            f"Keys and values are quantised from position {self.start:,} on, and neither side of it has enough to "
            f"measure: {counted(self.before.rounds, 'round')} before it and {self.behind.rounds} behind it."
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "Record with --kv-start 0, or with more --tokens, so that one side has enough."


def side_of(start: int, first: int, end: int) -> Side | None:
    """The side of something that began at `first` positions and left `end` in the cache; None for what crosses.

    The pass that reaches the start counts on neither side: it reads keys as computed, and pays for quantising them.
    """
    if first >= start:
        return Side.BEHIND
    return Side.BEFORE if end < start else None


def chosen_side(before: Measured, behind: Measured, enough: Measured) -> Side:
    """Behind the switch as soon as enough lies there, else where more rounds lie."""
    if behind.rounds >= enough.rounds and behind.pairs >= enough.pairs:
        return Side.BEHIND
    more = (before.rounds, before.pairs) > (behind.rounds, behind.pairs)
    return Side.BEFORE if more else Side.BEHIND
