"""What is timed between segments, within its duty: passes of other widths, drafter steps, and blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import cycle

from ...engine.accept import EXACT, REJECTION
from ...engine.models import Target
from ..measure.schedule import DROPPED, ProbeTurns
from ..measure.whole import Manner, Pass, drafter_pass, round_pass, verify_pass, warm
from . import records
from .block_visits import BlockVisits
from .plan import ONE_PASS, Plan
from .segments import Moment, Stretch

Clock = Callable[[], int]
REPEATS = 3  # passes of the widths a verdict needs, after one that does not count
FEWER = 2  # of the others
DRAFT_SHARE = 1 / 3  # of the duty of verify widths


class Probing:
    """Probes for one plan: verify widths 1 and k+1 after every segment, others in cycles; drafter steps likewise.

    Passes are made by the plan's policy and read by its rule, on the caches as the loop has them. Where those are not
    the usual ones, passes in one go that choose greedily are timed too, at the widths whose blocks are timed: those are
    the blocks of such passes.
    """

    def __init__(
        self,
        plan: Plan,
        target: Target,
        append: Callable[[records.Record], None],
        now: Callable[[], int],
        random_source: random.Random,
        clock: Clock,
        heads: int = 1,
    ) -> None:
        self._plan, self._append, self._now = plan, append, now
        self._random, self._clock = random_source, clock
        k = plan.k
        self._verify = ProbeTurns(sorted({1, k + 1}), range(1, plan.widest + 1), plan.duty)
        self._draft = ProbeTurns((1, 2), range(1, k + 1 + min(heads, max(k, 1))), plan.duty * DRAFT_SHARE)
        self._after_all = cycle((False, True))  # rounds after one that accepted nothing, and all
        self._blocks = BlockVisits(target, (1, max(2, k + 1)), plan.blocks_duty, clock) if plan.blocks_duty else None

    def between(self, stretch: Stretch, base: Moment, after: Moment, segment_ns: int) -> None:
        """Probe at a segment's start, over the tokens that really follow; leaves the drafter where it likes."""
        coming = after.tokens[len(base.tokens) - 1 :] + base.tokens[-self._plan.widest - 1 :]
        generation, run, k = stretch.generation, stretch.by_arm["drafting"], self._plan.k
        manner, (policy, rule) = manner_of(stretch), manner_words(self._plan)
        step_ns = min(verify_pass(generation, coming[:1], self._clock, manner).total_ns for _ in range(DROPPED))
        for width in self._shuffled(self._verify.next(segment_ns, step_ns)):
            repeats = REPEATS if width in self._verify.needed else FEWER
            done = warm(lambda width=width: verify_pass(generation, coming[:width], self._clock, manner), repeats)  # type: ignore[misc]
            self._verify.spent(width, sum(p.total_ns for p in done) * (repeats + 1) // repeats)
            self._append(whole_record("verify", done, self._now(), run, policy, rule))
        for width in self._shuffled(self._draft.next(segment_ns, step_ns)) if k else ():
            steps = warm(
                lambda width=width: drafter_pass(stretch.drafter, coming[:width], generation.context, self._clock),  # type: ignore[misc]
                REPEATS,
            )
            if steps:
                self._draft.spent(width, sum(p.total_ns for p in steps) * (REPEATS + 1) // REPEATS)
                self._append(whole_record("draft", steps, self._now(), run))
        if k and stretch.drafter.has_steps:
            after_all = next(self._after_all)
            rounds = warm(
                lambda: round_pass(generation, stretch.drafter, k, self._clock, manner, accept_all=after_all), REPEATS
            )
            part = "round after all" if after_all else "round"
            self._append(whole_record(part, rounds, self._now(), run, policy, rule))
        usual = {1}
        if self._blocks is not None:
            for record in self._blocks.visit(generation, coming, segment_ns, self._now):
                self._append(record)
                usual.add(record.width)
        for width in self._shuffled(sorted(usual)) if (policy, rule) != (None, None) else ():
            done = warm(lambda width=width: verify_pass(generation, coming[:width], self._clock), REPEATS)  # type: ignore[misc]
            self._append(whole_record("verify", done, self._now(), run))

    def _shuffled(self, widths: Sequence[int]) -> list[int]:
        return self._random.sample(widths, len(widths))


def manner_of(stretch: Stretch) -> Manner:
    """How the rounds of a stretch make and read their verify passes."""
    drafter, rule = stretch.drafter, stretch.rule
    return Manner(stretch.policy, rule, drafter.needs_hidden, rule.sampling is not None and drafter.has_steps)


def manner_words(plan: Plan) -> tuple[str | None, str | None]:
    """The policy and the rule of a plan's verify passes as probes name them: None for one pass, and for greedy ones."""
    drawn = EXACT if plan.rule == "exact" else REJECTION
    return (None if plan.policy == ONE_PASS else plan.policy), (drawn if plan.temperature > 0 else None)


def whole_record(
    part: str,
    passes: Sequence[Pass],
    t_ns: int,
    run: int | None,
    policy: str | None = None,
    rule: str | None = None,
) -> records.Probe:
    """Passes of one width; a probe names its run, because a draft step of another drafter costs something else."""
    return records.Probe(
        t_ns=t_ns,
        ruler="whole",
        part=part,
        width=passes[0].width,
        context=passes[0].context,
        samples_ns=tuple(p.total_ns for p in passes),
        build_ns=tuple(p.build_ns for p in passes),
        eval_ns=tuple(p.eval_ns for p in passes),
        pipelined=False,
        run=run,
        policy=policy,
        rule=rule,
    )
