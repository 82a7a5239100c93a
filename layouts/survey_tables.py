"""What a survey found, as tables for a terminal and as plain objects for programs; pure, and without Textual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn
from .plain import plain
from .tables_batch import batch, batch_object
from .tables_blocks import blocks, blocks_object
from .tables_census import census, census_object
from .tables_curve import curve, curve_object
from .tables_experiment import experiment, experiment_object
from .tables_floor import floor, floor_object
from .tables_policies import policies, policies_object


def as_drawn(question: str, session: Session, p: float | None = None) -> Drawn:
    """The answer to a survey question (blocks, curve, batch …) as tables and sentences.

    `p` is a conditional acceptance to ask about; only batches answer it.
    """
    first, *rest = batch(session, p) if question == "batch" else _ANSWERS[question][0](session)
    return [first, *cautions(session), *rest]


def as_object(question: str, session: Session, p: float | None = None) -> dict[str, Any]:
    """The same as plain values, with what was measured on what and whether it ran to its end."""
    environment, model = plain(session.header.environment), plain(session.header.model)
    facts = {"status": session.status, "model": model, "environment": environment}
    found = batch_object(session, p) if question == "batch" else _ANSWERS[question][1](session)
    return {**facts, **found}


def cautions(session: Session) -> Drawn:
    """What is wrong with the session as a whole: it did not run to its end, or not all of it could be read."""
    said = []
    if session.status != "finished":
        why = f" ({session.footer.reason})" if session.footer is not None and session.footer.reason else ""
        said.append(f"It was {session.status}{why}: these are the figures of what was measured until then.")
    if session.problems:
        first, lines = session.problems[0], figures.count(len(session.problems), "line")
        said.append(f"{lines} of the file could not be read; the first is line {first.line}: {first.text}")
    return [Text(sentence) for sentence in said]


def everything(session: Session) -> Drawn:
    """All tables of a whole survey."""
    parts = (blocks(session), census(session)[1:], floor(session)[1:], curve(session)[1:])
    found: Drawn = [drawing for part in parts for drawing in part]
    return [*found, *experiment(session)[1:]] if session.experiments else found


def everything_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {
        "blocks": blocks_object(session),
        "census": census_object(session),
        "floor": floor_object(session),
        "curve": curve_object(session),
    }


_ANSWERS: dict[str, tuple[Callable[[Session], Drawn], Callable[[Session], dict[str, Any]]]] = {
    "blocks": (blocks, blocks_object),
    "census": (census, census_object),
    "curve": (curve, curve_object),
    "floor": (floor, floor_object),
    "experiment": (experiment, experiment_object),
    "policies": (policies, policies_object),
    "survey": (everything, everything_object),
}
