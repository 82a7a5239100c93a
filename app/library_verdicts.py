"""Verdicts of saved sessions that were reckoned before, kept in the user's cache folder and never in a session."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..engine.errors import SpecviewError
from ..layouts.library_verdict import LARGEST_BYTES, VerdictWords, verdict_words
from ..profilers.record.codec import safe_text
from ..profilers.record.library.entries import Entry

FORMAT = 1
MOST = 2000
FILE_BYTES = 8 << 20
LARGEST_SPEEDUP = 1e9
RECKONED = ("finished", "stopped", "failed", "interrupted")


class VerdictCache:
    """What was reckoned, by size and time of the file; without a path it forgets when the app ends.

    The file may be deleted at any time, and whatever is wrong with it only costs time.
    """

    def __init__(self, path: Path | None, version: str) -> None:
        self._path, self._version = path, version
        self._lock = threading.Lock()
        self._verdicts = {} if path is None else _verdicts_in(_read(path), version)

    def of(self, entry: Entry) -> VerdictWords | None:
        """The verdict of a session as its file is now, if it is known."""
        return self._verdicts.get(_key(entry))

    def by_path(self, entries: Iterable[Entry]) -> dict[Path, VerdictWords]:
        """All verdicts that are known."""
        found = ((entry.path, self._verdicts.get(_key(entry))) for entry in entries)
        return {path: verdict for path, verdict in found if verdict is not None}

    def reckon(self, entry: Entry) -> VerdictWords:
        """Read the whole session, reckon its verdict, and keep it; takes a while, so it is done in a thread."""
        from ..profilers.record.session import read_session

        try:
            found = verdict_words(read_session(entry.path))
        except SpecviewError as error:
            found = VerdictWords("problem", "PROBLEM", None, str(error))
        except Exception as error:  # one session that cannot be reckoned must not end the list
            found = VerdictWords("problem", "PROBLEM", None, f"Its numbers cannot be computed ({error}).")
        with self._lock:
            self._verdicts[_key(entry)] = found
        self.save()
        return found

    def save(self) -> None:
        """Write the file whole, with what other terminals have added meanwhile; a disk that refuses is no loss."""
        if self._path is None:
            return
        with self._lock, suppress(OSError, ValueError):
            merged = {**_verdicts_in(_read(self._path), self._version), **self._verdicts}
            self._verdicts = dict(list(merged.items())[-MOST:])
            kept = {
                "format": FORMAT,
                "specview": self._version,
                "verdicts": {
                    key: [each.kind, each.word, each.speedup, each.first, each.second]
                    for key, each in self._verdicts.items()
                },
            }
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            try:
                fresh.write_text(json.dumps(kept, ensure_ascii=False, allow_nan=False), encoding="utf-8")
                fresh.replace(self._path)
            except OSError:
                fresh.unlink(missing_ok=True)


def is_reckonable(entry: Entry) -> bool:
    """Whether a list may have the verdict of a session reckoned: it is whole, and not too large."""
    return entry.status in RECKONED and entry.size_bytes <= LARGEST_BYTES


def _key(entry: Entry) -> str:
    return f"{entry.size_bytes}-{entry.changed_ns}"


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            kept = json.loads(file.read(FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) and kept.get("format") == FORMAT else {}


def _verdicts_in(kept: dict[str, Any], version: str) -> dict[str, VerdictWords]:
    """What another file holds, as far as it fits; another version may judge otherwise."""
    known = kept.get("verdicts")
    if kept.get("specview") != version or not isinstance(known, dict):
        return {}
    found = {}
    for key, told in known.items():
        match told:
            case [str(kind), str(word), None | float() | int() as speedup, str(first), str(second)]:
                if speedup is None or abs(speedup) < LARGEST_SPEEDUP:  # so it is finite
                    found[str(key)] = VerdictWords(
                        safe_text(kind), safe_text(word), speedup, safe_text(first), safe_text(second)
                    )
    return found
