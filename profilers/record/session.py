"""Session files: opened with all protections, and read to the end."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from .codec import safe_text
from .contents import LIMITS, Limits, Problem, Session, SessionError, session_of
from .migrations import MIGRATION_BY_SCHEMA, Migration
from .reader import SessionReader

__all__ = ["LIMITS", "Limits", "Problem", "Session", "SessionError", "SessionReader", "read_session", "session_of"]

CHUNK_BYTES = 4 << 20


def read_session(
    path: Path, limits: Limits = LIMITS, migrations: Mapping[int, Migration] = MIGRATION_BY_SCHEMA
) -> Session:
    """Read a whole session file, a chunk at a time; a SessionError if it is no session or no regular file."""
    name = safe_text(path.name or str(path))
    reader = SessionReader(name, limits, migrations)
    try:
        descriptor = _open_regular(path, name)
        try:
            left = limits.file_bytes
            while chunk := os.read(descriptor, CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise SessionError(f"{name} is larger than {limits.file_bytes:,} bytes, too large to open.")
                reader.take(chunk)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SessionError(f"{name} cannot be read ({(error.strerror or 'unknown error').lower()}).") from error
    reader.finish()
    return reader.session()


def _open_regular(path: Path, name: str) -> int:
    """Open a regular file; a pipe or a device is refused without waiting for its other end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise SessionError(f"There is no file {name}.") from None
    except ValueError:
        raise SessionError(f"{name} is not a possible file name.") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
    raise SessionError(f"{name} is {what}; choose a session file.")
