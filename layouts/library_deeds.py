"""What a person wants done with sessions of the library: asked for by a screen, done by the app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Open:
    """Show a session; one that is being recorded is followed."""

    path: Path


@dataclass(frozen=True, slots=True)
class Compare:
    """Show sessions beside each other."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a session another name."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Words:
    """What a person says of one session, whole: the note and the tags."""

    path: Path
    note: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Annotate:
    """Write notes and tags."""

    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Move sessions into the trash."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """Take the last deed back, or bring back what was deleted last."""


Deed = Open | Compare | Rename | Annotate | Delete | Undo
