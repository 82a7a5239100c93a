"""Acceptance and speedup by prompt class, sampling and length of context, and prompt by prompt within each.

A row pools like rounds only: one kind of prompt, one setting, one range of context. S is of paired segments of the same
text, its interval over prompts; with fewer than three of them there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

import numpy as np

from ...engine.errors import SpecviewError
from ..record.records import Round, Step
from ..record.session import Session
from .acceptance import count_rounds
from .break_even import alpha_of_tokens
from .event_rows import chosen, column_of, joined, total
from .statistics import Interval, live_interval, log_ratio_interval, ratio_of_means_interval
from .visits import Segment, Setting, visits_of

Outcome = Literal["wins", "loses", "too close", "too few"]
LENGTHS = (256, 1024, 8192)
FEWEST_PROMPTS = 3
FEWEST_SEGMENTS = 6  # from which an interval over the segments of one prompt is given
FEWEST_ROUNDS = 2
NS_PER_MS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLoad:
    """One prompt of a workload: its rounds, E, conditional α, S and T_decode.

    `speedup` has an interval over segments where there are enough, which may be watched and allows for neighbours that
    are alike; `estimate` is S by total rates.
    """

    name: str
    prompt: str
    segments: int
    rounds: int
    tokens: float
    alpha: float
    estimate: float
    speedup: Interval | None
    decode_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Like rounds over like prompts. `length` counts from 0: the first range of `LENGTHS` that holds the context.

    `alpha` and `tokens` (E) have intervals over prompts, or by the effective number of rounds where there are fewer
    than three; `speedup` is None where there is no interval, `estimate` the mean over prompts. `more_prompts` is how
    many are missing for a verdict. `drafted` are mean drafts a round.
    """

    kind: str
    setting: Setting
    length: int
    prompts: tuple[PromptLoad, ...]
    rounds: int
    drafted: float
    tokens: Interval
    alpha: Interval
    estimate: float
    speedup: Interval | None
    decode_ms: float
    outcome: Outcome

    @property
    def more_prompts(self) -> int:
        """How many prompts are missing for a verdict."""
        return max(0, FEWEST_PROMPTS - len(self.prompts))

    @property
    def key(self) -> str:
        """What tells it from the others."""
        return f"{self.kind} {self.length} {self.setting}"


@dataclass(slots=True)
class _Group:
    segments: dict[str, list[Segment]] = field(default_factory=dict)


def length_of(context: float) -> int:
    """Which range of context it is."""
    return next((i for i, end in enumerate(LENGTHS) if context < end), len(LENGTHS))


def workloads_of(session: Session) -> tuple[Workload, ...]:
    """Every workload with at least two drafting rounds paired with plain decoding, in order of first use."""
    names = {run.prompt.hash: f"{run.prompt.suite} {run.prompt.index}" for run in session.runs}
    groups: dict[tuple[str, Setting, int], _Group] = {}
    for visit in visits_of(session):
        if visit.setting is None or visit.setting.k == 0:
            continue
        for segment in visit.pairs():
            length = length_of(float(np.mean(column_of(segment.rounds, "context"))))
            group = groups.setdefault((visit.kind, visit.setting, length), _Group())
            group.segments.setdefault(visit.prompt, []).append(segment)
    planned = session.status == "finished" and not (session.footer and session.footer.reason)
    made = []
    for (kind, setting, length), group in groups.items():
        found = _workload(kind, setting, length, group.segments, names, planned)
        if found is not None:
            made.append(found)
    return tuple(made)


