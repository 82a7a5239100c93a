"""Moving a file to another path of the same disk, never over another file."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from .disk import DISK, Disk

# what file systems without hard links, and kernels that protect them, answer
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def move(source: Path, target: Path, disk: Disk = DISK) -> None:
    """Move `source`; FileExistsError where `target` is taken, and any other OSError leaves the file where it was.

    A hard link first and then one name less, because a plain rename would overwrite whatever another
    terminal put there a moment ago.
    """
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    try:
        disk.link(source, target)
    except NotImplementedError:
        _move_over_placeholder(source, target, disk)
        return
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _move_over_placeholder(source, target, disk)
        return
    try:
        disk.unlink(source)
    except OSError:
        with suppress(OSError):
            disk.unlink(target)
        raise


def _move_over_placeholder(source: Path, target: Path, disk: Disk) -> None:
    """Take the name with an empty file of our own, and rename over that."""
    if not os.path.lexists(source):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    os.close(disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        disk.replace(source, target)
    except OSError:
        with suppress(OSError):
            disk.unlink(target)
        raise
