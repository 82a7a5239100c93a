"""What the screen costs: throughput with the app attached, in a real pseudo-terminal, against headless recording.

    python tests/benchmarks/watching.py [--pairs 8] [--limit 3]

Interleaved pairs in random order; each run is `specview record` or `specview`
with the app in a pty of 120 × 40. Printed are ratios of plain and of drafting
tokens per second with 95% t intervals.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import pty
import random
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from specview.profilers.judge.statistics import log_ratio_interval

SPECVIEW = [sys.executable, "-m", "specview"]
LONGEST_S = 300


def rates(session: Path) -> tuple[float, float]:
    """Plain and drafting tokens per second of a finished session."""
    shown = subprocess.run([*SPECVIEW, "show", "--json", str(session)], check=True, capture_output=True)
    facts = json.loads(shown.stdout)
    return float(facts["plain_tokens_per_second"]), float(facts["drafting_tokens_per_second"])


def headless(session: Path, options: list[str]) -> None:
    subprocess.run([*SPECVIEW, "record", *options, "--out", str(session)], check=True, capture_output=True)


def watched(session: Path, options: list[str]) -> None:
    """Run the app in a pty until its session has a footer, then press q."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [*SPECVIEW, "watch", *options, "--out", str(session)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    ends = time.monotonic() + LONGEST_S
    asked = False
    while time.monotonic() < ends:
        if select.select([terminal], [], [], 0.25)[0]:
            try:
                if not os.read(terminal, 65536):
                    break
            except OSError:
                break
        if not asked and session.exists() and b'"kind":"footer"' in session.read_bytes()[-400:]:
            os.write(terminal, b"q")
            asked = True
    os.close(terminal)
    os.waitpid(child, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--limit", type=int, default=3)
    options = parser.parse_args()
    given = ["--limit", str(options.limit), "--tokens", "64"]
    order = random.Random(0)
    logs: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(options.pairs):
            found = {}
            for way in order.sample((headless, watched), 2):
                session = Path(folder) / f"{pair}-{way.__name__}.specview.jsonl"
                way(session, given)
                found[way] = rates(session)
            with_app, without = found[watched], found[headless]
            logs.append((math.log(with_app[0] / without[0]), math.log(with_app[1] / without[1])))
            print(
                f"pair {pair + 1}: plain {with_app[0] / without[0]:.3f}, drafting {with_app[1] / without[1]:.3f}",
                flush=True,
            )
    for name, values in zip(("plain", "drafting"), zip(*logs, strict=True), strict=True):
        ratio = log_ratio_interval(values)
        print(f"{name} with the app ÷ headless: {ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]")


if __name__ == "__main__":
    main()
