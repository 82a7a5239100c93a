"""The floors of a recording from a survey of the same model on the same machine, saved in the same folder.

A recording takes no census, because that would cost its rounds time; a survey takes one and drafts nothing.
"""

from __future__ import annotations

from pathlib import Path

from ..engine.errors import SpecviewError
from ..layouts.costs_only import PLAN
from ..profilers.judge.floors import Floors, floors_of
from ..profilers.record.records import Environment, Header
from ..profilers.record.session import SessionReader, read_session

PATTERN = "*.specview.jsonl"
HEAD_BYTES = 1 << 18  # a header is the first line, and short
MOST_FILES = 200
MOST_BYTES = 64 << 20


def surveyed_floors(folder: Path, header: Header, but: Path | None = None) -> tuple[Floors, str] | None:
    """The floors of the newest survey that fits, with its file's name; None where there is none.

    Files that cannot be read are passed over; `but` is the recording itself.
    """
    try:
        paths = [path for path in folder.glob(PATTERN) if path != but and path.is_file()]
        paths = sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)[:MOST_FILES]
    except OSError:
        return None
    for path in paths:
        try:
            if not _fits(_header(path), header) or path.stat().st_size > MOST_BYTES:
                continue
            floors = floors_of(read_session(path))
        except (OSError, SpecviewError, ArithmeticError, ValueError):
            continue
        if isinstance(floors, Floors):
            return floors, path.name.removesuffix(".specview.jsonl")
    return None


def _header(path: Path) -> Header | None:
    reader = SessionReader(path.name)
    with path.open("rb") as file:
        reader.feed(file.readline(HEAD_BYTES))
    return reader.header


def _fits(survey: Header | None, recording: Header) -> bool:
    """Whether it surveys all layers of the same weights, by the same MLX and library, on the same chip."""
    if survey is None or not survey.plan.startswith(PLAN) or survey.model.layers_in_full is not None:
        return False
    return survey.model == recording.model and _machine(survey.environment) == _machine(recording.environment)


def _machine(environment: Environment) -> tuple[str | None, ...]:
    return environment.chip, environment.device, environment.mlx, environment.blas
