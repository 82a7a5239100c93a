"""Kills the app, then the recorder under it, at random moments of a live run, and counts what went wrong.

    python tests/benchmarks/kills_watched.py [--kills 20] [--seed 1]

After each kill: the session opens, no recorder is left behind, and after a
killed recorder the app still answers q and gives the terminal back.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

from specview.engine.errors import SpecviewError
from specview.profilers.record.session import read_session

LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
PATIENCE_S = 20.0


def start(session: Path) -> tuple[int, int]:
    """The app on a recording of its own, in a pty: its process and its terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "specview", "watch", "--out", str(session)])
    return child, terminal


def drained(terminal: int, seconds: float) -> bytes:
    """What the terminal says within so many seconds, or until it closes."""
    said, ends = b"", time.monotonic() + seconds
    while time.monotonic() < ends:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            said += piece
    return said


def recorders(session: Path) -> list[int]:
    """Processes that write to this session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"record" in words and str(session).encode() in words:
                found.append(int(folder.name))
    return found


def gone(session: Path) -> bool:
    """Whether every recorder ends within the patience."""
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        if not recorders(session):
            return True
        time.sleep(0.1)
    return False


def trial(session: Path, victim: str, moment_s: float) -> list[str]:
    """One kill; the faults it showed."""
    child, terminal = start(session)
    drained(terminal, moment_s)
    faults = []
    if victim == "app":
        os.kill(child, signal.SIGKILL)
        drained(terminal, 0.5)
    else:
        for process in recorders(session):
            os.kill(process, signal.SIGKILL)
        drained(terminal, 1.5)
        os.write(terminal, b"q")
        if LEFT_ALTERNATE_SCREEN not in drained(terminal, 5.0):
            faults.append("the terminal was not given back")
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    if victim == "recorder" and os.waitstatus_to_exitcode(status) < 0:
        faults.append("the app died")
    if not gone(session):
        faults.append("a recorder was left behind")
    if session.exists():
        try:
            read_session(session)
        except SpecviewError as error:
            faults.append(str(error))
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        for victim in ("app", "recorder"):
            faulty, recording = 0, 0
            for number in range(options.kills):
                session = Path(folder) / f"{victim}-{number}.specview.jsonl"
                faults = trial(session, victim, moments.uniform(1.0, 4.0))
                recording += session.exists()
                faulty += bool(faults)
                if faults:
                    print(f"{victim} {number}: {'; '.join(faults)}", flush=True)
            print(
                f"{options.kills} kills of the {victim}, {recording} while recording: {faulty} with faults", flush=True
            )


if __name__ == "__main__":
    main()
