"""The whole equality matrix: every cell with 50 prompts, and with the suite's 18 on SmolLM2 where models are given.

`make test-full` runs it: hours on two cores. `--minutes` ends it earlier; what ran by then is spread evenly over cells
and prompts, and its share is said. The exit status is 1 when a text differs by more than a tie.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from equality_matrix import DRAFTERS, FOR_ALL, SUBJECTS, Bench, Cell, Subject, cells_of, prompt_for, refusals

from specview.engine.errors import SpecviewError
from specview.engine.models import load_target
from specview.profilers.measure.blas import blas_in_use

PROMPTS = 50
SUITE_PROMPTS = 18
TOKENS = 16
VISITS = 6  # a prompt's cells are shared out over so many visits, so that an early end has seen many prompts
SMOLLM2 = "smollm2-float32"


@dataclass(slots=True)
class Tally:
    """What came of one target's texts; `bugs` and `ties` are sentences."""

    equal: int = 0
    tokens: int = 0
    cells: set[Cell] = field(default_factory=set)
    prompts: set[int] = field(default_factory=set)
    ties: list[str] = field(default_factory=list)
    bugs: list[str] = field(default_factory=list)

    @property
    def texts(self) -> int:
        """How many texts were compared."""
        return self.equal + len(self.ties) + len(self.bugs)

    def add(self, other: Tally) -> None:
        """Take in what another process found."""
        self.equal += other.equal
        self.tokens += other.tokens
        self.cells |= other.cells
        self.prompts |= other.prompts
        self.ties += other.ties
        self.bugs += other.bugs


def subjects_with(models: Path | None) -> dict[str, Subject]:
    """The targets of the matrix, or SmolLM2 alone out of a folder of models."""
    if models is None:
        return SUBJECTS
    make = partial(load_target, str(models / SMOLLM2), "float32")
    return {SMOLLM2: Subject(caches="KV", make=make, policies=(*FOR_ALL, "compiled"), drafters=DRAFTERS[:-1])}


def planned(subjects: dict[str, Subject], numbers: Sequence[int]) -> Iterator[tuple[int, Cell]]:
    """Every cell with every prompt, in an order whose beginning is a fair sample of the whole."""
    cells = list(cells_of(subjects))
    random.Random(0).shuffle(cells)
    for sweep in range(VISITS):
        for number in numbers:
            for cell in cells[(sweep + number) % VISITS :: VISITS]:
                yield number, cell


def work(models: Path | None, numbers: Sequence[int], ends_at: float) -> tuple[dict[str, Tally], dict[str, str]]:
    """One process's share: tallies by target, and what each target refuses."""
    subjects = subjects_with(models)
    benches: dict[str, Bench] = {}
    refused: dict[str, str] = {}
    tallies = {name: Tally() for name in subjects}
    for number, cell in planned(subjects, numbers):
        if time.time() > ends_at:
            break
        name, drafter, k, policy = cell
        if name not in benches:
            benches[name] = Bench(subjects[name])
            refused |= {f"{name} × {what}": why for what, why in refusals(benches[name]).items()}
        bench, tally = benches[name], tallies[name]
        place = f"{name} × {drafter} × k = {k} × {policy}, prompt {number}"
        tally.cells.add(cell)
        tally.prompts.add(number)
        try:
            compared = bench.compare(drafter, k, policy, prompt_for(bench.target, number), TOKENS)
        except SpecviewError as error:
            tally.bugs.append(f"{place}: {error}")
            continue
        tally.tokens += compared.compared
        if compared.judged == "equal":
            tally.equal += 1
        else:
            found = tally.ties if compared.judged == "tie" else tally.bugs
            found.append(f"{place}: token {compared.first_difference} differs, margin {compared.margin:.2g}")
    return tallies, refused


def main() -> int:
    """Run, print the counts, tell by the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=float("inf"), help="end after so long")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--models", type=Path, help=f"folder that holds {SMOLLM2}: one more process compares on it")
    given = options.parse_args()
    began = time.time()
    ends_at = began + 60 * given.minutes
    shares = [(None, range(PROMPTS)[at :: given.processes]) for at in range(given.processes)]
    if given.models is not None:
        shares.append((given.models, range(SUITE_PROMPTS)))
    totals: dict[str, Tally] = {}
    refused: dict[str, str] = {}
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        for tallies, sentences in pool.map(work, *zip(*((*share, ends_at) for share in shares), strict=True)):
            refused |= sentences
            for name, tally in tallies.items():
                totals.setdefault(name, Tally()).add(tally)
    report(totals, refused, given.models, (time.time() - began) / 60)
    return 1 if any(tally.bugs for tally in totals.values()) else 0


def report(totals: dict[str, Tally], refused: dict[str, str], models: Path | None, minutes: float) -> None:
    """Print what ran, what came of it, and what was refused."""
    print(f"{blas_in_use().kind} BLAS, float32, {TOKENS} tokens a text, {minutes:.1f} minutes\n")
    whole = 0
    for name, tally in totals.items():
        prompts = SUITE_PROMPTS if name == SMOLLM2 else PROMPTS
        source = subjects_with(models) if name == SMOLLM2 else SUBJECTS
        cells = len(list(cells_of({name: source[name]})))
        whole += cells * prompts
        print(
            f"{name} ({source[name].caches}): {len(tally.cells)} of {cells} cells, {len(tally.prompts)} of {prompts} "
            f"prompts, {tally.texts} of {cells * prompts} texts ({tally.texts / cells / prompts:.1%}); "
            f"{tally.equal} equal, {len(tally.ties)} ties, {len(tally.bugs)} bugs; {tally.tokens:,} tokens"
        )
    texts = sum(tally.texts for tally in totals.values())
    equal = sum(tally.equal for tally in totals.values())
    print(f"\nall: {texts:,} of {whole:,} texts ({texts / whole:.1%}), {equal:,} of them equal")
    for title, lines in (
        ("Ties", [line for tally in totals.values() for line in tally.ties]),
        ("Bugs", [line for tally in totals.values() for line in tally.bugs]),
        ("Refused, so not in the product", [f"{what}: {why}" for what, why in refused.items()]),
    ):
        print(f"\n{title}: {len(lines)}")
        print("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
