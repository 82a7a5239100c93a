"""Exports into files: new ones only, whole or not at all, and a sentence where that cannot be."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...engine.errors import SpecviewError
from ...layouts.export.names import free_name

Pieces = Iterable[str] | Iterable[bytes]
STANDARD_OUTPUT = Path("-")


class ExportError(SpecviewError):
    """An export that cannot be made or written."""


class TakenError(ExportError):
    """The file is there already."""


def free_path(path: Path) -> Path:
    """The path, or with a number before its ending the first one that no file has."""
    return path.with_name(free_name(path.name, lambda name: os.path.lexists(path.with_name(name))))


def write_new(path: Path, pieces: Pieces, *, force: bool = False) -> None:
    """Write the pieces into a file that was not there, or with `force` in place of one that was.

    They go to a file beside it first, so that there is never half an export under the name; the folder is made.
    Raises TakenError where the name is taken, ExportError where the disk refuses.
    """
    if not force and os.path.lexists(path):
        raise TakenError(f"{path.name} is there already: choose another name, or write over it with --force.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".export-", dir=path.parent)
    except OSError as error:
        raise ExportError(_refused(path, error)) from error
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace"))
        beside.chmod(0o666 & ~_umask())
        _put(beside, path, force)
    except OSError as error:
        raise ExportError(_refused(path, error)) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _put(beside: Path, path: Path, force: bool) -> None:
    """Give the file its name; where another one has taken it meanwhile, that one stays."""
    if force:
        beside.replace(path)
        return
    try:
        os.link(beside, path)
    except FileExistsError:
        raise TakenError(f"{path.name} is there already: choose another name, or write over it with --force.") from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise TakenError(f"{path.name} is there already: choose another name.") from None
        beside.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _refused(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full, so {path.name} was not written: free some space and export again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"Nothing can be written in {path.parent}: choose another place with -o."
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"{path.parent} is no folder: choose another place with -o."
    return f"{path.name} cannot be written in {path.parent} ({(error.strerror or 'unknown error').lower()})."


def write_standard_output(pieces: Pieces) -> None:
    """Write the pieces to standard output, bytes as they are; ExportError where it was closed."""
    if sys.stdout is None:
        raise ExportError("Standard output is closed: name a file with -o.")
    for piece in pieces:
        if isinstance(piece, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(piece)
        else:
            sys.stdout.write(piece)
    sys.stdout.flush()
