"""The path in a pasted text: a terminal pastes the path of a file that is dragged onto it, each in its own way."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..engine.paths import local_path

LONGEST = 4096


def dropped_path(text: str) -> Path | None:
    """The first path that a pasted text names, in quotes, with backslashes or as file:// too; None if it names none.

    It need not exist; relative ones count only with the suffix of a session.
    """
    text = text.strip()
    if not text or len(text) > LONGEST or "\0" in text:
        return None
    first = text.splitlines()[0].strip()
    for candidate in _readings(first):
        if candidate.startswith("file://"):
            try:
                candidate = unquote(urlsplit(candidate).path)
            except ValueError:  # an address that is none
                continue
        if candidate.startswith("~"):
            return local_path(candidate)
        if candidate.startswith("/") or candidate.endswith(".jsonl"):
            return Path(candidate)
    return None


def _readings(text: str) -> list[str]:
    """The text as it is where such a file exists, else as a shell would read its first word."""
    try:
        if Path(text).exists():
            return [text]
    except OSError:
        return []
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    return [*words[:1], text]
