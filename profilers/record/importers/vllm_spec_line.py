"""One `SpecDecoding metrics:` line of vLLM, in its forms since 2024, as the rounds of a window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from .findings import Findings
from .written_numbers import NUMBER, number, whole

_LENGTH = re.compile(rf"Mean acceptance length:\s*({NUMBER})", re.IGNORECASE)
_ACCEPTED = re.compile(rf"\bAccepted:\s*({NUMBER})\s*tok", re.IGNORECASE)
_DRAFTED = re.compile(rf"\bDrafted:\s*({NUMBER})\s*tok", re.IGNORECASE)
_DRAFTS = re.compile(rf"\b(?:Num drafts|Number of drafts|Drafts):\s*({NUMBER})", re.IGNORECASE)
_PER_SECOND = re.compile(rf"Accepted throughput:\s*({NUMBER})\s*tok", re.IGNORECASE)
_POSITIONS = re.compile(rf"Per-position acceptance rate:\s*\[?((?:{NUMBER})(?:,\s+(?:{NUMBER}))*)", re.IGNORECASE)
_RATE = re.compile(rf"Draft acceptance rate:\s*({NUMBER})\s*(%?)", re.IGNORECASE)
_OLD = re.compile(
    rf"Number of speculative tokens:\s*(\d+),.*?accepted tokens:\s*({NUMBER}),\s.*?draft tokens:\s*({NUMBER}),\s"
    rf".*?emitted tokens:\s*({NUMBER})\.?(?:\s|$)"
)
_PER_SECOND_UNIT = re.compile(r"\b(?:Accepted|Drafted):\s*[\d.,]+\s*tok\w*/s", re.IGNORECASE)
_LONGEST = 256
_TRIED = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecWindow:
    """What one line says: counts of its window, E, cumulative rates by position, accepted tokens per second."""

    drafted: int
    accepted: int
    rounds: int | None = None
    tokens_per_round: float | None = None
    rates: tuple[float, ...] = ()
    accepted_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OldTotals:
    """What a line of vLLM before its rewrite says: totals since the server's start.

    Its accepted tokens hold those behind a rejected one, so only the emitted ones tell how many a round gave.
    """

    k: int
    accepted: int
    drafted: int
    emitted: int


def spec_window(line: str, k: int | None, findings: Findings) -> SpecWindow | None:
    """Return the window of a line, None if it is damaged; `k` is what the server was started with, if known.

    Rounds are not printed: they are found as the number that fits what is.
    """
    accepted, drafted = _whole(_ACCEPTED, line), _whole(_DRAFTED, line)
    if accepted is None or drafted is None or _PER_SECOND_UNIT.search(line):
        return None
    length = _number(_LENGTH, line)
    rates = _rates(line)
    rate = _RATE.search(line)
    if accepted > drafted:
        findings.contradict(f"More drafts were accepted ({accepted:,}) than drafted ({drafted:,}).", "more")
        return SpecWindow(drafted=drafted, accepted=accepted, tokens_per_round=length)
    if length is not None and length < 1:
        findings.contradict(
            f"A mean acceptance length of {length:.2f} is less than the one token of a round.", "length"
        )
        length = None
    if rate and drafted:
        value = number(rate[1])
        share = None if value is None else value / 100 if rate[2] else value
        if share is not None and abs(share - accepted / drafted) > 0.0011:
            findings.contradict(
                f"A draft acceptance rate of {share:.1%} does not fit {accepted:,} accepted of {drafted:,} drafted.",
                "rate",
            )
    if rates and (max(rates) > 1 or any(later > earlier + 0.0011 for earlier, later in pairwise(rates))):
        findings.contradict("Acceptance by position rises or is above 1, so it is not cumulative.", "positions")
        rates = ()
    if rates and length is not None and abs(1 + sum(rates) - length) > 0.02 + 0.001 * len(rates):
        findings.contradict(
            f"The rates by position make {1 + sum(rates):.2f} tokens a round, the mean length is {length:.2f}.",
            "positions",
        )
        rates = ()
    rounds = _whole(_DRAFTS, line)
    if rounds is None:
        rounds = _rounds(accepted, drafted, length, rates, len(rates) or k)
    return SpecWindow(
        drafted=drafted,
        accepted=accepted,
        rounds=rounds,
        tokens_per_round=length,
        rates=rates,
        accepted_per_second=_number(_PER_SECOND, line),
    )


def old_totals(line: str) -> OldTotals | None:
    """Return the totals of an old line, None if it is damaged."""
    found = _OLD.search(line)
    if found is None:
        return None
    k, accepted, drafted, emitted = (whole(part) for part in found.groups())
    if not k or k > _LONGEST or accepted is None or drafted is None or emitted is None:
        return None
    return OldTotals(k=k, accepted=accepted, drafted=drafted, emitted=emitted)


def _rounds(accepted: int, drafted: int, length: float | None, rates: tuple[float, ...], k: int | None) -> int | None:
    """Return the number of rounds that fits the printed figures, which were rounded; None if nothing tells it."""
    if k and drafted and drafted % k == 0:
        full = drafted // k
        if length is None or abs(1 + accepted / full - length) <= 0.006:
            return full
    if length is None or not accepted or length - 1 <= 0.005:
        return None
    least = max(1, -(-drafted // k) if k else 1, int(accepted / (length - 1 + 0.0051)))
    most = int(accepted / (length - 1 - 0.005)) + 1
    if most < least or most - least > _TRIED or not rates:
        return max(least, round(accepted / (length - 1)))

    def misfit(rounds: int) -> tuple[float, float]:
        # counts by position are whole numbers, so the right number of rounds makes whole ones of all rates
        return (
            sum(abs(rate - round(rate * rounds) / rounds) > 0.00051 for rate in rates),
            abs(1 + accepted / rounds - length),
        )

    return min(range(least, most + 1), key=misfit)


def _rates(line: str) -> tuple[float, ...]:
    found = _POSITIONS.search(line)
    if not found:
        return ()
    texts = re.split(r",\s+", found[1])
    rates = [number(text) for text in texts]
    if len(rates) > _LONGEST or None in rates or len(texts[-1]) != len(texts[0]):
        # a line that was cut inside its last number
        return ()
    return tuple(rate for rate in rates if rate is not None)


def _number(pattern: re.Pattern[str], line: str) -> float | None:
    found = pattern.search(line)
    return number(found[1]) if found else None


def _whole(pattern: re.Pattern[str], line: str) -> int | None:
    found = pattern.search(line)
    return whole(found[1]) if found else None
