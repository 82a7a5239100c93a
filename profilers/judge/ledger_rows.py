"""Every number of a session as rows of a ledger: value, spread, n, ruler, kind of acceptance, and where it comes from.

Rows are raw numbers with units; how they look is decided elsewhere. `ledger_sheets` makes the sheet of any session:
recorded, of another engine, or a survey without rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .numbers import Number
from .statistics import Interval, Spread
from .two_rulers import TwoRulers

Source = Literal["measured", "inferred", "imported", "what-if"]
GroupName = Literal["baseline", "round", "acceptance", "costs", "prediction", "guards"]
GROUPS: tuple[GroupName, ...] = ("baseline", "round", "acceptance", "costs", "prediction", "guards")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One number, or one remark where `value` is None; `interval` is of 95%, `spread` is median and MAD.

    `ruler` names how a time was taken, `kind` which acceptance it is. `remark` says the rest in words.
    """

    group: GroupName
    name: str
    value: float | None = None
    unit: str = ""
    interval: Interval | None = None
    spread: Spread | None = None
    n: int | None = None
    ruler: str = ""
    kind: str = ""
    source: Source = "measured"
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """S = E · T_decode ÷ (parts of a round), with its numbers; times in ms, `parts` by name."""

    title: str
    tokens_per_round: float
    decode_ms: float
    parts: tuple[tuple[str, float], ...]
    speedup: float
    source: Source = "measured"

    @property
    def round_ms(self) -> float:
        """The parts added up."""
        return sum(ms for _, ms in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSheet:
    """The ledger of one setting, or of one group of another engine's windows: the verdict, the division, the rows."""

    title: str
    sentence: str
    divisions: tuple[Division, ...] = ()
    two_rulers: TwoRulers | None = None
    rows: tuple[LedgerRow, ...] = ()
    notes: tuple[str, ...] = ()


def row_of(
    group: GroupName,
    name: str,
    number: Number | None,
    *,
    ruler: str = "",
    source: Source = "measured",
    remark: str = "",
) -> list[LedgerRow]:
    """A time in ms as a row; none where it was not measured."""
    if number is None:
        return []
    return [
        LedgerRow(
            group=group,
            name=name,
            value=number.mean.estimate,
            unit="ms",
            interval=number.mean,
            spread=number.spread,
            n=number.n,
            ruler=ruler,
            source=source,
            remark=remark,
        )
    ]


def of_interval(
    group: GroupName,
    name: str,
    interval: Interval | None,
    unit: str,
    *,
    n: int | None = None,
    ruler: str = "",
    kind: str = "",
    source: Source = "measured",
    remark: str = "",
) -> list[LedgerRow]:
    """An estimate with its interval as a row; none where there is none."""
    if interval is None:
        return []
    return [
        LedgerRow(
            group=group,
            name=name,
            value=interval.estimate,
            unit=unit,
            interval=interval,
            n=interval.n if n is None else n,
            ruler=ruler,
            kind=kind,
            source=source,
            remark=remark,
        )
    ]


def in_order(rows: Sequence[LedgerRow]) -> tuple[LedgerRow, ...]:
    """Rows by group, in the groups' order, each group as it was made; what is no finite number is left out."""
    sound = [_sound(row) for row in rows if row.value is None or math.isfinite(row.value)]
    return tuple(row for group in GROUPS for row in sound if row.group == group)


def _sound(row: LedgerRow) -> LedgerRow:
    interval, spread = row.interval, row.spread
    if interval is not None and not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        interval = None
    if spread is not None and not (math.isfinite(spread.median) and math.isfinite(spread.mad)):
        spread = None
    return row if interval is row.interval and spread is row.spread else replace(row, interval=interval, spread=spread)
