"""The library of saved sessions as a table: searched, sorted, live ones first; and what it takes on the disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from ..profilers.record.library.entries import Entry, Kind, Status
from . import figures
from .synthetic import drafter_words
from .tables import Column, TableRow, TableView

if TYPE_CHECKING:
    from ..profilers.record.library.index import Library
    from .library_verdict import VerdictWords

SORTS = ("when", "name", "verdict", "model", "rounds", "size")
SIGNS: dict[Status, str] = {
    "unread": " ",
    "recording": "●",
    "finished": "◇",
    "stopped": "■",
    "failed": "▲",
    "interrupted": "◌",
    "empty": "◌",
    "unreadable": "▲",
}
MARK = "✓"
COLUMNS = (
    Column("sign", "", 0),
    Column("name", "session", 0, text=True, least=25),
    Column("verdict", "verdict", 1, text=True, least=16),
    Column("model", "model", 3, text=True, least=13),
    Column("drafter", "drafts", 4, text=True, least=7),
    Column("when", "when", 2, text=True, least=12),
    Column("size", "size", 5),
    Column("rounds", "rounds", 6),
    Column("tags", "tags", 7, text=True, least=12),
    Column("kind", "kind", 8, text=True, least=9),
    Column("state", "state", 9, text=True, least=9),
    Column("note", "note", 10, text=True, least=12),
)
EMPTY = (
    "No session is saved yet: press r to record one here, or run specview record. specview import FILE makes one of "
    "another engine's log. A session file dragged onto this terminal opens too."
)
LOOKING = "Looking into the folder …"


@dataclass(frozen=True, slots=True)
class LibraryAsk:
    """How the list is asked for: by which column, backwards or not, with which words, and what is marked."""

    sort: str = "when"
    backwards: bool = False
    needle: str = ""
    marked: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What the list is made from: the folder, the verdicts known of it by path, and the time now.

    `paused` says why no verdicts are reckoned at the moment, `shown` is the session on the dashboard.
    """

    library: Library
    verdicts: Mapping[Path, VerdictWords]
    now_unix_ns: int = 0
    paused: str = ""
    shown: Path | None = None
    zone: tzinfo | None = None


@dataclass(frozen=True, slots=True)
class SessionsView:
    """The table of sessions, its title, and a line on what everything takes."""

    table: TableView
    title: str
    storage: str
    trouble: str = ""


def sessions_view(facts: LibraryFacts, ask: LibraryAsk) -> SessionsView:
    """The list as it was asked for; those that are being recorded come first however it is sorted."""
    library = facts.library
    shown = chosen_entries(facts, ask)
    message = EMPTY if library.looked else LOOKING
    if library.entries:
        message = f"None of {figures.count(len(library.entries), 'session')} has “{ask.needle}”; esc shows all."
    table = TableView(
        COLUMNS, tuple(_row(entry, facts, ask) for entry in shown), ask.sort, "" if library.trouble else message
    )
    title = "Sessions"
    if ask.needle:
        title += f" · {len(shown)} of {len(library.entries)} with “{ask.needle}”"
    elif library.unread:
        title += f" · {len(library.entries) - library.unread} of {len(library.entries)} read"
    return SessionsView(table, title, storage_words(library, ask), library.trouble)


def chosen_entries(facts: LibraryFacts, ask: LibraryAsk) -> tuple[Entry, ...]:
    """The entries that have all words, sorted."""
    words = ask.needle.casefold().split()
    found = [entry for entry in facts.library.entries if not words or _has(entry, words)]
    live = [entry for entry in found if entry.status == "recording"]
    rest = sorted_entries([entry for entry in found if entry.status != "recording"], ask.sort, facts.verdicts)
    return (*live, *(reversed(rest) if ask.backwards else rest))


def sorted_entries(
    entries: Sequence[Entry], sort: str, verdicts: Mapping[Path, VerdictWords] | None = None
) -> tuple[Entry, ...]:
    """Names and models by the alphabet, everything else from new or large to old or small, unknown last."""
    if sort == "name":
        return tuple(sorted(entries, key=lambda entry: entry.name.casefold()))
    if sort == "model":
        return tuple(sorted(entries, key=lambda entry: (not entry.model, entry.model.casefold(), -entry.when_ns)))
    known = verdicts or {}

    def worth(entry: Entry) -> tuple[float, int]:
        if sort == "verdict":
            verdict = known.get(entry.path)
            return (-1.0 if verdict is None or verdict.speedup is None else verdict.speedup, entry.when_ns)
        if sort == "rounds":
            return (-1 if entry.rounds is None else entry.rounds, entry.when_ns)
        return (entry.size_bytes if sort == "size" else 0, entry.when_ns)

    return tuple(sorted(entries, key=worth, reverse=True))


