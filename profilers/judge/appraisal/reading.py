"""Untrusted bytes as one JSON object of facts, or one sentence that says why not."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from ....engine.errors import SpecviewError
from ...record.codec import Text, safe_text
from ...record.lines import LineError, read_line

LARGEST_BYTES = 1 << 20
DEPTH = 8
# A whole number with more digits is no count of anything, and reading it takes quadratic time.
DIGITS = 18
SHOWN = Text(limit=60)


class FactsError(SpecviewError):
    """Facts that cannot be judged; the text is one sentence that says what is wrong. Commands exit with status 2."""


def read_facts(data: bytes) -> dict[str, Any]:
    """Parse one JSON object with finite numbers and no name twice; raises FactsError for anything else."""
    if len(data) > LARGEST_BYTES:
        raise FactsError(f"The facts are longer than {LARGEST_BYTES // 1024} KiB; give only the numbers of one run.")
    if not data.strip():
        raise FactsError("There are no facts: give a JSON object, or flags such as --decode-tps 92.")
    line = data.removeprefix(b"\xef\xbb\xbf")
    try:
        # Depth, encoding and numbers are checked there; names that come twice need a second, now safe, look.
        read_line(line, DEPTH)
        parsed: dict[str, Any] = json.loads(line, object_pairs_hook=_once, parse_int=_whole, parse_float=_finite)
    except LineError as error:
        raise FactsError(f"The facts cannot be read: {_lowered(str(error))}") from None
    except (ValueError, RecursionError):
        raise FactsError("The facts cannot be read: they are not valid JSON.") from None
    return parsed


def shown(text: str) -> str:
    """A name or value that came with the facts, short and safe to print."""
    return safe_text(text, SHOWN)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise FactsError(f"The facts name {shown(name)!r} twice; keep the one that is meant.")
        found[name] = value
    return found


def _whole(literal: str) -> int:
    if len(literal) > DIGITS:
        raise FactsError("The facts hold a whole number with more than 18 digits; give what was measured.")
    return int(literal)


def _finite(literal: str) -> float:
    number = float(literal)
    if not isfinite(number):
        raise FactsError("The facts hold a number too large to be measured.")
    return number


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
