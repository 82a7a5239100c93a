"""What a round costs, from the facts at hand: given whole, summed from parts, or inferred from the speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .cautions import DRIFT, SAME, SLOW_BASELINE, UNACCOUNTED, Notes, agree
from .facts import BLOCK_SUM, Facts
from .tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """One time in ms from repeated runs: their geometric mean, and their logarithms for an interval."""

    ms: float
    logs: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """T_decode in ms; `block_sum` where only a sum of blocks stands for it."""

    runs: Runs
    block_sum: bool = False

    @property
    def ms(self) -> float:
        """T_decode in ms."""
        return self.runs.ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """T_round with its parts in ms, None where unknown; `source` is given, parts, or speed.

    `measured_ms` is the round as given or by the end-to-end speed, also where the parts were used.
    """

    ms: float | None = None
    source: str | None = None
    verify_ms: float | None = None
    draft_ms: float | None = None
    overhead_ms: float = 0.0
    measured_ms: float | None = None

    @property
    def parts_ms(self) -> float | None:
        """The known parts added up, None without verify."""
        return None if self.verify_ms is None else self.verify_ms + (self.draft_ms or 0.0) + self.overhead_ms


def runs_of(times_ms: Sequence[float]) -> Runs:
    """Repeated times as one; the geometric mean, so that the log ratio of two means is the mean log ratio."""
    logs = tuple(math.log(ms) for ms in times_ms)
    ms = times_ms[0] if len(times_ms) == 1 else math.exp(math.fsum(logs) / len(logs))
    return Runs(ms=ms, logs=logs)


def baseline_of(facts: Facts, tally: Tally, notes: Notes) -> Baseline | None:
    """T_decode: as given, else one pass over one position, else what else is a whole graph without drafts."""
    by_speed = tuple(1000 / tps for tps in facts.decode_tps)
    found = facts.decode_ms or by_speed
    if facts.decode_ms and by_speed:
        one, other = runs_of(facts.decode_ms).ms, runs_of(by_speed).ms
        if not agree(other, one):
            notes.warn("contradictory_facts", f"decode_ms is {one:.4g} ms and decode_tps means {other:.4g} ms a token.")
    single = facts.verify_ms.get(1)
    if found:
        baseline = Baseline(runs=runs_of(found))
        _compare(facts, baseline.ms, single, notes)
        return baseline
    if single is not None and facts.verify_ruler != BLOCK_SUM:
        notes.infer("decode_ms")
        _compare(facts, single, single, notes)
        return Baseline(runs=runs_of((single,)))
    if facts.verify_ruler == BLOCK_SUM and facts.wall_ms is not None:
        notes.infer("decode_ms")
        return Baseline(runs=runs_of((facts.wall_ms,)))
    if single is not None:
        notes.infer("decode_ms")
        notes.warn("block_sum_baseline", "The only baseline is itself a sum of blocks, which leaves the gap out.")
        return Baseline(runs=runs_of((single,)), block_sum=True)
    if facts.decode_tps_first is not None:
        notes.infer("decode_ms")
        return Baseline(runs=runs_of((1000 / facts.decode_tps_first,)))
    if plain := _plain_run(facts, tally):
        notes.infer("decode_ms")
        return Baseline(runs=runs_of((plain,)))
    return None


def measured_runs(facts: Facts, tally: Tally, notes: Notes) -> Runs | None:
    """End-to-end ms per token with drafts, None where no speed was published."""
    by_speed = tuple(1000 / tps for tps in facts.speculative_tps)
    found = facts.speculative_ms_per_token or by_speed
    if facts.speculative_ms_per_token and by_speed and not agree(runs_of(by_speed).ms, runs_of(found).ms):
        notes.warn(
            "contradictory_facts",
            f"speculative_ms_per_token is {runs_of(found).ms:.4g} ms and speculative_tps means "
            f"{runs_of(by_speed).ms:.4g} ms.",
        )
    if not found and tally.ms_per_token is not None and _plain_run(facts, tally) is None:
        if tally.concurrency is not None and tally.concurrency > 1:
            notes.warn(
                "batched_speed",
                f"The speed was measured with {tally.concurrency:g} requests at a time; a verdict for one needs one.",
            )
        found = (tally.ms_per_token,)
    return runs_of(found) if found else None


def round_of(
    facts: Facts, k: int | None, baseline: Baseline | None, measured_ms: float | None, notes: Notes, *, alone: bool
) -> Round:
    """The round of k drafts; `measured_ms` is E · ms per token where both are known.

    `alone` says that k is the only draft length, so that facts of one k may be used.
    """
    verify = verify_at(facts, k, baseline, alone=alone)
    draft = draft_of(facts, k)
    overhead = facts.overhead_ms or 0.0
    given = facts.round_ms if alone else None
    measured = given if given is not None else measured_ms or None  # no tokens tell nothing of a round
    parts = Round(verify_ms=verify, draft_ms=draft, overhead_ms=overhead, measured_ms=measured)
    if given is not None:
        return replace(parts, ms=given, source="given")
    if verify is not None and (draft is not None or measured is None):
        if draft is None:
            notes.assume("draft_ms")
        if facts.overhead_ms is None:
            notes.assume("overhead_ms")
        return replace(parts, ms=verify + (draft or 0.0) + overhead, source="parts")
    if measured is not None:
        notes.infer("round_ms")
        return replace(parts, ms=measured, source="speed")
    return parts


def verify_at(facts: Facts, k: int | None, baseline: Baseline | None, *, alone: bool) -> float | None:
    """T_verify(k + 1) as published, None where that width was not measured."""
    if k is None:
        return None
    if facts.flat:
        return facts.block_sum_ms if facts.verify_ruler == BLOCK_SUM else baseline.ms if baseline else None
    if k + 1 in facts.verify_ms:
        return facts.verify_ms[k + 1]
    if facts.verify_passes is None or not alone:
        return None
    one = facts.block_sum_ms if facts.verify_ruler == BLOCK_SUM else wall_of(facts, baseline)
    return facts.verify_passes * one if one is not None else None


def wall_of(facts: Facts, baseline: Baseline | None) -> float | None:
    """One whole-graph pass in ms: as given, else plain decode."""
    if facts.wall_ms is not None:
        return facts.wall_ms
    return baseline.ms if baseline is not None and not baseline.block_sum else None


def whole_graph_verify(facts: Facts, k: int | None, baseline: Baseline | None) -> float | None:
    """A verify made of block sums with each taken as a whole-graph pass; None where their number is unknown."""
    wall = wall_of(facts, baseline)
    if wall is None or k is None:
        return None
    if facts.verify_passes is not None:
        return facts.verify_passes * wall
    one = facts.block_sum_ms or facts.verify_ms.get(1)
    made = verify_at(facts, k, baseline, alone=True)
    return made / one * wall if made is not None and one else None


def draft_of(facts: Facts, k: int | None) -> float | None:
    """T_draft of k drafts in ms, None where it was not published."""
    if k == 0:
        return 0.0
    by_steps = k * facts.draft_step_ms if k is not None and facts.draft_step_ms is not None else None
    if facts.k_listed and len(facts.k) > 1 and by_steps is not None:
        return by_steps
    return facts.draft_ms if facts.draft_ms is not None else by_steps


def account(round_: Round, notes: Notes) -> float | None:
    """What of a measured round is in no known part, in ms; None where verify or the round is unknown."""
    parts, whole = round_.parts_ms, round_.measured_ms
    if parts is None or whole is None:
        return None
    rest = whole - parts
    if rest > UNACCOUNTED * whole:
        notes.warn(
            "unaccounted_time",
            f"The known parts are {parts:.2f} ms of a round of {whole:.2f} ms; {rest:.2f} ms ({rest / whole:.0%}) are "
            "in none of them.",
        )
    elif -rest > UNACCOUNTED * whole:
        notes.warn(
            "parts_exceed_round",
            f"The known parts are {parts:.2f} ms, more than the round of {whole:.2f} ms: they overlap, or were timed "
            "apart from it.",
        )
    return rest


def _plain_run(facts: Facts, tally: Tally) -> float | None:
    """ms per token of raw counters that know of no draft, where no other baseline is given."""
    speaks_of_drafts = (
        tally.drafting
        or facts.decode_ms
        or facts.decode_tps
        or facts.k
        or facts.acceptance.kind
        or facts.acceptance.value is not None
        or facts.tokens_per_round
    )
    return None if speaks_of_drafts else tally.ms_per_token


def _compare(facts: Facts, decode_ms: float, single_ms: float | None, notes: Notes) -> None:
    first = facts.decode_tps_first
    last = 1000 / decode_ms
    if first is not None and abs(last / first - 1) > DRIFT + SAME:
        notes.warn(
            "baseline_drift",
            f"Plain decode ran at {first:.4g} tok/s first and {last:.4g} tok/s last ({last / first - 1:+.1%}): no "
            "difference smaller than that can be told.",
        )
    if single_ms is not None and facts.verify_ruler != BLOCK_SUM and decode_ms > SLOW_BASELINE * single_ms:
        notes.warn(
            "slow_baseline",
            f"Plain decode takes {decode_ms:.2f} ms a token and one pass over one position {single_ms:.2f} ms: the "
            "baseline may run without graphs or pipelining, and drafts would win against it too easily.",
        )
