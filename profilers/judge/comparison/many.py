"""Which of many changes stand: they are told together, so that chance does not find one among many rows.

Where nothing changed at all, none of them is called real in 19 of 20 comparisons; where something did, one in twenty
of those called real is so by chance, on average. Source: Benjamini and Hochberg 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..statistics import LEVEL
from .effects import Effect
from .measures import Change
from .split import Part, Split

# Asked before anything was looked at, so it stands by itself.
ASKED = "drafting_tokens_per_second"


def told_together(changes: Sequence[Change]) -> tuple[Change, ...]:
    """The same changes; those that do not stand among so many are *maybe* where they were *real*.

    What the comparison is made for, the speed with drafts, and the machine's own change are left as they are.
    """
    family = [each for each in changes if each.key != ASKED and each.group != "machine"]
    standing = _standing([_told(each) for each in family])
    fallen = {each.key for each, stands in zip(family, standing, strict=True) if not stands}
    return tuple(_maybe_change(each) if each.key in fallen else each for each in changes)


def split_together(split: Split) -> Split:
    """The same split, its parts judged as the many that they are; the whole change stands by itself."""
    standing = _standing([part.log_speed for part in split.parts])
    parts = [part if stands else _maybe_part(part) for part, stands in zip(split.parts, standing, strict=True)]
    return replace(split, parts=tuple(parts))


def _told(change: Change) -> Effect | None:
    return change.log_ratio if change.log_ratio is not None else change.difference


def _maybe_change(change: Change) -> Change:
    return replace(change, difference=_maybe(change.difference), log_ratio=_maybe(change.log_ratio))


def _maybe_part(part: Part) -> Part:
    return replace(
        part,
        round_ms=_maybe(part.round_ms),
        log_speed=replace(part.log_speed, stands=False),
        token_ms=replace(part.token_ms, stands=False),
    )


def _maybe(effect: Effect | None) -> Effect | None:
    return None if effect is None else replace(effect, stands=False)


def _standing(effects: Sequence[Effect | None]) -> list[bool]:
    """Whether each stands: the largest p with p ≤ its rank ÷ how many there are × 5%, and all below it."""
    chances = [None if each is None else each.chance for each in effects]
    ranked = sorted(each for each in chances if each is not None)
    limits = [(1 - LEVEL) * rank / len(ranked) for rank in range(1, len(ranked) + 1)]
    most = max((chance for chance, limit in zip(ranked, limits, strict=True) if chance <= limit), default=-1.0)
    return [chance is None or chance <= most for chance in chances]
