"""Fences and the clock between the phases of a round, as the loop sees them. No MLX here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Probe(Protocol):
    """Reads the clock at phase boundaries; a splitting probe first waits for the arrays of the phase."""

    splits: bool

    def now(self) -> int:
        """Monotonic nanoseconds."""
        ...

    def fence(self, *arrays: object) -> int | None:
        """Wait for `arrays` and return the time after, or None when this probe does not split."""
        ...


class FreeProbe:
    """No fence inside a round: only its total time is true."""

    splits = False

    def __init__(self, clock: Callable[[], int]) -> None:
        self.now = clock

    def fence(self, *arrays: object) -> int | None:
        """Nothing waits; there is no time to tell."""
        return None


class SplitProbe:
    """A fence after every phase; `wait` evaluates arrays (`mx.eval`)."""

    splits = True

    def __init__(self, clock: Callable[[], int], wait: Callable[..., object]) -> None:
        self.now = clock
        self._wait = wait

    def fence(self, *arrays: object) -> int | None:
        """Nanoseconds after the arrays of the phase are there."""
        self._wait(*arrays)
        return self.now()
