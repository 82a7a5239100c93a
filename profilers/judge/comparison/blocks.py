"""How op categories changed: verify and decode passes by their blocks on one ruler, and the gap that blocks leave."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....engine.errors import SpecviewError
from ...record.session import Session
from ..blocks_table import BlocksTable, CategoryRow, blocks_table
from ..economics import Gap
from ..parts import part_from
from ..readings import whole_passes
from ..spans import Fenced, Queued, Ruler, Span, Synchronous
from .effects import Effect, difference_of, error_of
from .measures import Change, Group


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChange:
    """One op category of a pass in both sessions, in ms, all its layers together."""

    category: str
    base_ms: float
    other_ms: float
    change: Effect
    log_ratio: Effect | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChanges:
    """The categories of verify passes over `base_width` and `other_width` positions, all on one `ruler`."""

    ruler: str
    base_width: int
    other_width: int
    rows: tuple[BlockChange, ...]


def tables_of(base: Session, other: Session, widths: tuple[int | None, int | None]) -> list[BlocksTable | None]:
    """The blocks of both sessions, verify at these widths where they were timed."""
    found: list[BlocksTable | None] = []
    for session, width in zip((base, other), widths, strict=True):
        try:
            found.append(blocks_table(session, width))
        except (SpecviewError, ArithmeticError, ValueError):
            found.append(None)
    return found


def verify_changes(
    before: BlocksTable | None, after: BlocksTable | None, widths: tuple[int | None, int | None]
) -> BlockChanges | None:
    """Verify by op category: queued where both sessions queued every place, else fenced where both fenced.

    None where one of them timed no blocks at the width of its rounds, or on another ruler.
    """
    if before is None or after is None or None in widths or (before.width, after.width) != widths:
        return None
    ruler = Ruler.QUEUED if _queued(before) and _queued(after) else Ruler.FENCED
    pairs = _paired(before, after, ruler)
    if pairs is None:
        return None
    assert before.width is not None and after.width is not None
    rows = tuple(
        BlockChange(
            category=name, base_ms=left.ms, other_ms=right.ms, change=_change(left, right), log_ratio=_log(left, right)
        )
        for name, left, right in pairs
    )
    return BlockChanges(ruler=str(ruler), base_width=before.width, other_width=after.width, rows=rows)


def _queued(table: BlocksTable) -> bool:
    """Whether every place that can be queued was, of the verify pass too."""
    return any(row.ratio_ruler is Ruler.QUEUED for row in table.rows)


AnySpan = Span[Queued] | Span[Fenced] | Span[Synchronous]


def _verify(row: CategoryRow | None, ruler: Ruler) -> Span[Queued] | Span[Fenced] | None:
    if row is None:
        return None
    return row.verify_queued if ruler is Ruler.QUEUED else row.verify_fenced


def _paired(before: BlocksTable, after: BlocksTable, ruler: Ruler) -> list[tuple[str, AnySpan, AnySpan]] | None:
    """The categories that both timed; None where one side timed none, or one that the other lacks."""
    rows = {row.category: row for row in before.rows}, {row.category: row for row in after.rows}
    found: list[tuple[str, AnySpan, AnySpan]] = []
    for name in dict.fromkeys((*rows[0], *rows[1])):
        left, right = _verify(rows[0].get(name), ruler), _verify(rows[1].get(name), ruler)
        if (left is None) != (right is None):
            return None
        if left is not None and right is not None:
            found.append((name, left, right))
    return found or None


def _three(span: AnySpan) -> tuple[float, float, float]:
    return span.ms, span.se_ms, span.n


def _change(left: AnySpan, right: AnySpan) -> Effect:
    return difference_of(_three(left), _three(right))


def _log(left: AnySpan, right: AnySpan) -> Effect | None:
    if left.ms <= 0 or right.ms <= 0:
        return None
    relative = [(math.log(each.ms), each.se_ms / each.ms, each.n) for each in (left, right)]
    return difference_of(relative[0], relative[1])


def block_quantities(changes: BlockChanges | None) -> list[Change]:
    """Verify by op category, as quantities."""
    if changes is None:
        return []
    widths = f"({changes.base_width})" if changes.base_width == changes.other_width else ""
    return [
        Change(
            key=f"verify_{_slug(row.category)}_ms",
            name=f"verify{widths} {row.category}",
            unit="ms",
            group="blocks",
            better="less",
            base=row.base_ms,
            other=row.other_ms,
            difference=row.change,
            log_ratio=row.log_ratio,
            ruler=changes.ruler,
        )
        for row in changes.rows
    ]


def gap_quantity(before: BlocksTable | None, after: BlocksTable | None) -> list[Change]:
    """The part of a decode step that is in no block; a difference only, because a gap may be below zero."""
    if before is None or after is None or before.gap is None or after.gap is None:
        return []
    sides = before.gap, after.gap
    left, right = (_three_of(each) for each in sides)
    difference = difference_of(left, right)
    return [
        Change(
            key="decode_gap_ms",
            name="decode gap",
            unit="ms",
            group="blocks",
            better="less",
            base=sides[0].ms,
            other=sides[1].ms,
            difference=difference,
            log_ratio=None,
            ruler="whole − queued",
        )
    ]


def _three_of(gap: Gap) -> tuple[float, float, float]:
    """Mean, standard error and count of a gap."""
    held = gap.interval
    if held is None:
        return gap.ms, math.nan, 1.0
    freedom = float(max(1, held.n - 1))
    return gap.ms, error_of(Effect(gap.ms, held.low, held.high, None, freedom)), float(held.n)


def pass_quantities(base: Session, other: Session) -> list[Change]:
    """Whole verify passes timed alone, at every width that both sessions timed."""
    before, after = whole_passes(base, "verify"), whole_passes(other, "verify")
    found = []
    for width in sorted(set(before) & set(after)):
        left, right = before[width].span(), after[width].span()
        if left is not None and right is not None:
            found.append(_pass(f"pass_{width}_ms", f"T_verify({width}) alone", "passes", left, right))
    return found


def _pass(key: str, name: str, group: Group, left: AnySpan, right: AnySpan) -> Change:
    return Change(
        key=key,
        name=name,
        unit="ms",
        group=group,
        better="less",
        base=left.ms,
        other=right.ms,
        difference=_change(left, right),
        log_ratio=_log(left, right),
        ruler="synchronous",
    )


def wider_and_dearer(base: Session, other: Session, widths: tuple[int, int]) -> tuple[float, float] | None:
    """Where rounds verify other widths: ms that the wider pass adds, and ms that passes of one width cost more.

    The mean over both orders; None where a session did not time both widths alone.
    """
    if widths[0] == widths[1]:
        return None
    spans = [[whole_passes(session, "verify").get(width) for width in widths] for session in (base, other)]
    times = [[None if each is None else each.span() for each in row] for row in spans]
    if any(each is None for row in times for each in row):
        return None
    (a_narrow, a_wide), (b_narrow, b_wide) = (
        [each.ms if each is not None else math.nan for each in row] for row in times
    )
    wider = ((a_wide - a_narrow) + (b_wide - b_narrow)) / 2
    dearer = ((b_narrow - a_narrow) + (b_wide - a_wide)) / 2
    return wider, dearer


def canary_quantity(base: Session, other: Session) -> list[Change]:
    """The fixed matrix product that each session timed all along: what changed there is the machine, or MLX."""
    sides = []
    for session in (base, other):
        read = [c for c in session.calibrations if c.what == "canary" and c.unit == "ns" and c.value > 0]
        sides.append(([c.value * 1e-6 for c in read], {c.dtype for c in read}))
    if any(len(values) < 4 for values, _ in sides) or sides[0][1] != sides[1][1]:
        return []
    left, right = (Span(p.mean, Synchronous, p.se, p.n) for p in (part_from(values) for values, _ in sides))
    return [_pass("canary_ms", "fixed product", "machine", left, right)]


def _slug(category: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in category.lower()).strip("_")
