"""Block probes as a table: ms per op category by two rulers, the gap they leave, and verify ÷ decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from ..record.records import Probe
from ..record.session import Session
from .economics import Gap, Ruler, Span, gap, width_ratio

MS = 1e-6
CATEGORIES = (
    "embedding",
    "linear attention",
    "full attention",
    "MoE",
    "MLP",
    "norms and residuals",
    "output head",
    "sampling",
    "misc",
)


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One op category: ms of a decode pass and of a verify pass by ruler; None where it was not timed.

    `ratio` is verify ÷ decode, both synchronous and on one ruler, which `ratio_ruler` names.
    """

    category: str
    decode_queued_ms: float | None
    decode_fenced_ms: float | None
    verify_queued_ms: float | None
    verify_fenced_ms: float | None
    ratio: float | None
    ratio_ruler: Ruler | None


@dataclass(frozen=True, slots=True)
class BlocksTable:
    """Categories in a fixed order, their sums, and the gap to the synchronous whole-graph wall, in ms.

    `width` is how many positions the verify blocks had. `fence_ms` is what one fence costs by itself.
    """

    rows: tuple[CategoryRow, ...]
    width: int | None
    wall_ms: float | None
    build_ms: float | None
    queued_ms: float | None
    fenced_ms: float | None
    gap: Gap | None
    fence_ms: float | None


def blocks_table(session: Session, width: int | None = None) -> BlocksTable | None:
    """The table of a session, verify at `width` positions or the width that was probed most; None without blocks."""
    probes = [p for p in session.probes if p.category is not None and p.ruler != "whole"]
    decode = [p for p in probes if p.part == "decode" or (p.part == "verify" and p.width == 1)]
    if not decode:
        return None
    wide = [p for p in probes if p.part == "verify" and p.width > 1]
    widths = [p.width for p in wide]
    if width not in widths:
        width = max(set(widths), key=widths.count) if widths else None
    verify = [p for p in wide if p.width == width]
    sums = {
        (part, ruler): _by_category([p for p in chosen if p.ruler == ruler])
        for part, chosen in (("decode", decode), ("verify", verify))
        for ruler in ("queued", "fenced")
    }
    found = {category for by_category in sums.values() for category in by_category}
    order = [c for c in CATEGORIES if c in found] + sorted(found - set(CATEGORIES))
    wall, build = _whole(session)
    queued, fenced = _total(sums["decode", "queued"]), _total(sums["decode", "fenced"])
    return BlocksTable(
        rows=tuple(_row(category, sums) for category in order),
        width=width,
        wall_ms=wall,
        build_ms=build,
        queued_ms=queued,
        fenced_ms=fenced,
        gap=None if not wall or not queued else gap(Span(wall, Ruler.SYNCHRONOUS), Span(queued, Ruler.QUEUED)),
        fence_ms=_fence(session),
    )


def _row(category: str, sums: Mapping[tuple[str, str], Mapping[str, float]]) -> CategoryRow:
    decode_queued, decode_fenced = sums["decode", "queued"].get(category), sums["decode", "fenced"].get(category)
    verify_queued, verify_fenced = sums["verify", "queued"].get(category), sums["verify", "fenced"].get(category)
    ratio, ruler = None, None
    pairs = ((Ruler.QUEUED, verify_queued, decode_queued), (Ruler.FENCED, verify_fenced, decode_fenced))
    for name, top, bottom in pairs:
        if ratio is None and top is not None and bottom is not None and top > 0 and bottom > 0:
            ratio, ruler = width_ratio(Span(top, name), Span(bottom, name)), name
    return CategoryRow(category, decode_queued, decode_fenced, verify_queued, verify_fenced, ratio, ruler)


def _by_category(probes: list[Probe]) -> dict[str, float]:
    """Σ over a pass's blocks of the mean of each, in ms by category.

    A queued probe of a place, such as model.layers.*.mlp, is the slope of one
    of its `layers` blocks. Where its copies went round all layers, those that
    stayed at one (they name it) are left out: hot weights are too fast.
    """
    values: dict[tuple[str, str | None, int | None], list[float]] = {}
    cycled = {p.block for p in probes if p.slope_ns is not None and p.layer is None}
    for probe in probes:
        if probe.slope_ns is not None and probe.layer is not None and probe.block in cycled:
            continue
        times = getattr(probe, "layers", None) or 1
        samples = probe.samples_ns if probe.slope_ns is None else (probe.slope_ns * times,)
        if probe.category is not None and samples:
            values.setdefault((probe.category, probe.block, probe.layer), []).extend(v * MS for v in samples)
    sums: dict[str, float] = {}
    for (category, _, _), each in values.items():
        sums[category] = sums.get(category, 0.0) + fmean(each)
    return sums


def _total(by_category: Mapping[str, float]) -> float | None:
    return sum(by_category.values()) if by_category else None


def _whole(session: Session) -> tuple[float | None, float | None]:
    """The synchronous whole-graph pass over one position and its graph build, means in ms."""
    chosen = [
        p for p in session.probes if p.ruler == "whole" and p.part == "verify" and p.width == 1 and not p.pipelined
    ]
    walls = [v * MS for p in chosen for v in p.samples_ns or ()]
    builds = [v * MS for p in chosen for v in p.build_ns or ()]
    return (fmean(walls) if walls else None), (fmean(builds) if builds else None)


def _fence(session: Session) -> float | None:
    scale = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0}
    values = [c.value * scale[c.unit] for c in session.calibrations if c.what == "fence" and c.unit in scale]
    return values[-1] if values else None
