"""From a session to its numbers: every part with spread, the prediction, and the facts a verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from statistics import fmean

from ...engine.errors import SpecviewError
from ..record import records
from ..record.session import Session, session_of
from .acceptance import AcceptanceCounts, count_rounds
from .prediction import (
    Part,
    Prediction,
    PredictionError,
    PredictionFacts,
    PredictionParts,
    compare_prediction,
    explain,
    part_from,
    predict,
    quotient,
    weighted_sum,
)
from .statistics import Interval, Spread, live_interval, median_and_mad, ratio_of_means_interval, rounds_still_needed
from .verdict import Verdict, VerdictFacts, judge
from .visits import Segment, Setting, Visit, settings_of, tokens_per_ns, visits_of

MS = 1e-6
ENOUGH = 8  # values below which a conditional mean is taken from probes instead


@dataclass(frozen=True, slots=True)
class Number:
    """One time in ms: its mean with interval for the division, median and MAD for display."""

    mean: Interval
    spread: Spread

    @property
    def n(self) -> int:
        """How many values."""
        return self.spread.n


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of content: prompts, speedup and acceptance."""

    kind: str
    prompts: int
    speedup: Interval | None
    estimate: float
    acceptance: AcceptanceCounts


@dataclass(frozen=True, slots=True)
class OutputEquality:
    """Tokens compared with plain greedy, and what was found."""

    compared: int
    ties: int
    bugs: int
    margin: float | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The numbers of one setting of a session; None where nothing was measured. Rates in tokens per second."""

    setting: Setting
    prompts: int
    segments: int
    plain_tokens: int
    plain_rate: float | None
    drafting_rate: float | None
    decode: Number | None
    decode_synchronous: Number | None
    round: Number | None
    draft: Number | None
    verify: Number | None
    rest: Number | None
    rewind: Number | None
    verify_by_width: dict[int, Number]
    draft_by_width: dict[int, Number]
    acceptance: AcceptanceCounts | None
    round_steps: Interval | None
    round_steps_full: Interval | None
    most_tokens: float | None
    prediction: Prediction | None
    prediction_error: PredictionError | None
    prediction_reasons: tuple[str, ...]
    output: OutputEquality | None
    canary: Interval | None
    drift: Interval | None
    other_busy: float | None
    memory: records.Memory | None
    rounds_needed: int | None
    kinds: tuple[KindRow, ...]
    verdict: Verdict
    facts: VerdictFacts


def ledger_of(session: Session, setting: Setting | None = None) -> Ledger:
    """The ledger of one setting (the last one used, when none is named); raises SpecviewError without runs."""
    visits = visits_of(session)
    settings = settings_of(visits)
    if not settings:
        raise SpecviewError("This session holds no round of drafting yet; record longer.")
    setting = setting or settings[-1]
    mine = [v for v in visits if v.setting == setting]
    pairs = [s for v in mine for s in v.pairs()]
    steps = [e for s in pairs for e in s.steps]
    rounds = [e for s in pairs for e in s.rounds]
    splits = [e for v in mine for s in v.segments.values() for e in s.splits]
    runs = {run for v in mine for run in v.runs.values()}
    widths = _probes(session, "verify")
    draft_widths = _probes(session, "draft", runs)
    decode_part = _part([e.step_ns for e in steps])
    acceptance = count_rounds([(e.drafted, e.accepted) for e in rounds]) if len(rounds) > 1 else None
    round_steps = _ratio(
        [fmean(e.round_ns for e in s.rounds) for s in pairs],
        [fmean(e.step_ns for e in s.steps) for s in pairs],
    )
    full, most = _at_full_acceptance(setting, splits, widths, draft_widths, decode_part)
    prediction, error, reasons = _prediction(splits, rounds, steps, decode_part, pairs)
    canary, drift, busy, swapped = _canary(session), _drift(mine), _busy(session), _swapped(session)
    by_prompt = _by_prompt(mine)
    facts = VerdictFacts(
        log_ratios=tuple(_log_ratio(segments) for segments in by_prompt.values()),
        segment_log_ratios=tuple(s.log_ratio for s in (list(by_prompt.values())[-1] if by_prompt else [])),
        rounds=len(rounds),
        segments=len(pairs),
        drafted=sum(e.drafted for e in rounds),
        accepted=sum(e.accepted for e in rounds),
        budget_spent=session.status == "finished" and not (session.footer and session.footer.reason),
        tokens_per_round=None if acceptance is None else acceptance.tokens_per_round,
        round_steps=round_steps,
        round_steps_full=full,
        most_tokens=most,
        verify_steps=_verify_steps(setting, widths),
        canary=canary,
        drift=drift,
        other_busy=busy,
        swapped_bytes=swapped,
        rules=(setting.rule,),
    )
    return Ledger(
        setting=setting,
        prompts=len(by_prompt),
        segments=len(pairs),
        plain_tokens=len(steps),
        plain_rate=tokens_per_ns(steps) * 1e9 if steps else None,
        drafting_rate=tokens_per_ns(rounds) * 1e9 if rounds else None,
        decode=_number([e.step_ns for e in steps]),
        decode_synchronous=_number(widths.get(1, [])),
        round=_number([e.round_ns for e in rounds]),
        draft=_number([e.draft_ns for e in splits]),
        verify=_number([e.verify_ns for e in splits]),
        rest=_number([e.rest_ns for e in splits]),
        rewind=_number([e.rewind_ns for e in splits]),
        verify_by_width=_numbers(widths),
        draft_by_width=_numbers(draft_widths),
        acceptance=acceptance,
        round_steps=round_steps,
        round_steps_full=full,
        most_tokens=most,
        prediction=prediction,
        prediction_error=error,
        prediction_reasons=reasons,
        output=_output([o for o in session.outputs if o.run in runs]),
        canary=canary,
        drift=drift,
        other_busy=busy,
        memory=session.memory[-1] if session.memory else None,
        rounds_needed=_rounds_needed(facts),
        kinds=_kinds(mine),
        verdict=judge(facts),
        facts=facts,
    )


def undecided_kinds(records_so_far: Sequence[records.Record]) -> tuple[str, ...]:
    """Kinds of content whose speedup interval still holds 1 (or is not there yet), from a session's records."""
    visits = visits_of(session_of(records_so_far))
    settings = settings_of(visits)
    if not settings:
        return ()
    rows = _kinds([v for v in visits if v.setting == settings[-1]])
    return tuple(row.kind for row in rows if row.speedup is None or row.speedup.holds(1.0))


