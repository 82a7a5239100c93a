"""A few cells of a product that meet every pair of values which some allowed cell meets; the same ones every time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations

Pair = tuple[int, Hashable, int, Hashable]


def pairs_of(cell: tuple[Hashable, ...]) -> set[Pair]:
    """Every two places of a cell with their values."""
    return {(i, cell[i], j, cell[j]) for i, j in combinations(range(len(cell)), 2)}


def pairwise(cells: Iterable[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Cells out of the given ones that hold every pair that occurs: greedily, each with most pairs not met yet.

    Only cells with the first pair that is missing are looked at, in the order given.
    """
    allowed = list(cells)
    holders: dict[Pair, list[int]] = {}
    sets = [pairs_of(cell) for cell in allowed]
    for at, cell in enumerate(allowed):
        for pair in sorted(pairs_of(cell), key=repr):
            holders.setdefault(pair, []).append(at)
    missing = dict.fromkeys(holders)
    chosen = []
    while missing:
        wanted = next(iter(missing))
        best = max(holders[wanted], key=lambda at: len(sets[at] & missing.keys()))
        chosen.append(allowed[best])
        for pair in sets[best]:
            missing.pop(pair, None)
    return chosen
