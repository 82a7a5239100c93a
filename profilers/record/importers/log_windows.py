"""Windows of a server's log, those that only decoded told apart from those with prompts or pauses inside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..records import Counters
from .findings import Findings
from .stretches import Stretches

# speeds of mixed windows are left out once this share of the windows is clean
_ENOUGH = 0.2


@dataclass(slots=True)
class LogWindows:
    """Takes the windows of one life of a server; `all` gives them with the speeds that mean decoding.

    A window in which a prompt was processed, or which ended idle, has a speed that is too low. With enough clean
    windows beside them such windows keep their counts and lose their speed; else all keep it, and a note says so.
    """

    _clean: Stretches = field(default_factory=Stretches)
    _mixed: Stretches = field(default_factory=Stretches)

    def add(self, window: Counters, *, clean: bool) -> None:
        """Take one more window."""
        (self._clean if clean else self._mixed).add(window)

    def all(self, findings: Findings) -> tuple[Counters, ...]:
        """Return the windows, by time."""
        clean, mixed = self._clean.all(), self._mixed.all()
        timed = [window for window in mixed if window.tokens_per_second]
        if timed and len(clean) >= _ENOUGH * (len(clean) + len(mixed)):
            findings.note(
                "prompt_time",
                "Windows with a prompt or a pause inside keep their counts; their speed, too low, is left out.",
            )
            mixed = tuple(_without_speed(window) for window in mixed)
        elif timed:
            findings.note(
                "prompt_time",
                "Most windows have prompts or pauses inside, so speeds are lower than decoding is; log a time in which "
                "only answers are generated to have it apart.",
            )
        for stretches in (self._clean, self._mixed):
            if stretches.merged:
                findings.note("merged", "There were so many windows that neighbours which are alike were merged.")
            if stretches.dropped:
                findings.note("merged", f"{stretches.dropped:,} windows, too many of different kinds, were left out.")
        return tuple(sorted((*clean, *mixed), key=lambda window: window.t_ns))


def _without_speed(window: Counters) -> Counters:
    derived = tuple(name for name in window.derived if name not in ("tokens_per_second", "elapsed_ns"))
    return replace(window, tokens_per_second=None, elapsed_ns=None, derived=derived)


def joined(parts: list[tuple[Counters, ...]]) -> tuple[Counters, ...]:
    """Return the windows of several lives of a server, in their order, still bounded."""
    together = Stretches()
    for part in parts:
        for window in part:
            together.add(window)
    return together.all()