# ------------------------------------------------------------------- numbers


def _number(values_ns: Sequence[int | None]) -> Number | None:
    values = [v * MS for v in values_ns if v is not None]
    if len(values) < 2:
        return None
    return Number(part_from(values).interval(), median_and_mad(values))


def _numbers(by_width: dict[int, list[int]]) -> dict[int, Number]:
    numbers = {width: _number(values) for width, values in sorted(by_width.items())}
    return {width: number for width, number in numbers.items() if number is not None}


def _part(values_ns: Sequence[int | None]) -> Part | None:
    values = [v * MS for v in values_ns if v is not None]
    return part_from(values) if len(values) >= 2 else None


def _ratio(tops: Sequence[float], bottoms: Sequence[float]) -> Interval | None:
    return ratio_of_means_interval(tops, bottoms) if len(tops) >= 2 else None


def _probes(session: Session, part: str, runs: Set[int] | None = None) -> dict[int, list[int]]:
    """Synchronous whole-graph samples in ns by width, of some runs only where probes name theirs."""
    found: dict[int, list[int]] = {}
    for probe in session.probes:
        if runs is not None and probe.run is not None and probe.run not in runs:
            continue
        if probe.ruler == "whole" and probe.part == part and not probe.pipelined:
            found.setdefault(probe.width, []).extend(probe.samples_ns or ())
    return found


