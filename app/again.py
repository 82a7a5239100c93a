"""The command-line options that load the model of a session once more; a session keeps no path, so not all can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from ..engine.errors import SpecviewError
from ..profilers.record.records import Header

BUNDLED = "bundled"
KEPT = ("--model", "--dtype", "--trust-remote-code")


class WhichModelError(SpecviewError):
    """Nothing says where the model of a session lies."""


def model_options(header: Header | None, given: Sequence[str]) -> tuple[str, ...]:
    """Options of a survey of the same model: those `given` on the command line where they name it, else by its id.

    Raises WhichModelError where the session's model lies in a folder that nobody named.
    """
    asked = _kept(given)
    named = _value(asked, "--model") or BUNDLED
    if header is None:
        return asked
    model = header.model
    if named != BUNDLED and PurePath(named.rstrip("/")).name == PurePath(model.id).name:
        return asked
    dtype = ("--dtype", model.dtype) if model.quantisation is None else ()
    if model.random_weights:
        built = str(sum(count for _, count in model.layers))
        layers = () if model.layers_in_full is None else ("--layers", built)
        return ("--shape", model.id, *layers)
    if model.id == BUNDLED:
        return ("--model", BUNDLED, *dtype)
    if model.id.count("/") == 1:
        return ("--model", model.id, *dtype)
    raise WhichModelError(
        f"This session does not say where {model.id} lies: run specview survey --model FOLDER, then open what it saves."
    )


def _kept(given: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for i, option in enumerate(given):
        if option in KEPT:
            found.append(option)
            if option != "--trust-remote-code" and i + 1 < len(given):
                found.append(given[i + 1])
    return tuple(found)


def _value(options: Sequence[str], name: str) -> str | None:
    return options[options.index(name) + 1] if name in options else None
