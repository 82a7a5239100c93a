"""From a session to its numbers: every part with spread, the prediction, and the facts a verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ...engine.errors import SpecviewError
from ..record import records
from ..record.session import Session, session_of
from . import gauges
from .acceptance import AcceptanceCounts, count_rounds
from .economics import round_steps_over
from .event_rows import Ints, chosen, column_of, joined, mean_ns, ns_of, total
from .forecast import Timed, at_full_acceptance, cumulative_of, forecast, split_cost
from .manners import manner_of
from .numbers import MS, Number
from .prediction import Prediction, PredictionError
from .readings import Measured, Samples, measured_by_width, pipelined_steps, waited_for, whole_passes
from .spans import Pipelined, Ruler, Span, Synchronous, ratio
from .statistics import Interval, live_interval, rounds_still_needed
from .verdict import Verdict, VerdictFacts, judge
from .visits import Segment, Setting, Visit, log_ratio, settings_of, switch_of, tokens_per_ns, visits_of

__all__ = ["Ledger", "Number", "ledger_of", "undecided_kinds"]


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
    decode: Measured[Pipelined] | None
    decode_synchronous: Measured[Synchronous] | None
    round: Measured[Synchronous] | None
    draft: Measured[Synchronous] | None
    verify: Measured[Synchronous] | None
    rest: Measured[Synchronous] | None
    rewind: Measured[Synchronous] | None
    verify_by_width: Mapping[int, Measured[Synchronous]]
    draft_by_width: Mapping[int, Measured[Synchronous]]
    acceptance: AcceptanceCounts | None
    round_steps: Interval | None
    round_steps_full: Interval | None
    most_tokens: float | None
    prediction: Prediction | None
    prediction_error: PredictionError | None
    prediction_reasons: tuple[str, ...]
    split_cost: float | None
    catch_up_ms: float | None
    overlap_ms: float | None
    output: OutputEquality | None
    canary: Interval | None
    drift: Interval | None
    other_busy: float | None
    memory: records.Memory | None
    rounds_needed: int | None
    kinds: tuple[KindRow, ...]
    verdict: Verdict
    facts: VerdictFacts

    @property
    def distrusted(self) -> bool:
        """Whether the verdict was refused for more than prompts that differ: then no kind has a speedup either."""
        return any(finding.code != "wide_interval" for finding in self.verdict.findings)


def ledger_of(session: Session, setting: Setting | None = None) -> Ledger:
    """The ledger of one setting (the last one used, when none is named); raises SpecviewError without runs."""
    visits = visits_of(session)
    settings = settings_of(visits)
    if not settings:
        raise SpecviewError("This session holds no round of drafting yet; record longer.")
    setting = setting or settings[-1]
    mine = [v for v in visits if v.setting == setting]
    pairs = [s for v in mine for s in v.pairs()]
    steps, rounds = joined(s.steps for s in pairs), joined(s.rounds for s in pairs)
    splits = joined(s.splits for s in pairs if s.splits)
    runs = {run for v in mine for run in v.runs.values()}
    verify_widths = whole_passes(session, "verify", manner=manner_of(setting))
    draft_widths = whole_passes(session, "draft", runs)
    together, after_all = (_together(session, part, runs) for part in ("round", "round after all"))
    baseline = pipelined_steps(steps)
    decode = None if baseline is None else baseline.span()
    timed = None if decode is None else Timed(setting, splits, verify_widths, draft_widths, together, after_all, decode)
    full, most = (None, None) if timed is None else at_full_acceptance(timed)
    prediction, error, reasons = (None, None, ()) if timed is None or setting.adaptive else forecast(timed, pairs)
    if setting.adaptive:
        reasons = ("Each round chose its own draft length, so split rounds are not like free ones: no prediction.",)
    by_prompt = _by_prompt(mine)
    texts = _once(rounds)
    acceptance = count_rounds(_counted(texts)) if len(texts) > 1 else None
    output = _output([o for o in session.outputs if o.run in runs])
    facts = VerdictFacts(
        log_ratios=tuple(log_ratio(segments) for segments in by_prompt.values()),
        segment_log_ratios=tuple(s.log_ratio for s in (list(by_prompt.values())[-1] if by_prompt else [])),
        rounds=len(texts),
        segments=len(pairs),
        drafted=total(column_of(texts, "drafted")),
        accepted=total(column_of(texts, "accepted")),
        budget_spent=_ended_as_planned(session),
        tokens_per_round=None if acceptance is None else acceptance.tokens_per_round,
        round_steps=_round_steps(by_prompt, pairs),
        round_steps_full=full,
        most_tokens=most,
        verify_steps=_verify_steps(setting, verify_widths),
        canary=gauges.canary(session),
        drift=gauges.drift(mine),
        other_busy=gauges.other_busy(session),
        swapped_bytes=gauges.swapped_bytes(session),
        rules=(setting.rule,),
        decode_ruler=Ruler.SYNCHRONOUS if baseline is None else Ruler.PIPELINED,
        output_bugs=0 if output is None else output.bugs,
        switch=switch_of(session),
    )
    k = setting.k
    return Ledger(
        setting=setting,
        prompts=len(by_prompt),
        segments=len(pairs),
        plain_tokens=len(steps),
        plain_rate=tokens_per_ns(steps) * 1e9 if steps else None,
        drafting_rate=tokens_per_ns(rounds) * 1e9 if rounds else None,
        decode=None if baseline is None else baseline.measured(),
        decode_synchronous=_decode_synchronous(session, verify_widths),
        round=waited_for(ns_of(rounds, "round_ns")).measured(),
        draft=waited_for(ns_of(splits, "draft_ns")).measured(),
        verify=waited_for(ns_of(splits, "verify_ns")).measured(),
        rest=waited_for(ns_of(splits, "rest_ns")).measured(),
        rewind=waited_for(ns_of(splits, "rewind_ns")).measured(),
        verify_by_width=measured_by_width(verify_widths),
        draft_by_width=measured_by_width(draft_widths),
        acceptance=acceptance,
        round_steps=facts.round_steps,
        round_steps_full=full,
        most_tokens=most,
        prediction=prediction,
        prediction_error=error,
        prediction_reasons=reasons,
        split_cost=split_cost(pairs),
        catch_up_ms=None if timed is None or len(splits) < 2 else timed.catch_up_ms(cumulative_of(splits, k)),
        overlap_ms=None if timed is None else timed.overlap_ms(),
        output=output,
        canary=facts.canary,
        drift=facts.drift,
        other_busy=facts.other_busy,
        memory=session.memory[-1] if session.memory else None,
        rounds_needed=_rounds_needed(facts, by_prompt),
        kinds=_kinds(mine, facts.budget_spent),
        verdict=judge(facts),
        facts=facts,
    )


def _together(session: Session, part: str, runs: set[int]) -> Samples[Synchronous]:
    """Rounds that were timed without a fence, of whatever width."""
    return waited_for([ns for each in whole_passes(session, part, runs).values() for ns in each.ns])


def _decode_synchronous(session: Session, widths: Mapping[int, Samples[Synchronous]]) -> Measured[Synchronous] | None:
    """One position in one pass; that of the setting's own verify passes where no other was timed."""
    usual = whole_passes(session, "verify").get(1) or widths.get(1)
    return None if usual is None else usual.measured()


