"""Keeps what a machine was calibrated to, one JSON file a machine, so that it need not be measured every time.

A machine is told by chip, device, memory, MLX, system and BLAS, never by a name.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engine.errors import SpecviewError
from ..measure.constants import Constant
from .codec import RecordError, read_fields, write_fields
from .lines import LineError, read_line
from .records import Calibration, Environment

SCHEMA = 1
DAY_NS = 24 * 3600 * 10**9
OLDEST_NS = 30 * DAY_NS
OLDEST_UNSTEADY_NS = DAY_NS
LARGEST_BYTES = 64 * 1024
MOST_ASIDE = 100
_UNUSABLE = (RecordError, LineError)


class KeptError(SpecviewError):
    """A calibration that could not be saved; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What must be alike for constants to hold; "unknown" where the system does not tell."""

    chip: str
    device: str
    memory_bytes: int
    mlx: str
    os: str
    blas: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What a file holds."""

    schema: int
    machine: Machine
    measured_unix_ns: int
    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The constants of a machine, when they were measured, and what there is to tell, each one sentence."""

    constants: tuple[Constant, ...]
    measured_unix_ns: int
    fresh: bool
    remarks: tuple[str, ...] = ()

    def records(self, t_ns: int) -> tuple[Calibration, ...]:
        """The constants as a session keeps them."""
        return tuple(
            Calibration(what=c.what, dtype=c.dtype, value=c.value, unit=c.unit, low=c.low, high=c.high, t_ns=t_ns)
            for c in self.constants
        )


def machine_of(environment: Environment) -> Machine:
    """The part of an environment that constants depend on."""
    return Machine(
        chip=environment.chip or "unknown",
        device=environment.device or "unknown",
        memory_bytes=environment.memory_bytes or 0,
        mlx=environment.mlx or "unknown",
        os=environment.os or "unknown",
        blas=environment.blas or "unknown",
    )


def calibrated(
    folder: Path,
    machine: Machine,
    measure: Callable[[], Sequence[Constant]],
    now_unix_ns: int,
    *,
    again: bool = False,
    oldest_ns: int = OLDEST_NS,
) -> Calibrated:
    """The kept constants of this machine, or freshly measured ones, which are then kept.

    They are measured `again` if asked to, if older than `oldest_ns` (a day where the machine was busy meanwhile), or
    if the file cannot be used; such a file is put aside, not deleted. A folder that cannot be written to costs a
    remark, not the constants.
    """
    path = path_of(folder, machine)
    remarks: list[str] = []
    try:
        kept = None if again else _read(path, machine)
    except _UNUSABLE as error:
        kept = None
        remarks.append(f"The kept calibration {path.name} cannot be used, so this machine is measured again: {error}")
    if kept is not None and 0 <= now_unix_ns - kept.measured_unix_ns <= _oldest_ns(kept.constants, oldest_ns):
        return Calibrated(
            constants=kept.constants,
            measured_unix_ns=kept.measured_unix_ns,
            fresh=False,
            remarks=_unsteady(kept.constants),
        )
    if kept is not None:
        remarks.append(_out_of_date(now_unix_ns - kept.measured_unix_ns))
    constants = tuple(measure())
    try:
        if constants:
            keep(folder, machine, constants, now_unix_ns)
    except KeptError as error:
        remarks.append(str(error))
    remarks.extend(_unsteady(constants))
    return Calibrated(constants=constants, measured_unix_ns=now_unix_ns, fresh=True, remarks=tuple(remarks))


def path_of(folder: Path, machine: Machine) -> Path:
    """The file of a machine, named by a digest of what tells it."""
    text = json.dumps(write_fields("machine", machine), sort_keys=True)
    return folder / f"calibration-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"


def keep(folder: Path, machine: Machine, constants: Sequence[Constant], now_unix_ns: int) -> Path:
    """Write the file of a machine, whole or not at all; one in its place that cannot be read is put aside first."""
    path = path_of(folder, machine)
    file = _File(schema=SCHEMA, machine=machine, measured_unix_ns=now_unix_ns, constants=tuple(constants))
    data = json.dumps(write_fields("calibration file", file), allow_nan=False, indent=1).encode() + b"\n"
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _put_aside(path, machine)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", dir=folder)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
        raise KeptError(
            f"The calibration could not be saved ({_why(error)}), so it is measured again next time: make room in "
            "the folder for calibrations, or allow writing to it."
        ) from error
    return path


def _read(path: Path, machine: Machine) -> _File | None:
    """The file of a machine, None when there is none; RecordError or LineError for one that cannot be believed."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"It cannot be read ({_why(error)}).") from None
    if len(data) > LARGEST_BYTES:
        raise RecordError(f"It is larger than {LARGEST_BYTES:,} bytes.")
    raw: dict[str, Any] = read_line(data)
    if raw.get("schema") != SCHEMA:
        raise RecordError("It was written by another version of specview.")
    file = read_fields(_File, "calibration file", raw)
    if file.machine != machine:
        raise RecordError("It is of another machine.")
    if not file.constants or not all(0 < c.low <= c.value <= c.high for c in file.constants):
        raise RecordError("Its numbers make no sense.")
    return file


def _put_aside(path: Path, machine: Machine) -> None:
    """Rename what stands in the way unless it is a calibration of this machine, which a newer one replaces."""
    try:
        _read(path, machine)
    except _UNUSABLE:
        free = (path.with_name(f"{path.name}.aside-{number}") for number in range(1, MOST_ASIDE))
        aside = next((name for name in free if not os.path.lexists(name)), None)
        if aside is not None:
            path.rename(aside)


def _why(error: OSError) -> str:
    """The system's own reason, without the path that Python adds."""
    return (error.strerror or "for an unknown reason").lower()


def _oldest_ns(constants: Sequence[Constant], oldest_ns: int) -> int:
    return oldest_ns if all(c.steady for c in constants) else min(oldest_ns, OLDEST_UNSTEADY_NS)


def _unsteady(constants: Sequence[Constant]) -> tuple[str, ...]:
    names = [c.what if c.dtype is None else f"{c.what} in {c.dtype}" for c in constants if not c.steady]
    if not names:
        return ()
    return (
        f"Something else ran while this machine was calibrated ({', '.join(names)}), so floors may be too high: "
        "calibrate again when it is quiet.",
    )


def _out_of_date(age_ns: int) -> str:
    if age_ns < 0:
        return "The kept calibration is dated in the future, so this machine is measured again."
    days = age_ns // DAY_NS
    return f"The kept calibration is {days} day{'' if days == 1 else 's'} old, so this machine is measured again."
