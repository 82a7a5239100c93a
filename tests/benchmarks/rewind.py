"""Prints what taking caches back costs, class by class, beside the verify pass that it follows.

    python tests/benchmarks/rewind.py [model folder …] [--width 3] [--kept 1] [--context 128] [--rounds 40]

Without a folder: the bundled model in float32. Each round reads `width` positions, takes the caches back to `kept` one
class at a time, each between waits, and restores all from a snapshot. Gated delta layers are also taken back by the
general way, in every other round. Medians in ms, and their share of the pass.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from statistics import median
from unittest.mock import patch

import mlx.core as mx

from specview.engine import replay
from specview.engine.cache import arrays_of, new_cache, prefill, restore, take_snapshot
from specview.engine.model_files import BUNDLED
from specview.engine.models import load_target
from specview.engine.rewind import rewind, start_tape

TEXT = "The history of the sea is long and full of storms. Ships that left the harbour in spring came back in autumn. "


def main() -> None:
    """Measure and print each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--width", type=int, default=3)
    parser.add_argument("--kept", type=int, default=1)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    for source, dtype in [(m, None) for m in asked.models] or [(BUNDLED, "float32")]:
        measure(load_target(source, dtype), asked)


def measure(target, asked) -> None:
    """Round by round, the two ways of recurrent layers in turn."""
    tokens = target.tokenizer.encode(TEXT * 200)[: asked.context + asked.width]
    caches = new_cache(target)
    prefill(target, tokens[: -asked.width], caches)
    snapshot, positions = take_snapshot(caches), mx.array([tokens[-asked.width :]])
    taken_ns = defaultdict(list)
    for i in range(asked.rounds):
        restore(caches, snapshot)
        mx.eval(positions, arrays_of(caches))
        start_tape(caches)
        began = time.perf_counter_ns()
        mx.eval(target.logits(positions, caches), arrays_of(caches))
        taken_ns["verify pass"].append(time.perf_counter_ns() - began)
        general = i % 2 == 1
        by_class = defaultdict(list)
        for cache in caches:
            by_class[type(cache).__name__].append(cache)
        for name, group in by_class.items():
            with patch.object(replay, "states_after", (lambda *_: None) if general else replay.states_after):
                began = time.perf_counter_ns()
                mx.eval(rewind(group, asked.width, asked.kept))
                ended = time.perf_counter_ns()
            way = ", run again" if general and name == "TapedCache" else ""
            taken_ns[f"{len(group)} {name}{way}"].append(ended - began)
    pass_ns = median(taken_ns["verify pass"])
    print(f"\n{target.name}, width {asked.width}, kept {asked.kept}, context {asked.context}, {asked.rounds} rounds")
    for name, times in taken_ns.items():
        print(f"{name:<32} {median(times) / 1e6:9.3f} ms {100 * median(times) / pass_ns:7.2f}%")


if __name__ == "__main__":
    main()
