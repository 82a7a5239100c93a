"""A session as long as asked for, of the records of a shipped one: its prompts again and again, numbers counting on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "bundled-float32-openblas.specview.jsonl"

_RUN = re.compile(rb'"run":(\d+)')
TIME = re.compile(rb'"(?:t_ns|started_ns)":(\d+)')
_NUMBER = re.compile(rb'"i":(\d+)')
_SEGMENT = re.compile(rb'"segment":(\d+)')
_CONTEXT = re.compile(rb'"context":(\d+)')
_HASH = re.compile(rb'"hash":"([0-9a-f]+)"')
_INDEX = re.compile(rb'"index":(\d+)')


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of the example with its shifted numbers cut out: `text % tuple(numbers + shifts)`."""

    text: bytes
    kind: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]

    def shifted(self, by: dict[str, int]) -> bytes:
        """The line with its numbers moved on."""
        return self.text % tuple(n + by[name] for name, n in zip(self.names, self.numbers, strict=True))


def pattern_of(line: bytes) -> Pattern:
    """Cut the numbers that count on out of a line."""
    kind = json.loads(line)["kind"]
    finders = {"run": _RUN, "time": TIME}
    if kind in ("round", "step"):
        finders |= {"i": _NUMBER, "segment": _SEGMENT, "context": _CONTEXT}
    found = [(m.start(1), m.end(1), name) for name, finder in finders.items() for m in finder.finditer(line)]
    if kind == "run":
        # the hash becomes a number, so that every prompt of the long session is one of its own
        at = _HASH.search(line)
        index = _INDEX.search(line)
        assert at is not None and index is not None
        found += [(at.start(1), at.end(1), "prompt"), (index.start(1), index.end(1), "prompt")]
    pieces, names, numbers, end = [], [], [], 0
    for start, stop, name in sorted(found):
        pieces.append(line[end:start].replace(b"%", b"%%"))
        text = line[start:stop]
        names.append(name)
        numbers.append(int(text) if text.isdigit() and len(text) < 16 else 0)
        end = stop
    pieces.append(line[end:].replace(b"%", b"%%"))
    return Pattern(b"%d".join(pieces), kind, tuple(names), tuple(numbers))


def visits_of_example() -> tuple[bytes, list[list[Pattern]]]:
    """The header line, and the example's lines by visit of a prompt."""
    lines = EXAMPLE.read_bytes().splitlines(keepends=True)
    visits: list[list[Pattern]] = []
    for line in lines[1:-1]:
        pattern = pattern_of(line)
        if b'"arm":"plain"' in line:
            visits.append([])
        if visits:
            visits[-1].append(pattern)
    return lines[0], visits


def long_lines(rounds: int, segments: int, probes: float) -> Iterator[bytes]:
    """The lines of a session of at least so many rounds, without a footer."""
    header, visits = visits_of_example()
    yield header
    made, now, first_run, prompt, due = 0, 1_000_000, 0, 0, 0.0
    while made < rounds:
        for visit in visits:
            times = [p.numbers[p.names.index("time")] for p in visit if "time" in p.names]
            runs = [p.numbers[p.names.index("run")] for p in visit if p.kind == "run"]
            start, lasts = min(times), max(times) - min(times) + 1_000_000
            for turn in range(max(1, segments // 2)):
                by = {
                    "time": now - start,
                    "run": first_run - runs[0],
                    "i": turn * 200,
                    "segment": turn * 2,
                    "context": turn * 64,
                    "prompt": prompt,
                }
                due += probes
                probed = due >= 1.0
                due -= probed
                for pattern in visit:
                    if (pattern.kind in ("run", "output") and turn) or (pattern.kind == "probe" and not probed):
                        continue
                    made += pattern.kind == "round"
                    yield pattern.shifted(by)
                now += lasts
                if made >= rounds:
                    return
            first_run += len(runs)
            prompt += 1


def write_session(path: Path, rounds: int, segments: int, probes: float) -> dict[str, int]:
    """Write a finished session; returns how many lines of each kind it has, and its bytes."""
    counts: dict[str, int] = {}
    with path.open("wb", buffering=1 << 22) as file:
        for line in long_lines(rounds, segments, probes):
            file.write(line)
            kind = line[9 : line.index(b'"', 9)].decode()
            counts[kind] = counts.get(kind, 0) + 1
        file.write(
            b'{"kind":"footer","status":"finished","rounds":%d,"steps":%d,"tokens":1,"t_ns":1}\n'
            % (counts["round"], counts["step"])
        )
    return {**counts, "bytes": path.stat().st_size}
