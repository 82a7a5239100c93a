"""What displays of block costs and curves are made of: the passes and slopes of one context that nothing interrupted.

Numbers that stand beside each other on a screen come from the same passes. The division of a verdict and its
prediction do not: they take means of everything, since what interrupts passes interrupts rounds too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from ..record.records import Probe
from ..record.session import Session
from .alike_probes import Alike, Probes, alike, in_order, some
from .event_rows import columns_of
from .interruptions import uninterrupted
from .manners import is_usual
from .numbers import MS
from .places import Place, is_hot, place_of, queueable, slopes_of
from .remembered import remembered
from .sided import one_side

WHY_BY_CATEGORY = {"MoE": "it reads its routes in mid-pass"}
NO_COPIES = "copies of it cannot wait in one graph"


@dataclass(frozen=True, slots=True)
class ShownPasses:
    """Whole passes of one width in ns, probe by probe, and how many more were `left_out` as interrupted.

    `builds_ns` and `evaluations_ns` are those of the same passes, empty where no probe tells the two apart.
    """

    by_probe_ns: tuple[tuple[int, ...], ...]
    builds_ns: tuple[int, ...]
    evaluations_ns: tuple[int, ...]
    left_out: int

    @property
    def totals_ns(self) -> tuple[int, ...]:
        """Every pass from the start of its build to the end of its evaluation."""
        return tuple(ns for each in self.by_probe_ns for ns in each)

    @property
    def build_ms(self) -> float | None:
        """The mean graph build."""
        return fmean(self.builds_ns) * MS if self.builds_ns else None

    @property
    def evaluation_ms(self) -> float | None:
        """The mean evaluation, where passes tell it from the build."""
        return fmean(self.evaluations_ns) * MS if self.evaluations_ns else None


def shown_verify(session: Session, width: int) -> ShownPasses:
    """The whole passes over that many positions that displays show."""
    return remembered(session, f"shown passes {width}", lambda: shown_passes(verify_probes(session, width)))


def verify_probes(session: Session, width: int) -> tuple[Alike, ...]:
    """Whole passes over that many positions that were waited for, at the context of the blocks."""
    probes = [(each, each.one) for each in alike(at_one_context(session).probes)]
    return tuple(
        each
        for each, one in probes
        if one.ruler == "whole" and one.part == "verify" and one.width == width and _beside(one)
    )


def _beside(probe: Probe) -> bool:
    """Whether a whole pass may stand beside blocks: it was waited for, made in one go, and read greedily."""
    return not probe.pipelined and is_usual(probe)


def at_one_context(session: Session) -> Session:
    """A survey with the probes of the context that its blocks were timed at: a curve has passes at others too.

    A recording with those of one side, where keys and values are quantised from a later position on.
    """
    if session.runs:
        return one_side(session)
    return remembered(session, "at one context", lambda: _at_one_context(session))


def _at_one_context(session: Session) -> Session:
    probes = columns_of(session.probes, Probe)
    contexts = probes.column("context")
    of_blocks = np.unique(contexts[probes.column("category") >= 0])
    if of_blocks.size != 1 or (contexts == of_blocks[0]).all():
        return session
    return replace(session, probes=probes.taken(contexts == of_blocks[0]))


def shown_passes(probes: Probes) -> ShownPasses:
    """The passes of probes of one width, those left out whose build or evaluation is far off the others.

    Passes that do not tell build and evaluation apart count only where none does.
    """
    rows = in_order(alike(probes))
    first, second = rows.lists("build_ns"), rows.lists("eval_ns")
    both = np.minimum(np.maximum(first.lengths, 0), np.maximum(second.lengths, 0)).astype(np.int64)
    apart = bool(both.any())
    owners = np.repeat(np.arange(both.size), both)
    turns = np.arange(owners.size) - np.repeat(np.cumsum(both) - both, both)
    builds, evaluations = first.values[first.starts[owners] + turns], second.values[second.starts[owners] + turns]
    if not apart:
        samples = rows.lists("samples_ns")
        owners, evaluations, builds = samples.owners, samples.values, np.zeros(samples.values.size, np.int64)
    timed = evaluations > 0
    owners, builds, evaluations = owners[timed], builds[timed].astype(np.int64), evaluations[timed].astype(np.int64)
    kept = uninterrupted(builds, evaluations)
    totals, mine = (builds + evaluations)[kept], owners[kept]
    return ShownPasses(
        tuple(tuple(each.tolist()) for each in np.split(totals, np.flatnonzero(np.diff(mine)) + 1) if each.size),
        tuple(builds[kept].tolist()) if apart else (),
        tuple(evaluations[kept].tolist()) if apart else (),
        int(timed.sum()) - len(kept),
    )


def shown_slopes(probes: Probes) -> tuple[Alike, ...]:
    """The same probes without slopes that are far off the others of their place and arrangement."""
    mine = alike(probes)
    groups: dict[tuple[Place, bool], list[Alike]] = {}
    for each in mine:
        if each.one.ruler == "queued" and each.one.slope_ns is not None:
            groups.setdefault((place_of(each.one), is_hot(each.one)), []).append(each)
    far = [np.zeros(0, np.intp)]
    for group in groups.values():
        rows = in_order(group)
        far.append(np.delete(rows.places, uninterrupted(slopes_of(rows))))
    left_out = np.concatenate(far)
    return some(mine, lambda each: ~np.isin(each.rows.places, left_out)) if left_out.size else mine


def never_queued(session: Session, probes: Probes) -> frozenset[Place]:
    """The places of a pass that cannot be queued: no slope of theirs, and every other place has had its turn.

    Turns go round all places before one stays hot or is timed again, and a finished survey leaves none out.
    """
    mine = alike(probes)
    sloped = [each for each in mine if each.one.ruler == "queued" and each.one.slope_ns is not None]
    slopes = {(place_of(each.one), is_hot(each.one)) for each in sloped}
    round_made = any(hot for _, hot in slopes) or sum(len(each.rows) for each in sloped) > len(slopes)
    if not slopes or not (round_made or (session.status == "finished" and not session.runs)):
        return frozenset()
    return frozenset(queueable(mine) - {place for place, _ in slopes})


def why_never_queued(places: Iterable[Place]) -> str:
    """Which categories of places cannot be queued and why, without a full stop."""
    names = sorted({place.category for place in places})
    return ", ".join(f"{name} cannot be queued ({WHY_BY_CATEGORY.get(name, NO_COPIES)})" for name in names)
