"""The quantities of a session from the totals of its prompts, and how each of them changed to another session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..numbers import MS
from ..statistics import Floats
from .effects import Effect, Finding, jackknifed
from .units import Matched, Sum

Better = Literal["more", "less", ""]
Group = Literal["speed", "round", "blocks", "passes", "machine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One quantity in both sessions: other − base in its unit, and log(other ÷ base) where both are above zero.

    `key` is its name with the unit, as JSON has it; `ruler` says how times were taken, `level` 1 is a part of the
    quantity above.
    """

    key: str
    name: str
    unit: str
    group: Group
    better: Better
    base: float | None
    other: float | None
    difference: Effect | None
    log_ratio: Effect | None
    ruler: str = ""
    level: int = 0

    @property
    def finding(self) -> Finding:
        """Whether the change is real: by its ratio where there is one, else by its difference."""
        effect = self.log_ratio if self.log_ratio is not None else self.difference
        return "unknown" if effect is None else effect.finding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantity:
    key: str
    name: str
    unit: str
    group: Group
    better: Better
    ruler: str

    @property
    def ratios(self) -> bool:
        """Whether it is told as a ratio; shares are told by their difference, because one may be zero."""
        return not self.key.startswith("acceptance")


def _speed(key: str, name: str, unit: str, ruler: str) -> _Quantity:
    return _Quantity(key=key, name=name, unit=unit, group="speed", better="more", ruler=ruler)


def _yield(key: str, name: str, ruler: str = "") -> _Quantity:
    return _Quantity(key=key, name=name, unit="", group="round", better="more", ruler=ruler)


def _time(key: str, name: str, ruler: str) -> _Quantity:
    return _Quantity(key=key, name=name, unit="ms", group="round", better="less", ruler=ruler)


QUANTITIES = (
    _speed("drafting_tokens_per_second", "with drafts", "tok/s", "free rounds"),
    _speed("plain_tokens_per_second", "without drafts", "tok/s", "pipelined"),
    _speed("speedup_times", "speedup S", "x", "end to end"),
    _yield("tokens_per_round", "tokens a round E"),
    _yield("acceptance_conditional", "acceptance α", "conditional"),
    _yield("acceptance_per_draft", "accepted ÷ drafted", "per draft"),
    _time("decode_ms", "T_decode", "pipelined"),
    _time("round_ms", "T_round", "free rounds"),
    _time("verify_ms", "T_verify", "split rounds"),
    _time("draft_ms", "T_draft", "split rounds"),
    _time("rest_ms", "T_rest", "split rounds"),
)
TYPICAL = (
    "drafting_tokens_per_second",
    "plain_tokens_per_second",
    "tokens_per_round",
    "round_ms",
    "verify_ms",
    "draft_ms",
    "rest_ms",
)


def features(totals: Floats) -> Floats:
    """Rows of units (columns `Sum`) with more columns that add up: logs of the typical quantities, and a 1 where known.

    So the sum over any units gives pooled totals and geometric means, in which every unit counts alike.
    """

    def of(column: Sum) -> Floats:
        return np.asarray(totals[..., column], dtype=np.float64)

    with np.errstate(all="ignore"):
        columns = (
            of(Sum.TOKENS) / of(Sum.ROUND_NS) * 1e9,
            of(Sum.PLAIN_TOKENS) / of(Sum.PLAIN_NS) * 1e9,
            of(Sum.TOKENS) / of(Sum.ROUNDS),
            of(Sum.ROUND_NS) / of(Sum.ROUNDS) * MS,
            of(Sum.VERIFY_NS) / of(Sum.SPLITS) * MS,
            of(Sum.DRAFT_NS) / of(Sum.SPLITS) * MS,
            of(Sum.REST_NS) / of(Sum.SPLITS) * MS,
        )
        logs = np.log(np.stack(columns, axis=-1))
    known = np.isfinite(logs)
    return np.concatenate([totals, np.where(known, logs, 0.0), known.astype(np.float64)], axis=-1)


def measured(sums: Floats, least: int = 1) -> dict[str, Floats]:
    """Every quantity of summed `features` by its key; NaN where fewer than `least` units measured it.

    Speeds, times and tokens a round are geometric means over units, as S of a verdict is; acceptance is pooled.
    """

    def of(column: Sum) -> Floats:
        return np.asarray(sums[..., column], dtype=np.float64)

    first = len(Sum)
    found: dict[str, Floats] = {}
    for at, key in enumerate(TYPICAL):
        count = sums[..., first + len(TYPICAL) + at]
        mean = sums[..., first + at] / np.where(count >= least, count, np.nan)
        found[key] = np.asarray(np.exp(mean), dtype=np.float64)
    plain = found["plain_tokens_per_second"]
    found["speedup_times"] = found["drafting_tokens_per_second"] / plain
    found["decode_ms"] = 1000.0 / plain
    found["acceptance_conditional"] = of(Sum.ACCEPTED) / of(Sum.TESTED)
    found["acceptance_per_draft"] = of(Sum.ACCEPTED) / of(Sum.DRAFTED)
    return found


def _reckon(base: Floats, other: Floats, least: int) -> Floats:
    """Log ratio and difference of every quantity, side by side."""
    before, after = measured(base, least), measured(other, least)
    columns: list[Floats] = []
    for each in QUANTITIES:
        columns += [np.log(after[each.key] / before[each.key]), after[each.key] - before[each.key]]
    return np.stack(columns, axis=-1)


def changes_of(units: Matched) -> tuple[Change, ...]:
    """How every quantity changed that at least one of the two sessions measured, with intervals over the units."""
    rows = features(units.base), features(units.other)
    effects = jackknifed(_reckon, *rows, paired=units.paired, serial=units.serial)
    with np.errstate(all="ignore"):
        before, after = measured(rows[0].sum(axis=0)), measured(rows[1].sum(axis=0))
    found = []
    for at, each in enumerate(QUANTITIES):
        base, other = _known(before[each.key]), _known(after[each.key])
        if base is None and other is None:
            continue
        both = base is not None and other is not None
        found.append(
            Change(
                key=each.key,
                name=each.name,
                unit=each.unit,
                group=each.group,
                better=each.better,
                base=base,
                other=other,
                difference=effects[2 * at + 1] if both else None,
                log_ratio=effects[2 * at] if both and _positive(base) and _positive(other) and each.ratios else None,
                ruler=each.ruler,
            )
        )
    return tuple(_without_twins(found))


def _without_twins(found: Sequence[Change]) -> list[Change]:
    """Accepted ÷ drafted only where conditional acceptance is not known, or says something else in both."""
    by_key: Mapping[str, Change] = {each.key: each for each in found}
    alpha = by_key.get("acceptance_conditional")
    return [each for each in found if each.key != "acceptance_per_draft" or alpha is None]


def _known(value: Floats) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None


def _positive(value: float | None) -> bool:
    return value is not None and value > 0
