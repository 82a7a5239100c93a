"""The index of a library's folder: only files that are new or changed are read again, a few at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from ..codec import safe_text
from ..store import SUFFIX
from .entries import Entry, read_entry, unread_entry
from .trash import NO_STORAGE, Storage, trash_storage

Reader = Callable[[Path], Entry]


@dataclass(frozen=True, slots=True)
class Library:
    """What a folder holds, newest first; `unread` entries are known by name and size only so far.

    `trouble` is a sentence where the folder cannot be read; then the entries are those of before.
    """

    entries: tuple[Entry, ...] = ()
    trash: Storage = NO_STORAGE
    trouble: str = ""
    unread: int = 0
    looked: bool = False

    @property
    def size_bytes(self) -> int:
        """What all sessions take on the disk, the trash left out."""
        return sum(entry.size_bytes for entry in self.entries)


class Index:
    """Keeps what is known of a folder. `look` asks the system what changed, `read_some` reads of that what is due."""

    def __init__(self, folder: Path, read: Reader = read_entry) -> None:
        self._folder, self._read = folder, read
        self._entries: dict[Path, Entry] = {}
        self._due: dict[Path, None] = {}
        self._trash = Storage()
        self._trouble = ""
        self._looked = False
        self._snapshot: Library | None = None

    @property
    def folder(self) -> Path:
        """The library's folder."""
        return self._folder

    def look(self, also: Sequence[Path] = ()) -> bool:
        """Notice files that came, went, or changed; say whether anything did. A missing folder is an empty library.

        `also` are files outside the folder that are to be listed too.
        """
        before = (self._trash, self._trouble, self._looked)
        self._looked = True
        try:
            found = _sessions_in(self._folder)
            self._trouble = ""
        except FileNotFoundError:
            found, self._trouble = {}, ""
        except OSError as error:
            reason = (error.strerror or "unknown error").lower()
            self._trouble = f"The folder {safe_text(self._folder.name)} cannot be read ({reason})."
            return self._noted((self._trash, self._trouble, self._looked) != before)
        for path in also:
            with suppress(OSError):
                if path not in found and path.is_file():
                    found[path] = path.stat()
        changed = False
        for path in [path for path in self._entries if path not in found]:
            del self._entries[path]
            self._due.pop(path, None)
            changed = True
        for path, seen in found.items():
            known = self._entries.get(path)
            if known is None or _differs(known, seen):
                if known is None:
                    self._entries[path] = unread_entry(path, seen)
                self._due[path] = None
                changed = True
            elif known.status == "recording":  # its writer may have been killed, which changes no file
                self._due[path] = None
        self._trash = trash_storage(self._folder)
        return self._noted(changed or (self._trash, self._trouble, self._looked) != before)

    def read_some(self, most: int) -> bool:
        """Read at most so many entries that are due, the newest first; say whether any is different now."""
        first = nlargest(most, self._due, key=lambda path: self._entries[path].changed_ns)
        changed = False
        for path in first:
            del self._due[path]
            before = self._entries[path]
            try:
                entry = self._read(path)
            except FileNotFoundError:
                del self._entries[path]
                changed = True
                continue
            except OSError as error:
                entry = _unreadable(before, error)
            self._entries[path] = entry
            changed = changed or entry != before
        return self._noted(changed)

    @property
    def due(self) -> int:
        """How many entries are still to be read."""
        return len(self._due)

    def snapshot(self) -> Library:
        """What is known now, the same object while nothing changes."""
        if self._snapshot is None:
            entries = sorted(self._entries.values(), key=lambda entry: (-entry.when_ns, entry.name))
            unread = sum(entry.status == "unread" for entry in entries)
            self._snapshot = Library(tuple(entries), self._trash, self._trouble, unread, self._looked)
        return self._snapshot

    def _noted(self, changed: bool) -> bool:
        if changed:
            self._snapshot = None
        return changed


def read_library(folder: Path) -> Library:
    """Read all entries of a folder at once, for a command."""
    index = Index(folder)
    index.look()
    while index.due:
        index.read_some(index.due)
    return index.snapshot()


def _sessions_in(folder: Path) -> dict[Path, os.stat_result]:
    found = {}
    with os.scandir(folder) as listing:
        for item in listing:
            if item.name.endswith(SUFFIX) and not item.name.startswith("."):
                try:
                    if item.is_file():
                        found[folder / item.name] = item.stat()
                except OSError:
                    continue  # gone while we looked
    return found


def _differs(entry: Entry, seen: os.stat_result) -> bool:
    return (entry.size_bytes, entry.changed_ns, entry.inode) != (seen.st_size, seen.st_mtime_ns, seen.st_ino)


def _unreadable(entry: Entry, error: OSError) -> Entry:
    reason = (error.strerror or "unknown error").lower()
    return Entry(
        path=entry.path,
        name=entry.name,
        size_bytes=entry.size_bytes,
        changed_ns=entry.changed_ns,
        inode=entry.inode,
        status="unreadable",
        reason=f"It cannot be read ({reason}).",
    )
