"""One segment: every arm from the same snapshot, in the schedule's order, each event written as it happens."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...engine.accept import GREEDY_MATCH, AcceptanceRule
from ...engine.cache import Snapshot, restore, take_snapshot
from ...engine.decode import Generation, decode, settle_cache, speculate, splitting
from ...engine.drafters import Drafter
from ...engine.drafters.adaptive import AdaptiveDrafter
from ...engine.drafters.mtp import head_count
from ...engine.events import Round, Step
from ...engine.probe import FreeProbe, Probe
from ...engine.verify_policies import ONE_PASS, Policy, one_pass
from ..measure.equality import compare_outputs
from ..measure.schedule import DROPPED, segment_arms, segment_tokens
from . import records
from .events_kept import EventWriter
from .pieces import PieceWriter
from .plan import Plan
from .prompts import Prompt
from .steering import Command, Steering

Clock = Callable[[], int]


class Interrupted(Exception):
    """A command came in the middle of a segment, which is given up."""

    def __init__(self, command: Command) -> None:
        self.command = command


@dataclass(slots=True)
class Text:
    """One prompt on its way: committed tokens, how many of them were shown, where this pass ends, the next segment."""

    number: int
    prompt: Prompt
    tokens: list[int]
    prompt_tokens: int
    goal: int
    shown: int = 0
    segment: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a generation and its drafter that arms can start from."""

    snapshot: Snapshot
    mark: Any
    tokens: tuple[int, ...]


class RunNumbers:
    """Deals out the numbers of runs: a session counts them through."""

    def __init__(self) -> None:
        self._next = 0

    def take(self) -> int:
        """The next number."""
        self._next += 1
        return self._next - 1


@dataclass(slots=True)
class Stretch:
    """One visit to one prompt: its generation, its drafter and plan, and the runs opened for its arms."""

    plan: Plan
    generation: Generation
    drafter: Drafter
    text: Text
    by_arm: dict[str, int] = field(default_factory=dict)
    played: dict[str, int] = field(default_factory=dict)
    rule: AcceptanceRule = GREEDY_MATCH
    policy: Policy = one_pass
    stop_ids: frozenset[int] = frozenset()

    @property
    def heads(self) -> int:
        """How many MTP heads draft, each with a step of its own; 1 for all other drafters."""
        drafter = self.drafter
        return head_count(drafter.drafter if isinstance(drafter, AdaptiveDrafter) else drafter)

    def moment(self) -> Moment:
        """Where the generation and the drafter are now."""
        return Moment(take_snapshot(self.generation.cache), self.drafter.mark(), tuple(self.generation.tokens))

    def go_to(self, moment: Moment) -> None:
        """Put the generation and the drafter back to a moment."""
        restore(self.generation.cache, moment.snapshot)
        self.drafter.restore(moment.mark)
        self.generation.tokens[:] = moment.tokens