def _by_prompt(visits: Sequence[Visit]) -> dict[str, list[Segment]]:
    found: dict[str, list[Segment]] = {}
    for visit in visits:
        if visit.pairs():
            found.setdefault(visit.prompt, []).extend(visit.pairs())
    return found


def _log_ratio(segments: Sequence[Segment]) -> float:
    """log S of one prompt: total rates over its paired segments."""
    rounds = [e for s in segments for e in s.rounds]
    steps = [e for s in segments for e in s.steps]
    return math.log(tokens_per_ns(rounds) / tokens_per_ns(steps))


def _kinds(visits: Sequence[Visit]) -> tuple[KindRow, ...]:
    rows = []
    for kind in dict.fromkeys(v.kind for v in visits):
        prompts = _by_prompt([v for v in visits if v.kind == kind])
        rounds = [e for segments in prompts.values() for s in segments for e in s.rounds]
        if len(rounds) < 2:
            continue
        ratios = [_log_ratio(segments) for segments in prompts.values()]
        rows.append(
            KindRow(
                kind=kind,
                prompts=len(prompts),
                speedup=live_interval(ratios, closing=True),
                estimate=math.exp(fmean(ratios)),
                acceptance=count_rounds([(e.drafted, e.accepted) for e in rounds]),
            )
        )
    return tuple(rows)


# ------------------------------------------------------ what a full round costs


def _at_full_acceptance(
    setting: Setting,
    splits: Sequence[records.Round],
    widths: dict[int, list[int]],
    draft_widths: dict[int, list[int]],
    decode: Part | None,
) -> tuple[Interval | None, float | None]:
    """R when every draft is accepted, catch-up included, and the tokens such a round yields.

    Parts come from split rounds of that shape, or from probes where too few
    occurred. Drafts of varying length (lookup): over the widths that occur.
    """
    if decode is None or not splits or setting.k == 0:
        return None, None
    lengths = {e.drafted for e in splits}
    if len(lengths) > 1 or setting.drafter == "lookup":
        verify = _part([e.verify_ns for e in splits])
        draft = _part([e.draft_ns for e in splits])
        rest = _part([(e.rest_ns or 0) - (e.rewind_ns or 0) for e in splits])
        most = fmean(e.drafted for e in splits) + 1
    else:
        k = lengths.pop()
        widest = max((e.catch_up_width or 0) for e in splits)
        verify = _enough([e.verify_ns for e in splits]) or _part(widths.get(k + 1, []))
        draft = _enough([e.draft_ns for e in splits if e.catch_up_width == widest])
        if draft is None:
            first, single = _part(draft_widths.get(widest, [])), _part(draft_widths.get(1, []))
            draft = None if first is None or single is None else weighted_sum([(1.0, first), (k - 1.0, single)])
        kept = [e.rest_ns for e in splits if e.accepted == k]
        rest = _enough(kept) or _part([(e.rest_ns or 0) - (e.rewind_ns or 0) for e in splits])
        most = float(k + 1)
    if verify is None or draft is None or rest is None:
        return None, None
    return quotient([weighted_sum([(1.0, verify), (1.0, draft), (1.0, rest)])], [decode]), most


def _enough(values_ns: Sequence[int | None]) -> Part | None:
    return _part(values_ns) if len(values_ns) >= ENOUGH else None


def _verify_steps(setting: Setting, widths: dict[int, list[int]]) -> Interval | None:
    """T_verify(k+1) ÷ T_verify(1), both synchronous."""
    wide, single = _part(widths.get(setting.k + 1, [])), _part(widths.get(1, []))
    return None if wide is None or single is None or setting.k == 0 else quotient([wide], [single])


# ---------------------------------------------------------------- prediction


