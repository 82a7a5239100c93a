"""The calls by which a library changes a folder, and what went wrong with one of them as a sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....engine.errors import SpecviewError


class LibraryError(SpecviewError):
    """A change that was not made; the text says why, that nothing is lost, and what to do."""


def _link(source: Path, target: Path) -> None:
    os.link(source, target, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Disk:
    """The system's calls, so that a test can put a full or a read-only disk in their place."""

    link: Callable[[Path, Path], None] = _link
    replace: Callable[[Path, Path], None] = os.replace
    unlink: Callable[[Path], None] = os.unlink
    mkdir: Callable[[Path], None] = os.mkdir
    rmdir: Callable[[Path], None] = os.rmdir
    open: Callable[..., int] = os.open
    write: Callable[[int, Any], int] = os.write


DISK = Disk()
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EACCES, errno.EPERM)


def failure(what: str, error: OSError) -> LibraryError:
    """Return the sentence for a change that the system refused: `what` is e.g. "night was not renamed"."""
    if error.errno in FULL:
        return LibraryError(f"{what}, because the disk is full; nothing was lost: free some space and try again.")
    if error.errno == errno.EROFS:
        return LibraryError(f"{what}, because the disk is read-only; nothing was lost.")
    if error.errno in REFUSED:
        return LibraryError(f"{what}, because you may not write there; nothing was lost: check who owns the folder.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return LibraryError(f"{what}, because it is gone: another terminal may have renamed or deleted it.")
    if error.errno == errno.EEXIST:
        return LibraryError(f"{what}, because that name is taken; nothing was overwritten: choose another one.")
    if error.errno == errno.EXDEV:
        return LibraryError(f"{what}, because the trash is on another disk; nothing was lost.")
    reason = (error.strerror or "unknown error").lower()
    return LibraryError(f"{what} ({reason}); nothing was lost.")
