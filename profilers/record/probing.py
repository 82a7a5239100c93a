"""What is timed between segments, within its duty: passes of other widths, drafter steps, and blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...engine.models import Target
from ..measure.schedule import DROPPED, ProbeTurns
from ..measure.whole import Pass, drafter_pass, verify_pass
from . import records
from .block_visits import BlockVisits
from .plan import Plan
from .segments import Moment, Stretch

Clock = Callable[[], int]
DRAFT_SHARE = 1 / 3  # of the duty of verify widths


class Probing:
    """Probes for one plan: verify widths 1 and k+1 after every segment, others in cycles; drafter steps likewise."""

    def __init__(
        self,
        plan: Plan,
        target: Target,
        append: Callable[[records.Record], None],
        now: Callable[[], int],
        random_source: random.Random,
        clock: Clock,
    ) -> None:
        self._plan, self._append, self._now = plan, append, now
        self._random, self._clock = random_source, clock
        k = plan.k
        self._verify = ProbeTurns(sorted({1, k + 1}), range(1, plan.widest + 1), plan.duty)
        self._draft = ProbeTurns((1, 2), range(1, k + 2), plan.duty * DRAFT_SHARE)
        self._blocks = BlockVisits(target, (1, max(2, k + 1)), plan.blocks_duty, clock) if plan.blocks_duty else None

    def between(self, stretch: Stretch, base: Moment, after: Moment, segment_ns: int) -> None:
        """Probe at a segment's start, over the tokens that really follow; the cache is as before afterwards."""
        coming = after.tokens[len(base.tokens) - 1 :] + base.tokens[-self._plan.widest - 1 :]
        generation, run = stretch.generation, stretch.by_arm["drafting"]
        step_ns = min(verify_pass(generation, coming[:1], self._clock).total_ns for _ in range(DROPPED))
        for width in self._shuffled(self._verify.next(segment_ns, step_ns)):
            done = verify_pass(generation, coming[:width], self._clock)
            self._verify.spent(width, done.total_ns)
            self._append(self._probe_record("verify", done, run))
        for width in self._shuffled(self._draft.next(segment_ns, step_ns)) if self._plan.k else ():
            step = drafter_pass(stretch.drafter, coming[:width], generation.context, self._clock)
            if step is not None:
                self._draft.spent(width, 2 * step.total_ns)
                self._append(self._probe_record("draft", step, run))
        if self._blocks is not None:
            for record in self._blocks.visit(generation, coming, segment_ns, self._now):
                self._append(record)

    def _shuffled(self, widths: Sequence[int]) -> list[int]:
        return self._random.sample(widths, len(widths))

    def _probe_record(self, part: str, done: Pass, run: int) -> records.Probe:
        """A probe names its run, because a draft step of another drafter costs something else."""
        return records.Probe(
            t_ns=self._now(),
            ruler="whole",
            part=part,
            width=done.width,
            context=done.context,
            samples_ns=(done.total_ns,),
            build_ns=(done.build_ns,),
            eval_ns=(done.eval_ns,),
            pipelined=False,
            run=run,
        )
