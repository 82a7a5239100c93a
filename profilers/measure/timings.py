"""What a timing of a block is, by ruler, and how timings add up to op categories. No MLX here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, get_args

Category = Literal[
    "embedding",
    "linear attention",
    "full attention",
    "MoE",
    "MLP",
    "norms and residuals",
    "output head",
    "sampling",
    "misc",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Arrangement = Literal["cycled", "hot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTiming:
    """One timing of one block, or of the blocks of one place, at `width` positions; all times in ns.

    Fenced: `block` is one block, `samples_ns` are build + eval, `build_ns` and `eval_ns` their parts. Queued: `block`
    is a place such as `model.layers.*.mlp`, `slope_ns` what one of its `layers` blocks costs on the mean, with a 95%
    interval; `copies` are the blocks in each timed graph, `eval_ns` its evaluation, `build_ns` its build per block.
    `arrangement` says whether copies went round the layers (cycled; a long cycle is thinned to evenly spaced layers)
    or stayed at one (hot; `layer` names it); None where there is but one block. `cached`: the weights that the copies
    touch fit the last-level cache, None if unknown. `link_ns` is the cost of chaining a copy to the next, already
    taken off the slope. `detail` tells kinds of one category apart (gated delta, sliding window, router).
    """

    block: str
    category: Category
    layer: int | None
    width: int
    context: int
    ruler: Literal["fenced", "queued"]
    samples_ns: tuple[int, ...] | None = None
    slope_ns: float | None = None
    low_ns: float | None = None
    high_ns: float | None = None
    build_ns: tuple[int, ...] = ()
    eval_ns: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    layers: int = 1
    arrangement: Arrangement | None = None
    cached: bool | None = None
    link_ns: float | None = None
    detail: str | None = None

    @property
    def total_ns(self) -> float:
        """What the blocks of this place cost together in one pass: the mean sample, or slope × layers."""
        if self.slope_ns is not None:
            return self.slope_ns * self.layers
        return fmean(self.samples_ns or (0,))


def category_totals(
    timings: Iterable[BlockTiming], width: int, ruler: Literal["fenced", "queued"], arrangement: Arrangement = "cycled"
) -> dict[Category, float]:
    """Σ over a pass's blocks by category, in ns: the mean of each place's or block's timings at that width.

    Places with one block only count in either arrangement; categories without a timing are left out.
    """
    values: dict[tuple[Category, str], list[float]] = {}
    for t in timings:
        if t.width == width and t.ruler == ruler and t.arrangement in (None, arrangement):
            values.setdefault((t.category, t.block), []).append(t.total_ns)
    sums: dict[Category, float] = {}
    for category in CATEGORIES:
        found = [fmean(v) for (c, _), v in values.items() if c == category]
        if found:
            sums[category] = sum(found)
    return sums
