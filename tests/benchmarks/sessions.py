"""Prints how fast a long session opens, what memory that takes, and whether a fast writer can be followed.

    python tests/benchmarks/sessions.py [--rounds 1000000] [--per-second 2000] [--seconds 20] [--before 200000]
                                        [--probes share] [--keep folder]

A long session is made of the records of a shipped one: its prompts again and again, every text drawn out to
`--segments` segments, run numbers, times and prompts counting on, so that rounds, plain steps, probes and the rest
stand in the proportions of a real recording. A bundled-size model is probed once every two rounds, so the session is
opened twice: with a fiftieth of the visits of probes, and with all of them (`--probes` asks for one share only).

Opening and following are timed in processes of their own, in the app without a terminal. Times count from the start
of the process. Lag is how far the last time on the screen lies behind the file's last line when it was drawn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from long_sessions import TIME, long_lines, write_session

SIZE = (120, 40)
FEW_AND_ALL = (0.02, 1.0)
LONGEST_S = 600.0
REST_S = 0.02

# ------------------------------------------------------------------ in processes of their own


def peak_bytes() -> int:
    """The most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def timed_app(path: Path, started: float, follow: bool = False) -> object:
    """The app as `specview FILE` makes it, noting when it painted first, knew the header, and had settled."""
    from specview.app.application import Source, SpecviewApp

    class Timed(SpecviewApp):
        """Notes times."""

        marks: dict[str, float]
        drawn: list[tuple[float, float]]

        async def _begin(self) -> None:
            self.marks = {"first paint": time.time() - started}
            self.drawn = []
            await super()._begin()

        def _show(self) -> None:
            super()._show()
            if not hasattr(self, "marks"):
                return
            now = time.time() - started
            if "·" in self.view.status.title:
                self.marks.setdefault("header facts", now)
            if self.reckoning is not None:
                self.marks.setdefault("settled", now)
                self.call_after_refresh(self._painted, self.view.status.seconds or 0.0)

        def _painted(self, seconds: float) -> None:
            self.marks.setdefault("settled and painted", time.time() - started)
            self.drawn.append((time.time(), seconds))

    return Timed(Source(path, following=follow))


async def opened(path: Path, started: float) -> dict[str, float]:
    """Open a session in the app and wait until all of it is on the screen; also how late the loop was meanwhile."""
    app = timed_app(path, started)
    late: list[float] = []
    running = asyncio.create_task(app.run_async(headless=True, size=SIZE))  # type: ignore[attr-defined]
    while "settled and painted" not in getattr(app, "marks", {}):
        before = time.perf_counter()
        await asyncio.sleep(REST_S)
        if hasattr(app, "marks"):
            late.append(time.perf_counter() - before - REST_S)
        if time.time() - started > LONGEST_S or running.done():
            break
    marks = dict(app.marks)  # type: ignore[attr-defined]
    app.exit()  # type: ignore[attr-defined]
    await running
    late.sort()
    return {**marks, "longest wait of the screen": late[-1], "peak_bytes": peak_bytes()}


async def followed(path: Path, started: float, seconds: float) -> dict[str, object]:
    """Follow a growing session for so long; when what was on the screen, and the processor time it took."""
    app = timed_app(path, started, follow=True)
    running = asyncio.create_task(app.run_async(headless=True, size=SIZE))  # type: ignore[attr-defined]
    while "settled and painted" not in getattr(app, "marks", {}):
        await asyncio.sleep(0.05)
    begun, used = time.time(), time.process_time()
    print("ready", flush=True)
    await asyncio.sleep(seconds)
    share = (time.process_time() - used) / (time.time() - begun)
    app.exit()  # type: ignore[attr-defined]
    await running
    return {"begun": begun, "drawn": app.drawn, "share": share, "peak_bytes": peak_bytes()}  # type: ignore[attr-defined]


def read_alone(path: Path, started: float) -> dict[str, float]:
    """Read and reckon without the app."""
    from specview.layouts.views import reckon
    from specview.profilers.record.session import read_session

    marks = {"imported": time.time() - started}
    session = read_session(path)
    marks["read"] = time.time() - started
    reckon(session)
    marks["reckoned"] = time.time() - started
    return {**marks, "rounds": len(session.rounds), "peak_bytes": peak_bytes()}


# ------------------------------------------------------------------ the parent


