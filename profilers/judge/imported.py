"""One verdict for every engine: what a session of counters says of drafting, and what it lacks to say more.

Each group of like windows becomes facts for the appraisal, as if somebody had typed them in: the plain windows are the
baseline, counts give E, whole passes the verify curve. Repeated windows give the interval of S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from ...engine.errors import SpecviewError
from ..record.records import Counters
from ..record.session import Session
from .appraisal.cautions import Warned
from .appraisal.judgement import Answer, judge_facts
from .imported_acceptance import KnownAcceptance, known_acceptance
from .imported_facts import PartTime, counted_facts, facts_of_parts, parts_of, passes_alone
from .statistics import Interval, Spread, median_and_mad
from .two_rulers import BlockSums, TwoRulers, block_sums, two_rulers
from .windows import Group, Manner, Speeds, groups_of, speeds_of, tokens_per_second

HOW_TO_BASELINE = "record a window with drafts off, or give --baseline-tps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """tok/s of one arm: total tokens ÷ total time where both are known, else the mean; spread over `n` windows."""

    tokens_per_second: float
    spread: Spread
    given: bool = False

    @property
    def n(self) -> int:
        """How many windows."""
        return self.spread.n


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedVerdict:
    """What one group of like windows says; None or empty where it says nothing.

    `verdict` is the appraisal's: wins, loses, unwinnable, too_close, refused, or None. `answer` holds all its numbers,
    `predicted` those from passes timed alone, with `prediction_error` against the measured speed. `throughput` is
    drafting ÷ plain tok/s of several requests at once, which is no S of one. `missing` are sentences, `derived` fields
    that were computed before they came here.
    """

    manner: Manner
    windows: int
    plain_windows: int
    plain: Speed | None = None
    drafting: Speed | None = None
    speeds: Speeds
    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    acceptance: tuple[KnownAcceptance, ...] = ()
    parts: tuple[PartTime, ...] = ()
    answer: Answer | None = None
    predicted: Answer | None = None
    prediction_error: float | None = None
    two_rulers: TwoRulers | None = None
    throughput: float | None = None
    verdict: str | None = None
    sentence: str
    warnings: tuple[Warned, ...] = ()
    missing: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The appraisal's numbers by the names of docs/judge.md."""
        return {} if self.answer is None else self.answer.numbers

    @property
    def speedup(self) -> Interval | None:
        """S with its interval, a point being its own ends; None where the verdict is refused or there is none."""
        value = self.numbers.get("speedup")
        if value is None or self.verdict in (None, "refused"):
            return None
        low, high = self.numbers.get("speedup_95", (value, value))
        units = (
            len(self.speeds.drafting)
            if self.speeds.pairs
            else min(len(self.speeds.plain) or 1, len(self.speeds.drafting) or 1)
        )
        return Interval(value, low, high, 0.95, units)


def imported_verdicts(
    session: Session, baseline_tps: float | None = None, *, with_runs: bool = True
) -> tuple[ImportedVerdict, ...]:
    """A verdict for every group of like windows, in order; empty where the session holds none.

    `baseline_tps` stands for plain windows where someone knows the speed without drafts from elsewhere; `with_runs`
    takes the session's own runs as windows too.
    """
    return tuple(_judged(session, group, baseline_tps) for group in groups_of(session, with_runs=with_runs))


