"""Measured drafts in batches, in words: where they win, where they lose, and what drafting costs there."""

from __future__ import annotations

from collections.abc import Sequence

from ..profilers.judge.batch_drafts import BatchDrafts, BatchDraftsTable, Standing
from . import figures
from .synthetic import drafter_words

WORDS: dict[Standing, str] = {"win": "win", "too close": "are too close to call", "lose": "lose"}
MUCH = 0.1  # of a round, from which drafting is worth a sentence


def drafts_sentences(table: BatchDraftsTable) -> tuple[str, ...]:
    """Where drafts win and lose, what they cost at the largest batch, and which batches have too few pairs."""
    said = [f"Measured: drafts of {table.k} by {drafter_words(table.drafter)} {_standings(table.lines)}."]
    last = table.lines[-1]
    share = _draft_share(last)
    if share is not None and share >= MUCH and last.batch > 1:
        said.append(
            f"At a batch of {last.batch} drafting is {share:.0%} of a round, because each text drafts after the other; "
            "an engine that drafts for all at once pays less."
        )
    if table.left_out:
        said.append(f"Too few pairs at {_batches(table.left_out)}: ask for more --repeats.")
    return tuple(said)


def speedup_text(line: BatchDrafts) -> str:
    """S with its interval, as measured."""
    return f"{figures.times(line.speedup.estimate)} [{line.speedup.low:.2f}, {line.speedup.high:.2f}]"


def joined(items: Sequence[object]) -> str:
    """1, 2 and 4."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _standings(lines: Sequence[BatchDrafts]) -> str:
    told = []
    for standing, words in WORDS.items():
        batches = [line.batch for line in lines if line.standing == standing]
        if batches:
            told.append(f"{words} at {_batches(batches)}")
    return ", ".join(told)


def _batches(batches: Sequence[int]) -> str:
    return f"{'a batch' if len(batches) == 1 else 'batches'} of {joined(batches)}"


def _draft_share(line: BatchDrafts) -> float | None:
    parts = (line.draft_ms, line.verify_ms, line.rest_ms)
    if any(part is None for part in parts):
        return None
    whole = sum(part for part in parts if part is not None)
    return line.draft_ms / whole if line.draft_ms is not None and whole > 0 else None
