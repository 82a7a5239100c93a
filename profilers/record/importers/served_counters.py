"""What an engine's metrics counted over a stretch as one record: fields derived, checked against each other."""

from __future__ import annotations

from itertools import pairwise

from ..codec import LARGEST
from ..records import Counters
from .findings import Findings
from .prometheus import EngineCounters

# a mean that was printed with two decimals, of counts that were not read at the same moment
_CLOSE = 0.02


def counters_from(counted: EngineCounters, t_ns: int, seconds: float | None, findings: Findings) -> Counters:
    """Return one stretch; `seconds` between two looks is used where the engine has no decode time of its own."""
    if counted.engine == "sglang":
        return _sglang(counted, t_ns, seconds, findings)
    rounds, drafted, accepted = counted.rounds, counted.drafted, counted.accepted
    positions = counted.accepted_by_position
    derived: list[str] = []
    if counted.emitted is not None:
        findings.note(
            "old_version",
            "vLLM before its rewrite counts drafts that would have been accepted behind a rejected one, so its "
            "accepted tokens are left out; its log line has the number of drafts a round that makes them whole.",
        )
        accepted = None
    _check(rounds, drafted, accepted, positions, findings)
    k = len(positions) if positions else None
    if k is None and rounds and drafted and drafted % rounds == 0:
        k = drafted // rounds
        derived.append("k")
    if positions and rounds and drafted and drafted < rounds * len(positions) and len(positions) > 1:
        findings.note("width", "Some drafts were shorter than the longest: k is the longest.")
    tokens, elapsed_ns, speed = _speed(counted, seconds, findings, derived)
    per_round = None
    if rounds and accepted is not None:
        per_round = 1 + accepted / rounds
        derived.append("tokens_per_round")
    return Counters(
        t_ns=t_ns,
        arm="drafting" if counted.drafts else "plain",
        source=counted.engine,
        label=_label(counted),
        k=k,
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=positions,
        tokens=tokens,
        elapsed_ns=elapsed_ns,
        tokens_per_second=speed,
        tokens_per_round=per_round,
        derived=tuple(derived),
    )


def _sglang(counted: EngineCounters, t_ns: int, seconds: float | None, findings: Findings) -> Counters:
    derived: list[str] = []
    drafts = counted.drafts
    k, per_round = None, counted.tokens_per_round or None
    positions, steps = counted.positions, counted.steps
    if drafts and positions:
        # SGLang's draft tokens count the positions that are verified, the last own token among them
        if steps is None or positions == steps + 1:
            k = positions - 1
            derived.append("k")
        else:
            findings.note("tree", f"Drafts are trees: {positions - 1} drafts in {steps} steps; k is not one number.")
    rounds, accepted, drafted = counted.rounds if drafts else None, None, None
    if rounds and counted.generated:
        by_counters = counted.generated / rounds
        if positions and by_counters > positions * (1 + _CLOSE):
            findings.contradict(
                f"{counted.generated:,} tokens in {rounds:,} verify calls are {by_counters:.2f} a call, more than the "
                f"{positions} positions of one: the calls seem to count batches, not sequences, and are left out."
            )
            rounds = None
        elif by_counters >= 1:
            per_round, accepted = by_counters, counted.generated - rounds
            derived += ["accepted", "tokens_per_round"]
    if rounds and k:
        drafted = min(rounds * k, LARGEST)
        derived.append("drafted")
    if drafts and counted.acceptance_rate and counted.tokens_per_round and positions:
        about_rate(counted.acceptance_rate, counted.tokens_per_round, positions, findings)
    tokens, elapsed_ns, speed = _speed(counted, seconds, findings, derived)
    if speed is None and counted.generated_per_second:
        speed = counted.generated_per_second
        findings.note("moment", "The speed is SGLang's figure of its last few steps, not of the whole stretch.")
    if drafts and per_round == counted.tokens_per_round and per_round is not None:
        findings.note("moment", "Tokens per round is SGLang's figure of its last few steps, not of the whole stretch.")
    return Counters(
        t_ns=t_ns,
        arm="drafting" if drafts else "plain",
        source="sglang",
        label=_label(counted),
        k=k,
        batch=counted.running or None,
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        tokens=tokens,
        elapsed_ns=elapsed_ns,
        tokens_per_second=speed,
        tokens_per_round=per_round,
        derived=tuple(derived),
    )


def about_rate(rate: float, per_round: float, positions: int, findings: Findings) -> None:
    """Remark what kind of acceptance rate SGLang printed: newer versions per draft, older ones per position."""
    per_draft = (per_round - 1) / (positions - 1) if positions > 1 else None
    per_position = per_round / positions
    if per_draft is not None and abs(rate - per_draft) <= _CLOSE:
        return
    if abs(rate - per_position) <= _CLOSE:
        findings.note(
            "kind",
            "The accept rate counts every verified position, the token of the target itself included; it is no "
            "acceptance of drafts and is not used.",
        )
        return
    findings.contradict(
        f"An accept rate of {rate:.2f} fits {per_round:.2f} tokens per round at {positions} positions neither per "
        "draft nor per position.",
        "rate",
    )


def _speed(
    counted: EngineCounters, seconds: float | None, findings: Findings, derived: list[str]
) -> tuple[int | None, int | None, float | None]:
    """Return tokens, nanoseconds and tokens per second: decode time of the engine itself, else between the looks."""
    if counted.decoded and counted.decode_seconds and counted.decode_seconds * 1e9 < LARGEST:
        derived.append("tokens_per_second")
        findings.note(
            "per_sequence",
            "Times are decode times of single requests, prompts left out, so the speed is that of one sequence.",
        )
        elapsed_ns = round(counted.decode_seconds * 1e9)
        return counted.decoded, elapsed_ns, counted.decoded / counted.decode_seconds
    if seconds is not None and counted.generated and seconds * 1e9 < LARGEST:
        derived.append("tokens_per_second")
        findings.note(
            "wall_time",
            "The speed is tokens by the clock between two looks: pauses and prompt processing are inside.",
        )
        return counted.generated, round(seconds * 1e9), counted.generated / seconds
    return counted.generated, None, None


def _check(
    rounds: int | None, drafted: int | None, accepted: int | None, positions: tuple[int, ...] | None, findings: Findings
) -> None:
    if accepted is not None and drafted is not None and accepted > drafted:
        findings.contradict(f"More drafts were accepted ({accepted:,}) than drafted ({drafted:,}).")
    if positions is None:
        return
    if accepted is not None and sum(positions) != accepted:
        findings.contradict(
            f"The accepted drafts by position add up to {sum(positions):,}, the total says {accepted:,}."
        )
    if any(later > earlier for earlier, later in pairwise(positions)):
        findings.contradict("A later position was accepted more often than one before it, which no prefix can be.")
    if rounds is not None and positions[0] > rounds:
        findings.contradict(f"The first draft was accepted {positions[0]:,} times in {rounds:,} rounds.")
    if rounds is not None and drafted is not None and drafted > rounds * len(positions):
        findings.contradict(f"{drafted:,} drafts in {rounds:,} rounds are more than {len(positions)} a round.")


def _label(counted: EngineCounters) -> str | None:
    return f"{counted.workers} engines added up" if counted.workers > 1 else None
