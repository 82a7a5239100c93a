"""Why the rulers disagree about one pass, in sentences made from the numbers of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ..record.session import Session
from .alike_probes import Alike, alike, at_contexts, in_order, times_of
from .gap_parts import BUILD, FENCE, GapParts, gap_parts
from .numbers import MS
from .places import slopes_of
from .sided import one_side
from .statistics import Interval

SAME = 0.02  # sums nearer than this are called alike: slopes are seldom better


@dataclass(frozen=True, slots=True)
class _Fenced:
    ms: float
    build_ms: float
    fences: int


@dataclass(frozen=True, slots=True)
class _Hot:
    """Places with more than one layer, timed both ways, in ms; how many of them fit the cache as they were copied."""

    hot_ms: float
    cycled_ms: float
    places: int
    hot_cached: int
    cycled_cached: int
    known: bool


def ruler_sentences(session: Session, width: int = 1, context: int | None = None) -> tuple[str, ...]:
    """A sentence for each ruler that was used at that width: fenced, hot and cycled against the whole graph."""
    here = [p for p in alike(one_side(session).probes) if p.one.part in ("decode", "verify")]
    if context is not None:
        here = list(at_contexts(here, lambda each: each == context))
    probes = [p for p in here if p.one.width == width and p.one.category]
    parts = gap_parts(session, width, context)
    fence = [p.interval for p in parts.parts if p.name == FENCE and p.interval] if parts else []
    fenced, hot = _fenced(probes), _hot(probes)
    sentences = []
    if fenced is not None and parts is not None:
        sentences.append(_fenced_sentence(fenced, parts, fence[0] if fence else None))
    if hot is not None:
        sentences.append(_hot_sentence(hot))
    if parts is not None:
        sentences.append(_cycled_sentence(parts))
        if parts.hidden is not None:
            sentences.append(_hidden_sentence(parts))
    return tuple(sentences)


def _fenced_sentence(fenced: _Fenced, parts: GapParts, fence: Interval | None) -> str:
    wall = parts.wall.estimate
    start = (
        f"The fenced sum is {fenced.ms:.2f} ms, {fenced.ms - wall:+.2f} ms against the whole graph: its clock runs on "
        f"graph build too ({fenced.build_ms:.2f} ms)"
    )
    if fence is None:
        return f"{start}, and each of {fenced.fences} blocks waits for its own end."
    waits = fenced.fences * fence.estimate
    rest = fenced.ms - wall - waits
    end = f", and {fenced.fences} fences of {fence.estimate * 1e3:.0f} µs take {waits:.2f} ms"
    if rest > SAME * wall:
        return f"{start}{end}; the other {rest:.2f} ms are work that would overlap, were it not fenced."
    if rest < -SAME * wall:
        return (
            f"{start}{end}; without them it is {-rest:.2f} ms below the whole graph: fenced blocks start on a quiet "
            "machine and find their inputs in the cache."
        )
    return f"{start}{end}, which explains the difference."


def _hot_sentence(hot: _Hot) -> str:
    change = hot.hot_ms / hot.cycled_ms - 1 if hot.cycled_ms > 0 else 0.0
    start = (
        f"Queued copies that stay at one layer sum to {hot.hot_ms:.2f} ms where copies that go round all layers take "
        f"{hot.cycled_ms:.2f} ms ({change:+.1%})"
    )
    fits = f"one layer's weights fit the last-level cache in {hot.hot_cached} of {hot.places} places, those of all "
    fits += f"layers in {hot.cycled_cached}"
    if not hot.known:
        fits = "whether their weights fit the last-level cache is not known"
    if change < -SAME:
        return f"{start}: {fits}; generation goes round all layers, so the hot sum is too low to compare."
    if change > SAME:
        return f"{start}: {fits}; hot copies should not be slower, so the machine was unsteady or that layer is."
    return f"{start}, no difference to speak of: {fits}."


def _cycled_sentence(parts: GapParts) -> str:
    build = next(p for p in parts.parts if p.name == BUILD)
    wall, queued = parts.wall.estimate, parts.queued.estimate
    start = f"The queued sum with layers cycled is {queued:.2f} ms, {queued - wall:+.2f} ms against the whole graph"
    if build.ms is None:
        return f"{start}: it leaves graph build out, which was not timed apart here."
    beyond = parts.evaluation.estimate - queued
    start += f": it leaves graph build out ({build.ms:.2f} ms)"
    if abs(beyond) <= SAME * wall:
        return f"{start}, which explains the difference."
    if beyond > 0:
        return f"{start}, and the evaluation itself takes {beyond:.2f} ms more than the blocks one by one."
    return (
        f"{start}, and yet the evaluation itself takes {-beyond:.2f} ms less than the blocks one by one: they overlap, "
        "are fused across their borders, or leave each other's inputs in the cache."
    )


def _hidden_sentence(parts: GapParts) -> str:
    assert parts.hidden is not None
    hidden = parts.hidden
    about = f"{hidden.estimate:+.2f} ms, {hidden.low:+.2f} to {hidden.high:+.2f}"
    if hidden.holds(0.0):
        return f"Pipelined steps and synchronous ones are not told apart ({about}): nothing is seen to be hidden."
    if hidden.estimate < 0:
        return (
            f"Pipelined steps take longer than synchronous ones ({about}): two steps in flight get in each other's way."
        )
    build = "" if parts.build is None else f"; building the graph takes {parts.build.estimate:.2f} ms"
    return f"Pipelining hides part of a synchronous step ({about}){build}. That is beside the gap, not in it."


def _fenced(probes: Sequence[Alike]) -> _Fenced | None:
    places: dict[tuple[str | None, str | None], list[Alike]] = {}
    for each in probes:
        if each.one.ruler == "fenced" and each.one.samples_ns:
            places.setdefault((each.one.category, each.one.block), []).append(each)
    if not places:
        return None
    return _Fenced(
        sum(fmean(times_of(each)) for each in places.values()) * MS,
        sum(fmean(_builds(each)) for each in places.values()) * MS,
        sum(each[0].one.layers or 1 for each in places.values()),
    )


def _builds(probes: Sequence[Alike]) -> list[int]:
    """Graph builds; probes that tell none apart count as none."""
    builds = in_order(probes).lists("build_ns")
    return [*builds.values.tolist(), *[0] * int((builds.lengths <= 0).sum())]


def _hot(probes: Sequence[Alike]) -> _Hot | None:
    by_place: dict[tuple[str | None, str | None], dict[str | None, list[Alike]]] = {}
    for each in probes:
        if each.one.ruler == "queued" and each.one.slope_ns is not None:
            arranged = by_place.setdefault((each.one.category, each.one.block), {})
            arranged.setdefault(each.one.arrangement, []).append(each)
    both = [a for a in by_place.values() if "hot" in a and "cycled" in a]
    if not both:
        return None
    flags = [p.one.cached for a in both for kind in ("hot", "cycled") for p in a[kind]]
    return _Hot(
        sum(_mean(a["hot"]) for a in both),
        sum(_mean(a["cycled"]) for a in both),
        len(both),
        sum(_last_cached(a["hot"]) for a in both),
        sum(_last_cached(a["cycled"]) for a in both),
        None not in flags,
    )


def _last_cached(probes: Sequence[Alike]) -> bool:
    return bool(in_order(probes)[-1].cached)


def _mean(probes: Sequence[Alike]) -> float:
    return fmean(slopes_of(in_order(probes)).tolist()) * MS
