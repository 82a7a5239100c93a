"""Prints whether free rounds between probes run as fast as rounds that no probe came before.

    python tests/benchmarks/duty.py [model folder] [--draft mtp] [--k 1] [--pairs 24] [--prompts 6]

The same text is played twice from one snapshot, in random order: once after a visit of the block probe, width probes
and drafter probes, as a recording makes between segments, and once after a wait in which nothing ran but a plain
pass. Two rounds are dropped after each switch, as in a recording. One log ratio a pair; the interval is a t interval
over pairs. Also prints the duty: what share of a recording the probes take, as planned and as it was.
"""

from __future__ import annotations

import argparse
import math
import random
import time

from specview.engine.decode import decode, settle_cache, speculate, start
from specview.engine.drafters.choose import choose_drafter
from specview.engine.model_files import BUNDLED
from specview.engine.models import load_target
from specview.engine.probe import FreeProbe
from specview.profilers.judge.statistics import t_interval
from specview.profilers.measure.schedule import DROPPED, segment_tokens
from specview.profilers.measure.whole import verify_pass
from specview.profilers.record.plan import Plan
from specview.profilers.record.probing import Probing
from specview.profilers.record.prompts import load_prompts
from specview.profilers.record.segments import Moment, Stretch, Text

LONGEST = 2048


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=BUNDLED)
    parser.add_argument("--draft", default="mtp")
    parser.add_argument("--k", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--prompts", type=int, default=6)
    asked = parser.parse_args()
    clock = time.perf_counter_ns
    order = random.Random(5)
    plan = Plan(model=asked.model, drafter=asked.draft, k=asked.k).checked()
    target = load_target(asked.model)
    drafter = choose_drafter(asked.draft, target, None, None, False, LONGEST)
    probing = Probing(plan, target, lambda record: None, clock, order, clock)
    ratios, probed_ns, segments_ns = [], 0, 0
    for number, prompt in enumerate(load_prompts("all")[: asked.prompts]):
        ids = target.tokenizer.encode(prompt.text)
        generation = start(target, ids, drafter, LONGEST)
        stretch = Stretch(plan, generation, drafter, Text(number, prompt, ids, len(ids), LONGEST), {"drafting": 0})
        for _ in range(-(-asked.pairs // asked.prompts)):
            settle_cache(generation)
            base = stretch.moment()
            seconds = {}
            after = played(stretch, clock)[1]
            for probes in order.sample((True, False), 2):
                stretch.go_to(base)
                before_ns = segment_ns(stretch, base, clock)
                began = clock()
                if probes:
                    probing.between(stretch, base, after, before_ns)
                    probed_ns += clock() - began
                    segments_ns += before_ns
                else:
                    verify_pass(generation, after.tokens[len(base.tokens) - 1 :][:1], clock)
                stretch.go_to(base)
                seconds[probes], _ = played(stretch, clock)
            ratios.append(math.log(seconds[True] / seconds[False]))
            stretch.go_to(after)
    found = t_interval(ratios)
    low, middle, high = (100 * (math.exp(v) - 1) for v in (found.low, found.estimate, found.high))
    print(f"{target.name}, {asked.draft} k={asked.k}: rounds after probes against rounds after none")
    print(f"  time of a round {middle:+.2f}% [{low:+.2f}, {high:+.2f}], {len(ratios)} pairs")
    print(f"  duty planned: widths {plan.duty:.0%}, blocks {plan.blocks_duty:.0%} of a segment's time")
    print(f"  probes took {probed_ns / segments_ns:.0%} of the plain segments here; a recorded segment has five arms")


def segment_ns(stretch: Stretch, base: Moment, clock) -> int:
    """A segment of plain decoding from the base and back, in ns: what a recording does before it probes."""
    began = clock()
    list(decode(stretch.generation, segment_tokens(stretch.plan.k), clock))
    stretch.go_to(base)
    return clock() - began


def played(stretch: Stretch, clock) -> tuple[int, Moment]:
    """The counted free rounds of one segment in ns, and where it ended."""
    rounds = list(
        speculate(stretch.generation, stretch.drafter, stretch.plan.k, segment_tokens(stretch.plan.k), FreeProbe(clock))
    )
    settle_cache(stretch.generation)
    return sum(r.round_ns for r in rounds[DROPPED:]), stretch.moment()


if __name__ == "__main__":
    main()
