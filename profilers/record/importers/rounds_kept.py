"""Rounds of another engine as runs of this one: each request a run, and beyond a limit only their counts."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace

from ..codec import LARGEST
from ..records import Counters, PromptFacts, Round, Run
from .object_source import accepted_by_position

MOST_ROUNDS = 200_000


@dataclass(slots=True)
class _Counted:
    rounds: int = 0
    drafted: int = 0
    tokens: int = 0
    elapsed_ns: int | None = 0
    kept: Counter[int] = field(default_factory=Counter)

    def add(self, round_: Round, timed: bool) -> None:
        self.rounds += 1
        self.drafted = min(self.drafted + round_.drafted, LARGEST)
        self.tokens = min(self.tokens + round_.tokens, LARGEST)
        self.kept[round_.accepted] += 1
        if not timed or self.elapsed_ns is None:
            self.elapsed_ns = None
        else:
            self.elapsed_ns = min(self.elapsed_ns + round_.round_ns, LARGEST)


@dataclass(slots=True)
class RoundsKept:
    """Takes the rounds of many interleaved requests; gives runs with their rounds, and counts of what was too much.

    A run is one `request` drafted in one `manner` (an engine's name of the drafter); its k is the longest draft of
    that manner in the source, so that requests of one manner are alike.
    """

    source: str
    most: int = MOST_ROUNDS
    _runs: dict[tuple[str, str], Run] = field(default_factory=dict)
    _rounds: list[Round] = field(default_factory=list)
    _longest: dict[str, int] = field(default_factory=dict)
    _counted: dict[tuple[str, bool], _Counted] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many rounds are held one by one."""
        return len(self._rounds)

    def add(self, request: str, manner: str, longest: int, round_: Round, timed: bool = True) -> None:
        """Take one round, whose `run` and `segment` are set here; without a time it is only counted."""
        self._longest[manner] = max(self._longest.get(manner, 0), longest, round_.drafted)
        if not timed or len(self._rounds) >= self.most:
            if not round_.warm_up:
                self._counted.setdefault((manner, timed), _Counted()).add(round_, timed)
            return
        run = self._runs.get((request, manner))
        if run is None:
            run = self._runs[request, manner] = self._new_run(request, manner, round_.t_ns)
        self._rounds.append(replace(round_, run=run.run))

    def records(self) -> tuple[Run | Round, ...]:
        """Return the runs, then the rounds in the order of the source."""
        runs = [replace(run, k=self._longest[manner]) for (_, manner), run in self._runs.items()]
        return (*(replace(run, arm="k0") if run.k == 0 else run for run in runs), *self._rounds)

    def counted(self, t_ns: int) -> tuple[Counters, ...]:
        """Return the counts of the rounds that were not held one by one."""
        made = []
        for (manner, _), each in self._counted.items():
            accepted = min(sum(kept * rounds for kept, rounds in each.kept.items()), LARGEST)
            elapsed_ns = each.elapsed_ns or None
            speed = each.tokens * 1e9 / elapsed_ns if elapsed_ns else None
            made.append(
                Counters(
                    t_ns=t_ns,
                    arm="drafting",
                    source=self.source,
                    label="rounds beyond those kept" if elapsed_ns else "rounds without a time",
                    drafter=manner,
                    k=self._longest[manner],
                    rounds=each.rounds,
                    drafted=each.drafted,
                    accepted=accepted,
                    accepted_by_position=accepted_by_position(each.kept),
                    tokens=each.tokens,
                    elapsed_ns=elapsed_ns,
                    tokens_per_second=speed,
                    tokens_per_round=1 + accepted / each.rounds,
                    derived=("tokens_per_round", *(("tokens_per_second",) if speed else ())),
                )
            )
        return tuple(made)

    def _new_run(self, request: str, manner: str, started_ns: int) -> Run:
        digest = hashlib.blake2b(f"{self.source}: {request}".encode("utf-8", "replace"), digest_size=8)
        return Run(
            run=len(self._runs),
            arm="drafting",
            drafter=manner,
            k=0,
            rule="unknown",
            temperature=0.0,
            top_p=0.0,
            prompt=PromptFacts(
                suite="imported", index=len(self._runs), kind="unknown", hash=digest.hexdigest(), tokens=0
            ),
            started_ns=started_ns,
        )