def _workload(
    kind: str,
    setting: Setting,
    length: int,
    by_prompt: Mapping[str, Sequence[Segment]],
    names: Mapping[str, str],
    planned: bool,
) -> Workload | None:
    prompts = [_prompt(names.get(prompt, prompt[:8]), prompt, each, planned) for prompt, each in by_prompt.items()]
    known = [each for each in prompts if each is not None]
    texts = _texts([segment for segments in by_prompt.values() for segment in segments])
    if not known or len(texts) < FEWEST_ROUNDS:
        return None
    shares = _shares(texts)
    tokens = _tokens(texts, by_prompt, len(known))
    logs = [math.log(each.estimate) for each in known]
    speedup = live_interval(logs, closing=planned) if len(logs) >= FEWEST_PROMPTS else None
    if speedup is None and len(logs) >= 2:
        speedup = log_ratio_interval(logs)
    steps: Sequence[Step] = joined(s.steps for segments in by_prompt.values() for s in segments)
    return Workload(
        kind=kind,
        setting=setting,
        length=length,
        prompts=tuple(sorted(known, key=lambda each: each.estimate)),
        rounds=len(texts),
        drafted=total(column_of(texts, "drafted")) / len(texts),
        tokens=tokens,
        alpha=_alpha(texts, tokens, shares, setting.k, len(known)),
        estimate=math.exp(fmean(logs)),
        speedup=speedup,
        decode_ms=total(column_of(steps, "step_ns")) / len(steps) / NS_PER_MS,
        outcome=_outcome(speedup, len(known)),
    )


def _outcome(speedup: Interval | None, prompts: int) -> Outcome:
    if prompts < FEWEST_PROMPTS or speedup is None:
        return "too few"
    return "too close" if speedup.holds(1.0) else "wins" if speedup.low > 1 else "loses"


def _prompt(name: str, prompt: str, segments: Sequence[Segment], planned: bool) -> PromptLoad | None:
    texts = _texts(segments)
    if len(texts) == 0:
        return None
    tokens = 1.0 + total(column_of(texts, "accepted")) / len(texts)
    logs = [segment.log_ratio for segment in segments]
    drafting = sum(s.drafting[0] for s in segments) / sum(s.drafting[1] for s in segments)
    plain = sum(s.plain[0] for s in segments) / sum(s.plain[1] for s in segments)
    return PromptLoad(
        name=name,
        prompt=prompt,
        segments=len(segments),
        rounds=len(texts),
        tokens=tokens,
        alpha=alpha_of_tokens(tokens, _shares(texts)),
        estimate=drafting / plain,
        speedup=live_interval(logs, closing=planned, serial=True) if len(logs) >= FEWEST_SEGMENTS else None,
        decode_ms=1.0 / plain / NS_PER_MS,
    )


def _texts(segments: Sequence[Segment]) -> Sequence[Round]:
    """The rounds of each text once: both drafting visits of a segment play the same ones under greedy acceptance."""
    rounds: Sequence[Round] = joined(segment.rounds for segment in segments)
    first = column_of(rounds, "replay") == 0
    return chosen(rounds, first) if bool(first.any()) else rounds


def _shares(rounds: Sequence[Round]) -> dict[int, float]:
    lengths, counts = np.unique(column_of(rounds, "drafted"), return_counts=True)
    return {int(n): int(count) / len(rounds) for n, count in zip(lengths, counts, strict=True)}


def _tokens(rounds: Sequence[Round], by_prompt: Mapping[str, Sequence[Segment]], prompts: int) -> Interval:
    """E over prompts, total ÷ total; by the effective number of rounds where there are fewer than three prompts."""
    if prompts >= FEWEST_PROMPTS:
        units = [_texts(segments) for segments in by_prompt.values()]
        yielded = [float(total(column_of(unit, "accepted")) + len(unit)) for unit in units if len(unit)]
        found = ratio_of_means_interval(yielded, [float(len(unit)) for unit in units if len(unit)])
        if found.high > found.low:
            return found
    return count_rounds(_counted(rounds)).tokens_per_round


def _counted(rounds: Sequence[Round]) -> np.ndarray:
    return np.stack((column_of(rounds, "drafted"), column_of(rounds, "accepted")), axis=1)


def _alpha(rounds: Sequence[Round], tokens: Interval, shares: Mapping[int, float], k: int, prompts: int) -> Interval:
    """The one conditional α that yields E, with the ends of E's interval; as counted for few prompts at k = 1."""
    if k == 1 and prompts < FEWEST_PROMPTS:
        first = count_rounds(_counted(rounds)).conditional
        if first and first[0] is not None:
            return first[0]
    if not any(shares):
        raise SpecviewError("Nothing was drafted in these rounds, so there is no acceptance.")
    low, middle, high = (alpha_of_tokens(value, shares) for value in (tokens.low, tokens.estimate, tokens.high))
    return Interval(middle, low, high, tokens.level, tokens.n)
