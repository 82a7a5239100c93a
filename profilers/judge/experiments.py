"""Experiments as a table: what a setting does to a pass against the control, and whether that is real or noise.

The i-th visits of two processes belong together, and the ratio of each such pair is one unit. Processes of one setting
differ too, by where their memory happens to lie: a difference is real only beyond that of the two controls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ..record.records import Experiment
from ..record.session import Session
from .numbers import MS
from .statistics import Interval, log_ratio_interval

FEWEST_PAIRS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRow:
    """One setting of one switch at one width against the control; times in ms, memory in bytes.

    `ratio` is setting ÷ control, below 1 where the setting is faster. `same_setting` marks the second process of the
    control, whose ratio is what processes differ by. `judged`: "control" for that one, "few" below three pairs.
    The byte differences are those of the largest value each process reported.
    """

    name: str
    arm: str
    width: int
    context: int
    same_setting: bool
    pairs: int
    control_ms: float
    arm_ms: float
    ratio: Interval | None
    judged: Literal["real", "noise", "few", "control"]
    peak_bytes: int | None
    peak_difference_bytes: int | None
    cache_bytes: int | None
    cache_difference_bytes: int | None
    detail: str | None

    @property
    def sentence(self) -> str:
        """What came of it."""
        if self.ratio is None:
            return f"{self.arm}: too few visits to tell at width {self.width}; ask for more repeats."
        change = f"{self.ratio.estimate - 1:+.1%} ({self.ratio.low - 1:+.1%} to {self.ratio.high - 1:+.1%})"
        if self.judged == "control":
            return f"Two processes of one setting differ by {change} at width {self.width}."
        if self.judged == "few":
            return f"{self.arm}: {change} at width {self.width}, from too few visits to tell; ask for more repeats."
        end = f"real: {'slower' if self.ratio.estimate > 1 else 'faster'}" if self.judged == "real" else "noise"
        return f"{self.arm}: {change} at width {self.width}, {end}."


def experiment_rows(session: Session) -> tuple[ExperimentRow, ...]:
    """A row for each setting of each switch at each width, in the order of first visits, the second control last."""
    groups: dict[tuple[str, int, int], list[Experiment]] = {}
    for visit in session.experiments:
        if visit.samples_ns and min(visit.samples_ns) > 0:
            groups.setdefault((visit.name, visit.width, visit.context), []).append(visit)
    return tuple(row for visits in groups.values() for row in _rows(visits))


def _rows(visits: Sequence[Experiment]) -> list[ExperimentRow]:
    by_arm: dict[tuple[bool, str], list[Experiment]] = {}
    for visit in visits:
        by_arm.setdefault((not visit.control, visit.arm), []).append(visit)
    controls = sorted((key for key in by_arm if not key[0]), key=lambda key: (len(key[1]), key[1]))
    if not controls:
        return []
    control = by_arm[controls[0]]
    spread = [_ratio(control, by_arm[again]) for again in controls[1:]]
    known = [ratio for ratio in spread if ratio is not None]
    treated = [key for key in by_arm if key[0]]
    return [_row(control, by_arm[key], known) for key in (*treated, *controls[1:])]


def _ratio(control: Sequence[Experiment], arm: Sequence[Experiment]) -> Interval | None:
    pairs = list(zip(control, arm, strict=False))
    if len(pairs) < 2:
        return None
    return log_ratio_interval([math.log(fmean(b.samples_ns) / fmean(a.samples_ns)) for a, b in pairs])


def _row(control: Sequence[Experiment], arm: Sequence[Experiment], spread: Sequence[Interval]) -> ExperimentRow:
    first, ratio = arm[0], _ratio(control, arm)
    pairs = min(len(control), len(arm))
    peak, peak_before = _largest([v.peak_bytes for v in arm]), _largest([v.peak_bytes for v in control])
    cache, cache_before = _largest([v.cache_bytes for v in arm]), _largest([v.cache_bytes for v in control])
    return ExperimentRow(
        name=first.name,
        arm=first.arm,
        width=first.width,
        context=first.context,
        same_setting=first.control,
        pairs=pairs,
        control_ms=fmean(ns * MS for v in control for ns in v.samples_ns),
        arm_ms=fmean(ns * MS for v in arm for ns in v.samples_ns),
        ratio=ratio,
        judged="control" if first.control else _judged(ratio, pairs, spread),
        peak_bytes=peak,
        peak_difference_bytes=None if peak is None or peak_before is None else peak - peak_before,
        cache_bytes=cache,
        cache_difference_bytes=None if cache is None or cache_before is None else cache - cache_before,
        detail=first.detail,
    )


def _judged(ratio: Interval | None, pairs: int, spread: Sequence[Interval]) -> Literal["real", "noise", "few"]:
    if ratio is None or pairs < FEWEST_PAIRS:
        return "few"
    apart = all(ratio.low > same.high or ratio.high < same.low for same in spread)
    return "real" if apart and not ratio.holds(1.0) else "noise"


def _largest(values: Sequence[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return max(known) if known else None
