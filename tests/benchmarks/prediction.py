"""Predicted against measured speed, cell by cell, with verdicts: the division tested on rigs that lose and that win.

    python tests/benchmarks/prediction.py [--models DIR] [--only TEXT]

Every cell is one `specview record` in a process of its own; the prediction
comes from its split rounds and probes, the measurement from its free rounds.
Without --models (or SPECVIEW_MODELS) the SmolLM2 rigs are left out; without
an installed OpenBLAS those that need it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from specview.profilers.measure.blas import installed_openblas
from specview.profilers.record.prompts import load_prompts

FLAG_ABOVE = 0.05
REPEATING = "repeating"


@dataclass(frozen=True)
class Cell:
    name: str
    arguments: tuple[str, ...]
    openblas: bool = False
    tokens: int = 64
    limit: int = 6
    expected: str = ""
    environment: dict[str, str] = field(default_factory=dict)


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
        )
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


def record(cell: Cell, folder: Path, openblas: str | None) -> dict[str, object]:
    """Run one cell; its `show --json` object."""
    out = folder / f"{len(list(folder.glob('*.specview.jsonl')))}.specview.jsonl"
    environment = dict(os.environ)
    if cell.openblas and openblas:
        environment |= {"LD_PRELOAD": openblas, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "specview"]
    arguments = [str(repeating(folder)) if a == REPEATING else a for a in cell.arguments]
    options = ["--tokens", str(cell.tokens), "--limit", str(cell.limit), "--out", str(out)]
    subprocess.run([*command, "record", *arguments, *options], env=environment, check=True, capture_output=True)
    shown = subprocess.run([*command, "show", str(out), "--json"], check=True, capture_output=True, text=True)
    result: dict[str, object] = json.loads(shown.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=os.environ.get("SPECVIEW_MODELS"))
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, help="keep the sessions here")
    options = parser.parse_args()
    openblas = installed_openblas()
    errors: list[float] = []
    verdicts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for cell in cells(Path(options.models) if options.models else None):
            if options.only not in cell.name:
                continue
            if cell.openblas and not openblas:
                print(f"{cell.name}: left out, no OpenBLAS is installed")
                continue
            try:
                shown = record(cell, folder, openblas)
            except subprocess.CalledProcessError as error:
                print(f"{cell.name}: failed: {error.stderr.decode()[-300:] if error.stderr else error}")
                continue
            report(cell, shown, errors, verdicts)
    if errors:
        unflagged = [e for e in errors if e <= FLAG_ABOVE]
        print(
            f"\n{len(errors)} cells: median error {median(errors):.1%}, worst {max(errors):.1%}; "
            f"{len(errors) - len(unflagged)} above 5%"
        )
        print("verdicts: " + ", ".join(f"{n} {kind}" for kind, n in sorted(verdicts.items())))


def report(cell: Cell, shown: dict, errors: list[float], verdicts: dict[str, int]) -> None:
    verdict, error = shown["verdict"], shown["prediction_error"]
    verdicts[verdict["kind"]] = verdicts.get(verdict["kind"], 0) + 1
    speed = verdict["speedup"]
    s = "no headline" if speed is None else f"{speed['estimate']:.2f}x [{speed['low']:.2f}, {speed['high']:.2f}]"
    wanted = f" (expected {cell.expected})" if cell.expected else ""
    print(f"{cell.name}: {verdict['kind']}{wanted} {s}")
    if speed is None:
        print(f"    {verdict['sentence']}")
    if error is None:
        print("    no prediction: no split rounds")
        return
    errors.append(abs(error["error"]))
    print(
        f"    predicted {error['predicted']:.2f} tok/s, measured {error['measured']:.2f}: {error['error']:+.1%} "
        f"[{error['low']:+.1%}, {error['high']:+.1%}]"
    )
    parts = shown["parts_ms"]
    print("    " + ", ".join(f"{k} {v['mean']:.2f}" for k, v in parts.items() if v) + " ms; T(n)/T(1) " + widths(shown))
    for reason in shown["prediction_reasons"]:
        print(f"    {reason}")


def widths(shown: dict) -> str:
    by_width = shown["verify_ms_by_width"]
    if "1" not in by_width:
        return "—"
    one = by_width["1"]["median"]
    return " ".join(f"{w}:{v['median'] / one:.2f}" for w, v in by_width.items() if int(w) in (2, 3, 5, 8))


if __name__ == "__main__":
    main()