def undecided_kinds(records_so_far: Sequence[records.Record]) -> tuple[str, ...]:
    """Kinds of content whose watched speedup interval still holds 1 (or is not there yet), from a session's records."""
    visits = visits_of(session_of(records_so_far))
    settings = settings_of(visits)
    if not settings:
        return ()
    rows = _kinds([v for v in visits if v.setting == settings[-1]], closing=False)
    return tuple(row.kind for row in rows if row.speedup is None or row.speedup.holds(1.0))


def _ended_as_planned(session: Session) -> bool:
    """Finished where the plan said, not after a look and not by hand."""
    return session.status == "finished" and not (session.footer and session.footer.reason)


def _once(rounds: Sequence[records.Round]) -> Sequence[records.Round]:
    """The rounds of each text once: both drafting visits of a segment play the same ones under greedy acceptance."""
    first = column_of(rounds, "replay") == 0
    return chosen(rounds, first) if first.any() else rounds


def _counted(rounds: Sequence[records.Round]) -> Ints:
    """Drafted and accepted tokens of each round."""
    return np.stack((column_of(rounds, "drafted"), column_of(rounds, "accepted")), axis=1)


def _round_steps(by_prompt: dict[str, list[Segment]], pairs: Sequence[Segment]) -> Interval | None:
    """R = mean round ÷ mean plain step, its interval over prompts (over segments where there are fewer than three)."""
    units = list(by_prompt.values()) if len(by_prompt) >= 3 else [[s] for s in pairs]
    if len(units) < 2:
        return None
    decodes, rounds = [], []
    for unit in units:
        baseline = pipelined_steps(joined(s.steps for s in unit))
        if baseline is None:
            return None
        taken = waited_for(ns_of(joined(s.rounds for s in unit), "round_ns"))
        decodes.append(Span(mean_ns(baseline.ns) * MS, baseline.ruler))
        rounds.append(Span(mean_ns(taken.ns) * MS, taken.ruler))
    return round_steps_over(rounds, decodes)


def _verify_steps(setting: Setting, widths: Mapping[int, Samples[Synchronous]]) -> Interval | None:
    """T_verify(k+1) ÷ T_verify(1), both synchronous."""
    if setting.k == 0 or not {1, setting.k + 1} <= set(widths):
        return None
    wide, single = widths[setting.k + 1].span(), widths[1].span()
    return None if wide is None or single is None else ratio(wide, single)


def _by_prompt(visits: Sequence[Visit]) -> dict[str, list[Segment]]:
    found: dict[str, list[Segment]] = {}
    for visit in visits:
        pairs = visit.pairs()
        if pairs:
            found.setdefault(visit.prompt, []).extend(pairs)
    return found


def _kinds(visits: Sequence[Visit], closing: bool) -> tuple[KindRow, ...]:
    rows = []
    for kind in dict.fromkeys(v.kind for v in visits):
        prompts = _by_prompt([v for v in visits if v.kind == kind])
        texts = _once(joined(s.rounds for segments in prompts.values() for s in segments))
        if len(texts) < 2:
            continue
        ratios = [log_ratio(segments) for segments in prompts.values()]
        rows.append(
            KindRow(
                kind=kind,
                prompts=len(prompts),
                speedup=live_interval(ratios, closing=closing),
                estimate=math.exp(fmean(ratios)),
                acceptance=count_rounds(_counted(texts)),
            )
        )
    return tuple(rows)


def _rounds_needed(facts: VerdictFacts, by_prompt: dict[str, list[Segment]]) -> int | None:
    """Rounds until the watched interval excludes 1, at as many a prompt (or segment) as so far."""
    serial = len(facts.log_ratios) < 3
    ratios = facts.segment_log_ratios if serial else facts.log_ratios
    counted = [s for segments in by_prompt.values() for s in segments]
    if serial and by_prompt:
        counted = list(by_prompt.values())[-1]
    rounds = len(_once(joined(s.rounds for s in counted)))
    return rounds_still_needed(ratios, rounds, serial=serial) if ratios else None


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
