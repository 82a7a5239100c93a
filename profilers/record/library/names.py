"""Names of saved sessions: a file's name without its suffix, and which names a person may give."""

from __future__ import annotations

import os
from pathlib import Path

from ..codec import safe_text
from ..store import SUFFIX
from .disk import LibraryError

# the suffix, and a number where a name is taken, must fit 255 bytes too
LONGEST_BYTES = 220


def session_name(path: Path) -> str:
    """The name under which a session is listed, safe to show."""
    return safe_text(path.name.removesuffix(SUFFIX))


def checked_name(text: str) -> str:
    """Return a name that a session may get, without blanks around it or its suffix; LibraryError says what is wrong."""
    name = text.strip().removesuffix(SUFFIX).strip()
    if not name:
        raise LibraryError("A session needs a name of at least one character.")
    if "/" in name or "\\" in name:
        raise LibraryError("A name holds no slash: sessions stay in their library.")
    if name.startswith("."):
        raise LibraryError("A name begins with no dot: such files are hidden.")
    if name.startswith("-"):
        raise LibraryError("A name begins with no dash: commands would take it for an option.")
    if safe_text(name) != name or "\ufffd" in name:
        raise LibraryError("A name holds no control characters.")
    if len(name.encode("utf-8")) > LONGEST_BYTES:
        raise LibraryError(f"That name is too long: {LONGEST_BYTES} bytes are the most.")
    return name


def path_named(folder: Path, name: str) -> Path:
    """The file of a name in a folder."""
    return folder / f"{name}{SUFFIX}"


def free_path(path: Path) -> Path:
    """The path, with a number where it is taken."""
    name, number, found = path.name.removesuffix(SUFFIX), 2, path
    while os.path.lexists(found):
        found = path_named(path.parent, f"{name}-{number}")
        number += 1
    return found
