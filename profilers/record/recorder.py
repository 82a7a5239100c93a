"""The recorder: runs the engine on prompts by the schedule, measures, and appends records to one session file."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import mlx.core as mx

from ...engine.accept import GREEDY
from ...engine.cache import Snapshot, cache_bytes, restore, take_snapshot
from ...engine.decode import Generation, decode, settle_cache, speculate, start
from ...engine.drafters import Drafter
from ...engine.drafters.choose import choose_drafter
from ...engine.drafters.model import DraftModel
from ...engine.errors import SpecviewError
from ...engine.events import Round, Step
from ...engine.models import Target, describe, load_target
from ...engine.probe import FreeProbe, Probe, SplitProbe
from ...engine.trees import nbytes
from ..measure.canary import Canary
from ..measure.environment import EnvironmentFacts, environment
from ..measure.equality import compare_outputs
from ..measure.load import LoadMeter
from ..measure.schedule import DROPPED, SEGMENT_TOKENS, ProbeTurns, SplitTurns, segment_arms
from ..measure.whole import Pass, drafter_pass, verify_pass
from . import records
from .pieces import PieceWriter
from .plan import Budget, Plan
from .privacy import without_paths
from .prompts import Prompt, load_prompts, tokens_of
from .steering import Command, Steering
from .store import SessionStore

Clock = Callable[[], int]
COOLING_SHARE = 0.1


class Watcher(Protocol):
    """Whoever wants to know how far a recording is; called between segments, never inside one."""

    def loading(self, what: str) -> None:
        """Something that takes a while begins."""
        ...

    def advanced(self, prompts_done: float, prompts_all: int, rounds: int) -> None:
        """A segment was measured."""
        ...


Undecided = Callable[[Sequence[records.Record]], tuple[str, ...]]


class _Interrupted(Exception):
    """A command came in the middle of a segment, which is given up."""

    def __init__(self, command: Command) -> None:
        self.command = command


@dataclass(slots=True)
class _Text:
    """One prompt on its way: committed tokens, how many of them were shown, where this pass ends, the next segment."""

    number: int
    prompt: Prompt
    tokens: list[int]
    prompt_tokens: int
    goal: int
    shown: int = 0
    segment: int = 0
    ended: bool = False


@dataclass(slots=True)
class _Runs:
    """Run numbers of the arms of the current prompt, opened when first used."""

    by_arm: dict[str, int] = field(default_factory=dict)
    played: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Turns:
    """Which widths of the target and of the drafter are due for a probe."""

    verify: ProbeTurns
    draft: ProbeTurns


@dataclass(frozen=True, slots=True)
class _Base:
    """Where all arms of a segment start from."""

    snapshot: Snapshot
    mark: Any
    tokens: tuple[int, ...]


class Recorder:
    """Records one session. Loading happens in the constructor, so that its errors come before a file exists."""

    def __init__(
        self,
        plan: Plan,
        watcher: Watcher,
        steering: Steering,
        undecided: Undecided = lambda records_so_far: (),
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        self.plan = plan.checked()
        self._watcher, self._steering, self._undecided, self._clock = watcher, steering, undecided, clock
        self._prompts = load_prompts(plan.prompts)[: plan.limit]
        watcher.loading(f"model {plan.model.rstrip('/').rsplit('/', 1)[-1]}")
        self.target = load_target(plan.model, plan.dtype, plan.trust_remote_code)
        watcher.loading(f"drafter {plan.drafter_name()}")
        self.drafter = self._chosen(plan)
        self._texts = self._tokenised(self._prompts)
        self._random = random.Random(plan.seed)
        self._runs_opened = 0
        self._cooled_s = 0.0
        self._decided_early = False
        self._turns = self._new_turns()
        self._target_bytes = nbytes(self.target.model.parameters())
        self._paused_ns = 0
        self._seen: list[records.Record] = []

    def _chosen(self, plan: Plan) -> Drafter:
        return choose_drafter(plan.drafter, self.target, plan.dtype, plan.drafter_dtype, plan.trust_remote_code)

    def _new_turns(self) -> _Turns:
        """Verify widths 1 and k+1 in every turn, the others in cycles; the drafter's 1 and 2 likewise."""
        k, widest, duty = self.plan.k, self.plan.widest, self.plan.duty
        return _Turns(
            ProbeTurns(sorted({1, k + 1}), range(1, widest + 1), duty),
            ProbeTurns((1, 2), range(1, k + 2), duty / 3),
        )

    @property
    def longest(self) -> int:
        """Positions a text may reach: the model's own limit, 4096 where it names none or more."""
        own = self.target.config.get("max_position_embeddings")
        limit = min(own, 4096) if isinstance(own, int) else 4096
        return min(limit, self.plan.context or limit)

    def _tokenised(self, prompts: Sequence[Prompt]) -> list[_Text]:
        generated = -(-self.plan.tokens // SEGMENT_TOKENS) * SEGMENT_TOKENS
        room = self.longest - generated - self.plan.k - self.plan.widest
        texts = []
        for number, prompt in enumerate(prompts):
            ids = tokens_of(prompt, self._encoded(prompt.text), room)
            texts.append(_Text(number, prompt, ids, len(ids), len(ids) + self.plan.tokens))
        return texts

    def _encoded(self, text: str) -> list[int]:
        tokenizer = self.target.tokenizer
        if self.plan.chat and getattr(tokenizer, "chat_template", None):
            message = [{"role": "user", "content": text}]
            ids: list[int] = tokenizer.apply_chat_template(message, add_generation_prompt=True, return_dict=False)
            return ids
        return list(tokenizer.encode(text))

    def header(self, started_unix_ns: int) -> records.Header:
        """The first record: what runs, on what."""
        from ... import __version__

        return records.Header(
            specview=__version__,
            plan=self.plan.sentence(),
            environment=environment_record(environment()),
            model=model_facts(self.target),
            drafter=records.DrafterFacts(
                kind=self.drafter.kind,
                model=model_facts(self.drafter.model) if isinstance(self.drafter, DraftModel) else None,
                k=self.plan.k,
            ),
            started_unix_ns=started_unix_ns,
            text_kept=self.plan.keep_text,
            prompts_kept=self.plan.keep_prompts,
        )

    def record(self, store: SessionStore) -> records.Footer:
        """Measure until the plan, the budget or a command ends it; the footer is written in every case but a crash."""
        self._store = store
        self._began_ns = self._clock()
        status, reason = "finished", None
        try:
            self._append(self.header(time.time_ns()))
            self._calibrate()
            ended = self._run_all()
            if ended is not None:
                status, reason = "stopped", ended.reason
            elif self._decided_early:
                reason = "every kind of content is decided"
        except BaseException as error:
            with suppress(SpecviewError):  # the first error is the one to tell
                self._close(store, "failed", without_paths(str(error)) or type(error).__name__)
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

    def _another_pass(self) -> list[_Text]:
        """Prompts to go on with: those of kinds whose speedup still holds 1, while a budget is left."""
        if self.plan.budget == Budget():
            return []
        kinds = self._undecided(self._seen)
        self._decided_early = not kinds
        return self._go_on([text for text in self._texts if text.prompt.kind in kinds and not text.ended])

    def _go_on(self, texts: list[_Text]) -> list[_Text]:
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

    def _obey(self, command: Command, waiting: list[_Text]) -> tuple[Command | None, list[_Text]]:
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
        """A new k, drafter or prompts; a wrong wish is noted in the session, changes nothing and returns False."""
        wish = replace(
            self.plan,
            k=self.plan.k if command.k is None else command.k,
            drafter=command.drafter or self.plan.drafter,
            prompts=command.prompts or self.plan.prompts,
        )
        try:
            wish.checked()
            drafter = self._chosen(wish) if command.drafter else self.drafter
            texts = self._tokenised(load_prompts(wish.prompts)[: wish.limit]) if command.prompts else self._texts
        except SpecviewError as error:
            self._append(records.Note(t_ns=self._now(), text=without_paths(str(error)), tags=("refused",)))
            return False
        self.plan, self.drafter, self._texts = wish, drafter, texts
        self._turns = self._new_turns()
        return True

    def _run_text(self, text: _Text) -> Command | None:
        """One prompt: as many segments as the plan's tokens ask for, or until a command comes."""
        generation = start(self.target, text.tokens, self.drafter, self.longest)
        runs = _Runs()
        splits = SplitTurns(self.plan.split)
        turns = self._turns
        try:
            while len(generation.tokens) < text.goal and not text.ended:
                room = self.longest - self.plan.k - self.plan.widest
                if generation.context + SEGMENT_TOKENS > room:
                    text.ended = True
                    break
                began = self._clock()
                self._segment(generation, text, runs, splits.next())
                self._probe_between(generation, runs, turns, self._clock() - began)
                text.tokens = list(generation.tokens)
                text.segment += 1
                self._between(generation, text)
                if self._spent():
                    break
        except _Interrupted as interruption:
            return interruption.command
        self._store.sync()
        return None

    def _between(self, generation: Generation, text: _Text) -> None:
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
        waited_s = self._canary.cool_down(self._canary_base_ns, allowed_s, time.sleep)
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

    # ----------------------------------------------------------------- segments

    def _segment(self, generation: Generation, text: _Text, runs: _Runs, with_split: bool) -> None:
        """All arms of one segment from one snapshot; the generation ends where the drafting arm ended."""
        for arm in ("plain", "drafting"):  # plain first, so that a reader sees where a visit begins
            self._run_number(arm, text, runs)
        settle_cache(generation)
        base = _Base(take_snapshot(generation.cache), self.drafter.mark(), tuple(generation.tokens))
        after: _Base | None = None
        written: dict[str, list[int]] = {}
        for arm in segment_arms(self._random, with_split):
            self._to(generation, base)
            shows = arm == "drafting" and "drafting" not in written
            written.setdefault(arm, self._arm(arm, generation, text, runs, shows))
            if arm == "drafting" and after is None:
                settle_cache(generation)
                after = _Base(take_snapshot(generation.cache), self.drafter.mark(), tuple(generation.tokens))
        if text.segment == 0 or written["plain"] != written["drafting"][: len(written["plain"])]:
            self._compare(generation, base, text, runs, written)
        assert after is not None
        self._to(generation, base)
        self._base, self._after = base, after

    def _to(self, generation: Generation, moment: _Base) -> None:
        restore(generation.cache, moment.snapshot)
        self.drafter.restore(moment.mark)
        generation.tokens[:] = moment.tokens

    def _arm(self, arm: str, generation: Generation, text: _Text, runs: _Runs, shows: bool) -> list[int]:
        """One visit of one arm, whose tokens are shown unless they were before; returns the tokens it wrote."""
        run = self._run_number(arm, text, runs)
        pieces = PieceWriter(self.target.tokenizer, generation.tokens) if self.plan.keep_text and shows else None
        before = len(generation.tokens)
        for n, event in enumerate(self._events(arm, generation, SEGMENT_TOKENS)):
            i = runs.played.get(arm, 0)
            runs.played[arm] = i + 1
            tokens = event.tokens if isinstance(event, Round) else (event.token,)
            known = len(tokens) if not shows else max(0, len(tokens) - len(generation.tokens) + text.shown)
            self._append(self._event_record(event, run, i, text.segment, n < DROPPED, known, pieces))
            if shows:
                text.shown = max(text.shown, len(generation.tokens))
            if any(t in self.target.eos_ids for t in tokens):
                text.ended = True
                break
            command = self._steering.poll()
            if command is not None and command.action != "resume":
                raise _Interrupted(command)
        return generation.tokens[before:]

    def _events(self, arm: str, generation: Generation, count: int) -> Iterator[Step | Round]:
        if arm == "plain":
            return decode(generation, count, self._clock)
        probe: Probe = SplitProbe(self._clock, mx.eval) if arm == "split" else FreeProbe(self._clock)
        return speculate(generation, self.drafter, self.plan.k, count, probe)

    def _run_number(self, arm: str, text: _Text, runs: _Runs) -> int:
        if arm not in runs.by_arm:
            number = self._runs_opened
            self._runs_opened += 1
            runs.by_arm[arm] = number
            k = 0 if arm == "plain" else self.plan.k
            prompt = text.prompt
            self._append(
                records.Run(
                    run=number,
                    arm="k0" if arm == "drafting" and k == 0 else arm,  # type: ignore[arg-type]
                    drafter="none" if arm == "plain" else self.plan.drafter_name(),
                    k=k,
                    rule=GREEDY,
                    temperature=0.0,
                    top_p=1.0,
                    seed=self.plan.seed,
                    prompt=records.PromptFacts(
                        suite=prompt.suite,
                        index=prompt.index,
                        kind=prompt.kind,
                        hash=prompt.hash,
                        tokens=text.prompt_tokens,
                        text=prompt.text if self.plan.keep_prompts else None,
                    ),
                    started_ns=self._now(),
                )
            )
        return runs.by_arm[arm]

    def _event_record(
        self,
        event: Step | Round,
        run: int,
        i: int,
        segment: int,
        warm_up: bool,
        known: int,
        pieces: PieceWriter | None,
    ) -> records.Step | records.Round:
        """One event as the session keeps it; the pieces of its first `known` tokens, shown before, are empty."""
        tokens = event.tokens if isinstance(event, Round) else (event.token,)
        replay = known >= len(tokens)
        texts = pieces.committed(tokens) if pieces is not None else ()
        texts = ("",) * known + texts[known:]
        if isinstance(event, Step):
            return records.Step(
                run=run,
                i=i,
                segment=segment,
                t_ns=self._now(),
                context=event.context,
                tokens=1,
                pieces=None if pieces is None or replay else texts,
                step_ns=event.step_ns,
                pipelined=event.pipelined,
                warm_up=warm_up,
                replay=replay,
            )
        shown = None
        if pieces is not None and not replay:
            shown = records.Pieces(texts, pieces.rejected(event.drafted[event.accepted :]))
        return records.Round(
            run=run,
            i=i,
            segment=segment,
            t_ns=self._now(),
            context=event.context,
            drafted=len(event.drafted),
            accepted=event.accepted,
            width=event.width,
            tokens=len(event.tokens),
            pieces=shown,
            round_ns=event.round_ns,
            draft_ns=event.draft_ns,
            catch_up_width=event.catch_up_width,
            verify_ns=event.verify_ns,
            rest_ns=event.rest_ns,
            rewind_ns=event.rewind_ns,
            warm_up=warm_up,
            replay=replay,
        )

    def _compare(
        self, generation: Generation, base: _Base, text: _Text, runs: _Runs, written: dict[str, list[int]]
    ) -> None:
        """Greedy output with drafts against without, over one segment."""
        self._to(generation, base)
        found = compare_outputs(generation, written["plain"], written["drafting"])
        self._append(
            records.Comparison(
                t_ns=self._now(),
                run=runs.by_arm["drafting"],
                prompt_index=text.number,
                tokens_compared=found.compared,
                first_difference=found.first_difference,
                margin=found.margin,
                judged=found.judged,
            )
        )

    # ------------------------------------------------------------------- probes

    def _probe_between(self, generation: Generation, runs: _Runs, turns: _Turns, segment_ns: int) -> None:
        """Width probes at the segment's start, over the tokens that really follow; then on to its end."""
        coming = self._after.tokens[len(self._base.tokens) - 1 :]
        coming = coming + self._base.tokens[-self.plan.widest - 1 :]
        step_ns = min(verify_pass(generation, coming[:1], self._clock).total_ns for _ in range(DROPPED))
        for width in self._shuffled(turns.verify.next(segment_ns, step_ns)):
            done = verify_pass(generation, coming[:width], self._clock)
            turns.verify.spent(width, done.total_ns)
            self._append(self._probe_record("verify", done, runs))
        for width in self._shuffled(turns.draft.next(segment_ns, step_ns)) if self.plan.k else ():
            step = drafter_pass(self.drafter, coming[:width], generation.context, self._clock)
            if step is not None:
                turns.draft.spent(width, 2 * step.total_ns)
                self._append(self._probe_record("draft", step, runs))
        self._to(generation, self._after)

    def _shuffled(self, widths: Sequence[int]) -> list[int]:
        return self._random.sample(widths, len(widths))

    def _probe_record(self, part: str, done: Pass, runs: _Runs) -> records.Probe:
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
            run=runs.by_arm["drafting"],
        )


def model_facts(target: Target) -> records.ModelFacts:
    """A model's facts as the header stores them."""
    facts = describe(target)
    return records.ModelFacts(
        id=facts.name,
        architecture=facts.architecture,
        layers=facts.layers,
        quantisation=facts.quantisation,
        dtype=facts.dtype,
        weight_bytes=facts.weight_bytes,
        parameters=facts.parameters,
        vocabulary=facts.vocabulary,
        tokenizer_hash=facts.tokenizer_hash,
    )


def environment_record(facts: EnvironmentFacts) -> records.Environment:
    """The machine's facts as the header stores them."""
    return records.Environment(
        chip=facts.chip,
        os=facts.os,
        python=facts.python,
        mlx=facts.mlx,
        mlx_lm=facts.mlx_lm,
        device=facts.device,
        blas=facts.blas,
        memory_bytes=facts.memory_bytes,
        power=facts.power,
    )
