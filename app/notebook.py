"""A session for notebooks: `specview.open(path)` gives its records and its ledger as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from ..layouts.figures import count
from ..profilers.judge.blocks_table import blocks_table
from ..profilers.judge.ledger_rows import LedgerSheet
from ..profilers.judge.ledger_sheets import ledger_sheets
from ..profilers.judge.statistics import Interval
from ..profilers.record.records import Batched, Census, Probe, PromptFacts, Round, Run, Step
from ..profilers.record.session import Session, read_session

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = dict[str, str]  # a column's name, with its unit, and the field it is made of

RUN_COLUMNS: Columns = {
    "arm": "arm",
    "drafter": "drafter",
    "k_tokens": "k",
    "rule": "rule",
    "temperature": "temperature",
}
PROMPT_COLUMNS: Columns = {"prompt_kind": "kind", "prompt_index": "index"}
ROUND_COLUMNS: Columns = {
    "run": "run",
    "i": "i",
    "segment": "segment",
    "t_ns": "t_ns",
    "context_tokens": "context",
    "drafted_tokens": "drafted",
    "accepted_tokens": "accepted",
    "width_positions": "width",
    "committed_tokens": "tokens",
    "round_ns": "round_ns",
    "draft_ns": "draft_ns",
    "catch_up_positions": "catch_up_width",
    "verify_ns": "verify_ns",
    "rest_ns": "rest_ns",
    "rewind_ns": "rewind_ns",
    "warm_up": "warm_up",
    "replay": "replay",
}
BATCHED_COLUMNS: Columns = {
    "pair": "pair",
    "arm": "arm",
    "batch_sequences": "batch",
    "drafter": "drafter",
    "k_tokens": "k",
    "t_ns": "t_ns",
    "context_tokens": "context",
    "passes": "passes",
    "committed_tokens": "tokens",
    "elapsed_ns": "elapsed_ns",
    "drafted_tokens": "drafted",
    "accepted_tokens": "accepted",
    "tested_tokens": "tested",
    "draft_ns": "draft_ns",
    "verify_ns": "verify_ns",
    "rest_ns": "rest_ns",
}
STEP_COLUMNS: Columns = {
    "run": "run",
    "i": "i",
    "segment": "segment",
    "t_ns": "t_ns",
    "context_tokens": "context",
    "committed_tokens": "tokens",
    "step_ns": "step_ns",
    "pipelined": "pipelined",
    "warm_up": "warm_up",
    "replay": "replay",
}
CENSUS_COLUMNS: Columns = {
    "width_positions": "width",
    "context_tokens": "context",
    "block": "block",
    "category": "category",
    "detail": "detail",
    "layers": "layers",
    "primitive": "primitive",
    "count": "count",
    "read_bytes": "bytes_read",
    "written_bytes": "bytes_written",
    "flops": "flops",
    "covered_fraction": "coverage",
    "inputs": "inputs",
    "outputs": "outputs",
    "method": "method",
}
PROBE_COLUMNS: Columns = {
    "t_ns": "t_ns",
    "ruler": "ruler",
    "part": "part",
    "width_positions": "width",
    "batch_sequences": "batch",
    "context_tokens": "context",
    "block": "block",
    "category": "category",
    "detail": "detail",
    "layers": "layers",
    "arrangement": "arrangement",
    "pipelined": "pipelined",
    "samples_ns": "samples_ns",
    "build_ns": "build_ns",
    "eval_ns": "eval_ns",
    "slope_ns": "slope_ns",
    "slope_low_ns": "slope_low_ns",
    "slope_high_ns": "slope_high_ns",
    "run": "run",
}


class OpenedSession:
    """One saved session as DataFrames, each made when it is first asked for; needs no MLX.

    Columns carry their unit: `_ns`, `_ms`, `_tokens`, `_positions`, `_bytes`. Whole numbers that may be missing are
    pandas' `Int64`. `session` holds the records themselves.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def __repr__(self) -> str:
        kept = self.session
        counts = ", ".join(
            count(len(each), noun)
            for each, noun in ((kept.rounds, "round"), (kept.steps, "step"), (kept.probes, "probe"))
        )
        return f"<specview session {kept.header.model.id!r}: {counts}, {kept.status}>"

    @cached_property
    def rounds(self) -> DataFrame:
        """One row a round of drafting, with arm, drafter and prompt of its run; split rounds have their parts in ns."""
        return self._events(Round, ROUND_COLUMNS, self.session.rounds)

    @cached_property
    def steps(self) -> DataFrame:
        """One row a step of plain generation, with arm and prompt of its run."""
        return self._events(Step, STEP_COLUMNS, self.session.steps)

    @cached_property
    def probes(self) -> DataFrame:
        """One row a timing beside the generation: whole passes, blocks between fences, slopes of queued blocks."""
        return _frame(Probe, PROBE_COLUMNS, (*self.session.probes, *self.session.batch_probes))

    @cached_property
    def batched(self) -> DataFrame:
        """One row a stretch of several texts at once, plain, drafting or split; counts and times are of all of them."""
        return _frame(Batched, BATCHED_COLUMNS, self.session.batched)

    @cached_property
    def census(self) -> DataFrame:
        """One row a primitive, block and width: how often it runs, bytes, flops; all layers of a block together."""
        return _frame(Census, CENSUS_COLUMNS, self.session.census)

    @cached_property
    def blocks(self) -> DataFrame:
        """One row an op category, or kind of it: decode and verify in ms by both rulers, and verify ÷ decode.

        `ratio` compares one ruler with itself; `ratio_ruler` names it. Empty where no block was timed.
        """
        table = blocks_table(self.session)
        rows = [] if table is None else [*table.rows, *table.details]
        texts: dict[str, list[Any]] = {
            "category": [row.category for row in rows],
            "detail": [row.detail for row in rows],
            "ratio_ruler": [row.ratio_ruler for row in rows],
        }
        numbers = {
            "decode_queued_ms": [row.decode_queued_ms for row in rows],
            "decode_fenced_ms": [row.decode_fenced_ms for row in rows],
            "verify_queued_ms": [row.verify_queued_ms for row in rows],
            "verify_fenced_ms": [row.verify_fenced_ms for row in rows],
            "ratio": [row.ratio for row in rows],
            "ratio_low": [_low(row.ratio_interval) for row in rows],
            "ratio_high": [_high(row.ratio_interval) for row in rows],
        }
        return _typed({"verify_positions": [table.width for _ in rows if table is not None]}, "Int64").join(
            [_typed(texts, "string"), _typed(numbers, "Float64")]
        )[["category", "detail", "verify_positions", *numbers, "ratio_ruler"]]

    @cached_property
    def ledger(self) -> DataFrame:
        """One row a number of the ledger: `value` in `unit`, 95% interval, median and MAD, n, ruler, kind, source."""
        rows = [(sheet.title, row) for sheet in self._sheets for row in sheet.rows]
        texts: dict[str, list[Any]] = {
            "sheet": [title for title, _ in rows],
            "group": [row.group for _, row in rows],
            "name": [row.name for _, row in rows],
            "unit": [row.unit for _, row in rows],
            "ruler": [row.ruler for _, row in rows],
            "acceptance_kind": [row.kind for _, row in rows],
            "source": [row.source for _, row in rows],
            "remark": [row.remark for _, row in rows],
        }
        numbers = {
            "value": [row.value for _, row in rows],
            "low": [_low(row.interval) for _, row in rows],
            "high": [_high(row.interval) for _, row in rows],
            "median": [None if row.spread is None else row.spread.median for _, row in rows],
            "mad": [None if row.spread is None else row.spread.mad for _, row in rows],
        }
        counts = {"n": [row.n for _, row in rows]}
        order = ["sheet", "group", "name", "value", "unit", "low", "high", "median", "mad", "n"]
        frame = _typed(texts, "string").join([_typed(numbers, "Float64"), _typed(counts, "Int64")])
        return frame[[*order, "ruler", "acceptance_kind", "source", "remark"]]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict of each sheet of the ledger, in a sentence."""
        return tuple(sheet.sentence for sheet in self._sheets)

    @cached_property
    def _sheets(self) -> tuple[LedgerSheet, ...]:
        return ledger_sheets(self.session)

    def _events(self, cls: type[Any], columns: Columns, events: Sequence[Any]) -> DataFrame:
        """Events with the facts of their run before them; a run that the file does not name leaves gaps."""
        import pandas

        frame = _frame(cls, columns, events)
        runs = {run.run: run for run in self.session.runs}
        facts = _frame(Run, RUN_COLUMNS, runs.values()).join(
            _frame(PromptFacts, PROMPT_COLUMNS, [run.prompt for run in runs.values()])
        )
        facts = facts.set_axis(pandas.Index(list(runs), dtype="Int64")).reindex(frame["run"]).set_axis(frame.index)
        return pandas.concat([frame[["run"]], facts, frame.drop(columns="run")], axis="columns")


def open_session(path: str | Path) -> OpenedSession:
    """Read a session file; a SessionError says in one sentence why it cannot be read."""
    return OpenedSession(read_session(Path(path)))


def _frame(cls: type[Any], columns: Columns, records: Iterable[Any]) -> DataFrame:
    """Records of one class as a table, each column of the type that the record's field has, also when it is empty."""
    import pandas

    kept, hints = list(records), get_type_hints(cls)
    return pandas.DataFrame(
        {
            name: pandas.Series(list(map(attrgetter(field), kept)), dtype=_dtype(hints[field]))
            for name, field in columns.items()
        }
    )


def _dtype(hint: Any) -> str:
    """pandas' type for a field: whole numbers, numbers, truths and texts that may be missing; else objects."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if any(get_origin(kind) is tuple for kind in kinds):
        return "object"
    named = {bool: "boolean", int: "Int64", float: "Float64"}
    return next((named[kind] for kind in kinds if kind in named), "string")


def _typed(columns: Mapping[str, list[Any]], dtype: str) -> DataFrame:
    import pandas

    return pandas.DataFrame({name: pandas.Series(values, dtype=dtype) for name, values in columns.items()})


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high
