"""The commands of the library: list, open, note, rename and rm."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from ..engine.errors import SpecviewError
from .settings import library_cache, sessions_folder, shown_path

LIBRARY = ("list", "open", "note", "rename", "rm")


def add_library(commands: Any) -> None:
    """The commands and their options."""
    from .listing import add_list

    add_list(commands.add_parser("list", help="the saved sessions: found, sorted, with notes and tags"))
    opened = commands.add_parser("open", help="a saved session on the screen, by its name or path")
    opened.add_argument("session", type=Path, metavar="NAME", help="a name, the beginning of one, or a path")
    opened.add_argument("--light", action="store_true", help="start with the light theme")
    note = commands.add_parser("note", help="what should be remembered of a session, kept in its file")
    note.add_argument("session", type=Path, metavar="NAME")
    note.add_argument("text", nargs="?", metavar="TEXT", help="the note; it takes the place of the one before")
    note.add_argument("--tag", action="append", default=[], metavar="T", help="add a tag; may be given again")
    note.add_argument("--untag", action="append", default=[], metavar="T", help="take a tag away")
    note.add_argument("--clear", action="store_true", help="take note and tags away")
    rename = commands.add_parser("rename", help="give a saved session another name")
    rename.add_argument("session", type=Path, metavar="NAME")
    rename.add_argument("new", metavar="NEW")
    remove = commands.add_parser("rm", help="delete saved sessions; --undo brings them back")
    remove.add_argument("names", type=Path, nargs="*", metavar="NAME")
    remove.add_argument(
        "--undo", action="store_true", help="bring back what was deleted last; again for the one before"
    )
    remove.add_argument("--purge", action="store_true", help="empty the trash of what is older than 30 days, for good")
    remove.add_argument("--older-than", type=float, metavar="DAYS", help="with --purge: another age; 0 is everything")
    remove.set_defaults(usage_error=remove.error)


def library_command(options: argparse.Namespace) -> int:
    """Carry one out; returns the exit status."""
    folder = sessions_folder()
    if options.command == "list":
        from .listing import list_sessions

        return list_sessions(options, folder, library_cache())
    if options.command == "note":
        return note_session(options, folder)
    if options.command == "rename":
        return rename_session(options, folder)
    return remove_sessions(options, folder)


def note_session(options: argparse.Namespace, folder: Path) -> int:
    """Write a note and tags, or print them where none are given."""
    from ..profilers.record.library.disk import failure
    from ..profilers.record.library.entries import read_entry
    from ..profilers.record.library.names import session_name
    from ..profilers.record.library.writing import checked_tags, write_note
    from .library_names import saved_name

    path = saved_name(options.session, folder)
    try:
        entry = read_entry(path)
    except OSError as error:
        raise failure(f"{session_name(path)} was not read", error) from error
    gone = set(checked_tags(tuple(options.untag)))
    tags = tuple(tag for tag in (*entry.tags, *checked_tags(tuple(options.tag))) if tag not in gone)
    text = entry.note if options.text is None else options.text
    if options.clear:
        text, tags = options.text or "", checked_tags(tuple(options.tag))
    if options.text is None and not (options.tag or options.untag or options.clear):
        print("\n".join(part for part in (entry.note, " ".join(f"#{tag}" for tag in entry.tags)) if part) or "No note.")
        return 0
    write_note(path, text, tags, time.time_ns())
    print(f"Written into {session_name(path)}.")
    return 0


def rename_session(options: argparse.Namespace, folder: Path) -> int:
    """Give a session another name."""
    from ..profilers.record.library.writing import rename
    from .library_names import saved_name

    print(f"Renamed: {shown_path(rename(saved_name(options.session, folder), options.new))}")
    return 0


def remove_sessions(options: argparse.Namespace, folder: Path) -> int:
    """Delete, bring back, or purge; 1 where something of it could not be done."""
    if options.undo + options.purge + bool(options.names) != 1:
        options.usage_error("give names, or --undo, or --purge")
    if options.older_than is not None and not (options.purge and options.older_than >= 0):
        options.usage_error("--older-than is an age in days for --purge")
    if options.undo:
        return _undo(folder)
    return _purge(folder, options.older_than) if options.purge else _delete(options.names, folder)


def _delete(names: list[Path], folder: Path) -> int:
    from ..layouts import figures
    from ..layouts.library import size_text
    from ..profilers.record.library.trash import delete
    from .library_names import saved_name

    paths, problems = [], []
    for name in names:
        try:
            paths.append(saved_name(name, folder))
        except SpecviewError as error:
            problems.append(str(error))
    if not paths:
        raise SpecviewError(" ".join(problems))
    done = delete(folder, tuple(dict.fromkeys(paths)), time.time_ns())
    what = figures.count(len(done.names), "session")
    print(f"Deleted {', '.join(done.names)} ({what}, {size_text(done.size_bytes)}); specview rm --undo brings back.")
    return _told((*problems, *done.problems))


def _undo(folder: Path) -> int:
    from ..profilers.record.library.trash import undelete

    done = undelete(folder)
    for path in done.paths:
        print(f"Back: {shown_path(path)}")
    return _told(done.problems)


def _purge(folder: Path, older_than_days: float | None) -> int:
    from ..layouts import figures
    from ..layouts.library import size_text
    from ..profilers.record.library.trash import KEPT_DAYS, purge, trash_storage

    done = purge(folder, time.time_ns(), KEPT_DAYS if older_than_days is None else older_than_days)
    left = trash_storage(folder)
    gone = f"{figures.count(done.sessions, 'session')}, {size_text(done.size_bytes)}"
    print(f"Removed for good: {gone}; {left.sessions} left in the trash.")
    return _told(done.problems)


def _told(problems: tuple[str, ...]) -> int:
    for problem in problems:
        print(f"specview: {problem}", file=sys.stderr)
    return 1 if problems else 0