def _judged(session: Session, group: Group, baseline_tps: float | None) -> ImportedVerdict:
    speeds = speeds_of(group) if baseline_tps is None else replace(speeds_of(group), plain=(baseline_tps,), pairs=False)
    batched = _batched(group)
    plain = (
        Speed(tokens_per_second=baseline_tps, spread=Spread(baseline_tps, 0.0, 1), given=True)
        if baseline_tps
        else _speed(group.plain)
    )
    drafting = _speed(group.drafting)
    facts = counted_facts(group)
    passes = passes_alone(session, group.manner)
    k = group.manner.k
    usable = not batched
    timed = dict(facts)
    if usable and plain is not None:
        timed["decode_tps"] = list(speeds.plain)
    if usable and drafting is not None:
        timed["speculative_tps"] = list(speeds.drafting)
    parts = parts_of(group.drafting)
    alone = {**facts, **{name: timed[name] for name in ("decode_tps",) if name in timed}, **passes}
    if drafting is None and usable:
        own = facts_of_parts(parts, k)
        timed |= {**own, **passes}
        if "verify_ms" in timed:
            timed["verify_ms"] = {**own.get("verify_ms", {}), **passes.get("verify_ms", {})}
    elif usable and "verify_ms" in passes:
        timed["verify_ms"] = passes["verify_ms"]
    blocks = None if k is None else block_sums(session, k + 1)
    no_verify = not any(name in timed for name in ("speculative_tps", "verify_ms", "round_ms"))
    if blocks is not None and usable and no_verify and k is not None:
        timed |= {"block_sum_ms": blocks.single_ms, "verify_ruler": "block_sum"}
        if blocks.verify_ms is None:
            timed["verify_passes"] = k + 1
        else:
            timed["verify_ms"] = {str(k + 1): blocks.verify_ms}
    answer, trouble = _appraised(timed) if group.drafting or passes else (None, "")
    predicted, error = _prediction(alone, passes, k, drafting) if usable else (None, None)
    verdict = None if answer is None or not group.drafting else answer.verdict
    warnings = () if answer is None else answer.warnings
    if batched:
        verdict, warnings = "refused", (batched, *warnings)
    missing = _missing(group, timed, answer, plain, drafting, batched=batched is not None)
    rulers = _rulers(answer, plain, passes, parts, blocks, k) if usable else None
    return ImportedVerdict(
        manner=group.manner,
        windows=len(group.drafting),
        plain_windows=len(group.plain),
        plain=plain,
        drafting=drafting,
        speeds=speeds,
        rounds=_sum(group.drafting, "rounds"),
        drafted=_sum(group.drafting, "drafted"),
        accepted=_sum(group.drafting, "accepted"),
        acceptance=known_acceptance(answer),
        parts=parts,
        answer=answer,
        predicted=predicted,
        prediction_error=error,
        two_rulers=rulers,
        throughput=_throughput(group, plain, drafting) if batched else None,
        verdict=verdict,
        sentence=_sentence(verdict, answer, batched, rulers, missing, trouble, plain_only=not group.drafting),
        warnings=warnings,
        missing=missing,
        derived=tuple(dict.fromkeys(name for w in (*group.drafting, *group.plain) for name in w.derived)),
    )


def _appraised(facts: Mapping[str, Any]) -> tuple[Answer | None, str]:
    """The appraisal, or the sentence why these facts cannot be judged: files may hold anything."""
    if not facts:
        return None, ""
    try:
        return judge_facts(facts), ""
    except SpecviewError as error:
        return None, str(error)
    except (ArithmeticError, ValueError) as error:
        return None, f"The figures do not fit together ({error})."


def _prediction(
    alone: Mapping[str, Any], passes: Mapping[str, Any], k: int | None, drafting: Speed | None
) -> tuple[Answer | None, float | None]:
    """What passes timed alone predict, and their error against the speed that was measured with drafts."""
    if k is None or str(k + 1) not in passes.get("verify_ms", {}) or "draft_step_ms" not in passes:
        return None, None
    predicted, _ = _appraised(alone)
    speed = None if predicted is None else predicted.numbers.get("tokens_per_second")
    error = speed / drafting.tokens_per_second - 1 if speed and drafting is not None else None
    return predicted, error


def _rulers(
    answer: Answer | None,
    plain: Speed | None,
    passes: Mapping[str, Any],
    parts: Sequence[PartTime],
    blocks: BlockSums | None,
    k: int | None,
) -> TwoRulers | None:
    tokens = None if answer is None else answer.numbers.get("tokens_per_round")
    single = passes.get("verify_ms", {}).get("1")
    decode = 1000 / plain.tokens_per_second if plain is not None else single
    if tokens is None or blocks is None or k is None or not decode:
        return None
    by_name = {part.name: part.ms for part in parts}
    step = passes.get("draft_step_ms")
    return two_rulers(
        k=k,
        tokens_per_round=tokens,
        decode_ms=decode,
        wall_ms=single,
        blocks=blocks,
        verify_ms=passes.get("verify_ms", {}).get(str(k + 1), by_name.get("verify")),
        draft_ms=by_name.get("draft", 0.0 if step is None else k * step),
        rest_ms=by_name.get("rest", 0.0),
    )


