"""The answer to `specview batch`: what a step and a verify pass of several sequences cost, and when drafts lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from ..profilers.judge.batch_drafts import BatchDraftsTable, batch_drafts
from ..profilers.judge.batch_table import BatchTable, WhatIfDrafts, batch_table, what_if_drafts
from ..profilers.record.session import Session
from . import figures
from .batch_words import drafts_sentences, speedup_text
from .drawn import Drawn, Fitting, head, spread, table_of, titled
from .plain import plain
from .synthetic import drafter_words

PAIRED = "S pairs stretches of the same texts, its 95% interval is over pairs"
WHAT_IF = "what-if: p was asked for, not measured, and drafts cost nothing, so S is the most they could give"


def batch(session: Session, p: float | None = None) -> Drawn:
    """Decode and verify by batch, and drafts where some were made; with an acceptance, what they could give at each."""
    table, drafted = batch_table(session), batch_drafts(session)
    notes = [Text(text) for text in _notes(session)]
    if table is None:
        return [head(session), *notes, Text("No batch was timed in this session; specview batch times them.")]
    drawn = [head(session), *notes, *_times(table), *(Text(sentence) for sentence in table.left_out)]
    if drafted is not None:
        drawn += _drafted(drafted)
    if p is None:
        drawn.append(Text("Ask what drafts would give at an acceptance with --p 0.7."))
        return drawn
    return [*drawn, *_what_if(what_if_drafts(session, p))]


def batch_object(session: Session, p: float | None = None) -> dict[str, Any]:
    """The same; `drafted` is null where nothing was drafted, `what_if` without an acceptance."""
    drafts = None if p is None else what_if_drafts(session, p)
    what_if = None if drafts is None else [{**plain(each), "sentence": each.sentence} for each in drafts]
    table, drafted = batch_table(session), batch_drafts(session)
    sentences = [] if drafted is None else list(drafts_sentences(drafted))
    return {
        "batch": plain(table),
        "drafted": None if drafted is None else {**plain(drafted), "sentences": sentences},
        "notes": _notes(session),
        "what_if": what_if,
    }


def _notes(session: Session) -> list[str]:
    return [note.text for note in session.notes if "batch" in note.tags]


def _times(table: BatchTable) -> Drawn:
    drawn = table_of("B", "n", "ms", "÷ decode", "tok/s of all", left=0)
    for line in table.lines:
        decode = f"{figures.bare_ms(line.decode_ms.estimate)}{spread(line.decode_ms)}"
        drawn.add_row(str(line.batch), "decode", decode, "", figures.significant(line.tokens_per_second))
        for each in line.verify:
            ms = f"{figures.bare_ms(each.ms.estimate)}{spread(each.ms)}"
            most = f"at most {figures.significant(each.tokens_per_second)}"
            drawn.add_row("", str(each.width), ms, figures.with_span(each.steps), most)
        drawn.add_section()
    return [
        *titled(f"Passes of B sequences, n positions of each, {table.context} positions in the cache", drawn),
        Text("Decode is pipelined, verify waited for; ÷ decode is in decode steps of the same batch, as a round is."),
        Text("“At most” counts every position as accepted and drafts as free."),
    ]


def _drafted(table: BatchDraftsTable) -> Drawn:
    phases = ("draft", "verify", "rest")
    narrow = table_of("B", "plain tok/s", "drafting", "S", "E", "α", "round ms", left=0)
    wide = table_of("B", "plain tok/s", "drafting", "S", "E", "α", "round ms", *phases, left=0)
    for line in table.lines:
        cells = (
            str(line.batch),
            figures.significant(line.plain_tokens_per_second),
            figures.significant(line.drafting_tokens_per_second),
            speedup_text(line),
            f"{line.tokens_per_round:.2f}",
            figures.NONE if line.alpha is None else figures.share(line.alpha),
            figures.bare_ms(line.round_ms),
        )
        narrow.add_row(*cells)
        wide.add_row(*cells, *(figures.bare_ms(ms) for ms in (line.draft_ms, line.verify_ms, line.rest_ms)))
    by = f"drafts of {table.k} by {drafter_words(table.drafter)}"
    return [
        *titled(f"B texts at once with {by} and without, from position {table.context} on", Fitting(wide, narrow)),
        Fitting(Text(f"{PAIRED}; phases are of fenced rounds."), Text(f"{PAIRED}.")),
        *(Text(sentence) for sentence in drafts_sentences(table)),
    ]


def _what_if(drafts: Sequence[WhatIfDrafts]) -> Drawn:
    if not drafts:
        return [Text("No pass over more than one position was timed, so no draft can be asked about.")]
    drawn = table_of("k", "B", "tokens a round", "round ÷ decode", "S at most", "tok/s of all", left=0)
    for each in drafts:
        for i, row in enumerate(each.rows):
            drawn.add_row(
                "" if i else str(each.k),
                str(row.batch),
                f"{row.tokens_per_round:.2f}",
                f"{row.round_steps:.2f}",
                figures.times(row.speedup),
                figures.significant(row.tokens_per_second),
            )
        drawn.add_section()
    title = f"Speedup by batch at p = {drafts[0].alpha:g} ({WHAT_IF})"
    return [*titled(title, drawn), *(Text(each.sentence) for each in drafts)]
