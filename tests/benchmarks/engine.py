"""The engine against mlx-lm over the same tokens, as ratios of speeds, and what share of a round T_rest takes.

    python tests/benchmarks/engine.py [--cells skip,quantised] [--minutes 0.6] [--rounds N] [--tokens 64]

One row a cell. The ratio is of tokens per second, ours ÷ mlx-lm's, from pairs in random order with a 95% t interval:
plain decoding against `generate_step`, drafts against `speculative_generate_step` with the same draft model. mlx-lm has
no MTP heads, lookup or verify policies, and refuses to draft for the bundled hybrid: those rows say so and show T_rest
alone. T_rest comes from split rounds between the pairs. Aims: not slower than mlx-lm, and T_rest at most 3% of a round.
"?" behind an aim: the interval is too wide to be sure (it holds the limit, or is wider than 5% below 1).

A cell takes `--minutes`, and ends earlier after `--rounds` rounds of ours (plain: steps). Two cells have no aim: what
fences cost a round, and what a reader of the session file costs a recording. SmolLM2 needs --models or SPECVIEW_MODELS.
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
from dataclasses import dataclass, field, replace
from pathlib import Path

import mlx.core as mx
from mlx_lm.generate import generate_step, speculative_generate_step
from rigs import LONGEST, Rig, drafter_of, rig

from specview.engine.decode import decode, speculate, start
from specview.engine.drafters import Drafter
from specview.engine.errors import SpecviewError
from specview.engine.probe import FreeProbe, SplitProbe
from specview.engine.verify_policies import ONE_PASS, Policy, verify_policy
from specview.profilers.judge.statistics import Interval, log_ratio_interval, t_interval

CLOCK = time.perf_counter_ns
FEWEST, DROPPED = 3, 2
WIDE = 0.95  # an interval that reaches further down says little about "not slower"
REST_AIM = 0.03
HYBRID = "mlx-lm cannot trim its cache"
NONE = "mlx-lm has none"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One row. `draft` None is plain decoding; `no_ratio` says why mlx-lm cannot be compared."""

    rig: str
    draft: str | None = None
    k: int = 0
    policy: str = ONE_PASS
    no_ratio: str = ""
    tokens: int = 64
    extra: str = ""

    @property
    def name(self) -> str:
        """The rig, the draft, k and the policy."""
        if self.draft is None:
            return f"{self.rig} {self.extra or 'plain'}"
        policy = "" if self.policy == ONE_PASS else f", {self.policy}"
        return f"{self.rig} {self.draft} k={self.k}{policy}{self.extra and ', ' + self.extra}"


def cells(with_models: bool) -> list[Cell]:
    """All cells, those that everybody can run first."""
    found = [Cell(rig="bundled"), Cell(rig="llama")]
    found += [Cell(rig="llama", draft="model", k=k) for k in (2, 4)]
    found += [Cell(rig="llama", draft=draft, k=2) for draft in ("skip:4", "quantised:4")]
    found += [
        Cell(rig="llama", draft=draft, k=k, policy=policy, no_ratio=NONE)
        for draft, k, policy in (("lookup", 4, ONE_PASS), ("model", 2, "compiled"))
    ]
    found += [
        Cell(rig="bundled", draft=draft, k=k, policy=policy, no_ratio=HYBRID if draft == "model" else NONE)
        for draft, k, policy in (
            *(("mtp", k, ONE_PASS) for k in (1, 2, 4)),
            ("lookup", 4, ONE_PASS),
            ("model", 2, ONE_PASS),
            ("skip:4", 2, ONE_PASS),
            ("quantised:4", 2, ONE_PASS),
            ("fixed:0.7", 2, ONE_PASS),
            ("adaptive:mtp", 4, ONE_PASS),
            *(("mtp", 2, policy) for policy in ("single passes", "dense")),
        )
    ]
    found += [Cell(rig="bundled", draft="mtp", k=2, extra="split ÷ free"), Cell(rig="bundled", extra="with a reader")]
    if with_models:
        found += [Cell(rig="smollm2"), *(Cell(rig="smollm2", draft="model", k=k) for k in (2, 4))]
    return found


@dataclass
class Found:
    """What a cell measured: log ratios of pairs, shares of T_rest by visit, and what is odd."""

    logs: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    odd: str = ""


class Limits:
    """When a cell has measured enough: its time is over, or its rounds are played."""

    def __init__(self, minutes: float, rounds: int | None) -> None:
        self._ends, self._rounds, self._turns = CLOCK() + minutes * 60e9, rounds, 0
        self.played = 0

    def go_on(self) -> bool:
        """Whether another turn is due; the fewest are always played."""
        self._turns += 1
        if self._turns <= FEWEST:
            return True
        return CLOCK() < self._ends and (self._rounds is None or self.played < self._rounds)


