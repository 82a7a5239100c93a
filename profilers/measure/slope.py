"""The queued ruler's arithmetic: what one more copy in a graph costs, free of the fence around the graph.

Graphs of several lengths are timed in interleaved repeats, the clock on the evaluation only, since graph build would
change the slope by 7–18%. Each repeat keeps an intercept of its own, so that drift between repeats stays out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Chain = Callable[[int], Any]
SHORTEST_NS = 500_000  # a graph much shorter than this drowns in the jitter of its fence
LADDERS = ((1, 2, 4, 8), (1, 2, 4), (1, 2))
FEWEST_REPEATS = 3
MOST_REPEATS = 8
MOST_COPIES = 512
LEAST_WORK = FEWEST_REPEATS * sum(LADDERS[-1])  # copies that the smallest design evaluates
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Slope:
    """A cost per copy in ns with the ends of its 95% t interval."""

    ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True, slots=True)
class Timed:
    """A slope with the graphs behind it: copies, evaluation and build of each, and the slope of the links alone."""

    slope: Slope
    link_ns: float
    copies: tuple[int, ...]
    eval_ns: tuple[int, ...]
    build_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """How many copies the graphs hold, how often each is timed, and how many times more links their graphs hold."""

    counts: tuple[int, ...]
    repeats: int
    link_factor: int = 1


def design(copy_ns: float, link_ns: float, budget_ns: float) -> Design:
    """The longest ladder of graphs that three repeats fit into the budget, else the shortest; more repeats if they fit.

    `copy_ns` and `link_ns` are what a copy and the link to the next cost, build included. Copies of short blocks come
    in multiples, and links in more of them, so that even the shortest graph is long against the jitter of a fence.
    """
    unit = _copies_for(copy_ns)
    for ladder in LADDERS:
        once = sum(ladder) * unit * copy_ns
        if FEWEST_REPEATS * once <= budget_ns:
            break
    repeats = int(budget_ns // once) if once else MOST_REPEATS
    factor = max(1, _copies_for(link_ns) // unit)
    return Design(tuple(unit * r for r in ladder), max(FEWEST_REPEATS, min(repeats, MOST_REPEATS)), factor)


def _copies_for(copy_ns: float) -> int:
    return max(1, min(math.ceil(SHORTEST_NS / max(copy_ns, 1.0)), MOST_COPIES // LADDERS[0][-1]))


def timed_slope(
    chain: Chain,
    link: Chain,
    plan: Design,
    clock: Callable[[], int],
    wait: Callable[[Any], object],
    random_source: random.Random,
) -> Timed:
    """Time `chain(r)`, and `link` of as many copies or more, for each r of the design, in random order in each repeat.

    `chain` builds a lazy graph of r copies, `link` one of what chains them and nothing else; `wait` evaluates.
    The slope is that of the chains less that of the links.
    """
    chains: list[list[tuple[int, float]]] = []
    links: list[list[tuple[int, float]]] = []
    copies, evals, builds = [], [], []
    for _ in range(plan.repeats):
        chains.append([])
        links.append([])
        for r in random_source.sample(plan.counts, len(plan.counts)):
            build_ns, eval_ns = _once(chain, r, clock, wait)
            chains[-1].append((r, float(eval_ns)))
            copies.append(r)
            evals.append(eval_ns)
            builds.append(build_ns // r)
            links[-1].append((r * plan.link_factor, float(_once(link, r * plan.link_factor, clock, wait)[1])))
    whole, each_link = fit(chains), fit(links)
    net = whole.ns - each_link.ns
    half = math.hypot(whole.high_ns - whole.ns, each_link.high_ns - each_link.ns)
    return Timed(Slope(net, net - half, net + half), each_link.ns, tuple(copies), tuple(evals), tuple(builds))


def _once(chain: Chain, r: int, clock: Callable[[], int], wait: Callable[[Any], object]) -> tuple[int, int]:
    """Build and evaluation of one graph, in ns."""
    began = clock()
    graph = chain(r)
    built = clock()
    wait(graph)
    return built - began, clock() - built


def fit(repeats: Sequence[Sequence[tuple[int, float]]]) -> Slope:
    """Least squares of ns over copies with one slope for all repeats and an intercept for each, and its t interval.

    Each repeat is a sequence of (copies, ns) with at least two different copies.
    """
    from scipy.special import stdtrit

    centred = [_centred(points) for points in repeats]
    spread = sum(x * x for points in centred for x, _ in points)
    slope = sum(x * y for points in centred for x, y in points) / spread
    left = sum((y - slope * x) ** 2 for points in centred for x, y in points)
    freedom = sum(len(points) - 1 for points in repeats) - 1
    half = float(stdtrit(freedom, 0.5 + LEVEL / 2)) * math.sqrt(left / freedom / spread) if freedom > 0 else math.inf
    return Slope(slope, slope - half, slope + half)


def _centred(points: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    return [(x - x_mean, y - y_mean) for x, y in points]