def _prediction(
    splits: Sequence[records.Round],
    rounds: Sequence[records.Round],
    steps: Sequence[records.Step],
    decode: Part | None,
    pairs: Sequence[Segment],
) -> tuple[Prediction | None, PredictionError | None, tuple[str, ...]]:
    """Free rounds predicted from split rounds, compared with the free rounds of the same segments."""
    draft, verify, rest = (_part([getattr(e, f) for e in splits]) for f in ("draft_ns", "verify_ns", "rest_ns"))
    if draft is None or verify is None or rest is None or decode is None:
        return None, None, ()
    tokens = part_from([float(e.tokens) for e in splits])
    prediction = predict(PredictionParts(draft, verify, rest, tokens, decode))
    both = [s for s in pairs if s.splits]
    free = [e for s in both for e in s.rounds]
    if len(free) < 2:
        return prediction, None, ()
    measured = quotient([part_from([float(e.tokens) for e in free])], [_round_part(free)], 1000.0)
    error = compare_prediction(prediction.tokens_per_second, measured)
    split_mean = fmean(e.round_ns for e in splits)
    free_mean = fmean(e.round_ns for e in free)
    facts = PredictionFacts(
        split_rounds=len(splits),
        free_rounds=len(free),
        split_share_by_width=_shares(splits),
        free_share_by_width=_shares(free),
        split_context=fmean(e.context for e in splits),
        free_context=fmean(e.context for e in free),
        rest_share=rest.mean / (split_mean * MS),
        fence_cost=split_mean / free_mean - 1,
    )
    return prediction, error, explain(error, facts)


def _round_part(rounds: Sequence[records.Round]) -> Part:
    return part_from([e.round_ns * MS for e in rounds])


def _shares(rounds: Sequence[records.Round]) -> dict[int, float]:
    counts: dict[int, float] = {}
    for e in rounds:
        counts[e.width] = counts.get(e.width, 0.0) + 1 / len(rounds)
    return counts


# -------------------------------------------------------------------- guards


def _canary(session: Session) -> Interval | None:
    """Later canary readings ÷ the first, which is itself a median of several."""
    readings = [c.value for c in session.calibrations if c.what == "canary" and c.value > 0]
    if len(readings) < 4:
        return None
    late = readings[1 + (len(readings) - 1) // 2 :]
    part = part_from([value / readings[0] for value in late])
    return part.interval()


def _drift(visits: Sequence[Visit]) -> Interval | None:
    """Plain decode in the later half of visits ÷ the earlier half, at equal segment numbers."""
    spans = [(s.number, fmean(e.step_ns for e in s.steps)) for v in visits for s in v.pairs()]
    numbers = {number for number, _ in spans}
    level = {n: fmean(ns for number, ns in spans if number == n) for n in numbers}
    relative = [ns / level[number] for number, ns in spans]
    half = len(relative) // 2
    if half < 3:
        return None
    return quotient([part_from(relative[half:], serial=False)], [part_from(relative[:half], serial=False)])


def _busy(session: Session) -> float | None:
    shares = [m.others_cpu_fraction for m in session.memory if m.others_cpu_fraction is not None]
    return fmean(shares) if shares else None


def _swapped(session: Session) -> int | None:
    used = [m.swap_used_bytes for m in session.memory if m.swap_used_bytes is not None]
    return max(0, max(used) - used[0]) if used else None


def _rounds_needed(facts: VerdictFacts) -> int | None:
    """Rounds until the watched interval excludes 1, at as many a prompt (or segment) as so far."""
    serial = len(facts.log_ratios) < 3
    ratios = facts.segment_log_ratios if serial else facts.log_ratios
    return rounds_still_needed(ratios, facts.rounds, serial=serial) if ratios else None


def _output(outputs: Sequence[records.Comparison]) -> OutputEquality | None:
    if not outputs:
        return None
    margins = [o.margin for o in outputs if o.margin is not None]
    return OutputEquality(
        compared=sum(o.tokens_compared for o in outputs),
        ties=sum(o.judged == "tie" for o in outputs),
        bugs=sum(o.judged == "bug" for o in outputs),
        margin=max(margins) if margins else None,
    )