class Segments:
    """Plays segments and writes what happens."""

    def __init__(
        self,
        append: Callable[[records.Record], None],
        now: Callable[[], int],
        steering: Steering,
        random_source: random.Random,
        clock: Clock,
    ) -> None:
        self._append, self._now, self._steering = append, now, steering
        self._random, self._clock = random_source, clock
        self._numbers = RunNumbers()

    def play(self, stretch: Stretch, with_split: bool) -> tuple[Moment, Moment]:
        """All arms of one segment; returns where it began, where the cache stands now, and where it goes on."""
        text = stretch.text
        for arm in ("plain", "drafting"):  # plain first, so that a reader sees where a visit begins
            self._run_number(arm, stretch)
        settle_cache(stretch.generation)
        base = stretch.moment()
        after: Moment | None = None
        written: dict[str, list[int]] = {}
        for arm in segment_arms(self._random, with_split):
            stretch.go_to(base)
            shows = arm == "drafting" and "drafting" not in written
            written.setdefault(arm, self._arm(arm, stretch, shows))
            if arm == "drafting" and after is None:
                settle_cache(stretch.generation)
                after = stretch.moment()
        unlike = written["plain"] != written["drafting"][: len(written["plain"])]
        if (text.segment == 0 or unlike) and stretch.rule.sampling is None:  # drawn texts differ without being wrong
            stretch.go_to(base)
            self._compare(stretch, written)
        assert after is not None
        stretch.go_to(base)
        return base, after

    def _arm(self, arm: str, stretch: Stretch, shows: bool) -> list[int]:
        """One visit of one arm, whose tokens are shown unless they were before; returns the tokens it wrote."""
        generation, text, plan = stretch.generation, stretch.text, stretch.plan
        pieces = PieceWriter(generation.target.tokenizer, generation.tokens) if plan.keep_text and shows else None
        writer = EventWriter(self._run_number(arm, stretch), text.segment, pieces)
        before = len(generation.tokens)
        count = segment_tokens(plan.k)
        for n, event in enumerate(self._events(arm, stretch, count)):
            i = stretch.played.get(arm, 0)
            stretch.played[arm] = i + 1
            tokens = event.tokens if isinstance(event, Round) else (event.token,)
            known = len(tokens) if not shows else max(0, len(tokens) - len(generation.tokens) + text.shown)
            ends = any(t in stretch.stop_ids for t in tokens)
            # The last plain step hides no successor behind it, and tokens after the end of a text are none. The last
            # round counts: it crosses the line, so long rounds are likelier to be last, and without it E is too low.
            last = ends or (arm == "plain" and len(generation.tokens) - before >= count)
            self._append(writer.record(event, i, self._now(), n < DROPPED or last, known))
            if shows:
                text.shown = max(text.shown, len(generation.tokens))
            if ends:
                text.ended = True
                break
            command = self._steering.poll()
            if command is not None and command.action != "resume":
                raise Interrupted(command)
        return generation.tokens[before:]

    def _events(self, arm: str, stretch: Stretch, count: int) -> Iterator[Step | Round]:
        if arm == "plain":
            return decode(stretch.generation, count, self._clock, sampling=stretch.rule.sampling)
        probe: Probe = splitting(self._clock) if arm == "split" else FreeProbe(self._clock)
        k = stretch.plan.k
        return speculate(stretch.generation, stretch.drafter, k, count, probe, stretch.rule, stretch.policy)

    def _run_number(self, arm: str, stretch: Stretch) -> int:
        if arm in stretch.by_arm:
            return stretch.by_arm[arm]
        number = stretch.by_arm[arm] = self._numbers.take()
        plan, text, prompt = stretch.plan, stretch.text, stretch.text.prompt
        k = 0 if arm == "plain" else plan.k
        self._append(
            records.Run(
                run=number,
                arm="k0" if arm == "drafting" and k == 0 else arm,  # type: ignore[arg-type]
                drafter="none" if arm == "plain" else plan.drafter_name(),
                k=k,
                rule=stretch.rule.name,
                temperature=plan.temperature,
                top_p=plan.top_p,
                top_k=plan.top_k or None,
                min_p=plan.min_p or None,
                policy=None if plan.policy == ONE_PASS or arm == "plain" else plan.policy,
                kv_bits=plan.kv_bits,
                kv_start=plan.kv_start or None,
                heads=None if arm == "plain" or stretch.heads == 1 else stretch.heads,
                adaptive=plan.adaptive and arm != "plain",
                seed=plan.seed,
                prompt=records.PromptFacts(
                    suite=prompt.suite,
                    index=prompt.index,
                    kind=prompt.kind,
                    hash=prompt.hash,
                    tokens=text.prompt_tokens,
                    text=prompt.text if plan.keep_prompts else None,
                ),
                started_ns=self._now(),
            )
        )
        return number

    def _compare(self, stretch: Stretch, written: dict[str, list[int]]) -> None:
        """Greedy output with drafts against without, over one segment; reads tokens into the cache."""
        found = compare_outputs(stretch.generation, written["plain"], written["drafting"])
        self._append(
            records.Comparison(
                t_ns=self._now(),
                run=stretch.by_arm["drafting"],
                prompt_index=stretch.text.number,
                tokens_compared=found.compared,
                first_difference=found.first_difference,
                margin=found.margin,
                judged=found.judged,
            )
        )
