"""The division over a list of draft lengths: which wins most, which cannot win, and what each would need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cautions import LOOP_OVERHEAD, SAME, Notes
from .facts import BLOCK_SUM, Facts
from .one_k import break_even_acceptance
from .round_facts import Baseline, round_of
from .ruling import impossible
from .tally import Tally
from .yields import carried_alpha, yield_from_one_k

BY_K = ("speedup", "tokens_per_round", "round_ms", "round_steps", "break_even_acceptance")


def judge_many_k(
    facts: Facts, tally: Tally, lengths: Sequence[int], baseline: Baseline | None, notes: Notes
) -> tuple[str | None, dict[str, Any]]:
    """The verdict of the best k, and the numbers of every k whose width was measured; scalars are those of the best."""
    _held_at_one(facts, tally, notes)
    if facts.verify_ruler == BLOCK_SUM and baseline is not None and not baseline.block_sum:
        notes.warn(
            "mixed_rulers",
            "Verify is a sum of blocks and the baseline a whole graph: what lies between the blocks is in one of them "
            "only.",
        )
        return "refused", {}
    rows = {k: _row(facts, tally, k, baseline, notes) for k in lengths}
    rows = {k: row for k, row in rows.items() if "round_ms" in row}
    missing = [k for k in lengths if k not in rows]
    if missing and (facts.verify_ms or facts.flat):
        named = ", ".join(map(str, missing[:12]))
        notes.warn("width_missing", f"Verify was not measured at k + 1 positions for k = {named}; those are left out.")
    numbers: dict[str, Any] = {}
    for name in BY_K:
        by_k = {str(k): row[name] for k, row in rows.items() if name in row}
        if by_k:
            numbers[f"{name}_by_k"] = by_k
    if baseline is not None and rows:
        numbers["decode_ms"] = baseline.ms
        numbers["unwinnable_k"] = [k for k, row in rows.items() if row["round_steps"] > (k + 1) * (1 + SAME)]
    verdict = _verdict(rows, numbers, notes)
    return verdict, numbers


def _row(facts: Facts, tally: Tally, k: int, baseline: Baseline | None, notes: Notes) -> dict[str, Any]:
    made = yield_from_one_k(facts, tally, k)
    around = round_of(facts, k, baseline, None, notes, alone=False)
    row: dict[str, Any] = {}
    if made.tokens is not None:
        row["tokens_per_round"] = made.tokens
    if made.conditional_acceptance is not None:
        row["conditional_acceptance"] = made.conditional_acceptance
    if made.per_draft is not None:
        row["per_draft"] = made.per_draft
    if around.ms is None:
        return row
    row |= {"round_ms": around.ms, "round_from": "parts", "overhead_ms": around.overhead_ms}
    if around.verify_ms is not None:
        row |= {"verify_ms": around.verify_ms, "draft_ms": around.draft_ms or 0.0}
    if made.tokens is not None:
        row["tokens_per_second"] = made.tokens * 1000 / around.ms
    if baseline is None:
        return row
    steps = around.ms / baseline.ms
    row |= {"round_steps": steps, "break_even_tokens_per_round": steps}
    row["break_even_acceptance"] = break_even_acceptance(steps, k)
    if around.verify_ms is not None:
        row["verify_steps"] = around.verify_ms / baseline.ms
    if made.tokens is not None:
        speedup = made.tokens / steps
        most = made.tokens * baseline.ms - (around.draft_ms or 0.0) - around.overhead_ms
        row |= {
            "speedup": speedup,
            "break_even_verify_ms": most,
            "break_even_verify_steps": most / baseline.ms,
        }
        if around.verify_ms is not None:
            row["speedup_if_verify_alone"] = made.tokens * baseline.ms / around.verify_ms
        limit = impossible(speedup, None, made.tokens, made.most, measured=False)
        if limit is not None:
            notes.warn(
                "impossible_win",
                f"At k = {k} drafting would run at {speedup:.2f}x, and a round that yields {limit:.2f} tokens cannot, "
                "not even at the cost of one decode step.",
            )
    if k == 0:
        row["overhead_of_decode"] = steps - 1
        if steps - 1 > LOOP_OVERHEAD + SAME:
            notes.warn(
                "overhead_without_drafts",
                f"Without drafts a round costs {steps - 1:.1%} more than plain decode: k = 0 is not off.",
            )
    return row


def _verdict(rows: dict[int, dict[str, Any]], numbers: dict[str, Any], notes: Notes) -> str | None:
    """The best k decides; nothing can win where no k can."""
    speedups = {k: row["speedup"] for k, row in rows.items() if "speedup" in row}
    if set(speedups) == {0} and len(rows) > 1:
        speedups = {}  # the loop without drafts alone says nothing about drafting
    if speedups:
        best = max(speedups, key=lambda k: speedups[k])
        numbers |= {"best_k": best, **rows[best]}
    hopeless = numbers.get("unwinnable_k", [])
    if rows and len(hopeless) == len(rows):
        numbers["basis"] = "point"
        return "unwinnable"
    if not speedups:
        return None
    numbers["basis"] = "point"
    return "wins" if max(speedups.values()) > 1 + SAME else "loses"


def _held_at_one(facts: Facts, tally: Tally, notes: Notes) -> None:
    """Name the facts that belong to one k, for they cannot be used at several."""
    given = facts.acceptance
    names = [
        name
        for name, there in (
            ("round_ms", facts.round_ms is not None),
            ("a speed with drafts", bool(facts.speculative_tps or facts.speculative_ms_per_token)),
            ("tokens_per_round", facts.tokens_per_round is not None),
            ("mean_accepted", given.mean_accepted is not None),
            (f"acceptance of the kind {given.kind}", given.kind in ("per_draft", "accepted_per_generated")),
            ("verify_passes", facts.verify_passes is not None),
            ("the engine's mean length", tally.tokens_per_round is not None),
            ("the counts", tally.accepted is not None and carried_alpha(facts, tally) is None and not tally.positions),
        )
        if there
    ]
    if names:
        notes.warn(
            "facts_of_one_k",
            f"At which of the draft lengths {', '.join(names)} was taken is not said, so it was not used: give "
            "one k, or conditional acceptance and verify by width.",
        )
    if facts.draft_ms and facts.draft_step_ms is None:
        notes.assume("draft_ms")


def listed(k: int, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of one k as those of a list of one."""
    found: dict[str, Any] = {
        f"{name}_by_k": {str(k): numbers[name]} for name in BY_K if name in numbers and "round_ms" in numbers
    }
    steps = numbers.get("round_steps")
    if steps is not None:
        found["unwinnable_k"] = [k] if steps > (k + 1) * (1 + SAME) else []
    if "speedup" in numbers:
        found["best_k"] = k
    return found
