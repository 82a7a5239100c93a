"""What one recording is to do: model, drafter, k, prompts, budget; checked before anything is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from ...engine.limits import checked_draft_length

DEFAULT_TOKENS = 64
BLOCKS_DUTY = 0.2


class PlanError(SpecviewError):
    """A plan that makes no sense."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much to spend: seconds, or rounds of drafting; what comes first."""

    seconds: float | None = None
    rounds: int | None = None


def parsed_budget(text: str) -> Budget:
    """`30s`, `5m`, `1h`, or `400` rounds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|rounds?|)", text.strip())
    if not match or float(match[1]) <= 0:
        raise PlanError(f"{text!r} is no budget: write 30s, 5m, 1h, or a number of rounds such as 400.")
    amount, unit = float(match[1]), match[2]
    if unit in ("s", "m", "h"):
        return Budget(seconds=amount * {"s": 1, "m": 60, "h": 3600}[unit])
    if amount != int(amount):
        raise PlanError(f"{text!r} is no budget: a number of rounds is whole.")
    return Budget(rounds=int(amount))


@dataclass(frozen=True, slots=True)
class Plan:
    """One recording. `tokens` are for each prompt and pass; `split`, `duty` and `blocks_duty` are shares of time."""

    model: str = "bundled"
    drafter: str = "mtp"
    k: int = 1
    dtype: str | None = None
    drafter_dtype: str | None = None
    prompts: str = "all"
    limit: int | None = None
    tokens: int = DEFAULT_TOKENS
    budget: Budget = Budget()
    seed: int = 0
    split: float = 0.5
    duty: float = 0.15
    blocks_duty: float = BLOCKS_DUTY
    widest: int = 16
    keep_text: bool = True
    keep_prompts: bool = False
    context: int | None = None
    trust_remote_code: bool = False
    chat: bool = True

    def checked(self) -> Plan:
        """This plan, or PlanError with what to change."""
        checked_draft_length(self.k)
        if self.tokens < 1:
            raise PlanError(f"--tokens {self.tokens} leaves nothing to measure: ask for at least 1.")
        if self.limit is not None and self.limit < 1:
            raise PlanError(f"--limit {self.limit} leaves no prompt: ask for at least 1.")
        if self.context is not None and self.context < 1:
            raise PlanError(f"--context {self.context} leaves no room: ask for at least 1, or leave it out.")
        if not all(0 <= share <= 1 for share in (self.split, self.duty, self.blocks_duty)):
            raise PlanError("Shares of time lie between 0 and 1.")
        return self

    def sentence(self) -> str:
        """The plan in one line, for the header; names no path."""
        return (
            f"{self.drafter_name()} k={self.k}, prompts {self.prompts.rsplit('/', 1)[-1]}, {self.tokens} tokens each, "
            f"split share {self.split:g}, probe duty {self.duty:g}, block duty {self.blocks_duty:g}, seed {self.seed}"
        )

    def drafter_name(self) -> str:
        """How a session names the drafter: a built-in name, a hub id, or the last part of a folder's path."""
        if re.fullmatch(r"\w[\w.-]*/[\w.-]+", self.drafter):
            return self.drafter
        return self.drafter.rstrip("/").rsplit("/", 1)[-1]