def plain_speed(tokens: object) -> tuple[float, list[int]]:
    """Tokens per second after the first few, without the last, which hides no successor; and the tokens."""
    times, written = [], []
    for token in tokens:  # type: ignore[attr-defined]
        times.append(CLOCK())
        written.append(token)
    return (len(times) - 2 - DROPPED) / (times[-2] - times[DROPPED]) * 1e9, written


def our_plain(rig: Rig, count: int) -> tuple[float, list[int]]:
    return plain_speed(step.token for step in decode(start(rig.target, rig.prompt), count, CLOCK))


def their_plain(rig: Rig, count: int) -> tuple[float, list[int]]:
    steps = generate_step(mx.array(rig.prompt), rig.target.model, max_tokens=count)
    return plain_speed(int(token) for token, _ in steps)


def our_rounds(rig: Rig, drafter: Drafter, cell: Cell, policy: Policy, limits: Limits) -> tuple[float, list[int]]:
    """Tokens per second of whole free rounds, after the first two; and the tokens."""
    generation = start(rig.target, rig.prompt, drafter, LONGEST)
    counts, ends = [], []
    for played in speculate(generation, drafter, cell.k, cell.tokens, FreeProbe(CLOCK), policy=policy):
        counts.append(len(played.tokens))
        ends.append(CLOCK())
    limits.played += len(counts)
    return sum(counts[DROPPED:]) / (ends[-1] - ends[DROPPED - 1]) * 1e9, generation.tokens[len(rig.prompt) :]


def their_rounds(rig: Rig, drafter: Drafter, cell: Cell) -> tuple[float, list[int]]:
    """The same of mlx-lm with the drafter's own model: a round ends where a token is the target's own."""
    stamps, written = [], []
    loop = speculative_generate_step(
        mx.array(rig.prompt),
        rig.target.model,
        drafter.model.model,  # type: ignore[attr-defined]
        num_draft_tokens=cell.k,
        max_tokens=cell.tokens + cell.k,
    )
    for token, _, from_draft in loop:
        stamps.append((CLOCK(), from_draft))
        written.append(int(token))
    ends = [i for i, (_, from_draft) in enumerate(stamps) if not from_draft]
    first, last = ends[DROPPED - 1], ends[-1]
    return (last - first) / (stamps[last][0] - stamps[first][0]) * 1e9, written


def split_rounds(rig: Rig, drafter: Drafter, cell: Cell, policy: Policy, limits: Limits) -> tuple[float, float]:
    """The share of T_rest in split rounds after the first two, and their tokens per second."""
    generation = start(rig.target, rig.prompt, drafter, LONGEST)
    rounds = speculate(generation, drafter, cell.k, cell.tokens, SplitProbe(CLOCK, mx.eval), policy=policy)
    played = list(rounds)
    limits.played += len(played)
    played = played[DROPPED:]
    whole = sum(r.round_ns for r in played)
    return sum(r.rest_ns or 0 for r in played) / whole, sum(len(r.tokens) for r in played) / whole * 1e9


def measured(cell: Cell, limits: Callable[[], Limits], models: Path | None) -> Found:
    """Run one cell; the first turn of everything warms up and is not counted."""
    if cell.extra == "with a reader":
        return reader_cell(limits())
    here, found, order = rig(cell.rig, models), Found(), random.Random(0)
    if cell.draft is None:
        ours, theirs = (lambda: our_plain(here, cell.tokens)), (lambda: their_plain(here, cell.tokens))
        compare(found, ours, theirs)
        limit = limits()
        while limit.go_on():
            found.logs.append(paired(ours, theirs, order))
            limit.played += cell.tokens
        return found
    policy = verify_policy(cell.policy, here.target)
    drafter = drafter_of(here, cell.draft, cell.k, CLOCK)
    limit = limits()
    ours = lambda: our_rounds(here, drafter, cell, policy, limit)  # noqa: E731
    if cell.extra == "split ÷ free":
        theirs = lambda: (split_rounds(here, drafter, cell, policy, limit)[1], [])  # noqa: E731
        ours(), theirs()
        while limit.go_on():
            found.logs.append(-paired(ours, theirs, order))
        return found
    if not cell.no_ratio:
        theirs = lambda: their_rounds(here, drafter, cell)  # noqa: E731
        compare(found, ours, theirs)
    split_rounds(here, drafter, cell, policy, limit)
    while limit.go_on():
        if not cell.no_ratio:
            found.logs.append(paired(ours, theirs, order))
        found.shares.append(split_rounds(here, drafter, cell, policy, limit)[0])
    return found


