"""`specview export --as csv`: every timed event of a session as one table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ..engine.errors import SpecviewError
from ..profilers.record.session import Session, read_session


class TableError(SpecviewError):
    """A table that cannot be written."""


def export_table(session: Path, out: Path) -> None:
    """Write rounds, steps and probes of a session as CSV, one row each, in the order they happened; times in ns.

    Texts are left out: a table is made for numbers, and model text may hold anything.
    """
    table = events_table(read_session(session))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(table, encoding="utf-8")
    except OSError as error:
        raise TableError(f"{out.name} cannot be written ({(error.strerror or 'unknown error').lower()}).") from error


def events_table(session: Session) -> str:
    """The table as CSV text; `event` says what a row is, and columns that do not apply are empty."""
    import pandas

    arms = {run.run: (run.arm, run.drafter, run.k, run.prompt.kind, run.prompt.hash) for run in session.runs}
    rows = []
    for name, events in (("round", session.rounds), ("step", session.steps)):
        for event in events:
            arm, drafter, k, kind, prompt = arms.get(event.run, ("", "", 0, "", ""))
            facts = {key: value for key, value in asdict(event).items() if key != "pieces"}
            rows.append(
                {"event": name, "arm": arm, "drafter": drafter, "k": k, "prompt_kind": kind, "prompt": prompt, **facts}
            )
    for probe in (*session.probes, *session.batch_probes):
        facts = asdict(probe)
        for key in ("samples_ns", "build_ns", "eval_ns"):
            facts[key] = " ".join(str(ns) for ns in facts[key] or ())
        rows.append({"event": "probe", **facts})
    frame = pandas.DataFrame(rows).convert_dtypes()  # whole numbers stay whole where a column has gaps
    if not frame.empty:
        frame = frame.sort_values("t_ns", kind="stable")
    text: str = frame.to_csv(index=False)
    return text
