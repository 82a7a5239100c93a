"""What an engine counted between two looks as one record: which arm it was, and a time only where one is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..importers.counter_differences import Reset, differences
from ..importers.findings import Findings
from ..importers.prometheus import EngineCounters, Key, Sample, counted_between, cumulative
from ..importers.served_counters import counters_from
from ..records import Counters, Note
from .page import Look
from .timing import Timing, timing_of

MOST_KEYS = 50_000
BORN_AGAIN_S = 1.0
FEW_TOKENS = 20
MOSTLY = 0.8

DRAFTS_OFF = (
    "Stretches without drafts count as plain decode; where the drafter is on and merely finds nothing, "
    "its loop still runs, and plain decode is faster than that."
)
MIXED = (
    "In some stretches many tokens came without drafts: tokens per round is of rounds with drafts, the speed of all "
    "tokens; requests that turn drafts off are best sent alone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What one look adds: `counters` of a stretch if one is whole, remarks, how many requests ran at once.

    `restarted`: the counters began anew, so nothing is known of the time since the look before.
    """

    counters: Counters | None = None
    notes: tuple[Note, ...] = ()
    running: int = 0
    restarted: bool = False


class Counting:
    """Turns looks at one server into stretches. A stretch ends with the look that shows new tokens.

    Everything before the first look is left out, and so is what was counted across a restart, a pause or an outage.
    """

    def __init__(self, first: Look) -> None:
        self._timing: Timing = timing_of(first)
        self._open(first)

    def _open(self, look: Look) -> None:
        self._born_s = look.born_s
        self._k: int | None = None
        self._base: dict[Key, Sample] = dict(look.samples)
        self._latest: dict[Key, Sample] = dict(look.samples)
        self._timing.open(look)

    def resume(self, look: Look) -> bool:
        """Begin anew with a look after a gap, what was counted meanwhile left out; say whether it was a restart."""
        restarted = self._began_anew(look)
        self._open(look)
        return restarted

    def take(self, look: Look) -> Counted:
        """Return what this look adds to the ones before."""
        running = look.counters.running or 0
        counted = counted_between(self._base.values(), look.samples.values(), look.engine)
        if isinstance(counted, Reset) or self._began_anew(look):
            self._open(look)
            return Counted(running=running, restarted=True)
        self._latest = _newer(self._latest, look.samples)
        self._timing.see(look)
        if not _grew(counted):
            if not self._timing.counts_at_the_end and not (counted.rounds or counted.drafted):
                self._base = dict(self._latest)
                self._timing.idle(look)
            return Counted(running=running)
        counters, notes = self._stretch(counted, look)
        self._base = dict(self._latest)
        return Counted(counters=counters, notes=notes, running=max(running, counters.batch or 0))

    def _began_anew(self, look: Look) -> bool:
        before, after = (cumulative(samples.values(), look.engine) for samples in (self._latest, look.samples))
        if isinstance(differences(before, after), Reset):
            return True
        if self._born_s is None or look.born_s is None:
            return False
        return abs(look.born_s - self._born_s) > BORN_AGAIN_S

    def _stretch(self, counted: EngineCounters, look: Look) -> tuple[Counters, tuple[Note, ...]]:
        findings = Findings()
        # speeds are made here, where it is known what ran between the looks
        bare = replace(counted, decode_seconds=None, decoded=None, generated_per_second=None)
        counters = counters_from(bare, look.t_ns, None, findings)
        if drafted_any(counted):
            if _mixed(counted):
                findings.note("mixed", MIXED)
        else:
            if counted.drafts:
                findings.note("drafts_off", DRAFTS_OFF)
            counters = _as_plain(counters)
        counters = self._with_k(counters)
        timed = self._timing.close(counted, look)
        derived = tuple(dict.fromkeys((*counters.derived, *timed.derived)))
        counters = replace(
            counters,
            tokens=timed.tokens,
            elapsed_ns=timed.elapsed_ns,
            tokens_per_second=timed.tokens_per_second,
            batch=timed.batch,
            derived=derived,
        )
        notes = tuple(replace(note, tags=("attach", *note.tags[1:])) for note in findings.notes(look.t_ns))
        return counters, notes

    def _with_k(self, counters: Counters) -> Counters:
        """The same k as before where a short stretch alone shows none, or a smaller one: rounds that drafted less."""
        known, drafted = self._k, counters.drafted
        if counters.arm == "plain":
            return counters
        if (
            known
            and drafted
            and counters.rounds
            and counters.accepted_by_position is None
            and (counters.k or 0) < known
        ):
            counters = replace(counters, k=known, derived=tuple(dict.fromkeys((*counters.derived, "k"))))
        self._k = counters.k or known
        return counters


def drafted_any(counted: EngineCounters) -> bool:
    """Say whether there were drafts in a stretch; where only a gauge tells, whether it shows any."""
    counts = (counted.rounds, counted.drafted, counted.accepted)
    if any(count is not None for count in counts):
        return any(counts)
    return bool(counted.tokens_per_round)


def _grew(counted: EngineCounters) -> bool:
    return bool(counted.rounds or counted.drafted) if counted.generated is None else counted.generated > 0


def _mixed(counted: EngineCounters) -> bool:
    if counted.rounds is None or counted.accepted is None or not counted.generated:
        return False
    return counted.generated > FEW_TOKENS and counted.rounds + counted.accepted < MOSTLY * counted.generated


def _as_plain(counters: Counters) -> Counters:
    return replace(
        counters,
        arm="plain",
        k=None,
        rounds=None,
        drafted=None,
        accepted=None,
        accepted_by_position=None,
        tokens_per_round=None,
        derived=(),
    )


def _newer(known: Mapping[Key, Sample], samples: Mapping[Key, Sample]) -> dict[Key, Sample]:
    """The newest value of each key: one that a page leaves out once must not begin at 0 when it is back."""
    merged = {**known, **samples}
    return merged if len(merged) <= MOST_KEYS else dict(samples)
