"""Where a published verify curve jumps, and how many drafts stay below the jump; widths as measured, none between."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

TIMES_TYPICAL = 4.0
# A curve that is flat but for noise has a typical step near zero, of which anything is four times as much.
LEAST_STEP = 0.05


def ratios(verify_ms: Mapping[int, float], single_ms: float) -> dict[int, float]:
    """T(n) ÷ T(1) by n."""
    return {n: ms / single_ms for n, ms in sorted(verify_ms.items())}


def cliff_between(verify_ms: Mapping[int, float]) -> tuple[int, int] | None:
    """The neighbouring measured widths between which verify jumps, or None.

    The step with the largest cost per position, if that is at least TIMES_TYPICAL times the median of the other steps
    and the step adds at least LEAST_STEP to the cost before it.
    """
    widths = sorted(verify_ms)
    steps = {(a, b): (verify_ms[b] - verify_ms[a]) / (b - a) for a, b in pairwise(widths)}
    if len(steps) < 2:
        return None
    at = max(steps, key=lambda pair: steps[pair])
    others = median(cost for pair, cost in steps.items() if pair != at)
    jump = verify_ms[at[1]] - verify_ms[at[0]]
    if steps[at] >= TIMES_TYPICAL * others and jump >= LEAST_STEP * verify_ms[at[0]]:
        return at
    return None
