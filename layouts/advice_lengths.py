"""Draft lengths at one acceptance as a table: off first, the best one marked, with what a row asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..profilers.judge.question import Basis, Question
from ..profilers.judge.statistics import Interval
from ..profilers.judge.what_wins import speedups_by_k
from . import figures
from .advice_facts import AdviceFacts
from .tables import Column, TableRow, TableView
from .view_models import WhatIf

LENGTHS = (
    Column("k", "k"),
    Column("tokens", "E", 2),
    Column("steps", "R", 2),
    Column("speedup", "S", 0),
    Column("interval", "95%", 3),
    Column("asked", "what if", 0),
    Column("needed", "p ≥", 1),
    Column("limit", "verify ≤ ms", 4),
    Column("mark", "", 0, text=True, least=24),
)


def lengths_table(facts: AdviceFacts, basis: Basis, asked: Question | None) -> tuple[TableView, list[tuple[str, str]]]:
    """A row for each k that can be asked about, off first, and what is said of each."""
    scan = facts.lengths
    if scan is None:
        return TableView(message="No verify width beyond one was measured."), []
    intervals = dict(facts.intervals)
    now = {} if asked is None else speedups_by_k(basis, asked)
    best = scan.best_k
    best_asked = max(now, key=lambda k: now[k], default=0)
    best_asked = best_asked if now.get(best_asked, 0.0) > 1 else 0
    columns = tuple(column for column in LENGTHS if asked is not None or column.key != "asked")
    rows, remarks = [], []
    rows.append(TableRow("k 0", _cells(columns, k="0", speedup="1.00x", mark="◀ best: off" if best == 0 else "off")))
    remarks.append(("k 0", "Drafting off: plain decoding, by definition 1x."))
    for row in scan.rows:
        own = facts.measured if row.k == basis.k else None
        run = "this run" if own is None else f"this run, {figures.times(own.estimate)} measured"
        marks = [run] if row.k == basis.k and basis.measured else []
        marks += ["◀ best"] if row.k == best else []
        marks += ["cannot win"] if row.cannot_win and own is None else []  # "p ≥ none" says so too
        marks += ["◇ best, what if"] if asked is not None and row.k == best_asked else []
        interval = intervals.get(row.k)
        needed = row.break_even_acceptance
        rows.append(
            TableRow(
                f"k {row.k}",
                _cells(
                    columns,
                    k=str(row.k),
                    tokens=f"{row.tokens_per_round:.2f}",
                    steps=f"{row.round_steps:.2f}",
                    speedup=figures.times(row.speedup),
                    interval=figures.span(interval),
                    asked=figures.times(now.get(row.k)),
                    needed="none" if needed is None else f"{needed:.2f}",
                    limit="" if row.break_even_verify_ms is None else figures.bare_ms(row.break_even_verify_ms),
                    mark=", ".join(marks),
                ),
                "good" if row.k == best else "bad" if row.cannot_win else "",
            )
        )
        remarks.append((f"k {row.k}", _length_words(row.k, row.speedup, interval, basis)))
    if asked is not None and best_asked == 0:
        rows[0] = replace(rows[0], cells=(*rows[0].cells[:-1], f"{rows[0].cells[-1]} ◇ best, what if".strip()))
    return TableView(columns, tuple(rows)), remarks


def _cells(columns: Sequence[Column], **text_by_key: str) -> tuple[str, ...]:
    return tuple(text_by_key.get(column.key, "") for column in columns)


def _length_words(k: int, speedup: float, interval: Interval | None, basis: Basis) -> str:
    sure = ""
    if interval is not None:
        sure = " The interval leaves 1 out." if not interval.holds(1.0) else " Its interval holds 1: too close to tell."
    at = "at the measured acceptance" if basis.measured else "at p = 0.50, because nothing was accepted here"
    return f"k = {k}, {at}: {figures.times(speedup)}.{sure} Enter asks what if k were {k}."


def length_question(key: str, basis_k: int) -> WhatIf | None:
    """What a row of the lengths asks; None for off."""
    k = int(key.removeprefix("k ")) if key.startswith("k ") else 0
    return None if k == 0 else WhatIf(k=None if k == basis_k else k)
