"""The recorder: runs the engine on prompts by the schedule, measures, and appends records to one session file."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TextIO

import mlx.core as mx

from ...engine.accept import AcceptanceRule, acceptance_rule
from ...engine.cache import cache_bytes, new_cache
from ...engine.decode import Generation
from ...engine.drafters import Drafter
from ...engine.drafters.adaptive import AdaptiveDrafter, adaptive
from ...engine.drafters.choose import choose_drafter
from ...engine.drafters.fixed import FixedAcceptance
from ...engine.drafters.mtp import MtpDrafter, head_count
from ...engine.errors import SpecviewError
from ...engine.kv_quantisation import KvQuantisation, check_quantisable
from ...engine.models import first_line, load_target
from ...engine.prompt_cache import read_prompt
from ...engine.sampling import Sampling, chosen_sampling
from ...engine.trees import nbytes
from ...engine.verify_policies import Policy, verify_policy
from ..measure.canary import Canary
from ..measure.fence import fence_cost
from ..measure.load import LoadMeter
from ..measure.schedule import SplitTurns, segment_tokens
from . import records
from .facts import header_of
from .plan import COMPILED, Budget, Plan, PlanError
from .privacy import without_paths
from .probing import Probing, manner_words
from .prompt_beginning import Beginning, open_beginning, rendered
from .prompts import Prompt, load_prompts, tokens_of
from .room import RECORDED_COPIES, can_grow, check_room, longest_text
from .segments import Interrupted, Segments, Stretch, Text
from .steering import Command, Steering, changed_plan
from .store import SessionStore
from .teaching import teach

Clock = Callable[[], int]
COOLING_SHARE = 0.1
TEXTS_PER_SEED = 1_000_003  # prompts of one seed draw random numbers of their own
USUAL_LONGEST = 4096  # positions a text may reach where nobody says
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
        self._prompts = load_prompts(plan.prompts, stdin)[: plan.limit]
        watcher.loading(f"model {plan.model.rstrip('/').rsplit('/', 1)[-1]}")
        self.target = load_target(plan.model, plan.dtype, plan.trust_remote_code)
        self._beginning = None if plan.prompt_cache is None else open_beginning(plan.prompt_cache, self.target)
        self.plan = plan = _as_cached(self.plan, self._beginning)
        self._kv = _kv_of(plan, self._beginning)
        if plan.context is not None:
            available_bytes = LoadMeter().sample().memory_available_bytes
            check_room(self.target, plan.context, self._kv, available_bytes, copies=RECORDED_COPIES)
        watcher.loading(f"drafter {plan.drafter_name()}")
        self.drafter = self._chosen(plan)
        self._check_rule(plan, self.drafter)
        if self._kv is not None:
            check_quantisable(self.target, self._kv)
        self._policy = self._policy_of(plan)
        self._manner = manner_words(plan)
        self._stops = self._stop_ids()
        self._texts = self._tokenised(self._prompts)
        self._random = random.Random(plan.seed)
        self._segments = Segments(self._append, self._now, steering, self._random, clock)
        self._probing = self._new_probing()
        self._splits = SplitTurns(plan.split)
        self._cooled_s = 0.0
        self._decided_early = False
        self._target_bytes = nbytes(self.target.model.parameters())
        self._paused_ns = 0
        self._seen: list[records.Record] = []

    def _chosen(self, plan: Plan) -> Drafter:
        drafter = choose_drafter(
            plan.drafter, self.target, plan.dtype, plan.drafter_dtype, plan.trust_remote_code, self.longest, plan.seed
        )
        if isinstance(drafter, MtpDrafter):
            drafter.sees_prompt = plan.mtp_sees_prompt
        if isinstance(drafter, FixedAcceptance):
            drafter.kv = self._kv
        return adaptive(drafter, plan.k) if plan.adaptive else drafter

    def _policy_of(self, plan: Plan) -> Policy:
        return verify_policy(plan.policy, self.target, LoadMeter().sample().memory_available_bytes)

    def _check_rule(self, plan: Plan, drafter: Drafter) -> None:
        """Refuse a rule that cannot be, or that the drafter cannot follow, before it comes up in the middle of a run.

        Raises a SpecviewError with what to change.
        """
        acceptance_rule(plan.rule, _sampling(plan))  # type: ignore[arg-type]
        if isinstance(_own(drafter), FixedAcceptance) and plan.temperature > 0:
            raise PlanError(
                f"{plan.drafter_name()} is right with a chosen chance about text that it foresees, and drawn text "
                "cannot be foreseen: choose the rule greedy, or another draft."
            )
        if isinstance(_own(drafter), FixedAcceptance) and self._beginning and self._beginning.cached.tokens is None:
            raise PlanError(
                f"{plan.drafter_name()} must foresee the text, and the prompt cache does not name its tokens: make one "
                "with specview cache-prompt, or choose another draft."
            )

    def _new_probing(self) -> Probing:
        heads = head_count(_own(self.drafter))
        return Probing(self.plan, self.target, self._append, self._now, self._random, self._clock, heads)

    @property
    def longest(self) -> int:
        """Positions a text may reach: the plan's context, else 4096, or the model's own limit where that is less."""
        return longest_text(self.target, self.plan.context, USUAL_LONGEST)

    def _tokenised(self, prompts: Sequence[Prompt]) -> list[Text]:
        segment = segment_tokens(self.plan.k)
        generated = -(-self.plan.tokens // segment) * segment
        room = self.longest - generated - self.plan.k - self.plan.widest
        texts = []
        for number, prompt in enumerate(prompts):
            ids = tokens_of(prompt, self._encoded(prompt.text), room, can_grow(self.target, self.longest))
            texts.append(Text(number, prompt, ids, len(ids), len(ids) + self.plan.tokens))
        positions = max((text.prompt_tokens for text in texts), default=0) + self.longest - room
        available_bytes = LoadMeter().sample().memory_available_bytes
        check_room(self.target, positions, self._kv, available_bytes, self.drafter, RECORDED_COPIES)
        return texts

    def _encoded(self, text: str) -> list[int]:
        tokenizer, system = self.target.tokenizer, self.plan.system
        if self._beginning is not None:
            return self._beginning.tokens(text, self.plan.chat)
        if self.plan.chat and getattr(tokenizer, "chat_template", None):
            messages = [{"role": "system", "content": system}] if system else []
            messages.append({"role": "user", "content": text})
            ids: list[int] = rendered(self.target, messages, add_generation_prompt=True, return_dict=False)
            return ids
        return list(tokenizer.encode(f"{system}\n\n{text}" if system else text))

    def _stop_ids(self) -> frozenset[int]:
        """The model's own ends of text, and those that the plan names; each must be one token."""
        ids = set(self.target.eos_ids)
        for text in self.plan.stop:
            found = self.target.tokenizer.encode(text, add_special_tokens=False)
            if len(found) != 1:
                raise PlanError(
                    f"--stop {text!r} is {len(found)} tokens of {self.target.name}: name a text that is one token."
                )
            ids.update(found)
        return frozenset(ids)

    def record(self, store: SessionStore) -> records.Footer:
        """Measure until the plan, the budget or a command ends it; the footer is written in every case but a crash."""
        self._store = store
        self._began_ns = self._clock()
        status, reason = "finished", None
        try:
            self._append(header_of(self.plan, self.target, self.drafter, time.time_ns()))
            self._note_synthetic()
            self._note_beginning()
            self._calibrate()
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
        if isinstance(_own(self.drafter), FixedAcceptance):
            text = (
                f"{self.plan.drafter_name()} is synthetic: its acceptance is chosen, not measured, and its drafts cost "
                "nothing."
            )
            self._append(records.Note(t_ns=self._now(), text=text, tags=("synthetic",)))

    def _note_beginning(self) -> None:
        """Put on record which prompt cache the texts go on from, and whether the draft has seen it."""
        if self._beginning is not None:
            text = self._beginning.sentence(self.drafter)
            self._append(records.Note(t_ns=self._now(), text=text, tags=("prompt cache",)))

    def _calibrate(self) -> None:
        self._load = LoadMeter()
        self._load.sample()
        self._canary = Canary(self._clock)
        readings = sorted(self._canary.read_ns() for _ in range(7))
        self._canary_base_ns = float(readings[3])
        self._append(
            records.Calibration(
                what="canary",
                dtype="float32",
                value=self._canary_base_ns,
                unit="ns",
                low=float(readings[1]),
                high=float(readings[5]),
                t_ns=self._now(),
            )
        )
        fence = fence_cost(self._clock)
        self._append(
            records.Calibration(
                what="fence",
                value=fence.median_ns,
                unit="ns",
                low=fence.low_ns,
                high=fence.high_ns,
                t_ns=self._now(),
            )
        )

    # ------------------------------------------------------------------ prompts

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
            drafter = self._chosen(wish) if command.drafter else self._fitted(wish)
            self._check_rule(wish, drafter)
            policy = self._policy if wish.policy == self.plan.policy else self._policy_of(wish)
            texts = self._tokenised(load_prompts(wish.prompts)[: wish.limit]) if command.prompts else self._texts
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

    def _fitted(self, plan: Plan) -> Drafter:
        """The present drafter, adaptive where the plan says so; its weights are not loaded again."""
        if (plan.adaptive, plan.k) == (self.plan.adaptive, self.plan.k):
            return self.drafter
        own = _own(self.drafter)
        if not plan.adaptive:
            return own
        known = self.drafter.costs if isinstance(self.drafter, AdaptiveDrafter) else None
        return adaptive(own, plan.k, known)

    def _run_text(self, text: Text) -> Command | None:
        """One prompt: as many segments as the plan's tokens ask for, or until a command comes."""
        try:
            rule = self._rule_for(text)
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
                text.tokens = list(generation.tokens)
                text.segment += 1
                self._between(generation, text)
                if self._spent():
                    break
        except Interrupted as interruption:
            return interruption.command
        self._store.sync()
        return None

    def _rule_for(self, text: Text) -> AcceptanceRule:
        """The plan's rule, with random numbers of the text's own where tokens are drawn."""
        sampling = _sampling(self.plan, self.plan.seed * TEXTS_PER_SEED + text.number)
        return acceptance_rule(self.plan.rule, sampling)  # type: ignore[arg-type]

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
        self.drafter.begin(text.tokens[known:], reading.hidden)
        return Generation(self.target, list(text.tokens), cache, self._kv)

    def _told_of_reading(self, read: int, total: int) -> bool:
        """Tell of a long prompt, and go on unless a command waits."""
        if total > TOLD_FROM:
            self._watcher.loading(f"{read:,} of {total:,} positions of the prompt")
        return self._steering.nap(0.0)

    def _between(self, generation: Generation, text: Text) -> None:
        """What is read once per segment: memory, the canary, how far it is."""
        load = self._load.sample()
        self._append(
            records.Memory(
                t_ns=self._now(),
                active_bytes=int(mx.get_active_memory()),
                peak_bytes=int(mx.get_peak_memory()),
                cache_bytes=cache_bytes(generation.cache) + self.drafter.cache_bytes(),
                target_bytes=self._target_bytes,
                drafter_bytes=self.drafter.weight_bytes(),
                others_cpu_fraction=load.others_cpu_fraction,
                swap_used_bytes=load.swap_used_bytes,
                available_bytes=load.memory_available_bytes,
            )
        )
        self._append(
            records.Calibration(
                what="canary",
                dtype="float32",
                value=float(self._canary.read_ns()),
                unit="ns",
                t_ns=self._now(),
            )
        )
        self._cool_down()
        done = 1.0 - max(0, text.goal - len(text.tokens)) / self.plan.tokens
        self._watcher.advanced(text.number + done, len(self._texts), self._store.counts.rounds)

    def _cool_down(self) -> None:
        """Pause while the machine is slower than at the start, at most a tenth of the time so far."""
        allowed_s = COOLING_SHARE * self._now() * 1e-9 - self._cooled_s
        if allowed_s <= 0:
            return
        waited_s = self._canary.cool_down(self._canary_base_ns, allowed_s, self._steering.nap)
        self._cooled_s += waited_s
        if waited_s > 0:
            self._append(
                records.Guard(
                    t_ns=self._now(),
                    code="cooling",
                    message=f"Paused {waited_s:.1f} s because the canary ran slower than at the start.",
                    value=waited_s,
                    remedy="Let the machine cool, and close what else runs.",
                )
            )


