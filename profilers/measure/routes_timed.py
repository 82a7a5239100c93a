"""Races several ways to do one kind of work against each other: the best rate of the fastest, and how steady it was.

What else runs on a machine can only slow a route down, so its best turn says most of what the machine can do (STREAM,
McCalpin 1995, reports the same); the median says how much was in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Clock = Callable[[], int]

CONTENDER = 0.3  # of the best screened rate: who is slower than this does not win by luck either
SCREENED = 3
TURN_NS = 5_000_000  # a route that is shorter runs several times in its turn, so that some run is left alone
MOST_IN_TURN = 16
# What a library raises for a dtype it does not have, or for want of memory.
REFUSALS = (RuntimeError, ValueError, TypeError, MemoryError)


@dataclass(frozen=True, slots=True)
class Route:
    """One way to do the work: `run` moves or computes `amount` (bytes or flops) and has finished when it returns."""

    name: str
    amount: float
    run: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a route reached in amount per second: in its best turn, and in the median of them."""

    route: str
    best: float
    median: float


def fastest(routes: Sequence[Route], clock: Clock, repeats: int) -> Rate | None:
    """The rate of the route with the best turn; None when none runs on this machine.

    Every route warms up and is screened by a few runs. Those that come near the best then take `repeats` turns with
    each other, so that a machine that slows down slows all of them; the screening counts among the turns.
    """
    rates: dict[str, list[float]] = {}
    for route in routes:
        try:
            route.run()
            rates[route.name] = [_rate(route, clock) for _ in range(SCREENED)]
        except REFUSALS:
            continue
    if not rates:
        return None
    least = CONTENDER * max(max(screened) for screened in rates.values())
    contenders = [route for route in routes if max(rates.get(route.name, [0.0])) >= least]
    for _ in range(repeats):
        for route in contenders:
            rates[route.name].extend(_rate(route, clock) for _ in range(_runs(route, max(rates[route.name]))))
    return max((Rate(r.name, max(rates[r.name]), median(rates[r.name])) for r in contenders), key=lambda r: r.best)


def _runs(route: Route, rate: float) -> int:
    return max(1, min(MOST_IN_TURN, int(TURN_NS * rate / (route.amount * 1e9))))


def best_ns(run: Callable[[], object], clock: Clock) -> int:
    """The shortest of a few runs after a warm-up."""
    run()
    times = []
    for _ in range(SCREENED):
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


def _rate(route: Route, clock: Clock) -> float:
    began = clock()
    route.run()
    return route.amount * 1e9 / max(clock() - began, 1)
