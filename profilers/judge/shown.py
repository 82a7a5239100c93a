"""What displays of block costs and curves are made of: the passes and slopes of one context that nothing interrupted.

Numbers that stand beside each other on a screen come from the same passes. The division of a verdict and its
prediction do not: they take means of everything, since what interrupts passes interrupts rounds too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ..record.records import Probe
from ..record.session import Session
from .interruptions import uninterrupted
from .manners import is_usual
from .numbers import MS
from .places import Place, is_hot, place_of, queueable
from .remembered import remembered

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


def verify_probes(session: Session, width: int) -> list[Probe]:
    """Whole passes over that many positions that were waited for, at the context of the blocks."""
    probes = at_one_context(session).probes
    return [p for p in probes if p.ruler == "whole" and p.part == "verify" and p.width == width and _beside(p)]


def _beside(probe: Probe) -> bool:
    """Whether a whole pass may stand beside blocks: it was waited for, made in one go, and read greedily."""
    return not probe.pipelined and is_usual(probe)


def at_one_context(session: Session) -> Session:
    """A survey with the probes of the context that its blocks were timed at: a curve has passes at others too."""
    if session.runs:
        return session
    contexts = {p.context for p in session.probes if p.category is not None}
    if len(contexts) != 1:
        return session
    return replace(session, probes=tuple(p for p in session.probes if p.context in contexts))


def shown_passes(probes: Sequence[Probe]) -> ShownPasses:
    """The passes of probes of one width, those left out whose build or evaluation is far off the others.

    Passes that do not tell build and evaluation apart count only where none does.
    """
    timed = [
        (i, build, evaluation)
        for i, p in enumerate(probes)
        for build, evaluation in zip(p.build_ns or (), p.eval_ns or (), strict=False)
    ]
    apart = bool(timed)
    if not apart:
        timed = [(i, 0, ns) for i, p in enumerate(probes) for ns in p.samples_ns or ()]
    timed = [each for each in timed if each[2] > 0]
    places = uninterrupted([build for _, build, _ in timed], [evaluation for _, _, evaluation in timed])
    kept = [timed[place] for place in places]
    by_probe: dict[int, list[int]] = {}
    for i, build, evaluation in kept:
        by_probe.setdefault(i, []).append(build + evaluation)
    return ShownPasses(
        tuple(tuple(each) for each in by_probe.values()),
        tuple(build for _, build, _ in kept) if apart else (),
        tuple(evaluation for _, _, evaluation in kept) if apart else (),
        len(timed) - len(kept),
    )


def shown_slopes(probes: Iterable[Probe]) -> list[Probe]:
    """The same probes without slopes that are far off the others of their place and arrangement."""
    mine = list(probes)
    groups: dict[tuple[Place, bool], list[int]] = {}
    for i, probe in enumerate(mine):
        if probe.ruler == "queued" and probe.slope_ns is not None:
            groups.setdefault((place_of(probe), is_hot(probe)), []).append(i)
    far = set()
    for group in groups.values():
        kept = uninterrupted([(mine[i].slope_ns or 0.0) * (mine[i].layers or 1) for i in group])
        far |= set(group) - {group[place] for place in kept}
    return [probe for i, probe in enumerate(mine) if i not in far]


def never_queued(session: Session, probes: Iterable[Probe]) -> frozenset[Place]:
    """The places of a pass that cannot be queued: no slope of theirs, and every other place has had its turn.

    Turns go round all places before one stays hot or is timed again, and a finished survey leaves none out.
    """
    mine = list(probes)
    slopes = [(place_of(p), is_hot(p)) for p in mine if p.ruler == "queued" and p.slope_ns is not None]
    round_made = any(hot for _, hot in slopes) or len(slopes) > len(set(slopes))
    if not slopes or not (round_made or (session.status == "finished" and not session.runs)):
        return frozenset()
    return frozenset(queueable(mine) - {place for place, _ in slopes})


def why_never_queued(places: Iterable[Place]) -> str:
    """Which categories of places cannot be queued and why, without a full stop."""
    names = sorted({place.category for place in places})
    return ", ".join(f"{name} cannot be queued ({WHY_BY_CATEGORY.get(name, NO_COPIES)})" for name in names)
