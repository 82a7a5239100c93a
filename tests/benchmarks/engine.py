"""The engine against mlx-lm, interleaved, as ratios of speeds with 95% t intervals; and what specview's own parts cost.

    python tests/benchmarks/engine.py [--models DIR] [--pairs 12] [--tokens 48]

Plain decode against `mlx_lm.generate.generate_step`, and the draft-model loop
against `speculative_generate_step` at k = 2 and 4 (SmolLM2 only: mlx-lm refuses
to draft for the bundled hybrid, whose recurrent cache it cannot trim). Then the
share of T_rest, the cost of split rounds, and the cost of a reader that
watches the session file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import mlx.core as mx
from mlx_lm.generate import generate_step, speculative_generate_step

from specview.engine.decode import decode, speculate, start
from specview.engine.drafters import Drafter
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.models import Target, load_target
from specview.engine.probe import FreeProbe, SplitProbe
from specview.profilers.judge.statistics import log_ratio_interval

CLOCK = time.perf_counter_ns
TEXT = "def merge(a, b):\n    result = []\n    for x in a:\n        result.append(x)\n    return result\n\n"


def paired(name: str, ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> None:
    """Print ours ÷ theirs (tokens per second) over interleaved pairs in random order."""
    ours(), theirs()
    logs, order = [], random.Random(0)
    for _ in range(pairs):
        if order.random() < 0.5:
            a = ours()
            b = theirs()
        else:
            b = theirs()
            a = ours()
        logs.append(math.log(a / b))
    found = log_ratio_interval(logs)
    print(f"{name}: {found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}] over {pairs} pairs", flush=True)


def rate_of_tokens(tokens: object, skip: int = 2) -> float:
    """Tokens per second after the first few tokens and without the last, which hides no successor."""
    times = [CLOCK() for _ in tokens]  # type: ignore[attr-defined]
    return (len(times) - 2 - skip) / (times[-2] - times[skip]) * 1e9


def our_plain(target: Target, prompt: list[int], count: int) -> float:
    return rate_of_tokens(decode(start(target, prompt), count, CLOCK))


def their_plain(target: Target, prompt: list[int], count: int) -> float:
    return rate_of_tokens(generate_step(mx.array(prompt), target.model, max_tokens=count))


def our_rounds(target: Target, drafter: Drafter, prompt: list[int], k: int, count: int, split: bool = False) -> float:
    """Tokens per second of whole rounds, after the first two."""
    generation = start(target, prompt, drafter)
    probe = SplitProbe(CLOCK, mx.eval) if split else FreeProbe(CLOCK)
    tokens, ends = [], []
    for played in speculate(generation, drafter, k, count, probe):
        tokens.append(len(played.tokens))
        ends.append(CLOCK())
    return sum(tokens[2:]) / (ends[-1] - ends[1]) * 1e9


def their_rounds(target: Target, draft: Target, prompt: list[int], k: int, count: int) -> float:
    """The same of mlx-lm: a round ends where a token is the target's own."""
    stamps = []
    loop = speculative_generate_step(
        mx.array(prompt), target.model, draft.model, num_draft_tokens=k, max_tokens=count + k
    )
    for _, _, from_draft in loop:
        stamps.append((CLOCK(), from_draft))
    ends = [i for i, (_, from_draft) in enumerate(stamps) if not from_draft]
    first, last = ends[1], ends[-1]
    return (last - first) / (stamps[last][0] - stamps[first][0]) * 1e9


def rest_share(target: Target, drafter: Drafter, prompt: list[int], k: int, count: int) -> float:
    generation = start(target, prompt, drafter)
    played = list(speculate(generation, drafter, k, count, SplitProbe(CLOCK, mx.eval)))[2:]
    return sum(r.rest_ns or 0 for r in played) / sum(r.round_ns for r in played)


WATCHER = """
import sys, time
from pathlib import Path
from specview.profilers.record.session import SessionReader
from specview.profilers.judge.ledger import ledger_of
from specview.engine.errors import SpecviewError
path = Path(sys.argv[1]); reader = SessionReader(path.name); at = 0
while True:
    time.sleep(0.25)
    if path.exists():
        with path.open('rb') as file:
            file.seek(at); data = file.read()
        at += len(data); reader.feed(data)
        try: ledger_of(reader.session())
        except SpecviewError: pass
"""


def recorded_rate(watched: bool) -> float:
    """Plain tokens per second of a short recording, with or without a reader on its file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "s.specview.jsonl"
        watcher = subprocess.Popen([sys.executable, "-c", WATCHER, str(out)]) if watched else None
        command = [sys.executable, "-m", "specview"]
        options = ["--limit", "3", "--tokens", "64", "--out", str(out)]
        subprocess.run([*command, "record", *options], check=True, capture_output=True)
        if watcher:
            watcher.kill()
            watcher.wait()
        shown = subprocess.run([*command, "show", "--json", str(out)], check=True, capture_output=True)
        return float(json.loads(shown.stdout)["plain_tokens_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=os.environ.get("SPECVIEW_MODELS"))
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pairs, count = options.pairs, options.tokens
    if options.only in "bundled":
        bundled = load_target()
        prompt = bundled.tokenizer.encode(TEXT)
        paired(
            "bundled: plain decode ÷ mlx-lm generate_step",
            lambda: our_plain(bundled, prompt, 2 * count),
            lambda: their_plain(bundled, prompt, 2 * count),
            pairs,
        )
        mtp = MtpDrafter(bundled, load_mtp_head(bundled))
        for k in (1, 2, 4):
            shares = [rest_share(bundled, mtp, prompt, k, 2 * count) for _ in range(3)]
            print(f"bundled: T_rest share of an MTP round, k={k}: {fmean(shares):.1%}", flush=True)
            paired(
                f"bundled: split ÷ free rounds (speed), MTP k={k}",
                lambda k=k: our_rounds(bundled, mtp, prompt, k, 2 * count, True),
                lambda k=k: our_rounds(bundled, mtp, prompt, k, 2 * count),
                pairs,
            )
        paired(
            "bundled: speed with ÷ without a reader on the session file",
            lambda: recorded_rate(True),
            lambda: recorded_rate(False),
            max(4, pairs // 2),
        )
    if options.models and options.only in "smollm2":
        models = Path(options.models)
        target = load_target(str(models / "smollm2-float32"))
        draft = load_target(str(models / "smollm2-float32"))
        prompt = target.tokenizer.encode(TEXT)
        paired(
            "SmolLM2: plain decode ÷ mlx-lm generate_step",
            lambda: our_plain(target, prompt, count),
            lambda: their_plain(target, prompt, count),
            pairs,
        )
        drafter = DraftModel(draft)
        for k in (2, 4):
            paired(
                f"SmolLM2: draft-model loop ÷ mlx-lm speculative_generate_step, k={k}",
                lambda k=k: our_rounds(target, drafter, prompt, k, count),
                lambda k=k: their_rounds(target, draft, prompt, k, count),
                pairs,
            )
            share = rest_share(target, drafter, prompt, k, count)
            print(f"SmolLM2: T_rest share of a draft-model round, k={k}: {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
