"""The library for a command: its sessions as a table to print, and as an object for JSON."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from ..profilers.record.library.entries import Entry
from .library import KIND_WORDS, SIGNS, drafter_text, model_text, size_text, verdict_text, when_text
from .tables import Column, TableRow, TableView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..profilers.record.library.index import Library
    from .library_verdict import VerdictWords

LISTED = (
    Column("sign", "", 0, text=True, least=1),
    Column("name", "session", 0, text=True, least=25),
    Column("verdict", "verdict", 1, text=True, least=16),
    Column("model", "model", 3, text=True, least=13),
    Column("drafter", "drafts", 4, text=True, least=7),
    Column("when", "when", 2, text=True, least=12),
    Column("size", "size", 5),
    Column("kind", "kind", 7, text=True, least=9),
    Column("tags", "tags", 6, text=True, least=12),
    Column("note", "note", 8, text=True, least=12),
)


def listed(
    entries: Sequence[Entry],
    verdicts: Mapping[Path, VerdictWords],
    now_unix_ns: int,
    zone: tzinfo | None = None,
) -> TableView:
    """The sessions as a table to print."""
    rows = [
        TableRow(
            str(entry.path),
            (
                SIGNS[entry.status],
                entry.name,
                verdict_text(entry, verdicts.get(entry.path)),
                model_text(entry),
                drafter_text(entry),
                when_text(entry.when_ns, now_unix_ns, zone),
                size_text(entry.size_bytes),
                KIND_WORDS[entry.kind],
                " ".join(f"#{tag}" for tag in entry.tags),
                entry.note,
            ),
        )
        for entry in entries
    ]
    return TableView(LISTED, tuple(rows))


def entry_object(entry: Entry, verdict: VerdictWords | None) -> dict[str, Any]:
    """One session for JSON: raw numbers with units in their names, null where unknown; the file by its name only."""
    found: dict[str, Any] = {
        "name": entry.name,
        "file": entry.path.name,
        "status": entry.status,
        "kind": entry.kind,
        "reason": entry.reason or None,
        "started_unix_ns": entry.started_unix_ns,
        "size_bytes": entry.size_bytes,
        "model": entry.model or None,
        "quantisation": entry.quantisation or None,
        "drafter": entry.drafter or None,
        "k": entry.k,
        "source": entry.source or None,
        "rounds": entry.rounds,
        "steps": entry.steps,
        "tokens": entry.tokens,
        "duration_ns": entry.duration_ns,
        "tags": list(entry.tags),
        "note": entry.note or None,
    }
    told = None
    if verdict is not None:
        told = {
            "kind": verdict.kind,
            "speedup": verdict.speedup,
            "sentence": f"{verdict.first} {verdict.second}".strip(),
        }
    return {**found, "verdict": told}


def library_object(library: Library, entries: Sequence[Entry], verdicts: Mapping[Path, VerdictWords]) -> dict[str, Any]:
    """A listed library for JSON."""
    return {
        "sessions": [entry_object(entry, verdicts.get(entry.path)) for entry in entries],
        "in_library": len(library.entries),
        "size_bytes": library.size_bytes,
        "trash": {"sessions": library.trash.sessions, "size_bytes": library.trash.size_bytes},
    }
