"""The division for one draft length: E, the round, the speedup, and where the line between winning and losing runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....engine.errors import SpecviewError
from ..acceptance import alpha_from_tokens
from ..statistics import Interval
from .cautions import FEWEST_RUNS, LOOP_OVERHEAD, SAME, Notes
from .facts import BLOCK_SUM, Facts
from .round_facts import (
    Baseline,
    Round,
    Runs,
    account,
    draft_of,
    round_of,
    verify_at,
    whole_graph_verify,
)
from .ruling import impossible, predicted_interval, ruling, run_ratio_interval
from .tally import Tally
from .yields import Yield, converted, drafts_vary, yield_of


def judge_one_k(
    facts: Facts, tally: Tally, k: int | None, baseline: Baseline | None, measured: Runs | None, notes: Notes
) -> tuple[str | None, dict[str, Any]]:
    """The verdict at one k (None where it was not said) and every number that follows."""
    made = yield_of(facts, tally, k, notes)
    measured_ms = made.tokens * measured.ms if made.tokens is not None and measured is not None else None
    around = round_of(facts, k, baseline, measured_ms, notes, alone=True)
    if made.tokens is None and around.ms is not None and measured is not None:
        made, around = _yield_from_time(made, around, facts, tally, k, measured, notes)
    if baseline is None and facts.verify_ruler == BLOCK_SUM and around.source == "parts":
        around = replace(around, ms=None, source=None)  # a sum of blocks is no round
    mixed = _mixed(facts, baseline, around, notes)
    _missing(facts, k, around, notes)
    numbers: dict[str, Any] = {} if k is None else {"k": k}
    numbers |= _yield_numbers(made)
    if mixed:
        return "refused", numbers | _mixed_numbers(facts, made, around, k, baseline, measured)
    numbers |= _round_numbers(facts, made, around, k, baseline, measured, notes)
    steps = around.ms / baseline.ms if around.ms is not None and baseline is not None else None
    verdict, judged = _judge(made, around, steps, baseline, measured, k, notes)
    if k is not None and steps is not None:
        numbers["break_even_acceptance"] = break_even_acceptance(steps, k)
    if steps is not None and made.most is not None and made.most > 1:
        least = (steps - 1) / (made.most - 1)
        numbers["break_even_per_draft"] = least if -SAME <= least <= 1 + SAME else None
    if k == 0:
        numbers |= _loop(steps, notes)
    if drafts_vary(tally, k):
        notes.warn(
            "drafts_vary",
            f"Rounds draft {tally.mean_drafted or 0:.2f} tokens on average, fewer than k = {k}: no one conditional "
            "acceptance or round cost holds for all of them.",
        )
    return verdict, numbers | judged


def break_even_acceptance(round_steps: float, k: int) -> float | None:
    """The conditional α with E(α, k) = R; None if none has."""
    if not 1 - SAME <= round_steps <= (k + 1) * (1 + SAME):
        return None
    if k == 0:
        return 0.0
    return alpha_from_tokens(min(max(round_steps, 1.0), k + 1.0), k) if round_steps > 1 + SAME else 0.0


def _yield_from_time(
    made: Yield, around: Round, facts: Facts, tally: Tally, k: int | None, measured: Runs, notes: Notes
) -> tuple[Yield, Round]:
    """E = T_round ÷ ms per token, where only those two are known."""
    assert around.ms is not None
    tokens = around.ms / measured.ms
    notes.infer("tokens_per_round")
    found = Yield(tokens=tokens, most=made.most)
    if (made.most is not None and tokens > made.most * 1.02) or tokens < 0.98:
        notes.warn(
            "impossible_facts",
            f"A round of {around.ms:.2f} ms at {1000 / measured.ms:.4g} tok/s would yield {tokens:.2f} tokens, "
            + (f"not between 1 and {made.most:.3g}." if made.most is not None else "fewer than one."),
        )
        return found, around
    try:
        return converted(found, facts, tally, k, notes), around
    except SpecviewError:
        return found, around


def _mixed(facts: Facts, baseline: Baseline | None, around: Round, notes: Notes) -> bool:
    """Whether the division would put a block sum over a whole-graph baseline."""
    if facts.verify_ruler != BLOCK_SUM or baseline is None or baseline.block_sum:
        return False
    if around.source in ("given", "speed"):
        return False
    if around.verify_ms is None and facts.block_sum_ms is None:
        return False
    notes.warn(
        "mixed_rulers",
        "Verify is a sum of blocks and the baseline a whole graph: what lies between blocks is in only one of them.",
    )
    return True


def _missing(facts: Facts, k: int | None, around: Round, notes: Notes) -> None:
    if k is None or around.verify_ms is not None or not any(width > 1 for width in facts.verify_ms):
        return
    widths = ", ".join(map(str, list(facts.verify_ms)[:12]))
    notes.warn("width_missing", f"k = {k} verifies {k + 1} positions, and verify was measured at {widths} only.")
    if k in facts.verify_ms and k == max(facts.verify_ms):
        notes.warn("k_counts_positions", f"The widest verify is {k} positions: k may count positions, not drafts.")


def _yield_numbers(made: Yield) -> dict[str, Any]:
    found = (
        ("tokens_per_round", made.tokens),
        ("tokens_per_round_95", _ends(made.interval)),
        ("conditional_acceptance", made.conditional_acceptance),
        ("conditional", list(made.conditional) or None),
        ("cumulative", list(made.cumulative) or None),
        ("per_draft", made.per_draft),
    )
    return {name: value for name, value in found if value is not None}


def _round_numbers(
    facts: Facts,
    made: Yield,
    around: Round,
    k: int | None,
    baseline: Baseline | None,
    measured: Runs | None,
    notes: Notes,
) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    verify, tokens = around.verify_ms, made.tokens
    one_ruler = facts.verify_ruler != BLOCK_SUM
    if around.ms is not None:
        numbers |= {"round_ms": around.ms, "round_from": around.source}
    for name, ms in (("verify_ms", verify), ("draft_ms", around.draft_ms)):
        if ms is not None and one_ruler:
            numbers[name] = ms
    if facts.overhead_ms is not None or around.source == "parts":
        numbers["overhead_ms"] = around.overhead_ms
    rest = account(around, notes) if one_ruler else None
    if rest is not None:
        numbers["unaccounted_ms"] = rest
    if baseline is not None:
        numbers["decode_ms"] = baseline.ms
        if around.ms is not None:
            steps = around.ms / baseline.ms
            numbers |= {"round_steps": steps, "break_even_tokens_per_round": steps}
        if verify is not None and one_ruler:
            numbers["verify_steps"] = verify / baseline.ms
            if tokens is not None:
                numbers["speedup_if_verify_alone"] = tokens * baseline.ms / verify
    numbers |= _verify_limits(facts, made, around, k, baseline, notes)
    if tokens is not None and around.ms:
        numbers["tokens_per_second"] = tokens * 1000 / around.ms
    elif measured is not None:
        numbers["tokens_per_second"] = 1000 / measured.ms
    if measured is not None:
        numbers["measured_tokens_per_second"] = 1000 / measured.ms
        if baseline is not None:
            numbers["measured_speedup"] = baseline.ms / measured.ms
        independent = around.source in ("given", "parts") and "tokens_per_round" not in notes.inferred
        if independent and tokens is not None and around.ms:
            numbers["prediction_error"] = tokens * measured.ms / around.ms - 1
    return numbers


def _verify_limits(
    facts: Facts, made: Yield, around: Round, k: int | None, baseline: Baseline | None, notes: Notes
) -> dict[str, Any]:
    """The most verify may cost, and what it must have cost."""
    numbers: dict[str, Any] = {}
    if made.tokens is None:
        return numbers
    draft = draft_of(facts, k)
    known = (draft or 0.0) + around.overhead_ms
    if baseline is not None:
        most = made.tokens * baseline.ms - known
        numbers |= {"break_even_verify_ms": most, "break_even_verify_steps": most / baseline.ms}
        _assume_parts(facts, draft, notes)
    if around.measured_ms is not None and (draft is not None or around.verify_ms is None):
        implied = around.measured_ms - known
        if implied > 0:
            numbers["implied_verify_ms"] = implied
            if baseline is not None:
                numbers["implied_verify_steps"] = implied / baseline.ms
            _assume_parts(facts, draft, notes)
    return numbers


def _assume_parts(facts: Facts, draft_ms: float | None, notes: Notes) -> None:
    if draft_ms is None:
        notes.assume("draft_ms")
    if facts.overhead_ms is None:
        notes.assume("overhead_ms")


def _judge(
    made: Yield,
    around: Round,
    steps: float | None,
    baseline: Baseline | None,
    measured: Runs | None,
    k: int | None,
    notes: Notes,
) -> tuple[str | None, dict[str, Any]]:
    """The verdict by the round where E and R are known, else by the measured speed alone."""
    by_speed = around.source == "speed" or made.tokens is None or "tokens_per_round" in notes.inferred
    speedup = made.tokens / steps if made.tokens is not None and steps is not None else None
    interval: Interval | None = None
    if baseline is not None and measured is not None and by_speed:
        speedup = baseline.ms / measured.ms
        interval = run_ratio_interval(baseline.runs.logs, measured.logs)
    elif speedup is not None and steps is not None and baseline is not None:
        by_speed = False
        interval = predicted_interval(speedup, baseline.runs.logs, made.interval, steps)
    limit = impossible(speedup, interval, made.tokens, made.most, measured=by_speed)
    if limit is not None:
        yields = "at most " if made.tokens is None else ""
        notes.warn(
            "impossible_win",
            f"Drafting would run at {speedup:.2f}x, and a round that yields {yields}{limit:.2f} tokens cannot, not "
            "even at the cost of one decode step: look for a slow baseline or tokens counted twice.",
        )
    _few_runs(baseline, measured, interval, notes)
    _disagree(speedup, by_speed, baseline, measured, notes)
    if k == 0 and baseline is None and around.ms is not None:
        notes.warn("k0_baseline", "k = 0 still runs the drafting loop: it is no plain baseline.")
    verdict = ruling(speedup, interval, steps, made.tokens, made.most, measured=by_speed)
    numbers: dict[str, Any] = {}
    if speedup is not None:
        numbers["speedup"] = speedup
    if interval is not None:
        numbers["speedup_95"] = _ends(interval)
    if verdict is not None:
        numbers["basis"] = "point" if interval is None else "interval"
    return verdict, numbers


def _few_runs(baseline: Baseline | None, measured: Runs | None, interval: Interval | None, notes: Notes) -> None:
    repeated = [len(r.logs) for r in (baseline.runs if baseline else None, measured) if r and len(r.logs) > 1]
    if interval is not None and repeated and min(repeated) < FEWEST_RUNS:
        notes.warn("few_runs", f"An interval over {min(repeated)} runs says little: repeat them three times or more.")


def _disagree(
    speedup: float | None, by_speed: bool, baseline: Baseline | None, measured: Runs | None, notes: Notes
) -> None:
    if speedup is None or by_speed or baseline is None or measured is None:
        return
    end_to_end = baseline.ms / measured.ms
    if (speedup > 1) != (end_to_end > 1):
        notes.warn(
            "prediction_disagrees",
            f"The parts predict {speedup:.2f}x and end to end it was {end_to_end:.2f}x: trust the measured one.",
        )


def _loop(steps: float | None, notes: Notes) -> dict[str, Any]:
    """What the drafting loop costs when nothing is drafted."""
    if steps is None:
        return {}
    if steps - 1 > LOOP_OVERHEAD + SAME:
        notes.warn(
            "overhead_without_drafts",
            f"Without drafts a round costs {steps - 1:.1%} more than plain decode: k = 0 is not off.",
        )
    return {"overhead_of_decode": steps - 1}


def _mixed_numbers(
    facts: Facts, made: Yield, around: Round, k: int | None, baseline: Baseline | None, measured: Runs | None
) -> dict[str, Any]:
    """Both results of the division, named wrong and right, and no headline."""
    numbers: dict[str, Any] = {}
    if baseline is None:
        return numbers
    numbers["decode_ms"] = baseline.ms
    draft = draft_of(facts, k)
    known = (draft or 0.0) + around.overhead_ms
    if made.tokens is None:
        return numbers
    most = made.tokens * baseline.ms - known
    numbers |= {"break_even_verify_ms": most, "break_even_verify_steps": most / baseline.ms}
    as_given = verify_at(facts, k, baseline, alone=True)
    whole = whole_graph_verify(facts, k, baseline)
    if as_given is not None:
        numbers["wrong_speedup"] = made.tokens * baseline.ms / (as_given + known)
    if measured is not None:
        numbers["measured_speedup"] = baseline.ms / measured.ms
    if whole is not None:
        right = made.tokens * baseline.ms / (whole + known)
        numbers["right_speedup"] = right
        if measured is not None:
            numbers["prediction_error"] = right / numbers["measured_speedup"] - 1
    return numbers


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
