"""The parts of a survey: each measures one thing on warm caches and gives the records that come of it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...engine.decode import Generation
from ...engine.drafters import Drafter
from ...engine.models import Target
from ...engine.shapes import random_prompt
from ..measure.calibrate import calibrate, plan_of_machine
from ..measure.canary import Canary
from ..measure.census.demands import demands_of
from ..measure.census.taking import take_census
from ..measure.constants import Constant
from ..measure.curve import verify_curve
from ..measure.environment import environment
from ..measure.experiments import ExperimentModel, run_experiment, switch_named, switches
from ..measure.fence import fence_cost
from ..measure.fenced import fenced_pass
from ..measure.gap import boundary_cost, gap_turns, queued_pass
from ..measure.load import LoadMeter
from ..measure.measuring import measuring_generation
from ..measure.queued import capture
from ..measure.replay_jobs import replays_of
from ..measure.replays import measure_replays
from ..measure.restoring import as_before
from ..measure.routes import distinct_experts
from ..measure.rulers import BlockProbe
from ..measure.touched import last_level_cache_bytes
from . import records
from .block_visits import fenced_records, queued_record
from .census_records import census_records, demand_records
from .constants_kept import calibrated, machine_of
from .experiment_records import experiment_record
from .facts import environment_record
from .gap_visits import boundary_record, fence_record, queued_pass_record, turn_records
from .plan import name_of_drafter
from .policy_visits import policy_records
from .probing import whole_record
from .prompts import load_prompts
from .survey_batch import batch_records, batched_records
from .survey_plan import Part, Progress, SurveyError, SurveyPlan

Clock = Callable[[], int]
REPLAY_WIDTHS = (1, 2, 3, 4, 6, 8, 16)
REPLAY_NS = 60_000_000  # for each primitive at each width
ROUTE_PASSES = 12


@dataclass(frozen=True, slots=True)
class Stand:
    """A warm cache at one context, and the tokens that come next, enough for the widest pass."""

    generation: Generation
    coming: tuple[int, ...]


@dataclass
class Bench:
    """What all parts share: the plan, the model, the clocks, and warm caches, which are made when first asked for."""

    plan: SurveyPlan
    target: Target
    progress: Progress
    clock: Clock
    now: Callable[[], int]
    random_source: random.Random
    nap: Callable[[float], bool]
    folder: Path
    drafter: Drafter | None = None

    @cached_property
    def stands(self) -> tuple[Stand, ...]:
        """One for each context of the plan, in its order."""
        widest = max(*self.plan.every_width, *REPLAY_WIDTHS)
        text = self.text(max(self.plan.contexts) + 1 + widest)
        made = []
        for context in self.plan.contexts:
            self.progress.loading(f"{context} positions into the cache")
            generation = measuring_generation(self.target, text[: context + 1])
            made.append(Stand(generation, tuple(text[context + 1 : context + 1 + widest])))
        return tuple(made)

    @property
    def stand(self) -> Stand:
        """The first context, where everything but the curve is measured."""
        return self.stands[0]

    @cached_property
    def probe(self) -> BlockProbe:
        """The model, split into blocks."""
        return BlockProbe(self.target, self.random_source)

    def text(self, count: int) -> list[int]:
        """So many token ids: of the bundled prompts, repeated as often as needed; random ones for a shape."""
        if self.target.random_weights:
            return random_prompt(self.target, count, self.plan.seed)
        ids: list[int] = []
        for prompt in load_prompts("all"):
            ids += self.target.tokenizer.encode(prompt.text)
            if len(ids) >= count:
                break
        if not ids:
            raise SurveyError(f"The tokenizer of {self.target.name} gives no tokens: check the model's files.")
        return (ids * (count // len(ids) + 1))[:count]


def calibration(bench: Bench) -> Iterator[records.Record]:
    """Bandwidth and peaks of this machine, kept ones where they hold; what a fence and a dispatch cost now."""
    machine = machine_of(environment_record(environment()))

    def measured() -> tuple[Constant, ...]:
        return calibrate(plan_of_machine(), clock=bench.clock, progress=bench.progress.measuring)

    kept = calibrated(bench.folder, machine, measured, time.time_ns(), again=bench.plan.recalibrate)
    yield from kept.records(bench.now())
    routes = "; ".join(f"{c.what}{f' {c.dtype}' if c.dtype else ''} by {c.route}" for c in kept.constants if c.route)
    yield records.Note(t_ns=bench.now(), text=f"Calibrated: {routes}.", tags=("calibration",))
    for remark in kept.remarks:
        yield records.Note(t_ns=bench.now(), text=remark, tags=("calibration",))
    yield fence_record(fence_cost(bench.clock), bench.now())
    yield boundary_record(boundary_cost(bench.clock, bench.random_source), bench.now())


def whole(bench: Bench) -> Iterator[records.Record]:
    """Whole passes of every width in turn with pipelined steps, and the slope of whole passes."""
    plan, stand = bench.plan, bench.stand
    total = plan.repeats + len(plan.widths)
    for done in range(plan.repeats):
        bench.progress.measuring("whole passes", done, total)
        turns = gap_turns(stand.generation, stand.coming, plan.widths, 1, bench.clock, bench.random_source)
        yield from turn_records(turns, bench.now)
    budget_ns = int(plan.place_ms * 1e6) * 4
    for done, width in enumerate(plan.widths):
        bench.progress.measuring("whole passes, queued", plan.repeats + done, total)
        with as_before(stand.generation.cache):
            timed = queued_pass(
                stand.generation, stand.coming[:width], bench.clock, budget_ns, bench.random_source
            )  # fmt: skip
        yield queued_pass_record(timed, bench.now())


def blocks(bench: Bench) -> Iterator[records.Record]:
    """Every block by the fenced ruler, `repeats` times, and every place by the queued one, hot and cycled."""
    plan, stand = bench.plan, bench.stand
    place_by_block = {block.name: block.place for block in bench.probe.blocks}
    places = len({block.place for block in bench.probe.blocks})
    for width in plan.widths:
        coming = stand.coming[:width]
        fenced, done = [], 0
        for timing in bench.probe.measure_all(stand.generation, coming, bench.clock, int(plan.place_ms * 1e6)):
            if timing.ruler == "fenced":
                fenced.append(timing)
                continue
            done += 1
            bench.progress.measuring(f"blocks at {width}", min(done, 2 * places), 2 * places)
            yield queued_record(timing, bench.now())
        yield from fenced_records(fenced, place_by_block, bench.now())
        fenced_pass(
            stand.generation, bench.probe.blocks, coming, bench.clock
        )  # the first after other work is no sample
        for _ in range(plan.repeats - 1):
            again = fenced_pass(stand.generation, bench.probe.blocks, coming, bench.clock)
            yield from fenced_records(again, place_by_block, bench.now())


def census(bench: Bench) -> Iterator[records.Record]:
    """The op census of a pass of every width, and what the places must move and compute."""
    stand, made = bench.stand, bench.probe.blocks
    for done, width in enumerate(bench.plan.widths):
        bench.progress.measuring("census", done, len(bench.plan.widths))
        yield from census_records(take_census(stand.generation, made, stand.coming[:width]))
    generation = stand.generation
    yield from demand_records(demands_of(generation.target, made, generation.cache, generation.context))


def routes(bench: Bench) -> Iterator[records.Record]:
    """Which experts passes over the tokens to come really choose, at every width, in a few passes of other tokens."""
    stand, made = bench.stand, bench.probe.blocks
    if not any(block.experts for block in made):
        return
    for width in bench.plan.widths:
        counts: dict[tuple[str, int, int], list[int]] = {}
        for turn in range(ROUTE_PASSES):
            start = turn % max(1, len(stand.coming) - width + 1)
            seen = capture(stand.generation, made, stand.coming[start : start + width])
            for block, what in seen.items():
                found = distinct_experts(block, what)
                if found is not None:
                    counts.setdefault((block.place, found[1], found[2]), []).append(found[0])
        for (place, experts, active), distinct in counts.items():
            yield records.Routes(
                t_ns=bench.now(),
                block=place,
                width=width,
                experts=experts,
                active=active,
                distinct=tuple(distinct),
            )


def replays(bench: Bench) -> Iterator[records.Record]:
    """Every heavy primitive alone at several widths: how far it amortises."""
    stand = bench.stand
    jobs = replays_of(stand.generation, bench.probe.blocks, stand.coming, REPLAY_WIDTHS)
    total = len(jobs) * len(REPLAY_WIDTHS)
    timings = measure_replays(
        jobs, REPLAY_WIDTHS, bench.clock, REPLAY_NS * total, bench.random_source, last_level_cache_bytes()
    )
    for done, timing in enumerate(timings):
        bench.progress.measuring("primitives", done, total)
        yield records.Replay(
            t_ns=bench.now(),
            primitive=timing.primitive,
            weight=timing.weight,
            category=timing.category,
            detail=timing.detail,
            shape=timing.shape,
            dtype=timing.dtype,
            width=timing.width,
            count=timing.count,
            bytes_read=timing.bytes_read,
            slope_ns=timing.slope_ns,
            slope_low_ns=timing.slope_low_ns,
            slope_high_ns=timing.slope_high_ns,
            cached=timing.cached,
        )


def curve(bench: Bench) -> Iterator[records.Record]:
    """T_verify(n) of every width at every context, a round of all at a time."""

    def advanced(done: int, total: int, paused_s: float) -> None:
        bench.progress.measuring(f"verify curve{f', cooled {paused_s:.0f} s' if paused_s else ''}", done, total)

    passes = verify_curve(
        [stand.generation for stand in bench.stands],
        [stand.coming for stand in bench.stands],
        widths=bench.plan.over,
        repeats=bench.plan.repeats,
        clock=bench.clock,
        random_source=bench.random_source,
        canary=Canary(bench.clock),
        nap=bench.nap,
        advanced=advanced,
    )
    for timed in passes:
        yield whole_record("verify", (timed,), bench.now(), None)


def experiment(bench: Bench) -> Iterator[records.Record]:
    """Passes under a switch of MLX against passes without, each setting in a process of its own.

    Without names in the plan every switch is tried that does something on this device.
    """
    plan = bench.plan
    known = switches(environment().device, os.environ)
    names = plan.experiments or tuple(s.name for s in known if s.available and s.runnable)
    model = ExperimentModel(
        source=plan.shape or plan.model,
        shape=plan.shape is not None,
        dtype=plan.dtype,
        layers=plan.layers,
        experts=plan.experts,
        context=plan.contexts[0],
        seed=plan.seed,
        trust_remote_code=plan.trust_remote_code,
    )
    for name in names:
        arms = run_experiment(
            switch_named(name, known),
            model,
            plan.widths,
            plan.repeats,
            bench.now,
            lambda done, total, name=name: bench.progress.measuring(f"experiment {name}", done, total),  # type: ignore[misc]
            environment=os.environ,
            random_source=bench.random_source,
        )
        yield from map(experiment_record, arms)


def policies(bench: Bench) -> Iterator[records.Record]:
    """Every verify policy that this target can run against one pass, in turns; why not, for the others."""
    plan, stand = bench.plan, bench.stand
    yield from policy_records(
        stand.generation,
        stand.coming,
        plan.widths,
        plan.repeats,
        bench.now,
        bench.random_source,
        LoadMeter().sample().memory_available_bytes,
        lambda done, total: bench.progress.measuring("verify policies", done, total),
    )


def batch(bench: Bench) -> Iterator[records.Record]:
    """T_decode(B) and T_verify(B, n), all batches in turn; the memory they need is reckoned first."""
    plan = bench.plan
    yield from batch_records(
        bench.target,
        bench.text,
        plan.contexts[0],
        plan.batches,
        plan.widths,
        plan.repeats,
        bench.now,
        bench.random_source,
        LoadMeter().sample().memory_available_bytes,
        lambda done, total: bench.progress.measuring("batches", done, total),
    )


def batched(bench: Bench) -> Iterator[records.Record]:
    """Every batch generated with drafts and without, two pairs of stretches a repeat; nothing where nothing drafts."""
    plan = bench.plan
    if bench.drafter is None or plan.draft is None:
        return
    yield from batched_records(
        bench.target,
        bench.text,
        plan.contexts[0],
        plan.batches,
        bench.drafter,
        name_of_drafter(plan.draft),
        plan.k,
        plan.tokens,
        2 * plan.repeats,
        bench.now,
        bench.random_source,
        plan.seed,
        LoadMeter().sample().memory_available_bytes,
        lambda done, total: bench.progress.measuring("texts in batches", done, total),
    )


MEASURES: Mapping[Part, Callable[[Bench], Iterator[records.Record]]] = {
    "calibration": calibration,
    "whole": whole,
    "blocks": blocks,
    "census": census,
    "routes": routes,
    "replays": replays,
    "curve": curve,
    "experiment": experiment,
    "policies": policies,
    "batch": batch,
    "batched": batched,
}
