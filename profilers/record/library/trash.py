"""Deleting with undo: sessions move into a folder beside them, named by the moment, and come back from there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ....engine.errors import SpecviewError
from ..store import SUFFIX
from .disk import DISK, Disk, LibraryError, failure
from .moving import move
from .names import free_path, session_name
from .writing import refuse_while_written

TRASH = ".trash"
KEPT_DAYS = 30
_STAMP = re.compile(r"\d{8}-\d{6}-\d{9}")
_DAY_NS = 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Storage:
    """How many sessions there are, and the bytes they take."""

    sessions: int = 0
    size_bytes: int = 0


NO_STORAGE = Storage()


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted at one moment, `stamp`, which brings it back; `problems` says of each other why it was not."""

    stamp: str
    names: tuple[str, ...]
    size_bytes: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restoration:
    """Which files are back, under another name where theirs was taken; `problems` of those that are not."""

    paths: tuple[Path, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Purge:
    """What is gone for good."""

    sessions: int
    size_bytes: int
    problems: tuple[str, ...] = ()


def delete(folder: Path, paths: Sequence[Path], now_unix_ns: int, disk: Disk = DISK) -> Deletion:
    """Move sessions of a library into its trash, together, so that one undo brings all of them back.

    One that cannot be moved stays where it is. LibraryError if none could be.
    """
    stamp, place = _new_place(folder, now_unix_ns, disk)
    names, problems, size_bytes = [], [], 0
    for path in paths:
        name = session_name(path)
        try:
            if path.parent.resolve() != folder.resolve():
                raise LibraryError(f"{name} is in no library; delete the file itself.")
            refuse_while_written(path, f"{name} was not deleted")
            size = path.lstat().st_size
            move(path, place / path.name, disk)
        except OSError as error:
            problems.append(str(failure(f"{name} was not deleted", error)))
        except SpecviewError as error:
            problems.append(str(error))
        else:
            names.append(name)
            size_bytes += size
    if not names:
        with suppress(OSError):
            disk.rmdir(place)
        raise LibraryError(" ".join(problems) or "Nothing was chosen to be deleted.")
    return Deletion(stamp, tuple(names), size_bytes, tuple(problems))


def undelete(folder: Path, stamp: str | None = None, disk: Disk = DISK) -> Restoration:
    """Bring back what was deleted at that moment, or last, by whichever terminal; LibraryError if nothing came back."""
    stamps = _stamps(folder)
    wanted = stamps[-1:] if stamp is None else [each for each in stamps if each == stamp]
    if not wanted:
        raise LibraryError("There is nothing to bring back: the trash is empty." if stamp is None else _ALREADY)
    place = folder / TRASH / wanted[0]
    paths, problems = [], []
    for lying in _files(place):
        try:
            target = free_path(folder / lying.name)
            move(lying, target, disk)
        except OSError as error:
            problems.append(str(failure(f"{session_name(lying)} was not brought back", error)))
        else:
            paths.append(target)
    with suppress(OSError):
        disk.rmdir(place)
    if not paths:
        raise LibraryError(" ".join(problems) or _ALREADY)
    return Restoration(tuple(paths), tuple(problems))


_ALREADY = "There is nothing to bring back: another terminal has done so already, or emptied the trash."


def trash_storage(folder: Path) -> Storage:
    """How much lies in a library's trash."""
    sizes = [size for stamp in _stamps(folder) for size in _sizes(folder / TRASH / stamp)]
    return Storage(len(sizes), sum(sizes))


def purge(folder: Path, now_unix_ns: int, older_than_days: float = KEPT_DAYS, disk: Disk = DISK) -> Purge:
    """Remove for good what was deleted longer ago; of what cannot be removed the problems say why."""
    sessions, size_bytes, problems = 0, 0, []
    for stamp in _stamps(folder):
        if now_unix_ns - _moment_ns(stamp) < older_than_days * _DAY_NS:
            continue
        place = folder / TRASH / stamp
        for lying in _files(place):
            try:
                size = lying.lstat().st_size
                disk.unlink(lying)
            except OSError as error:
                problems.append(str(failure(f"{session_name(lying)} was not removed", error)))
            else:
                sessions += 1
                size_bytes += size
        with suppress(OSError):
            disk.rmdir(place)
    return Purge(sessions, size_bytes, tuple(problems))


def _new_place(folder: Path, now_unix_ns: int, disk: Disk) -> tuple[str, Path]:
    """Make the folder for one deletion, with the moment as its name; later ones sort later."""
    trash = folder / TRASH
    last = max((_moment_ns(stamp) for stamp in _stamps(folder)), default=0)
    moment_ns = max(now_unix_ns, last + 1)  # a clock set back must not change the order of undos
    try:
        with suppress(FileExistsError):
            disk.mkdir(trash)
        while True:
            stamp = _stamp(moment_ns)
            try:
                disk.mkdir(trash / stamp)
            except FileExistsError:
                moment_ns += 1
            else:
                return stamp, trash / stamp
    except OSError as error:
        raise failure("Nothing was deleted", error) from error


def _stamp(moment_ns: int) -> str:
    seconds, rest_ns = divmod(moment_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d-%H%M%S}-{rest_ns:09d}"


def _moment_ns(stamp: str) -> int:
    try:
        moment = datetime.strptime(stamp[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return int(moment.timestamp()) * 1_000_000_000 + int(stamp[16:])


def _stamps(folder: Path) -> list[str]:
    """The moments at which something was deleted that still lies there, the last one last."""
    try:
        with os.scandir(folder / TRASH) as listing:
            folders = [each.name for each in listing if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in folders if _STAMP.fullmatch(name) and _files(folder / TRASH / name))


def _files(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as listing:
            return sorted(Path(each.path) for each in listing if each.name.endswith(SUFFIX))
    except OSError:
        return []


def _sizes(place: Path) -> list[int]:
    sizes = []
    for path in _files(place):
        with suppress(OSError):
            sizes.append(path.lstat().st_size)
    return sizes
