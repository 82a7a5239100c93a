"""The answer to `specview experiment`: switches of MLX against MLX as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from ..profilers.judge.experiments import ExperimentRow, experiment_rows
from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn, flowing, head, short_size, table_of, titled
from .plain import plain


def experiment(session: Session) -> Drawn:
    """Each switch against the control."""
    rows = experiment_rows(session)
    if not rows:
        return [head(session), Text("No experiment is in this session; specview experiment runs them.")]
    by_switch: dict[str, list[ExperimentRow]] = {}
    for row in rows:
        by_switch.setdefault(row.name, []).append(row)
    tables = (drawing for name, mine in by_switch.items() for drawing in _switch(name, mine))
    return [head(session), *tables, *(Text(row.sentence) for row in rows)]


def _switch(name: str, rows: Sequence[ExperimentRow]) -> Drawn:
    drawn = table_of("setting", "n", "÷ control", "judged", "peak memory")
    flowing(drawn, 0)
    for row in rows:
        change = row.peak_difference_bytes
        memory = figures.NONE if change is None else f"{'+' if change >= 0 else '−'}{short_size(abs(change))}"
        drawn.add_row(row.arm, str(row.width), figures.with_span(row.ratio, 3), row.judged, memory)
    return titled(f"{name}: passes under a setting ÷ passes of a process as it is", drawn)


def experiment_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"experiments": [{**plain(row), "sentence": row.sentence} for row in experiment_rows(session)]}
