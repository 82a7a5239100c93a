"""Predicted against measured speed, cell by cell, with verdicts: the division tested on rigs that lose and that win.

    python tests/benchmarks/prediction.py [--cells skip,quantised] [--minutes 1.1] [--rounds N] [--models DIR] [--list]

Every cell is one `specview record` in a process of its own, which takes `--minutes` (and some seconds to load), or ends
after `--rounds` rounds of drafting; the prediction comes from its split rounds and probes, the measurement from its
free rounds. Aims over all cells: median error at most 2%, worst at most 5%. Without --models (or SPECVIEW_MODELS) the
SmolLM2 rigs are left out; without an installed OpenBLAS those that need it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mlx_lm.utils import load_tokenizer

from specview.engine.model_files import BUNDLED_FOLDER
from specview.profilers.measure.blas import installed_openblas
from specview.profilers.record.prompts import load_prompts

MEDIAN_AIM, WORST_AIM = 0.02, 0.05
MARGIN = 64  # positions of a segment, its draft and width probes
REPEATING, LONG = "repeating", "long"


@dataclass(frozen=True)
class Cell:
    name: str
    arguments: tuple[str, ...]
    openblas: bool = False
    tokens: int = 64
    limit: int = 6
    expected: str = ""
    context: int | None = None  # fill so many positions with the prompt and what follows


def cells(models: Path | None) -> list[Cell]:
    found = [
        Cell(f"bundled {drafter} k={k}", ("--draft", drafter, "--k", str(k)))
        for drafter in ("mtp", "lookup", "bundled")
        for k in (1, 2, 4)
    ]
    found += [
        Cell("bundled float32 mtp k=1, reference BLAS", ("--dtype", "float32", "--draft", "mtp"), limit=18),
        Cell("bundled float32 mtp k=1, OpenBLAS", ("--dtype", "float32", "--draft", "mtp"), openblas=True, limit=18),
    ]
    found += [
        Cell(f"bundled {name}", ("--draft", drafter, "--k", str(k), *more))
        for name, drafter, k, more in (
            ("skip:4 k=2", "skip:4", 2, ()),
            ("quantised:4 k=2", "quantised:4", 2, ()),
            ("fixed:0.7 k=2, synthetic", "fixed:0.7", 2, ()),
            ("mtp, adaptive k up to 4", "mtp", 4, ("--adaptive",)),
            ("mtp k=2, single passes", "mtp", 2, ("--policy", "single passes")),
            ("mtp k=2, dense always", "mtp", 2, ("--policy", "dense always")),
            ("mtp k=2, rejection at 0.7", "mtp", 2, ("--temperature", "0.7")),
            ("mtp k=2, 8-bit keys and values", "mtp", 2, ("--kv-bits", "8")),
        )
    ]
    found += [
        Cell("bundled mtp k=2, context 2,048", ("--draft", "mtp", "--k", "2", "--prompts", LONG), context=2048),
    ]
    if models is not None:
        q4, fp32, fp16 = (str(models / f"smollm2-{v}") for v in ("q4", "float32", "float16"))
        found += [
            Cell(
                "SmolLM2 4-bit, lookup k=4, reference BLAS",
                ("--model", q4, "--draft", "lookup", "--k", "4", "--prompts", "english"),
                tokens=32,
                expected="loses",
            ),
            Cell(
                "SmolLM2 4-bit, a copy of itself k=1, reference BLAS",
                ("--model", q4, "--draft", q4, "--k", "1"),
                tokens=32,
                limit=4,
                expected="cannot_win",
            ),
            Cell(
                "SmolLM2 fp32, lookup k=4, reference BLAS",
                ("--model", fp32, "--draft", "lookup", "--k", "4", "--prompts", "english"),
                tokens=32,
                limit=4,
                expected="loses",
            ),
            Cell(
                "SmolLM2 fp32, lookup k=4, OpenBLAS",
                ("--model", fp32, "--draft", "lookup", "--k", "4", "--prompts", "code"),
                openblas=True,
                tokens=64,
                expected="wins",
            ),
            Cell(
                "SmolLM2 fp32, lookup k=4 on repeating text, OpenBLAS",
                ("--model", fp32, "--draft", "lookup", "--k", "4", "--prompts", REPEATING, "--no-chat"),
                openblas=True,
                tokens=64,
                expected="wins",
            ),
            Cell(
                "SmolLM2 fp32, lookup k=4, context 1,024, OpenBLAS",
                ("--model", fp32, "--draft", "lookup", "--k", "4", "--prompts", LONG),
                openblas=True,
                tokens=32,
                limit=3,
                context=1024,
            ),
            Cell(  # nearly every draft is accepted, so rounds are few: it takes many tokens to have 30
                "SmolLM2 fp16, fp32 copy k=4, reference BLAS",
                ("--model", fp16, "--draft", fp32, "--k", "4", "--prompts", "code"),
                tokens=64,
                limit=4,
                expected="wins",
            ),
        ]
    return found


def repeating(folder: Path) -> Path:
    """A file of prompts that repeat themselves, where prompt lookup is in its element."""
    out = folder / "repeating.jsonl"
    texts = [prompt.text for prompt in load_prompts("code")]
    out.write_text("".join(json.dumps({"kind": "repeating", "text": text * 3}) + "\n" for text in texts))
    return out


def long(folder: Path, model: str | None, positions: int) -> Path:
    """A file of prompts of so many tokens, each of them other code."""
    source = BUNDLED_FOLDER if model is None else Path(model)
    tokenizer = load_tokenizer(source)
    texts = [prompt.text for prompt in load_prompts("code")]
    out = folder / f"long-{positions}.jsonl"
    with out.open("w") as file:
        for at in range(len(texts)):
            text = "\n\n".join(texts[at:] + texts[:at])
            ids = tokenizer.encode(text)
            ids = (ids * (1 + positions // len(ids)))[:positions]
            file.write(json.dumps({"kind": "code", "text": tokenizer.decode(ids)}) + "\n")
    return out


def prompts_of(cell: Cell, folder: Path) -> list[str]:
    """The cell's arguments with files in place of made prompts."""
    model = cell.arguments[cell.arguments.index("--model") + 1] if "--model" in cell.arguments else None
    room = (cell.context or 0) - cell.tokens - MARGIN
    made = {REPEATING: lambda: str(repeating(folder)), LONG: lambda: str(long(folder, model, room))}
    return [made[a]() if a in made else a for a in cell.arguments]


