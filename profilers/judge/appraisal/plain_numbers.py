"""Numbers that need no verdict: the verify curve, the gap between two rulers, counts with their bounds, experts."""

from __future__ import annotations

import math
from typing import Any

from ..acceptance import AcceptanceKind
from ..counted import counted
from ..economics import expected_experts
from ..statistics import upper_bound_when_none, wilson
from .cautions import BUG_DRAFTS, FEWEST_ROUNDS, Notes
from .cliff import cliff_between, ratios
from .facts import BLOCK_SUM, Facts
from .round_facts import Baseline, wall_of
from .tally import Tally
from .yields import NORMAL_95


def curve_of(facts: Facts, k: int | None, baseline: Baseline | None, notes: Notes) -> dict[str, Any]:
    """T(n) ÷ T(1) by width, the cliff, and the most drafts that stay below it."""
    numbers: dict[str, Any] = {}
    single = facts.verify_ms.get(1)
    if single is None and baseline is not None and facts.verify_ruler != BLOCK_SUM and facts.verify_ms:
        single = baseline.ms
        notes.assume('verify_ms["1"]')
    if single is not None:
        numbers["ratios"] = {str(n): ratio for n, ratio in ratios(facts.verify_ms, single).items()}
    cliff = cliff_between(facts.verify_ms)
    if cliff is not None:
        numbers |= {"cliff_between": list(cliff), "largest_safe_k": cliff[0] - 1}
        if k is not None and k + 1 > cliff[0]:
            notes.warn(
                "past_cliff",
                f"k = {k} verifies {k + 1} positions, beyond the cliff between {cliff[0]} and {cliff[1]}.",
            )
    return numbers


def gap_of(facts: Facts, baseline: Baseline | None, notes: Notes) -> dict[str, Any]:
    """Whole-graph wall − sum of the blocks, in ms and as shares of both."""
    wall, blocks = wall_of(facts, baseline), facts.block_sum_ms
    if wall is None or blocks is None:
        return {}
    gap = wall - blocks
    if gap < 0:
        notes.warn(
            "negative_gap",
            f"The blocks add up to {blocks:.2f} ms and the whole graph takes {wall:.2f} ms: fences cost more than what "
            "lies between the blocks.",
        )
    return {"gap_ms": gap, "gap_of_sum": gap / blocks, "gap_of_wall": gap / wall}


def counts_of(facts: Facts, tally: Tally, k: int | None, notes: Notes) -> dict[str, Any]:
    """Rounds, accepted and drafted tokens, with the bounds that follow from them."""
    numbers: dict[str, Any] = {
        name: count
        for name, count in (
            ("rounds", round(tally.rounds) if tally.rounds is not None else None),
            ("accepted", tally.accepted),
            ("drafted", tally.drafted),
        )
        if count is not None
    }
    found = _share_of(facts, tally, k)
    if found is not None:
        share, drafted = found
        interval = wilson(share * drafted, drafted)
        numbers["wilson_95"] = [interval.low, interval.high]
        numbers["half_width_95"] = NORMAL_95 * math.sqrt(share * (1 - share) / drafted)
    if tally.accepted == 0 and tally.drafted:
        numbers["acceptance_upper_95"] = bound = upper_bound_when_none(tally.drafted)
        if tally.drafted >= BUG_DRAFTS:
            notes.warn(
                "zero_acceptance",
                f"None of {tally.drafted:,} drafts was accepted, so at most {bound:.2%} would be: a bug, not a bad "
                "drafter.",
            )
    if tally.rounds is not None and tally.rounds < FEWEST_ROUNDS:
        notes.warn(
            "too_few_rounds",
            f"The acceptance rests on {counted(round(tally.rounds), 'round')}; below {FEWEST_ROUNDS} luck decides.",
        )
    return numbers


def experts_of(facts: Facts, k: int | None) -> dict[str, Any]:
    """Distinct experts that so many positions touch under independent routing."""
    moe = facts.moe
    if moe is None:
        return {}
    positions = moe.positions or ((1, k + 1) if k else (1,))
    return {"moe_distinct": [expected_experts(moe.experts, moe.active, n) for n in positions]}


def _share_of(facts: Facts, tally: Tally, k: int | None) -> tuple[float, int] | None:
    """Accepted ÷ drafted and how many drafts it rests on: from counts, or a published share that says over how many."""
    if tally.accepted is not None and tally.drafted:
        return (tally.accepted / tally.drafted, tally.drafted) if tally.accepted <= tally.drafted else None
    value, kind = facts.acceptance.value, facts.acceptance.kind
    drafted = tally.drafted or (round(tally.rounds * k) if tally.rounds and k else None)
    if value is None or not drafted:
        return None
    of_drafts = kind is AcceptanceKind.PER_DRAFT or (kind is AcceptanceKind.CONDITIONAL and k == 1)
    return (value, drafted) if of_drafts else None
