"""How the rounds of a session went, one after another: accepted lengths, acceptance over time, single rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...engine.limits import LONGEST_DRAFT
from ..record.records import Round
from ..record.session import Session
from .acceptance import cumulative_from_alpha
from .event_rows import Rows, columns_of, mean, total
from .sided import one_side
from .statistics import Interval, effective_size, wilson
from .visits import Setting, visits_of

LEAST_ROUNDS = 20  # of a window: with fewer, an interval covers nearly everything
MOST_WINDOWS = 32
MOST_SHOWN = 2_000
LAST_ROUNDS = 20_000  # that tell how alike neighbours are
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
    session = one_side(session)
    kept = columns_of(session.rounds, Round)
    runs, drafted, accepted = (kept.column(name) for name in ("run", "drafted", "accepted"))
    counts = (kept.column("warm_up") == 0) & np.isin(runs, sorted(by_run))
    counts &= (accepted <= drafted) & (drafted <= LONGEST_DRAFT)
    if not counts.any():
        return None
    setting = by_run[int(runs[np.flatnonzero(counts)[-1]])][2]
    mine = sorted(number for number, each in by_run.items() if each[2] == setting)
    places = np.flatnonzero(counts & np.isin(runs, mine) & (drafted > 0) & (kept.column("round_ns") > 0))
    if not places.size:
        return None
    rounds = Rows(kept, places[np.argsort(kept.column("t_ns")[places], kind="stable")])
    drafting = [number for number in mine if by_run[number][0] == "drafting"]
    free = rounds.where(np.isin(rounds.column("run"), drafting))
    free = free if len(free) else rounds  # split rounds go over the same text again
    effective = _effective_fraction(free)
    alpha = _acceptance(free, effective)
    first = max(0, len(rounds) - MOST_SHOWN)
    shown = rounds[first:]
    counted = np.searchsorted(free.column("t_ns"), shown.column("t_ns"), side="left").tolist()
    return History(
        setting=setting,
        count=len(rounds),
        alpha=alpha,
        lengths=_lengths(free, alpha.estimate, effective),
        windows=_windows(free, effective),
        rounds=tuple(
            _one(first + i, before, r, *by_run[r.run][:2])
            for i, (before, r) in enumerate(zip(counted, shown, strict=True))
        ),
    )


def _effective_fraction(rounds: Rows[Round]) -> float:
    """How much of a round's news neighbouring rounds leave: they read the same text."""
    last = rounds[-LAST_ROUNDS:]
    series = last.column("accepted") / last.column("drafted")
    if len(series) < 2 or (series == series[0]).all():
        return 1.0
    return min(1.0, effective_size(series) / len(series))


def _acceptance(rounds: Rows[Round], effective: float) -> Interval:
    """Conditional acceptance pooled over positions: tokens kept ÷ positions reached."""
    accepted, drafted = rounds.column("accepted"), rounds.column("drafted")
    kept = total(accepted)
    reached = kept + int((accepted < drafted).sum())
    return wilson(kept, reached, effective=max(1.0, reached * effective))


def _lengths(rounds: Rows[Round], alpha: float, effective: float) -> tuple[LengthCount, ...]:
    drafted = rounds.column("drafted")
    longest = int(drafted.max())
    counts = np.bincount(rounds.column("accepted")).tolist()
    alike = bool((drafted == longest).all())
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


def _windows(rounds: Rows[Round], effective: float) -> tuple[Window, ...]:
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
                tokens_per_round=1 + mean(window.column("accepted")),
                round_ms=mean(window.column("round_ns")) * MS,
                prompts=np.unique(window.column("run")).size,
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
