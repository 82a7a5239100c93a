"""What attaching to one server is to do: pace, what ends it, a baseline; checked before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....engine.errors import SpecviewError
from ..plan import Budget
from .polling import Pace


class AttachError(SpecviewError):
    """A wish that cannot be carried out; the text says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachPlan:
    """What to do: the page's address as shown, the pace, what ends it, and plain decode's speed if it is known."""

    shown: str
    port: int
    pace: Pace = field(default_factory=Pace)
    budget: Budget = field(default_factory=Budget)
    baseline_tps: float | None = None

    def checked(self) -> AttachPlan:
        """This plan, or AttachError with what to change."""
        if not 0.05 <= self.pace.interval_s <= 60:
            raise AttachError(f"--interval {self.pace.interval_s:g} is no pace: choose 0.05 to 60 seconds.")
        if self.baseline_tps is not None and not 0 < self.baseline_tps < 1e9:
            raise AttachError(
                f"--baseline-tps {self.baseline_tps:g} is no speed: give plain decode's tokens per second."
            )
        return self
