"""The answer to `specview policies`: ways to run a verify pass against one pass."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from ..profilers.judge.experiments import ExperimentRow, experiment_rows
from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn, flowing, head, short_size, table_of, titled
from .plain import plain

EXPERIMENT = "verify policy"  # the name under which a survey records it
SMALL_BYTES = 50_000  # MLX's peak moves by less between passes that are the same


def policies(session: Session) -> Drawn:
    """Each policy against one pass at each width, what it gives, and which were not tried and why."""
    rows, notes = _rows(session), [Text(text) for text in _notes(session)]
    if not rows:
        return [head(session), *notes, Text("No verify policy was timed in this session; specview policies does it.")]
    drawn = table_of("policy", "n", "ms", "÷ one pass", "judged", "memory")
    flowing(drawn, 0)
    for row in rows:
        ratio = figures.with_span(row.ratio, 3)
        drawn.add_row(
            row.arm, str(row.width), figures.bare_ms(row.arm_ms), ratio, row.judged, _memory(row.peak_difference_bytes)
        )
    table = titled("Verify policies: a pass by each ÷ one pass over all positions, synchronous", drawn)
    return [head(session), *table, *(Text(_sentence(row)) for row in rows), *notes]


def _memory(more_bytes: int | None) -> str:
    if more_bytes is None:
        return figures.NONE
    return (
        "the same"
        if abs(more_bytes) < SMALL_BYTES
        else f"{'+' if more_bytes > 0 else '−'}{short_size(abs(more_bytes))}"
    )


def policies_object(session: Session) -> dict[str, Any]:
    """The same."""
    rows = [{**plain(row), "sentence": _sentence(row)} for row in _rows(session)]
    return {"policies": rows, "not_tried": _notes(session)}


def _rows(session: Session) -> list[ExperimentRow]:
    return [row for row in experiment_rows(session) if row.name == EXPERIMENT]


def _notes(session: Session) -> list[str]:
    return [note.text for note in session.notes if "policies" in note.tags]


def _sentence(row: ExperimentRow) -> str:
    if row.judged == "control" and row.ratio is not None:
        ratio = row.ratio
        change = f"{ratio.estimate - 1:+.1%} ({ratio.low - 1:+.1%} to {ratio.high - 1:+.1%})"
        return f"One pass timed twice differs by {change} at width {row.width}: less than that is noise."
    return row.sentence if row.detail is None else f"{row.sentence.removesuffix('.')}; {row.detail}."
