"""Which arm runs when: A B B A in random order within a segment, so that drift hits all arms alike."""

from __future__ import annotations

import random
from collections.abc import Iterable

SEGMENT_TOKENS = 32
DROPPED = 2  # steps or rounds not counted after every switch: the first ones run on a cold pipeline
COUNTED = 3  # rounds that each visit has left to count at least, even if every draft is accepted


def segment_tokens(k: int) -> int:
    """Tokens of a segment: 32, and more for drafts so long that hardly a round would be left to count."""
    return max(SEGMENT_TOKENS, (DROPPED + COUNTED) * (k + 1))


def segment_arms(random_source: random.Random, with_split: bool) -> tuple[str, ...]:
    """The arms of one segment in order: plain and drafting as A B B A or B A A B, split before, between or after."""
    first, second = random_source.choice((("plain", "drafting"), ("drafting", "plain")))
    arms = [first, second, second, first]
    if with_split:
        arms.insert(random_source.choice((0, 2, 4)), "split")
    return tuple(arms)


class SplitTurns:
    """Deals split rounds out to segments so that their share comes out exactly, early ones first."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._owed = 1.0 - share if share else 0.0

    def next(self) -> bool:
        """Whether the next segment holds split rounds."""
        self._owed += self._share
        if self._share and self._owed >= 1.0 - 1e-9:
            self._owed -= 1.0
            return True
        return False


class ProbeTurns:
    """Picks which widths to probe after a segment, within a duty (probe time ÷ segment time).

    The widths a verdict needs come first in every turn; the others follow in
    cycles, as many as the time owed allows. Costs are learnt from the probes.
    """

    def __init__(self, needed: Iterable[int], others: Iterable[int], duty: float) -> None:
        self.needed = tuple(needed)
        self._cycle = tuple(n for n in others if n not in self.needed)
        self._at = 0
        self._duty = duty
        self._owed_ns = 0.0
        self._cost_ns: dict[int, float] = {}

    def cost_ns(self, width: int, step_ns: float) -> float:
        """Expected time of one probe: as measured, else as if every position cost a whole step."""
        return self._cost_ns.get(width, width * step_ns)

    def spent(self, width: int, ns: int) -> None:
        """A probe of that width took so long."""
        self._cost_ns[width] = float(ns)
        self._owed_ns -= ns

    def next(self, segment_ns: int, step_ns: float) -> tuple[int, ...]:
        """Widths to probe now, after a segment that took `segment_ns`, at `step_ns` for one position."""
        self._owed_ns = min(self._owed_ns + segment_ns * self._duty, float(segment_ns))
        planned = list(self.needed)
        left = self._owed_ns - sum(self.cost_ns(n, step_ns) for n in planned)
        for _ in range(len(self._cycle)):
            width = self._cycle[self._at % len(self._cycle)]
            if self.cost_ns(width, step_ns) > left:
                break
            planned.append(width)
            left -= self.cost_ns(width, step_ns)
            self._at += 1
        return tuple(planned)
