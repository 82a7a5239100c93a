"""Stopwatches for one round and one step of somebody's own loop."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], int]


class TimedRound:
    """One round as it runs: phases end where `drafted` and `verified` are called, what follows is the rest.

    A phase is worth timing only where the engine has waited for it (on a GPU: evaluated its result).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns = clock()
        self._ended_ns = self._began_ns
        self._drafted_ns: int | None = None
        self._verified_ns: int | None = None
        self.proposed: int | None = None
        self.kept = 0
        self.committed: int | None = None

    def drafted(self) -> None:
        """The draft is there."""
        self._drafted_ns = self._clock()

    def verified(self) -> None:
        """The target's pass over the draft is there."""
        self._verified_ns = self._clock()

    def accepted(self, count: int, *, of: int, tokens: int | None = None) -> None:
        """So many drafts were kept `of` those proposed; `tokens` were committed, count + 1 unless the text ended."""
        self.kept, self.proposed, self.committed = count, of, tokens

    def close(self) -> None:
        """The round is over."""
        self._ended_ns = self._clock()

    @property
    def round_ns(self) -> int:
        """The whole round."""
        return self._ended_ns - self._began_ns

    @property
    def draft_ns(self) -> int | None:
        """From the beginning to the draft."""
        return None if self._drafted_ns is None else self._drafted_ns - self._began_ns

    @property
    def verify_ns(self) -> int | None:
        """From the draft to the end of the target's pass; None where either was not told."""
        if self._verified_ns is None or self._drafted_ns is None:
            return None
        return self._verified_ns - self._drafted_ns

    @property
    def rest_ns(self) -> int | None:
        """From the target's pass to the end."""
        return None if self._verified_ns is None else self._ended_ns - self._verified_ns


class TimedStep:
    """One step of plain decoding as it runs; `count` is how many tokens it gives."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns = clock()
        self._ended_ns = self._began_ns
        self.count = 1

    def tokens(self, count: int) -> None:
        """The step gives more than one token."""
        self.count = count

    def close(self) -> None:
        """The step is over."""
        self._ended_ns = self._clock()

    @property
    def step_ns(self) -> int:
        """The whole step."""
        return self._ended_ns - self._began_ns