def _speed(windows: Sequence[Counters]) -> Speed | None:
    known = [(w, speed) for w in windows if (speed := tokens_per_second(w))]
    if not known:
        return None
    totals = [(w.tokens, w.elapsed_ns) for w, _ in known if w.tokens and w.elapsed_ns]
    if len(totals) == len(known):
        pooled = sum(t or 0 for t, _ in totals) * 1e9 / sum(e or 0 for _, e in totals)
    else:
        pooled = fmean(speed for _, speed in known)
    return Speed(tokens_per_second=pooled, spread=median_and_mad([speed for _, speed in known]))


def _batched(group: Group) -> Warned | None:
    batches = {w.batch for w in (*group.drafting, *group.plain) if w.batch is not None and w.batch > 1}
    if not batches or not any(tokens_per_second(w) for w in (*group.drafting, *group.plain)):
        return None
    most = max(batches)
    return Warned(
        code="batched_speed",
        message=f"These speeds are of {most} requests at once, and 1000 ÷ tok/s of several is no T_decode of one: "
        "record again with one request at a time.",
    )


def _throughput(group: Group, plain: Speed | None, drafting: Speed | None) -> float | None:
    """Drafting ÷ plain tok/s at the same batch."""
    if plain is None or drafting is None or plain.given:
        return None
    same = {w.batch for w in group.plain} == {group.manner.batch}
    return drafting.tokens_per_second / plain.tokens_per_second if same else None


def _sum(windows: Sequence[Counters], name: str) -> int | None:
    values = [getattr(w, name) for w in windows if getattr(w, name) is not None]
    return sum(values) if values else None


def _missing(
    group: Group,
    facts: Mapping[str, Any],
    answer: Answer | None,
    plain: Speed | None,
    drafting: Speed | None,
    *,
    batched: bool,
) -> tuple[str, ...]:
    """What a verdict lacks, and how to get it."""
    numbers: Mapping[str, Any] = {} if answer is None else answer.numbers
    found = []
    if not group.drafting:
        found.append("There is no window with drafts: record one with drafts on.")
    if plain is None and "decode_ms" not in numbers and not batched:
        found.append(f"There is no plain baseline: {HOW_TO_BASELINE}.")
    if batched:
        found.append("There is no speed of one request by itself: send one request at a time, in both arms.")
    if group.drafting and drafting is None and "round_ms" not in numbers:
        found.append(
            "There is no speed with drafts: give a source with tok/s or times, or a verify curve over k + 1 positions."
        )
    if group.drafting and "tokens_per_round" not in numbers:
        found.append(
            "Tokens per round are not known: give a source that counts rounds or accepted tokens, such as the "
            "server's metrics."
        )
    elif group.drafting and "k" not in numbers and not facts.get("k"):
        found.append("k, how many tokens a round drafts, is not said, so acceptance converts to few kinds: name it.")
    return tuple(found)


def _sentence(
    verdict: str | None,
    answer: Answer | None,
    batched: Warned | None,
    rulers: TwoRulers | None,
    missing: Sequence[str],
    trouble: str,
    *,
    plain_only: bool,
) -> str:
    if batched is not None:
        return f"No verdict: {batched.message}"
    if trouble:
        return f"No verdict: {trouble}"
    if plain_only or verdict is None or answer is None:
        return f"No verdict: {missing[0]}" if missing else "No verdict: the figures carry none."
    if rulers is not None and any(w.code == "mixed_rulers" for w in answer.warnings):
        return f"{rulers.sentence} {rulers.answer}"
    return answer.summary
