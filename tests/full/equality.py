"""The whole equality matrix: every cell with 50 prompts, and with the suite's 18 on SmolLM2 where models are given.

`make test-full` runs it: hours on two cores. `--minutes` ends it earlier; what ran by then is spread evenly over cells
and prompts, and its share is said. With `--into FILE` every text is noted there as it is compared, and the next run
with that file goes on where this one ended. The exit status is 1 when a text differs by more than a tie.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import equality_matrix
from equality_matrix import DRAFTERS, FOR_ALL, SUBJECTS, Bench, Cell, Subject, cells_of, prompt_for, refusals

from specview import engine
from specview.engine.errors import SpecviewError
from specview.engine.models import load_target
from specview.profilers.measure.blas import blas_in_use

PROMPTS = 50
SUITE_PROMPTS = 18
TOKENS = 16
VISITS = 6  # a prompt's cells are shared out over so many visits, so that an early end has seen many prompts
SMOLLM2 = "smollm2-float32"


@dataclass(frozen=True, slots=True)
class Text:
    """One compared text: where it is in the matrix, how it was judged ("equal", "tie", else a bug) and what to say."""

    cell: Cell
    prompt: int
    judged: str
    tokens: int = 0
    why: str = ""

    @property
    def place(self) -> str:
        """Its cell and prompt in words."""
        name, drafter, k, policy = self.cell
        return f"{name} × {drafter} × k = {k} × {policy}, prompt {self.prompt}"


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

    def add(self, text: Text) -> None:
        """Count one text."""
        self.tokens += text.tokens
        self.cells.add(text.cell)
        self.prompts.add(text.prompt)
        if text.judged == "equal":
            self.equal += 1
        else:
            (self.ties if text.judged == "tie" else self.bugs).append(f"{text.place}: {text.why}")


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


def work(
    models: Path | None, numbers: Sequence[int], ends_at: float, into: Path | None, done: frozenset[tuple[int, Cell]]
) -> tuple[list[Text], dict[str, str]]:
    """One process's share: the texts that are not `done`, each also a line of `into`, and what each target refuses."""
    subjects = subjects_with(models)
    benches: dict[str, Bench] = {}
    refused: dict[str, str] = {}
    texts: list[Text] = []
    for number, cell in planned(subjects, numbers):
        if time.time() > ends_at:
            break
        name = cell[0]
        if name not in benches:
            benches[name] = Bench(subjects[name])
            refused |= {f"{name} × {what}": why for what, why in refusals(benches[name]).items()}
        if (number, cell) in done:
            continue
        texts.append(compared(benches[name], cell, number))
        if into is not None:
            note(into, asdict(texts[-1]))
    return texts, refused


def compared(bench: Bench, cell: Cell, number: int) -> Text:
    """One text with drafts and plainly."""
    _, drafter, k, policy = cell
    try:
        found = bench.compare(drafter, k, policy, prompt_for(bench.target, number), TOKENS)
    except SpecviewError as error:
        return Text(cell, number, "refused", why=str(error))
    why = "" if found.judged == "equal" else f"token {found.first_difference} differs, margin {found.margin:.2g}"
    return Text(cell, number, found.judged, found.compared, why)


def note(into: Path, line: dict[str, object]) -> None:
    """One line at the end of a file that several processes write: a single write each."""
    handle = os.open(into, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    finally:
        os.close(handle)


def noted(into: Path) -> list[Text]:
    """The texts of an earlier run on the same engine; the file is begun when there is none."""
    here = engine_digest()
    if not into.exists():
        note(into, {"engine": here})
        return []
    first, *rest = (json.loads(line) for line in into.read_text(encoding="utf-8").splitlines())
    if first != {"engine": here}:
        sys.exit(f"{into} holds texts of another engine or MLX than this one: name another file.")
    return [Text(tuple(line.pop("cell")), **line) for line in rest]


def engine_digest() -> str:
    """Of everything that decides what a text is: the engine's files, the matrix, MLX and mlx-lm."""
    files = [*sorted(Path(engine.__path__[0]).rglob("*.py")), Path(equality_matrix.__file__)]
    parts = [path.read_bytes() for path in files] + [version(name).encode() for name in ("mlx", "mlx-lm")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def main() -> int:
    """Run, print the counts, tell by the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=float("inf"), help="end after so long")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--models", type=Path, help=f"folder that holds {SMOLLM2}: one more process compares on it")
    options.add_argument("--into", type=Path, help="note every text in this file, and go on where it ends")
    given = options.parse_args()
    began = time.time()
    ends_at = began + 60 * given.minutes
    shares: list[tuple[Path | None, Sequence[int]]] = [
        (None, range(PROMPTS)[at :: given.processes]) for at in range(given.processes)
    ]
    if given.models is not None:
        shares.append((given.models, range(SUITE_PROMPTS)))
    texts = [] if given.into is None else noted(given.into)
    done = frozenset((text.prompt, text.cell) for text in texts)
    before, refused = len(texts), {}
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        given_to_all = ((*share, ends_at, given.into, done) for share in shares)
        for found, sentences in pool.map(work, *zip(*given_to_all, strict=True)):
            texts += found
            refused |= sentences
    totals: dict[str, Tally] = {}
    for text in texts:
        totals.setdefault(text.cell[0], Tally()).add(text)
    print(f"{before:,} texts of earlier runs, {len(texts) - before:,} of this one")
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