def _has(entry: Entry, words: Sequence[str]) -> bool:
    drafter = drafter_text(entry)
    tags = " ".join(f"#{tag}" for tag in entry.tags)
    texts = (entry.name, entry.model, entry.quantisation, drafter, entry.kind, entry.status, tags, entry.note)
    text = "\n".join((*texts, entry.source)).casefold()
    return all(word in text for word in words)


def moved_sort(ask: LibraryAsk, by: int = 1) -> LibraryAsk:
    """The next order."""
    at = SORTS.index(ask.sort) if ask.sort in SORTS else 0
    return replace(ask, sort=SORTS[(at + by) % len(SORTS)], backwards=False)


def sorted_by(ask: LibraryAsk, column: str) -> LibraryAsk:
    """By that column; the same one again turns the order round, and one that is no order changes nothing."""
    if column not in SORTS:
        return ask
    return replace(ask, sort=column, backwards=not ask.backwards if column == ask.sort else False)


def toggled(ask: LibraryAsk, path: Path) -> LibraryAsk:
    """With that session marked, or no longer marked."""
    return replace(ask, marked=ask.marked ^ {path})


def _row(entry: Entry, facts: LibraryFacts, ask: LibraryAsk) -> TableRow:
    verdict = facts.verdicts.get(entry.path)
    marked = entry.path in ask.marked
    cells = (
        f"{MARK if marked else ' '}{SIGNS[entry.status]}",
        entry.name,
        verdict_text(entry, verdict),
        model_text(entry),
        drafter_text(entry),
        when_text(entry.when_ns, facts.now_unix_ns, facts.zone),
        size_text(entry.size_bytes),
        figures.NONE if entry.rounds is None else f"{entry.rounds:,}",
        " ".join(f"#{tag}" for tag in entry.tags),
        KIND_WORDS[entry.kind],
        STATUS_WORDS[entry.status],
        entry.note,
    )
    tone = "strong" if marked else _TONES.get(entry.status, "")
    return TableRow(str(entry.path), cells, tone)


_TONES: dict[Status, str] = {
    "recording": "good",
    "failed": "warn",
    "unreadable": "warn",
    "interrupted": "quiet",
    "empty": "quiet",
}
KIND_WORDS: dict[Kind, str] = {
    "recording": "recording",
    "survey": "survey",
    "experiment": "experiment",
    "imported": "imported",
    "attached": "attached",
    "own loop": "own loop",
    "unknown": figures.NONE,
}
STATUS_WORDS: dict[Status, str] = {
    "unread": "…",
    "recording": "being recorded",
    "finished": "finished",
    "stopped": "stopped",
    "failed": "failed",
    "interrupted": "interrupted",
    "empty": "empty",
    "unreadable": "cannot be opened",
}


def verdict_text(entry: Entry, verdict: VerdictWords | None) -> str:
    """The verdict in a word with the speedup, where it has been reckoned."""
    if entry.status in ("unreadable", "empty", "recording"):
        return STATUS_WORDS[entry.status]
    if verdict is None:
        return figures.NONE
    speedup = "" if verdict.speedup is None else f" {figures.times(verdict.speedup)}"
    return f"{verdict.word}{speedup}"


def model_text(entry: Entry) -> str:
    """The model with its quantisation in short."""
    short = entry.quantisation.partition(",")[0] or entry.dtype
    return f"{entry.model or entry.source or figures.NONE} {short}".rstrip()


def drafter_text(entry: Entry) -> str:
    """What drafts, and how much."""
    if not entry.drafter:
        return figures.NONE
    return drafter_words(entry.drafter) if entry.k is None else f"{drafter_words(entry.drafter)} k={entry.k}"


def when_text(when_ns: int, now_unix_ns: int, zone: tzinfo | None = None) -> str:
    """A moment of this year as month, day and time, one of another year as a date."""
    try:
        when = datetime.fromtimestamp(when_ns / 1e9, UTC).astimezone(zone)
        now = datetime.fromtimestamp(now_unix_ns / 1e9, UTC).astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return figures.NONE
    return f"{when:%b} {when.day:>2} {when:%H:%M}" if when.year == now.year else f"{when:%Y-%m-%d}"


def size_text(size_bytes: int) -> str:
    """Bytes in the unit that gives a readable number, powers of ten."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return f"{size_bytes / 1e3:.0f} kB" if size_bytes < 999_500 else figures.size(size_bytes)


def storage_words(library: Library, ask: LibraryAsk | None = None) -> str:
    """What the sessions take, what the trash does, and how many are marked."""
    words = f"{figures.count(len(library.entries), 'session')}, {size_text(library.size_bytes)}"
    if library.trash.sessions:
        words += f"; trash {library.trash.sessions}, {size_text(library.trash.size_bytes)}"
    here = {entry.path for entry in library.entries}
    marked = 0 if ask is None else len(ask.marked & here)
    return f"{words} · {marked} marked" if marked else words
