"""The Experiments screen's view models: MLX's switches with what they do here, and what the tried ones brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..profilers.judge.experiments import ExperimentRow, experiment_rows
from ..profilers.record.session import Session
from . import figures
from .tables import Column, TableRow, TableView

MARKS = {"real": "real", "noise": "noise", "few": "too few", "control": "control"}


@dataclass(frozen=True, slots=True)
class SwitchFacts:
    """One switch of MLX as it is on this machine; `reason` says why no effect is expected or why it cannot be run."""

    name: str
    title: str
    arms: tuple[str, ...]
    reason: str = ""

    @property
    def runnable(self) -> bool:
        """Whether enter can start it."""
        return bool(self.arms)


@dataclass(frozen=True, slots=True)
class ExperimentsView:
    """The switches, the results in this session, and a sentence for each."""

    switches: TableView
    results: TableView
    sentences: tuple[str, ...] = ()
    known: tuple[SwitchFacts, ...] = ()

    def words(self, name: str | None) -> tuple[str, ...]:
        """One switch in words, and every result."""
        switch = next((each for each in self.known if each.name == name), None)
        about = () if switch is None else (f"{switch.name}: {switch.title}. {_available(switch)}.",)
        return (*about, *self.sentences)


def experiments_view(session: Session | None, known: Sequence[SwitchFacts], why_none: str = "") -> ExperimentsView:
    """Switches known here and those the session tried; `why_none` stands where none is known."""
    rows = () if session is None else _rows(session)
    return ExperimentsView(
        _switches(known, rows, why_none), _results(rows), tuple(row.sentence for row in rows), tuple(known)
    )


def _rows(session: Session) -> tuple[ExperimentRow, ...]:
    try:
        return experiment_rows(session)
    except (ArithmeticError, ValueError):  # a file may hold anything
        return ()


def _switches(known: Sequence[SwitchFacts], rows: Sequence[ExperimentRow], why_none: str) -> TableView:
    columns = (
        Column("name", "switch", text=True),
        Column("tried", "here", 2, text=True),
        Column("what", "what it is", 3, text=True),
        Column("reason", "available", 0, text=True),
    )
    found = [_switch_row(each, rows) for each in known]
    names = {each.name for each in known}
    found += [
        TableRow(name, (name, _tried(name, rows), "", why_none or "not known on this machine"), "quiet")
        for name in dict.fromkeys(row.name for row in rows if row.name not in names)
    ]
    return TableView(columns, tuple(found), message=why_none or "Looking which switches there are …")


def _switch_row(each: SwitchFacts, rows: Sequence[ExperimentRow]) -> TableRow:
    cells = (each.name, _tried(each.name, rows), each.title, _available(each))
    return TableRow(each.name, cells, "" if each.arms else "quiet")


def _available(each: SwitchFacts) -> str:
    reason = each.reason.rstrip(".")
    if not reason:
        return f"yes: {', '.join(each.arms)}"
    return f"as a control: {reason}" if each.arms else f"no: {reason}"


def _tried(name: str, rows: Sequence[ExperimentRow]) -> str:
    mine = [row for row in rows if row.name == name and not row.same_setting]
    if not mine:
        return ""
    return "real" if any(row.judged == "real" for row in mine) else MARKS[mine[0].judged]


def _results(rows: Sequence[ExperimentRow]) -> TableView:
    columns = (
        Column("arm", "setting", text=True),
        Column("name", "switch", 5, text=True),
        Column("width", "n", 1),
        Column("control", "control, ms", 3),
        Column("ms", "setting, ms", 3),
        Column("ratio", "÷ control", 0),
        Column("interval", "95%", 2),
        Column("judged", "judged", 0, text=True),
        Column("peak", "peak memory", 4),
        Column("cache", "caches", 6),
        Column("pairs", "pairs", 6),
    )
    found = []
    for i, row in enumerate(rows):
        tone = "quiet" if row.judged in ("control", "noise", "few") else ""
        if row.judged == "real" and row.ratio is not None:
            tone = "good" if row.ratio.estimate < 1 else "bad"
        found.append(
            TableRow(
                f"{i} {row.name} {row.arm} {row.width}",
                (
                    row.arm,
                    row.name,
                    str(row.width),
                    figures.bare_ms(row.control_ms),
                    figures.bare_ms(row.arm_ms),
                    figures.NONE if row.ratio is None else f"{row.ratio.estimate:.3f}",
                    figures.span(row.ratio, 3),
                    MARKS[row.judged],
                    _difference(row.peak_difference_bytes),
                    _difference(row.cache_difference_bytes),
                    str(row.pairs),
                ),
                tone,
            )
        )
    message = (
        "No experiment is in this session. Enter runs the selected switch against MLX as it is: passes in processes of "
        "their own, in turn, with two controls; what two controls differ by is what a switch must exceed."
    )
    return TableView(columns, tuple(found), message=message)


def _difference(change: int | None) -> str:
    return figures.NONE if change is None else f"{'+' if change >= 0 else '−'}{figures.size(abs(change))}"
