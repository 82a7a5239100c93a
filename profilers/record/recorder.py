"""The recorder: runs the engine on prompts by the schedule, measures, and appends records to one session file."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TextIO

import mlx.core as mx

from ...engine.accept import AcceptanceRule
from ...engine.cache import cache_bytes, new_cache
from ...engine.decode import Generation
from ...engine.device_memory import give_back, wired
from ...engine.drafters.adaptive import AdaptiveDrafter
from ...engine.drafters.mtp import head_count
from ...engine.errors import SpecviewError
from ...engine.kv_quantisation import check_quantisable
from ...engine.models import first_line, load_target
from ...engine.prompt_cache import read_prompt
from ...engine.trees import nbytes
from ..measure.canary import Canary
from ..measure.load import LoadMeter
from ..measure.schedule import SplitTurns, segment_tokens
from . import records
from .facts import header_of
from .kv_choice import as_cached, kv_of
from .machine_readings import MachineReadings
from .plan import Budget, Plan
from .privacy import without_paths
from .probing import Probing, manner_words
from .prompt_beginning import open_beginning
from .prompts import load_prompts
from .room import RECORDED_COPIES, check_room
from .run_choices import check_rule, chosen_drafter, fitted, own, policy_of, rule_of, synthetic_sentence
from .segments import Interrupted, Segments, Stretch, Text
from .steering import Command, Steering, changed_plan
from .store import SessionStore
from .teaching import teach
from .texts import TextMaker, stop_ids

Clock = Callable[[], int]
TOLD_FROM = 2048  # positions of a prompt that take long enough to tell how far it is


class Watcher(Protocol):
    """Whoever wants to know how far a recording is; called between segments, never inside one."""

    def loading(self, what: str) -> None:
        """Something that takes a while begins."""
        ...

    def advanced(self, prompts_done: float, prompts_all: int, rounds: int) -> None:
        """A segment was measured."""
        ...


class RecorderError(SpecviewError):
    """A recording that MLX broke off."""


Undecided = Callable[[Sequence[records.Record]], tuple[str, ...]]


class Recorder:
    """Records one session. Loading happens in the constructor, so that its errors come before a file exists."""

    def __init__(
        self,
        plan: Plan,
        watcher: Watcher,
        steering: Steering,
        undecided: Undecided = lambda records_so_far: (),
        clock: Clock = time.perf_counter_ns,
        stdin: TextIO | None = None,
    ) -> None:
        self.plan = plan.checked()
        self._watcher, self._steering, self._undecided, self._clock = watcher, steering, undecided, clock
        prompts = load_prompts(plan.prompts, stdin)[: plan.limit]
        watcher.loading(f"model {plan.model.rstrip('/').rsplit('/', 1)[-1]}")
        self.target = load_target(plan.model, plan.dtype, plan.trust_remote_code)
        self._beginning = None if plan.prompt_cache is None else open_beginning(plan.prompt_cache, self.target)
        self.plan = plan = as_cached(self.plan, self._beginning)
        self._kv = kv_of(plan, self._beginning)
        self._maker = TextMaker(self.target, self._beginning, self._kv)
        if plan.context is not None:
            available_bytes = LoadMeter().sample().memory_available_bytes
            check_room(self.target, plan.context, self._kv, available_bytes, copies=RECORDED_COPIES)
        watcher.loading(f"drafter {plan.drafter_name()}")
        self.drafter = chosen_drafter(plan, self.target, self.longest, self._kv)
        check_rule(plan, self.drafter, self._beginning)
        if self._kv is not None:
            check_quantisable(self.target, self._kv)
        self._policy = policy_of(plan, self.target)
        self._manner = manner_words(plan)
        self._stops = stop_ids(self.target, plan.stop)
        self._texts = self._maker.texts(prompts, plan, self.drafter)
        self._random = random.Random(plan.seed)
        self._segments = Segments(self._append, self._now, steering, self._random, clock)
        self._probing = self._new_probing()
        self._splits = SplitTurns(plan.split)
        self._machine = MachineReadings(self._append, self._now, steering.nap)
        self._decided_early = False
        self._target_bytes = nbytes(self.target.model.parameters())
        self._paused_ns = 0
        self._seen: list[records.Record] = []

    def _new_probing(self) -> Probing:
        heads = head_count(own(self.drafter))
        return Probing(self.plan, self.target, self._append, self._now, self._random, self._clock, heads)

    @property
    def longest(self) -> int:
        """Positions a text may reach."""
        return self._maker.longest(self.plan)

    def record(self, store: SessionStore) -> records.Footer:
        """Measure until the plan, the budget or a command ends it; the footer is written in every case but a crash."""
        self._store = store
        self._began_ns = self._clock()
        status, reason = "finished", None
        try:
            self._append(header_of(self.plan, self.target, self.drafter, time.time_ns()))
            self._note_synthetic()
            self._note_beginning()
            self._machine.calibrate(Canary, self._clock)
            with wired():
                ended = self._run_all()
            if ended is not None:
                status, reason = "stopped", ended.reason
            elif self._decided_early:
                reason = "every kind of content is decided"
        except BaseException as error:
            with suppress(SpecviewError):  # the first error is the one to tell
                self._close(store, "failed", without_paths(str(error)) or type(error).__name__)
            if isinstance(error, Exception) and not isinstance(error, SpecviewError):  # MLX and model files raise all
                raise RecorderError(f"MLX broke off ({first_line(error)}): everything up to there is saved.") from error
            raise
        return self._close(store, status, reason)

    def _close(self, store: SessionStore, status: Any, reason: str | None) -> records.Footer:
        counts = store.counts
        footer = records.Footer(
            status=status,
            reason=reason,
            rounds=counts.rounds,
            steps=counts.steps,
            tokens=counts.tokens,
            t_ns=self._now(),
        )
        store.finish(footer)
        return footer

    def _now(self) -> int:
        return self._clock() - self._began_ns

    def _append(self, record: records.Record) -> None:
        self._store.append(record)
        self._seen.append(record)
        if isinstance(self.drafter, AdaptiveDrafter):
            teach(self.drafter, record, self._manner)

    def _note_synthetic(self) -> None:
        """Put on record that a drafter's acceptance says nothing about any real one's."""
        text = synthetic_sentence(self.plan, self.drafter)
        if text is not None:
            self._append(records.Note(t_ns=self._now(), text=text, tags=("synthetic",)))

    def _note_beginning(self) -> None:
        """Put on record which prompt cache the texts go on from, and whether the draft has seen it."""
        if self._beginning is not None:
            text = self._beginning.sentence(self.drafter)
            self._append(records.Note(t_ns=self._now(), text=text, tags=("prompt cache",)))

    def _run_all(self) -> Command | None:
        """One pass over all prompts, then, within a budget, passes over those still undecided.

        Returns the command that stopped it, if one did.
        """
        waiting = list(self._texts)
        while waiting:
            command = self._run_text(waiting[0])
            if command is None:
                waiting.pop(0)
            else:
                stop, waiting = self._obey(command, waiting)
                if stop is not None:
                    return stop
            if self._spent():
                return None
            if not waiting:
                waiting = self._another_pass()
        return None

    def _another_pass(self) -> list[Text]:
        """Prompts to go on with: those of kinds whose speedup still holds 1, while a budget is left."""
        if self.plan.budget == Budget():
            return []
        kinds = self._undecided(self._seen)
        self._decided_early = not kinds
        return self._go_on([text for text in self._texts if text.prompt.kind in kinds and not text.ended])

    def _go_on(self, texts: list[Text]) -> list[Text]:
        """The same texts, each with as many tokens ahead of it as the plan asks for."""
        for text in texts:
            text.goal = len(text.tokens) + self.plan.tokens
        return texts

    def _spent(self) -> bool:
        budget = self.plan.budget
        rounds = self._store.counts.rounds
        return (budget.seconds is not None and self._now() - self._paused_ns >= budget.seconds * 1e9) or (
            budget.rounds is not None and rounds >= budget.rounds
        )

    def _obey(self, command: Command, waiting: list[Text]) -> tuple[Command | None, list[Text]]:
        """Carry a command out, and those that come while it pauses.

        Returns the stop command, if one came, and the prompts that wait now.
        """
        paused = False
        while command.action != "stop":
            if command.action == "change" and self._change(command):
                waiting = self._go_on(list(self._texts))
            elif command.action == "next_prompt":
                waiting = waiting[1:]
            paused = command.action == "pause" or (paused and command.action != "resume")
            if not paused:
                return None, waiting
            began = self._clock()
            command = self._steering.wait()
            self._paused_ns += self._clock() - began
        return command, waiting

    def _change(self, command: Command) -> bool:
        """Another k, drafter, rule or the like; a wrong wish becomes a note, changes nothing and returns False."""
        try:
            wish = changed_plan(self.plan, command)
            if command.drafter:
                drafter = chosen_drafter(wish, self.target, self.longest, self._kv)
            else:
                drafter = fitted(self.drafter, self.plan, wish)
            check_rule(wish, drafter, self._beginning)
            policy = self._policy if wish.policy == self.plan.policy else policy_of(wish, self.target)
            texts = self._texts
            if command.prompts:
                texts = self._maker.texts(load_prompts(wish.prompts)[: wish.limit], self.plan, self.drafter)
        except SpecviewError as error:
            self._append(records.Note(t_ns=self._now(), text=without_paths(str(error)), tags=("refused",)))
            return False
        self.plan, self.drafter, self._policy, self._texts = wish, drafter, policy, texts
        self._manner = manner_words(wish)
        if command.drafter:
            self._note_synthetic()
            self._note_beginning()
        for text in texts:
            if text.ended:  # under other settings it starts again
                text.tokens, text.shown, text.segment, text.ended = text.tokens[: text.prompt_tokens], 0, 0, False
        self._probing = self._new_probing()
        return True

    def _run_text(self, text: Text) -> Command | None:
        """One prompt: as many segments as the plan's tokens ask for, or until a command comes."""
        try:
            rule = rule_of(self.plan, text.number)
            generation = self._started(text, rule)
            stretch = Stretch(
                plan=self.plan,
                generation=generation,
                drafter=self.drafter,
                text=text,
                rule=rule,
                policy=self._policy,
                stop_ids=self._stops,
            )
            while len(generation.tokens) < text.goal and not text.ended:
                room = self.longest - self.plan.k - self.plan.widest
                if generation.context + segment_tokens(self.plan.k) > room:
                    text.ended = True
                    break
                began = self._clock()
                base, after = self._segments.play(stretch, self._splits.next())
                self._probing.between(stretch, base, after, self._clock() - began)
                stretch.go_to(after)
                give_back(len(text.tokens), len(generation.tokens))
                text.tokens = list(generation.tokens)
                text.segment += 1
                self._between(generation, text)
                if self._spent():
                    break
        except Interrupted as interruption:
            return interruption.command
        self._store.sync()
        return None

    def _started(self, text: Text, rule: AcceptanceRule) -> Generation:
        """Read a text into new caches, chunk by chunk; the drafter sees it too."""
        beginning = self._beginning
        read = 0 if beginning is None else beginning.positions
        cache = new_cache(self.target, self.longest) if beginning is None else beginning.caches(self.longest)
        reading = read_prompt(
            self.target,
            text.tokens[read:-1],
            cache,
            keep_hidden=self.drafter.needs_hidden,
            going=self._told_of_reading,
            kv=self._kv,
        )
        if not reading.finished:
            raise Interrupted(self._steering.poll() or Command("stop", reason="asked to stop"))
        self.drafter.sampling = rule.sampling
        known = 0 if beginning is None else beginning.first_known(self.drafter)
        hidden = reading.hidden if beginning is None else beginning.hidden(self.drafter, reading.hidden)
        self.drafter.begin(text.tokens[known:], hidden)
        return Generation(self.target, list(text.tokens), cache, self._kv)

    def _told_of_reading(self, read: int, total: int) -> bool:
        """Tell of a long prompt, and go on unless a command waits."""
        if total > TOLD_FROM:
            self._watcher.loading(f"{read:,} of {total:,} positions of the prompt")
        return self._steering.nap(0.0)

    def _between(self, generation: Generation, text: Text) -> None:
        """What is read once per segment: memory, the canary, how far it is."""
        self._machine.between(
            active_bytes=int(mx.get_active_memory()),
            peak_bytes=int(mx.get_peak_memory()),
            cache_bytes=cache_bytes(generation.cache) + self.drafter.cache_bytes(),
            target_bytes=self._target_bytes,
            drafter_bytes=self.drafter.weight_bytes(),
        )
        done = 1.0 - max(0, text.goal - len(text.tokens)) / self.plan.tokens
        self._watcher.advanced(text.number + done, len(self._texts), self._store.counts.rounds)
