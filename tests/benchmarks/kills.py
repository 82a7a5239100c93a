"""Kills the recorder at random moments and counts what is lost.

    python tests/benchmarks/kills.py [--kills 50] [--seed 0]

Every session must open, lack at most the record in flight and number the
events of each run without gaps; a recorder whose stdin ends must be gone, with
a footer. Exits with 1 when one does not.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from specview.engine.errors import SpecviewError
from specview.profilers.record.session import read_session

LATEST_S = 8.0


def start(path: Path, *more: str) -> subprocess.Popen[bytes]:
    """A recorder that writes to `path`."""
    command = [sys.executable, "-m", "specview", "record", "--out", str(path), *more]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def fault_of(path: Path) -> str | None:
    """What is wrong with a killed recorder's session, if anything."""
    if not path.exists() or path.stat().st_size == 0:
        return None  # killed before the header: nothing was recorded
    data = path.read_bytes()
    lines = data.split(b"\n")
    torn = lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            json.loads(line)
        except ValueError:
            return f"line {number} of {len(lines)} is torn"
    if not lines:
        return None if len(torn) else "an empty line"
    try:
        session = read_session(path)
    except SpecviewError as error:
        return str(error)
    if session.problems:
        return session.problems[0].text
    for run in session.runs:
        numbers = [e.i for e in (*session.rounds, *session.steps) if e.run == run.run]
        if numbers != list(range(len(numbers))):
            return f"run {run.run} has gaps"
    return None


def killed(folder: Path, number: int, delay_s: float) -> tuple[str | None, int]:
    """Kill one recorder after a delay; what is wrong, and how many whole lines there are."""
    path = folder / f"{number}.specview.jsonl"
    with start(path) as process:
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
    return fault_of(path), path.read_bytes().count(b"\n") if path.exists() else 0


def abandoned(folder: Path, number: int, delay_s: float) -> tuple[str | None, int]:
    """End the stdin of one controlled recorder after a delay."""
    path = folder / f"{number}-controlled.specview.jsonl"
    with start(path, "--control") as process:
        time.sleep(delay_s)
        process.stdin.close()
        process.stdin = None
        status = process.wait(60)
    if status:
        return f"exit status {status}", 0
    fault = fault_of(path) or (None if read_session(path).status in ("stopped", "finished") else "no footer")
    return fault, path.read_bytes().count(b"\n")


def main() -> int:
    """Kill, count, tell."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    wished = options.parse_args()
    source = random.Random(wished.seed)
    faults, written = [], []
    with tempfile.TemporaryDirectory() as folder:
        plan = [killed] * wished.kills + [abandoned] * (wished.kills // 5)
        for number, how in enumerate(plan):
            fault, lines = how(Path(folder), number, source.uniform(0.0, LATEST_S))
            written.append(lines)
            if fault is not None:
                faults.append(f"{how.__name__} {number}: {fault}")
            print(f"\r{number + 1} of {len(plan)}, {len(faults)} faults", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{wished.kills} recorders killed and {len(plan) - wished.kills} abandoned at random moments,", end=" ")
    print(f"{sum(n > 0 for n in written)} of them while recording")
    print(f"{sum(written)} records, at most {max(written, default=0)} in a session; {len(faults)} faults")
    print("\n".join(faults))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
