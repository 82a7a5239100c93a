"""What the decode and verify loops report: one event per step and per round. No MLX here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One token of plain generation.

    `context` is how many positions the cache held when the pass began;
    `step_ns` is wall time since the step before was read (pipelined) or of
    the whole synchronous pass.
    """

    i: int
    token: int
    context: int
    step_ns: int
    pipelined: bool


@dataclass(frozen=True, slots=True)
class Round:
    """One round of drafting: draft, verify `width` positions in one pass, accept a prefix, rewind the rest.

    `tokens` are the accepted drafts and then the target's own (bonus) token.
    The phase times are None in a free round, which has no fence inside. In a
    split round `draft_ns + verify_ns + rest_ns` is `round_ns` up to the clock
    calls; `rewind_ns` is part of `rest_ns`. `catch_up_width` is how many
    positions the drafter's first step took in (0: no step).
    """

    i: int
    context: int
    drafted: tuple[int, ...]
    accepted: int
    tokens: tuple[int, ...]
    round_ns: int
    catch_up_width: int
    draft_ns: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None
    rewind_ns: int | None = None

    @property
    def width(self) -> int:
        """Positions of the verify pass: the drafts and the last committed token."""
        return len(self.drafted) + 1

    @property
    def bonus(self) -> int:
        """The one token the target adds itself."""
        return self.tokens[-1]
