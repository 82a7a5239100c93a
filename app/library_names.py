"""Which session is meant by a word on the command line: a path, or the name of a saved one or its beginning."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from ..profilers.record.codec import safe_text
from ..profilers.record.library.disk import LibraryError
from ..profilers.record.store import SUFFIX

SHOWN = 5


def session_path(given: Path, folder: Path, commands: Sequence[str] = ()) -> Path:
    """Return the file that is meant: the path if there is such a file, else the saved session of that name.

    The beginning of a name does where only one begins so. What looks like a path is given back as it is, so that
    whoever opens it says what is wrong. LibraryError names what comes near, `commands` among it.
    """
    if os.path.lexists(given):
        return given
    word = str(given)
    names = saved_names(folder)
    plain = word.removesuffix(SUFFIX)
    if plain in names:
        return folder / f"{plain}{SUFFIX}"
    found = [name for name in names if name.casefold().startswith(plain.casefold())] if plain else []
    if len(found) == 1:
        return folder / f"{found[0]}{SUFFIX}"
    if len(found) > 1:
        raise LibraryError(
            f"{safe_text(word)} fits {len(found)} saved sessions: {_some(found)}; write more of the name."
        )
    if os.sep in word or word.startswith((".", "~")) or word.endswith(".jsonl"):
        return given
    raise LibraryError(f"There is no file and no saved session {safe_text(word)}; {_near(plain, names, commands)}")


def find_sessions(options: argparse.Namespace, folder: Path, commands: Sequence[str] = ()) -> None:
    """Put the files that are meant in the place of what was typed, for every command that takes sessions."""
    for field in ("session", "sessions", "base", "others", "other", "follow"):
        given = getattr(options, field, None)
        if isinstance(given, Path):
            setattr(options, field, session_path(given, folder, commands))
        elif isinstance(given, list) and all(isinstance(each, Path) for each in given):
            setattr(options, field, [session_path(each, folder, commands) for each in given])


def saved_name(given: Path, folder: Path) -> Path:
    """The same for a session that is to be changed."""
    path = session_path(given, folder)
    if not os.path.lexists(path):
        raise LibraryError(f"There is no file {safe_text(path.name)}; specview list shows the saved sessions.")
    return folder / path.name if path.parent.resolve() == folder.resolve() else path


def saved_names(folder: Path) -> list[str]:
    """The names of all sessions of a folder, without reading any; none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as listing:
            names = [each.name for each in listing if each.name.endswith(SUFFIX) and not each.name.startswith(".")]
    except OSError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names)


def _near(word: str, names: Sequence[str], commands: Sequence[str]) -> str:
    command = get_close_matches(word, commands, 1, 0.8)
    if command:
        return f"do you mean the command {command[0]}? specview --help lists all."
    inside = [name for name in names if word.casefold() in name.casefold()]
    near = list(dict.fromkeys((*inside, *get_close_matches(word, names, SHOWN, 0.5))))
    if near:
        return f"near names: {_some(near)}."
    return "specview list shows the saved ones." if names else "no session is saved yet: specview record makes one."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(safe_text(name) for name in names[:SHOWN]) + more
