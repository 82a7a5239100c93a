"""What a session can be compared with: the newest of the library, and the examples that come with specview."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ..layouts.library import size_text
from ..layouts.screens.choice import Choice
from ..profilers.record.library.entries import Entry
from ..profilers.record.library.index import Index

EXAMPLES = Path(__file__).resolve().parent.parent / "assets" / "examples"
MOST = 100
LEFT_OUT = ("unread", "unreadable", "empty")


def others_of(folder: Path, base: Path, examples: Path = EXAMPLES) -> tuple[Choice, ...]:
    """The sessions of a folder but the base, newest first, then examples; what cannot be opened is left out."""
    saved = [_choice(entry) for entry in _entries(folder) if not _same(entry.path, base)]
    shown = [] if folder == examples else [_choice(e, "example") for e in _entries(examples) if not _same(e.path, base)]
    return (*saved, *shown)


def _entries(folder: Path) -> list[Entry]:
    index = Index(folder)
    index.look()
    index.read_some(MOST)
    return [entry for entry in index.snapshot().entries if entry.status not in LEFT_OUT]


def _same(path: Path, base: Path) -> bool:
    return path == base or path.resolve() == base.resolve()


def _choice(entry: Entry, where: str = "") -> Choice:
    when = where or datetime.fromtimestamp(entry.when_ns / 1e9).strftime("%Y-%m-%d %H:%M")
    drafts = f"{entry.drafter} k={entry.k}" if entry.drafter and entry.k is not None else entry.drafter
    parts = (when, entry.model, drafts, entry.blas, size_text(entry.size_bytes))
    return Choice(str(entry.path), entry.name, " · ".join(part for part in parts if part))
