"""A question about a round, its answer in numbers, and what such questions are asked of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ...engine.errors import SpecviewError

CURVE_POINTS = 101
FROM_HALF = 0.5  # where nothing was accepted yet, a question about something else is asked at this p
FREE = "at most: drafts that cost nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked; None and 1.0 keep what was measured. `verify` and `draft` multiply T_verify and T_draft."""

    p: float | None = None
    k: int | None = None
    verify: float = 1.0
    draft: float = 1.0
    batch: int | None = None


MEASURED = Question()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A round by the formulas, means only: times in ms, `alpha` conditional, E, R and S, and where it breaks even.

    `draft_ms` and `rest_ms` are None where they are taken as free, so that S is the most there could be. `limit_ms` is
    the dearest T_verify with S = 1, `crossing` the least p with S = 1. `most_tokens` for `full_steps` is what a round
    yields and costs when every draft is accepted. `tokens_per_second` are of all `batch` sequences.
    """

    k: int
    batch: int
    alpha: float
    tokens: float
    decode_ms: float
    verify_ms: float
    draft_ms: float | None
    rest_ms: float | None
    round_ms: float
    round_steps: float
    speedup: float
    tokens_per_second: float
    limit_ms: float
    limit_steps: float
    crossing: float | None
    full_steps: float
    most_tokens: float
    note: str = ""

    @property
    def cannot_win(self) -> bool:
        """Whether even full acceptance loses."""
        return self.full_steps > self.most_tokens


class Basis(Protocol):
    """What questions are asked of: one drafter as it ran at `k`, or costs without any drafter.

    `lengths` are the k and `batches` the batches that were measured. `measured`: something was accepted, so that there
    is a point to move; `free`: drafts and the rest of a round are taken to cost nothing. `whole`: draft and verify were
    not told apart.
    """

    @property
    def k(self) -> int:
        """The draft length as it ran."""
        ...

    @property
    def lengths(self) -> tuple[int, ...]:
        """The draft lengths that can be asked about."""
        ...

    @property
    def batches(self) -> tuple[int, ...]:
        """The batches that were measured."""
        ...

    @property
    def measured(self) -> bool:
        """Whether something was accepted."""
        ...

    @property
    def free(self) -> bool:
        """Whether drafts are taken to cost nothing."""
        ...

    @property
    def whole(self) -> bool:
        """Whether a round is known as a whole only."""
        ...

    def ask(self, question: Question) -> Asked:
        """The numbers that follow; SpecviewError says in a sentence what cannot be asked, and why."""
        ...

    def speedup(self, question: Question) -> float:
        """S alone, for many questions at once."""
        ...

    def limits_ms(self, question: Question) -> tuple[float, ...]:
        """The dearest T_verify with S = 1 over p from 0 to 1, in ms, `CURVE_POINTS` of them."""
        ...


def p_of(question: Question, otherwise: float) -> float:
    """The conditional acceptance that is asked about."""
    return otherwise if question.p is None else question.p


def over_p(limit: Callable[[float], float]) -> tuple[float, ...]:
    """A limit at every p of the curve."""
    return tuple(limit(i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS))


def not_measured(k: int) -> SpecviewError:
    """Why a k is not asked about."""
    return SpecviewError(f"k = {k} needs verify over {k + 1} positions, which is not measured; it may be a cliff.")
