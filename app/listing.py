"""The saved sessions as choices, the one being recorded and then newest first, each with what its header says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ..engine.errors import SpecviewError
from ..layouts import figures
from ..layouts.screens.choice import Choice
from ..profilers.record.records import Header
from ..profilers.record.session import SessionReader
from ..profilers.record.store import SUFFIX

MOST = 200
HEAD_BYTES = 64 * 1024


def choices_of(folder: Path, live: Path | None = None) -> tuple[Choice, ...]:
    """The sessions of a folder; the one being recorded first; none of a folder that cannot be read."""
    try:
        found = [(p.stat().st_mtime, p) for p in folder.glob(f"*{SUFFIX}") if p.is_file()]
    except OSError:
        return ()
    found.sort(reverse=True)
    paths = [(changed, path) for changed, path in found[:MOST] if path != live]
    first = () if live is None or not live.is_file() else (_choice(live, 0.0, True),)
    return (*first, *(_choice(path, changed, False) for changed, path in paths))


def _choice(path: Path, changed: float, recording: bool) -> Choice:
    try:
        size = figures.size(path.stat().st_size)
    except OSError:
        size = figures.NONE
    when = datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M")
    parts = ["● recording" if recording else when, size, _said_by_header(path)]
    return Choice(str(path), path.name.removesuffix(SUFFIX), " · ".join(part for part in parts if part))


def _said_by_header(path: Path) -> str:
    reader = SessionReader(path.name)
    try:
        with path.open("rb") as file:
            reader.feed(file.readline(HEAD_BYTES))
    except (OSError, SpecviewError):
        return "cannot be opened"
    header: Header | None = reader.header
    if header is None:
        return "empty"
    drafter = "" if header.drafter is None else f"{header.drafter.kind} k={header.drafter.k}"
    return " · ".join(part for part in (header.model.id, drafter) if part)
