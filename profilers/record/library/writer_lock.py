"""Whether a session file is being written at this moment: its writer holds a lock that ends with the process."""

from __future__ import annotations

import fcntl

Held = bool | None


def hold(descriptor: int) -> bool:
    """Lock a file for its writer; False where somebody is just looking, and it has to be tried again.

    True also where the file system has no locks, because trying again would bring nothing.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True
    return True


def join(descriptor: int) -> Held:
    """Lock a file beside others who look or add a note: False while a writer holds it, None without locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_held(descriptor: int) -> Held:
    """Whether a writer holds the file; None where the file system has no locks."""
    joined = join(descriptor)
    if joined:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return None if joined is None else not joined