def compare(found: Found, ours: Callable[[], tuple[float, list[int]]], theirs: Callable[[], tuple[float, list[int]]]):
    """Warm both up, and note where they do not write the same tokens."""
    a, b = ours()[1], theirs()[1]
    different = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    found.odd = f"other tokens from {different[0]} on" if different else ""


def paired(ours: Callable[[], tuple], theirs: Callable[[], tuple], order: random.Random) -> float:
    """The log of ours ÷ theirs, one straight after the other in random order."""
    speed: dict[bool, float] = {}
    for mine in order.sample((True, False), 2):
        speed[mine] = (ours if mine else theirs)()[0]
    return math.log(speed[True] / speed[False])


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


def recorded_rate(watched: bool) -> tuple[float, None]:
    """Plain tokens per second of a short recording, with or without a reader on its file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "s.specview.jsonl"
        watcher = subprocess.Popen([sys.executable, "-c", WATCHER, str(out)]) if watched else None
        command = [sys.executable, "-m", "specview"]
        options = ["--limit", "1", "--tokens", "64", "--no-blocks", "--out", str(out)]
        try:
            subprocess.run([*command, "record", *options], check=True, capture_output=True)
        finally:
            if watcher:
                watcher.kill()
                watcher.wait()
        shown = subprocess.run([*command, "show", "--json", str(out)], check=True, capture_output=True)
        return float(json.loads(shown.stdout)["plain_tokens_per_second"]), None


def reader_cell(limits: Limits) -> Found:
    """Speed with ÷ without a reader on the session file."""
    found, order = Found(), random.Random(0)
    while limits.go_on():
        found.logs.append(paired(lambda: recorded_rate(True), lambda: recorded_rate(False), order))
    return found


def row(cell: Cell, found: Found) -> str:
    """Cell, ratio, share and what they make of the aims."""
    ratio = log_ratio_interval(found.logs) if found.logs else None
    share = t_interval(found.shares) if found.shares else None
    aims = [] if cell.extra else [a for a in (speed_aim(ratio), rest_aim(share)) if a]
    missed = [a for a in aims if a.startswith("missed")]
    aim = ", ".join(missed) or ("met?" if any("?" in a for a in aims) else "met" if aims else "no aim")
    shown = cell.no_ratio if ratio is None else f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
    rest = "—" if share is None else f"{share.estimate:.2%} [{max(share.low, 0):.2%}, {share.high:.2%}]"
    return f"{cell.name:40} {shown:30} {rest:26} {aim}{found.odd and '; ' + found.odd}"


def speed_aim(ratio: Interval | None) -> str:
    if ratio is None:
        return ""
    return "missed: slower" if ratio.high < 1 else "met" if ratio.low >= WIDE else "met?"


def rest_aim(share: Interval | None) -> str:
    if share is None:
        return ""
    sure = "" if share.high <= REST_AIM or share.low > REST_AIM else "?"
    return f"met{sure}" if share.estimate <= REST_AIM else f"missed{sure}: T_rest"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="", help="only cells whose name holds one of these, by commas")
    parser.add_argument("--minutes", type=float, default=0.6, help="for each cell (default 0.6)")
    parser.add_argument("--rounds", type=int, help="end a cell after so many rounds")
    parser.add_argument("--tokens", type=int, default=64, help="of each turn (default 64)")
    parser.add_argument("--models", type=Path, default=os.environ.get("SPECVIEW_MODELS"))
    parser.add_argument("--list", action="store_true", help="name the cells and stop")
    asked = parser.parse_args()
    wishes = [wish.strip() for wish in asked.cells.split(",")]
    chosen = [c for c in cells(asked.models is not None) if any(wish in c.name for wish in wishes)]
    if asked.list:
        print("\n".join(cell.name for cell in chosen))
        return
    print(f"{'cell':40} {'ours ÷ mlx-lm, tok/s':30} {'T_rest in T_round':26} aim")
    for cell in (replace(cell, tokens=asked.tokens) for cell in chosen):
        try:
            found = measured(cell, lambda: Limits(asked.minutes, asked.rounds), asked.models and Path(asked.models))
            print(row(cell, found), flush=True)
        except SpecviewError as error:
            print(f"{cell.name:40} {error}", flush=True)


if __name__ == "__main__":
    main()
