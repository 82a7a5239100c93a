"""Prints the two rulers beside the whole graph: fenced and queued sums, hot and cycled, the gap, and verify ÷ decode.

    python tests/benchmarks/blocks.py [model folder …] [--seconds 20] [--context 128] [--widths 1 2]

Without a folder: the bundled model as stored and in float32. Whole passes and block visits alternate, so that drift
hits all rulers alike. Means; the ± is a 95% t interval over passes.
"""

from __future__ import annotations

import argparse
import time
from statistics import fmean, stdev

from specview.engine.decode import decode, start
from specview.engine.model_files import BUNDLED
from specview.engine.models import load_target
from specview.profilers.measure.fence import fence_cost
from specview.profilers.measure.rulers import BlockProbe
from specview.profilers.measure.timings import category_totals
from specview.profilers.measure.whole import verify_pass

TEXT = "The history of the sea is long and full of storms. Ships that left the harbour in spring came back in autumn. "
VISIT_NS = 1_000_000_000
SOURCES = (("fenced", "fenced", "cycled"), ("queued, cycled", "queued", "cycled"), ("queued, hot", "queued", "hot"))


def main() -> None:
    """Measure and print each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seconds", type=float, default=20.0, help="of block visits, for each model")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--widths", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    named = [(m, None) for m in asked.models] or [(BUNDLED, None), (BUNDLED, "float32")]
    for source, dtype in named:
        measure(load_target(source, dtype), dtype or "as stored", asked)


def measure(target, dtype, asked) -> None:
    """Visit by visit in turn over the widths, whole passes between."""
    clock = time.perf_counter_ns
    ids = target.tokenizer.encode(TEXT * 200)[: asked.context]
    generation = start(target, ids)
    coming = [s.token for s in decode(generation, max(asked.widths) + 4, clock)]
    probe = BlockProbe(target)
    whole = {n: [] for n in asked.widths}
    timings, visits, ends = [], 0, clock() + asked.seconds * 1e9
    while clock() < ends or any(probe.incomplete(n) for n in asked.widths):
        for n in asked.widths:
            verify_pass(generation, coming[:n], clock)
            whole[n] += [verify_pass(generation, coming[:n], clock) for _ in range(3)]
            timings += list(probe.measure(generation, coming[:n], clock, VISIT_NS))
            visits += 1
    fence = fence_cost(clock)
    print(f"\n{target.name}, {dtype}, context {generation.context}, {visits} visits, {len(probe.blocks)} blocks")
    print(f"one fence {fence.median_ns / 1e3:.1f} µs ({fence.low_ns / 1e3:.1f} to {fence.high_ns / 1e3:.1f})")
    for n in asked.widths:
        wall = [p.total_ns / 1e6 for p in whole[n]]
        build = fmean(p.build_ns for p in whole[n]) / 1e6
        spread = 2.0 * stdev(wall) / len(wall) ** 0.5
        print(f"width {n}: whole graph, synchronous {fmean(wall):.2f} ± {spread:.2f} ms, of it build {build:.2f}")
        for name, ruler, arrangement in SOURCES:
            total = sum(category_totals(timings, n, ruler, arrangement).values()) / 1e6
            gap = fmean(wall) - total
            print(
                f"  {name:15} sum {total:7.2f} ms   gap {gap:+7.2f} ms"
                f"  {100 * gap / total:+6.1f}% of the sum  {100 * gap / fmean(wall):+6.1f}% of the wall"
            )
    print_categories(timings, asked.widths)
    print_places(timings)


def print_categories(timings, widths) -> None:
    """ms by category, ruler and width, and the ratio of the last width to the first."""
    for name, ruler, arrangement in SOURCES:
        sums = {n: category_totals(timings, n, ruler, arrangement) for n in widths}
        print(f"{name}: ms by category at " + ", ".join(map(str, widths)))
        for category in sums[widths[0]]:
            each = [sums[n].get(category, 0.0) / 1e6 for n in widths]
            ratio = f"{each[-1] / each[0]:6.2f}×" if each[0] > 0 else ""
            print(f"  {category:20}" + "".join(f"{v:9.3f}" for v in each) + "  " + ratio)


def print_places(timings) -> None:
    """Each queued place at the first width: slope, interval, copies, whether its weights fit the cache."""
    seen = set()
    for t in reversed(timings):
        key = (t.block, t.arrangement, t.width)
        if t.slope_ns is None or key in seen:
            continue
        seen.add(key)
        fits = {True: "fits the cache", False: "", None: "cache unknown"}[t.cached]
        print(
            f"  {t.width} {t.block:42} {t.arrangement or '':7} × {t.layers:3} {t.slope_ns / 1e3:9.1f} µs"
            f"  ({t.low_ns / 1e3:.1f} to {t.high_ns / 1e3:.1f})  link {t.link_ns / 1e3:.1f}"
            f"  build {fmean(t.build_ns) / 1e3:.0f}  copies ≤ {max(t.copies)}  {fits}"
        )


if __name__ == "__main__":
    main()
