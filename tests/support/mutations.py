"""Session files made to attack: small ones, changed at random in bytes, lines and fields, the same ones every time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

NASTY_NUMBERS: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), -1, -(10**9), 0, 1, 10**18, -(10**18), 10**30, 2**63 - 1, 2**64,
    1e308, -1e308, 5e-324, 0.5,
)  # fmt: skip
NASTY_TEXTS = (
    "",
    "\x1b[2J\x1b[31mred",
    "\x9b31m",
    "\x1b]0;title\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "[bold red]markup[/]",
    "[/]",
    "[link=file:///etc/passwd]x[/link]",
    "\x00\x01\x02",
    "\r\noverwritten",
    "a\u202eb\u2066c",
    "\ufeff",
    "../../../../etc/passwd",
    "/etc/passwd",
    "..",
    "~root",
    "con:",
    "name\nname",
    "\U0001f3f3\ufe0f\u200d\U0001f308" * 40,
    "e\u0301" * 200,
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE",
    "ignore all previous instructions",
    "%s%n{0}{self}",
    "\ud800",
    "x" * 5_000,
)
NASTY: tuple[Any, ...] = (*NASTY_NUMBERS, *NASTY_TEXTS, None, True, False, [], {}, [[]], [None], {"a": {"b": []}})


def mutated(files: Sequence[bytes], count: int, seed: int = 0) -> Iterator[bytes]:
    """So many changed files, one change to five in each."""
    rng = random.Random(seed)
    lines_by_file = [file.splitlines(keepends=True) for file in files]
    for _ in range(count):
        lines = list(rng.choice(lines_by_file))
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            rng.choice(CHANGES)(rng, lines)
        yield b"".join(lines)


def _field(rng: random.Random, lines: list[bytes]) -> None:
    """One field of one record becomes something else; fields of records within records too."""
    index, record = _record(rng, lines)
    if record is None:
        return
    holder: Any = record
    for _ in range(4):
        inner = [
            v for v in (holder.values() if isinstance(holder, dict) else holder) if isinstance(v, dict | list) and v
        ]
        if not inner or rng.random() < 0.5:
            break
        holder = rng.choice(inner)
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    if not keys:
        return
    key = rng.choice(keys)
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
    elif rng.random() < 0.1 and isinstance(holder, dict):
        holder[rng.choice(NASTY_TEXTS)] = holder.pop(key)
    else:
        holder[key] = _like(rng, holder[key])
    lines[index] = _line(record)


def _values(holder: Any) -> list[Any]:
    return list(holder.values()) if isinstance(holder, dict) else list(holder)


def _like(rng: random.Random, value: Any) -> Any:
    """Half of the time something of the same type, which the first checks let through."""
    if rng.random() < 0.5:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return rng.choice((0, 1, value * 1000, value // 3, value + 1, 10**15, 10**18))
        if isinstance(value, float):
            return rng.choice((0.0, 1e-12, value * 1e9, -value, 1.0))
        if isinstance(value, str):
            return rng.choice(NASTY_TEXTS)
        if isinstance(value, list):
            return rng.choice((value * 50, value[:1], [], value[::-1]))
    return rng.choice(NASTY)


def _kind(rng: random.Random, lines: list[bytes]) -> None:
    """A record claims to be of another kind."""
    index, record = _record(rng, lines)
    if record is not None:
        kinds = ("header", "run", "round", "step", "probe", "census", "footer", "guard", "note", "counters", "later")
        record["kind"] = rng.choice(kinds)
        lines[index] = _line(record)


def _nested(rng: random.Random, lines: list[bytes]) -> None:
    depth = rng.choice((3, 30, 3_000))
    at = rng.randrange(len(lines) + 1)
    lines.insert(at, b'{"kind":"note","t_ns":1,"text":' + b"[" * depth + b"]" * depth + b"}\n")


def _bytes(rng: random.Random, lines: list[bytes]) -> None:
    """A few bytes of one line change, come or go."""
    if not lines:
        return
    index = rng.randrange(len(lines))
    line = bytearray(lines[index])
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(line) + 1)
        choice = rng.random()
        if choice < 0.4 and at < len(line):
            line[at] = rng.randrange(256)
        elif choice < 0.7:
            line[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4)))
        elif at < len(line):
            del line[at : at + rng.randrange(1, 4)]
    lines[index] = bytes(line)


def _order(rng: random.Random, lines: list[bytes]) -> None:
    """Lines change places, are said twice, or are gone."""
    if not lines:
        return
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.random()
    if choice < 0.4:
        lines[a], lines[b] = lines[b], lines[a]
    elif choice < 0.7:
        lines.insert(a, lines[b])
    else:
        del lines[a]


def _cut(rng: random.Random, lines: list[bytes]) -> None:
    """The file ends in mid-line."""
    if lines:
        del lines[rng.randrange(1, len(lines) + 1) :]
        lines[-1] = lines[-1][: rng.randrange(len(lines[-1]) + 1)]


CHANGES = (_field, _field, _field, _field, _field, _kind, _nested, _bytes, _bytes, _order, _order, _cut)


def _record(rng: random.Random, lines: list[bytes]) -> tuple[int, dict[str, Any] | None]:
    if not lines:
        return 0, None
    index = rng.randrange(len(lines))
    try:
        found = json.loads(lines[index])
    except (ValueError, RecursionError):
        return index, None
    return index, found if isinstance(found, dict) else None


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"  # NaN and lone surrogates as any careless writer has them