def child(*words: str) -> dict[str, object]:
    """Run one measurement in a process of its own and take what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, *words, "--started", str(time.time())], check=True, stdout=subprocess.PIPE
    )
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_marks(title: str, marks: dict[str, object]) -> None:
    """Seconds and megabytes, a line each."""
    print(title)
    for name, value in marks.items():
        if name == "peak_bytes":
            print(f"  {'peak memory':28} {float(str(value)) / 1e6:8.0f} MB")
        elif name == "rounds":
            print(f"  {'rounds':28} {value:>8}")
        else:
            print(f"  {name:28} {float(str(value)):8.2f} s")


def follow_writer(folder: Path, before: int, per_second: float, seconds: float, segments: int, probes: float) -> None:
    """Let a session of `before` rounds grow by so many records a second, and print how far the screen lies behind."""
    path = folder / "growing.specview.jsonl"
    lines = long_lines(before + int(per_second * (seconds + 30)), segments, probes)
    rounds = 0
    with path.open("wb", buffering=1 << 22) as file:
        for line in lines:
            file.write(line)
            rounds += line.startswith(b'{"kind":"round"')
            if rounds >= before:
                break
    command = [sys.executable, __file__, "--follow-child", str(path), "--seconds", str(seconds)]
    process = subprocess.Popen([*command, "--started", str(time.time())], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    written: list[tuple[float, float]] = []
    begun, count = time.time(), 0
    last_ns = 0
    with path.open("ab", buffering=0) as file:
        while process.poll() is None and time.time() - begun < seconds:
            due = int((time.time() - begun) * per_second) - count
            chunk = [next(lines) for _ in range(due)]
            for line in reversed(chunk):
                found = TIME.search(line)
                if found is not None:
                    last_ns = int(found.group(1))
                    break
            file.write(b"".join(chunk))
            count += len(chunk)
            written.append((time.time(), last_ns / 1e9))
            time.sleep(0.05)
    out = process.stdout.read()
    process.wait()
    found = json.loads(out.splitlines()[-1])
    print(f"following a writer of {count / seconds:,.0f} records a second after {before:,} rounds")
    print(f"  {'processor share of the app':28} {100 * found['share']:7.0f} % of one core")
    print(f"  {'peak memory':28} {found['peak_bytes'] / 1e6:8.0f} MB")
    drawn = [(at, value) for at, value in found["drawn"] if at >= begun]
    print(f"  {'screens drawn':28} {len(drawn):8}")
    behind = []
    for tenth in range(1, int(seconds / 2) + 1):
        now = begun + 2 * tenth
        shown = max((value for at, value in found["drawn"] if at <= now), default=0.0)
        reached = next((at for at, value in written if value > shown), now)
        behind.append(max(0.0, now - reached))
    print("  seconds behind, every 2 s     " + " ".join(f"{value:.1f}" for value in behind))


def main() -> None:
    """Make the sessions, measure in other processes, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=32, help="segments of a text (default 32)")
    parser.add_argument("--probes", type=float, help="share of the visits of probes to keep (default 0.02, then 1)")
    parser.add_argument("--per-second", type=float, default=2000.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--before", type=int, default=200_000, help="rounds already there when following starts")
    parser.add_argument("--keep", type=Path, help="make the sessions here, and keep them")
    parser.add_argument("--only", choices=("open", "alone", "follow"))
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--open-child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--alone-child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--follow-child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.open_child:
        print(json.dumps(asyncio.run(opened(asked.open_child, asked.started))))
    elif asked.alone_child:
        print(json.dumps(read_alone(asked.alone_child, asked.started)))
    elif asked.follow_child:
        print(json.dumps(asyncio.run(followed(asked.follow_child, asked.started, asked.seconds))))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(asked, asked.keep or Path(folder))


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Everything that was asked for, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"load of this machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    shares = FEW_AND_ALL if asked.probes is None else (asked.probes,)
    for share in shares if asked.only != "follow" else ():
        path = folder / f"long-{asked.rounds}-{share:g}.specview.jsonl"
        if not path.exists():
            counts = write_session(path, asked.rounds, asked.segments, share)
            print(", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
        what = f"{asked.rounds:,} rounds and {share:.0%} of the probes"
        if asked.only != "alone":
            print_marks(f"opening {what} in the app", child("--open-child", str(path)))
        if asked.only != "open":
            print_marks(f"reading and reckoning {what} alone", child("--alone-child", str(path)))
    if asked.only in (None, "follow"):
        follow_writer(folder, asked.before, asked.per_second, asked.seconds, asked.segments, shares[-1])


if __name__ == "__main__":
    main()