def record(cell: Cell, folder: Path, openblas: str | None, budget: str) -> dict[str, object]:
    """Run one cell; its `show --json` object."""
    out = folder / f"{len(list(folder.glob('*.specview.jsonl')))}.specview.jsonl"
    environment = dict(os.environ)
    if cell.openblas and openblas:
        environment |= {"LD_PRELOAD": openblas, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "specview"]
    arguments = prompts_of(cell, folder)
    options = ["--tokens", str(cell.tokens), "--limit", str(cell.limit), "--budget", budget, "--out", str(out)]
    if cell.context is not None:
        options += ["--context", str(cell.context)]
    subprocess.run(
        [*command, "record", *arguments, *options], env=environment, check=True, capture_output=True, text=True
    )
    shown = subprocess.run([*command, "show", str(out), "--json"], check=True, capture_output=True, text=True)
    result: dict[str, object] = json.loads(shown.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=os.environ.get("SPECVIEW_MODELS"))
    parser.add_argument("--cells", "--only", default="", help="only cells whose name holds one of these, by commas")
    parser.add_argument("--minutes", type=float, default=1.1, help="to record each cell (default 1.1)")
    parser.add_argument("--rounds", type=int, help="record so many rounds of drafting instead")
    parser.add_argument("--list", action="store_true", help="name the cells and stop")
    parser.add_argument("--keep", type=Path, help="keep the sessions here")
    options = parser.parse_args()
    budget = f"{options.minutes * 60:.0f}s" if options.rounds is None else str(options.rounds)
    openblas = installed_openblas()
    wishes = [wish.strip() for wish in options.cells.split(",")]
    chosen = [c for c in cells(options.models and Path(options.models)) if any(wish in c.name for wish in wishes)]
    if options.list:
        print("\n".join(cell.name for cell in chosen))
        return
    errors: dict[str, float] = {}
    verdicts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for cell in chosen:
            if cell.openblas and not openblas:
                print(f"{cell.name}: left out, no OpenBLAS is installed")
                continue
            try:
                shown = record(cell, folder, openblas, budget)
            except subprocess.CalledProcessError as error:
                print(f"{cell.name}: failed: {error.stderr[-300:] if error.stderr else error}", flush=True)
                continue
            report(cell, shown, errors, verdicts)
    print("\nverdicts: " + ", ".join(f"{n} {kind}" for kind, n in sorted(verdicts.items())))
    if errors:
        print("\n".join(summary(errors)))


def summary(errors: dict[str, float]) -> list[str]:
    """Median and worst error against the aims, and the cells beyond the worst allowed."""
    middle, worst = median(errors.values()), max(errors, key=errors.__getitem__)
    beyond = [f"{name} {error:.1%}" for name, error in errors.items() if error > WORST_AIM]
    return [
        f"{len(errors)} cells predicted",
        f"median error {middle:.1%}, aim {MEDIAN_AIM:.0%}: {'met' if middle <= MEDIAN_AIM else 'missed'}",
        f"worst error {errors[worst]:.1%} ({worst}), aim {WORST_AIM:.0%}: {'missed' if beyond else 'met'}",
        *(["beyond it: " + "; ".join(beyond)] if beyond else []),
    ]


def report(cell: Cell, shown: dict, errors: dict[str, float], verdicts: dict[str, int]) -> None:
    verdict, error = shown["verdict"], shown["prediction_error"]
    verdicts[verdict["kind"]] = verdicts.get(verdict["kind"], 0) + 1
    speed = verdict["speedup"]
    s = "no headline" if speed is None else f"{speed['estimate']:.2f}x [{speed['low']:.2f}, {speed['high']:.2f}]"
    wanted = f" (expected {cell.expected})" if cell.expected else ""
    print(f"{cell.name}: {verdict['kind']}{wanted} {s}")
    if speed is None:
        print(f"    {verdict['sentence']}")
    if error is None:
        print("    no prediction: " + " ".join(shown["prediction_reasons"] or ["no split rounds"]), flush=True)
        return
    errors[cell.name] = abs(error["error"])
    print(
        f"    predicted {error['predicted']:.2f} tok/s, measured {error['measured']:.2f}: {error['error']:+.1%} "
        f"[{error['low']:+.1%}, {error['high']:+.1%}]"
    )
    parts = shown["parts_ms"]
    print("    " + ", ".join(f"{k} {v['mean']:.2f}" for k, v in parts.items() if v) + " ms; T(n)/T(1) " + widths(shown))
    for reason in shown["prediction_reasons"]:
        print(f"    {reason}", flush=True)


def widths(shown: dict) -> str:
    by_width = shown["verify_ms_by_width"]
    if "1" not in by_width:
        return "—"
    one = by_width["1"]["median"]
    return " ".join(f"{w}:{v['median'] / one:.2f}" for w, v in by_width.items() if int(w) in (2, 3, 5, 8))


if __name__ == "__main__":
    main()
