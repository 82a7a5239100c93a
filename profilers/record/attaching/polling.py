"""Looks at a server again and again: at a pace it can bear, on through outages, until somebody says stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .fetch import Answer, FetchFailed
from .page import Look, NotMetrics, look_at, text_of

NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often to look. A server that is slow to answer is asked so rarely that answering stays `share` of its time.

    While there is no answer pauses double, up to `longest_s`; after `patience_s` without one the polling ends.
    """

    interval_s: float = 1.0
    share: float = 0.1
    longest_s: float = 20.0
    patience_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """No look was to be had at `t_ns`, the first time in a row or again; `last` when patience is at its end."""

    t_ns: int
    sentence: str
    first: bool
    last: bool


def looked(read: Callable[[], Answer], shown: str, clock: Callable[[], int]) -> Look:
    """Take one look, in the middle of the time that it took; FetchFailed or NotMetrics where there is none."""
    before_ns = clock()
    answer = read()
    half_ns = (clock() - before_ns) // 2
    return look_at(text_of(answer), shown, before_ns + half_ns, half_ns)


def polled(
    read: Callable[[], Answer],
    shown: str,
    clock: Callable[[], int],
    nap: Callable[[float], bool],
    pace: Pace,
) -> Iterator[Look | Missed]:
    """Yield a look, or that it failed, after each nap; ends when `nap` says False or patience is at its end.

    `clock` counts nanoseconds; `nap` waits so many seconds and says whether to go on.
    """
    pause_s, failures, since_ns = pace.interval_s, 0, 0
    while nap(pause_s):
        began_ns = clock()
        try:
            look = looked(read, shown, clock)
        except (FetchFailed, NotMetrics) as error:
            ended_ns = clock()
            if not failures:
                since_ns = began_ns
            failures += 1
            last = ended_ns - since_ns >= pace.patience_s * NS
            yield Missed(t_ns=ended_ns, sentence=str(error), first=failures == 1, last=last)
            if last:
                return
            pause_s = min(pace.interval_s * 2 ** min(failures, 30), max(pace.longest_s, pace.interval_s))
        else:
            failures = 0
            took_s = (clock() - began_ns) / NS
            whole_s = max(pace.interval_s, min(took_s / pace.share, pace.longest_s))
            pause_s = max(whole_s - took_s, 0.0)
            yield look