def _as_cached(plan: Plan, beginning: Beginning | None) -> Plan:
    """The plan with keys and values kept as the prompt cache has them; raises PlanError where it asks for others."""
    kept = None if beginning is None else beginning.cached.kv
    if beginning is None or kept is None:
        return plan
    if plan.kv_bits not in (None, kept.bits):
        raise PlanError(
            f"The prompt cache keeps keys and values in {kept.bits} bits: leave --kv-bits out, or make it anew."
        )
    if plan.kv_start > beginning.positions:
        raise PlanError("The prompt cache is quantised already: leave --kv-start out, or make it anew.")
    if plan.policy == COMPILED:
        raise PlanError(
            f"The prompt cache keeps keys and values in {kept.bits} bits, and --policy compiled needs them as they "
            "are: leave the policy out, or make it anew."
        )
    return replace(plan, kv_bits=kept.bits)


def _kv_of(plan: Plan, beginning: Beginning | None) -> KvQuantisation | None:
    """How keys and values are kept: in groups as a prompt cache has them, else as mlx-lm makes them."""
    if plan.kv_bits is None:
        return None
    kept = None if beginning is None else beginning.cached.kv
    asked = KvQuantisation(bits=plan.kv_bits, start=plan.kv_start)
    return asked if kept is None else replace(asked, group_size=kept.group_size)


def _sampling(plan: Plan, seed: int = 0) -> Sampling | None:
    return chosen_sampling(plan.temperature, plan.top_p, plan.top_k, plan.min_p, seed)


def _own(drafter: Drafter) -> Drafter:
    """The drafter itself, without what chooses its length."""
    return drafter.drafter if isinstance(drafter, AdaptiveDrafter) else drafter
