"""How the rounds of a session went, one after another: accepted lengths, acceptance over time, single rounds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..record.records import Round
from ..record.session import Session
from .acceptance import cumulative_from_alpha
from .statistics import Interval, effective_size, wilson
from .visits import Setting, visits_of

LEAST_ROUNDS = 20  # of a window: with fewer, an interval covers nearly everything
MOST_WINDOWS = 32
MOST_SHOWN = 2_000
MS = 1e-6


@dataclass(frozen=True, slots=True)
class LengthCount:
    """How many rounds kept exactly `accepted` drafts, which share of all that is, and what one constant α would give.

    `expected` is α^j · (1 − α), and α^k at the longest; None where rounds drafted unlike lengths.
    """

    accepted: int
    rounds: int
    share: Interval
    expected: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """Rounds `first` to `last` (from 0, in the order they ran): conditional acceptance, E, and the mean round.

    `prompts` counts the prompts it touches.
    """

    first: int
    last: int
    acceptance: Interval
    tokens_per_round: float
    round_ms: float
    prompts: int


@dataclass(frozen=True, slots=True)
class OneRound:
    """One round in ms with its parts where it was split; `number` is its place among all, from 0.

    `counted` is how many of those that windows count ran before it.
    """

    number: int
    counted: int
    t_s: float
    prompt: str
    arm: str
    context: int
    drafted: int
    accepted: int
    round_ms: float
    draft_ms: float | None = None
    verify_ms: float | None = None
    rest_ms: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The rounds of one setting, warm-ups left out; `rounds` are the last ones, at most 2,000 of `count`.

    `alpha` is the conditional acceptance pooled over positions. It, `lengths` and `windows` are of free rounds where
    there are any, because split rounds go over the same text again.
    """

    setting: Setting
    count: int
    alpha: Interval
    lengths: tuple[LengthCount, ...]
    windows: tuple[Window, ...]
    rounds: tuple[OneRound, ...]


def history_of(session: Session) -> History | None:
    """The rounds of the last setting that drafted, in the order they ran; None where nothing was drafted."""
    by_run: dict[int, tuple[str, str, Setting]] = {}
    for visit in visits_of(session):
        if visit.setting is not None and visit.setting.k > 0:
            for arm, run in visit.runs.items():
                if arm in ("drafting", "split"):
                    by_run[run] = (arm, f"{visit.kind} {visit.prompt[:6]}", visit.setting)
    kept = [r for r in session.rounds if not r.warm_up and r.run in by_run and 0 <= r.accepted <= r.drafted]
    if not kept:
        return None
    setting = by_run[kept[-1].run][2]
    rounds = [r for r in kept if by_run[r.run][2] == setting and r.drafted > 0 and r.round_ns > 0]
    if not rounds:
        return None
    rounds.sort(key=lambda r: r.t_ns)
    free = [r for r in rounds if by_run[r.run][0] == "drafting"] or rounds  # split rounds go over the same text again
    effective = _effective_fraction(free)
    alpha = _acceptance(free, effective)
    first = max(0, len(rounds) - MOST_SHOWN)
    times = [r.t_ns for r in free]
    return History(
        setting=setting,
        count=len(rounds),
        alpha=alpha,
        lengths=_lengths(free, alpha.estimate, effective),
        windows=_windows(free, effective),
        rounds=tuple(
            _one(first + i, bisect_left(times, r.t_ns), r, *by_run[r.run][:2]) for i, r in enumerate(rounds[first:])
        ),
    )


def _effective_fraction(rounds: Sequence[Round]) -> float:
    """How much of a round's news neighbouring rounds leave: they read the same text."""
    series = [r.accepted / r.drafted for r in rounds[-20_000:]]
    if len(series) < 2 or len(set(series)) < 2:
        return 1.0
    return min(1.0, effective_size(series) / len(series))


def _acceptance(rounds: Iterable[Round], effective: float) -> Interval:
    """Conditional acceptance pooled over positions: tokens kept ÷ positions reached."""
    kept = reached = 0
    for r in rounds:
        kept += r.accepted
        reached += min(r.accepted + 1, r.drafted)
    return wilson(kept, reached, effective=max(1.0, reached * effective))


def _lengths(rounds: Sequence[Round], alpha: float, effective: float) -> tuple[LengthCount, ...]:
    longest = max(r.drafted for r in rounds)
    counts = [0] * (max(r.accepted for r in rounds) + 1)
    for r in rounds:
        counts[r.accepted] += 1
    alike = all(r.drafted == longest for r in rounds)
    at_least = (1.0, *cumulative_from_alpha(alpha, longest), 0.0) if alike else ()
    return tuple(
        LengthCount(
            accepted=j,
            rounds=count,
            share=wilson(count, len(rounds), effective=max(1.0, len(rounds) * effective)),
            expected=at_least[j] - at_least[j + 1] if alike else None,
        )
        for j, count in enumerate(counts)
    )


def _windows(rounds: Sequence[Round], effective: float) -> tuple[Window, ...]:
    each = max(LEAST_ROUNDS, math.ceil(len(rounds) / MOST_WINDOWS))
    starts = list(range(0, len(rounds), each))
    if len(starts) > 1 and len(rounds) - starts[-1] < LEAST_ROUNDS:
        starts.pop()  # too few for a window of their own
    found = []
    for start, end in zip(starts, [*starts[1:], len(rounds)], strict=True):
        window = rounds[start:end]
        found.append(
            Window(
                first=start,
                last=end - 1,
                acceptance=_acceptance(window, effective),
                tokens_per_round=1 + sum(r.accepted for r in window) / len(window),
                round_ms=sum(r.round_ns for r in window) / len(window) * MS,
                prompts=len({r.run for r in window}),
            )
        )
    return tuple(found)


def _one(number: int, counted: int, r: Round, arm: str, prompt: str) -> OneRound:
    return OneRound(
        number=number,
        counted=counted,
        t_s=r.t_ns / 1e9,
        prompt=prompt,
        arm=arm,
        context=r.context,
        drafted=r.drafted,
        accepted=r.accepted,
        round_ms=r.round_ns * MS,
        draft_ms=None if r.draft_ns is None else r.draft_ns * MS,
        verify_ms=None if r.verify_ns is None else r.verify_ns * MS,
        rest_ms=None if r.rest_ns is None else r.rest_ns * MS,
    )
