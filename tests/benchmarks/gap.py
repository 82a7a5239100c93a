"""Prints the gap of several runs with its parts, and how often the unattributed rest is small.

    python tests/benchmarks/gap.py [model folder] [--dtype float32] [--runs 10] [--seconds 45] [--widths 1] [--cpu-time]

Without a folder: the bundled model in float32. Whole passes in three stretches, pipelined steps, whole passes queued
and block visits take turns, so that drift hits all rulers alike; every run starts a generation and a probe of its own.
Run it on a quiet machine, and with the BLAS that you mean to judge preloaded: it is named on the first line.
On a busy machine --cpu-time, the time of this process alone, still tells whether parts and sums add up.
"""

from __future__ import annotations

import argparse
import random
import time

from specview.engine.decode import decode, start
from specview.engine.model_files import BUNDLED
from specview.engine.models import load_target
from specview.profilers.judge.gap_parts import gap_parts
from specview.profilers.judge.ruler_sentences import ruler_sentences
from specview.profilers.measure.blas import blas_in_use
from specview.profilers.measure.fence import fence_cost
from specview.profilers.measure.gap import boundary_cost, gap_turns, queued_pass
from specview.profilers.record import records as r
from specview.profilers.record.block_visits import BlockVisits
from specview.profilers.record.facts import model_facts
from specview.profilers.record.gap_visits import boundary_record, fence_record, queued_pass_record, turn_records
from specview.profilers.record.session import session_of

TEXT = "The history of the sea is long and full of storms. Ships that left the harbour in spring came back in autumn. "
VISIT_NS = 2_000_000_000
TURNS = 2  # of whole passes and pipelined steps before each visit
SMALL = 0.05  # of the wall: the rest that may stay unattributed


def main() -> None:
    """Measure and print each run, then the tally."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=BUNDLED)
    parser.add_argument("--dtype", help="default: float32 for the bundled model, else as stored")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=45.0, help="of each run, more until every place was queued")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--widths", type=int, nargs="+", default=[1])
    parser.add_argument("--cpu-time", action="store_true", help="not the wall: what this process computed")
    asked = parser.parse_args()
    clock = time.process_time_ns if asked.cpu_time else time.perf_counter_ns
    target = load_target(asked.model, asked.dtype or ("float32" if asked.model == BUNDLED else None))
    print(
        f"{target.name}, {blas_in_use().name}, context {asked.context}, {asked.runs} runs"
        + (", CPU time" if asked.cpu_time else "")
    )
    small = dict.fromkeys(asked.widths, 0)
    for run in range(asked.runs):
        session = measured(target, asked, clock, random.Random(run))
        for width in asked.widths:
            found = gap_parts(session, width)
            small[width] += abs(found.rest.of_wall) <= SMALL
            show(run, found, ruler_sentences(session, width))
    for width, count in small.items():
        print(f"width {width}: the rest is at most {SMALL:.0%} of the wall in {count} of {asked.runs} runs")


def measured(target, asked, clock, random_source):
    """One run: a session of nothing but probes of one generation."""
    began = clock()

    def now():
        return clock() - began

    ids = target.tokenizer.encode(TEXT * 200)[: asked.context]
    generation = start(target, ids)
    coming = [s.token for s in decode(start(target, ids), max(asked.widths) + 1, clock)]
    made = [
        r.Header(
            specview="benchmark",
            plan="gap",
            environment=r.Environment(),
            model=model_facts(target),
            started_unix_ns=0,
            text_kept=False,
            prompts_kept=False,
        ),
        fence_record(fence_cost(clock), now()),
        boundary_record(boundary_cost(clock, random_source), now()),
    ]
    visits = BlockVisits(target, asked.widths, 1.0, clock)
    while now() < asked.seconds * 1e9 or any(gap_parts(session_of(made), n) is None for n in asked.widths):
        for _ in asked.widths:
            made += turn_records(gap_turns(generation, coming, asked.widths, TURNS, clock, random_source), now)
            made += visits.visit(generation, coming, VISIT_NS, now)
        for width in asked.widths:
            queued = queued_pass(generation, coming[:width], clock, VISIT_NS // 2, random_source)
            made.append(queued_pass_record(queued, now()))
    return session_of(made)


def show(run, found, sentences) -> None:
    """The gap, its parts, the rest, and why the rulers differ."""
    print(
        f"\nrun {run + 1}, width {found.width}: whole graph {of(found.wall)} ms = build {of(found.build)} + evaluation "
        f"{of(found.evaluation)}, queued sum {of(found.queued)}; {found.passes} passes, "
        f"{found.interrupted} more interrupted"
    )
    print(f"  {found.sentence} ({found.interval.low:+.2f} to {found.interval.high:+.2f})")
    for part in (*found.parts, found.rest):
        amount = "       –" if part.ms is None else f"{part.ms:+8.3f} ms {part.of_wall:+7.1%} of the wall"
        ends = "" if part.interval is None else f" ({part.interval.low:+.2f} to {part.interval.high:+.2f})"
        print(f"  {part.name:36}{amount}{ends}  {part.note}")
    for sentence in sentences:
        print(f"  {sentence}")


def of(interval) -> str:
    """A mean with half its interval."""
    return "–" if interval is None else f"{interval.estimate:.2f} ± {interval.high - interval.estimate:.2f}"


if __name__ == "__main__":
    main()
