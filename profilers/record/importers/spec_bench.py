"""Spec-Bench: one JSON object a question, with the new tokens, the wall time and the length of every round."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..codec import LARGEST
from ..records import Counters
from .imported import Imported, Importer
from .object_fields import Fields
from .object_source import ObjectSource, accepted_by_position, brief

ENGINE = "Spec-Bench"
FORM = "Spec-Bench answers"

_KNOWN = frozenset(
    {
        "index",
        "turns",
        "decoding_steps",
        "new_tokens",
        "wall_time",
        "accept_lengths",
    }
)
_TELLING = re.compile(r"accept|draft|token|time|steps")
_LONGEST = 4096


def likely(head: str) -> float:
    """Whether the head of a text is such a file of answers."""
    names = ('"accept_lengths"', '"wall_time"', '"new_tokens"', '"choices"')
    return 0.95 if all(name in head for name in names) else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Read every choice of every question as one stretch, labelled with its category."""
    source = ObjectSource(ENGINE, FORM)
    for question in source.documents(lines):
        choices = question.get("choices")
        if not isinstance(choices, list) or not choices:
            if "category" in question or "question_id" in question:
                source.tally.puzzle(brief(question))
            else:
                source.tally.ignore()
            continue
        outer = Fields(question)
        source.name_model(outer.text("model_id"))
        for choice in choices:
            if isinstance(choice, dict):
                _read_choice(source, choice, outer.text("category"))
            else:
                source.tally.puzzle(brief(choice))
    return source.imported("give it the JSON lines that Spec-Bench writes to its folder of model answers.")


def _read_choice(source: ObjectSource, choice: dict[str, Any], category: str | None) -> None:
    fields = Fields(choice)
    new_tokens, wall_s, lengths = (
        fields.counts("new_tokens"),
        fields.numbers("wall_time"),
        fields.counts("accept_lengths"),
    )
    steps = fields.counts("decoding_steps")
    source.puzzle_fields(fields, _KNOWN, _TELLING)
    if lengths and max(lengths) > _LONGEST:
        source.tally.puzzle(f"accept_lengths: {max(lengths)}")
        lengths = None
    if not lengths and not (new_tokens and wall_s):
        source.tally.puzzle(brief(choice))
        return
    turns = len(new_tokens or wall_s or (1,))
    tokens = min(sum(new_tokens), LARGEST) if new_tokens else None
    elapsed_ns = round(sum(wall_s) * 1e9) if wall_s and 0 < sum(wall_s) < LARGEST / 1e9 else None
    if elapsed_ns is not None:
        source.findings.note("trap", "Spec-Bench's wall time holds that of the prompt, so its speeds are a little low.")
    speed = tokens * 1e9 / elapsed_ns if tokens and elapsed_ns else None
    derived = ["tokens_per_second"] if speed else []
    if lengths is None or _is_plain(lengths, steps, turns):
        source.keep(
            Counters(
                t_ns=0,
                arm="plain",
                source=ENGINE,
                label=category,
                tokens=tokens,
                elapsed_ns=elapsed_ns,
                tokens_per_second=speed,
                derived=tuple(derived),
            )
        )
        return
    bonus = _bonus(source, lengths, tokens, turns)
    kept = Counter(length - bonus for length in lengths)
    rounds, accepted = len(lengths), sum(lengths) - bonus * len(lengths)
    if steps and not 0 <= rounds - sum(steps) <= turns:
        source.findings.contradict(
            f"A question of category {category or 'unknown'} has {rounds:,} lengths for {sum(steps):,} decoding steps."
        )
    if tokens is None:
        tokens = rounds + accepted
        derived.append("tokens")
    source.keep(
        Counters(
            t_ns=0,
            arm="drafting",
            source=ENGINE,
            label=category,
            rounds=rounds,
            accepted=accepted,
            accepted_by_position=accepted_by_position(kept) or (0,),
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            tokens_per_second=speed,
            tokens_per_round=1 + accepted / rounds,
            derived=(*derived, "rounds", "accepted", "accepted_by_position", "tokens_per_round"),
        )
    )


def _is_plain(lengths: tuple[int, ...], steps: tuple[int, ...] | None, turns: int) -> bool:
    """A baseline writes a length of 1 for every token; drafts that all fail write the same, but hardly ever do."""
    return all(length == 1 for length in lengths) and (steps is None or abs(sum(steps) - len(lengths)) <= turns)


def _bonus(source: ObjectSource, lengths: tuple[int, ...], tokens: int | None, turns: int) -> int:
    """1 where the lengths count the bonus token, as Spec-Bench's do, 0 where they are accepted drafts alone."""
    if 0 in lengths:
        bonus = 0
    elif tokens is None:
        bonus = 1
    else:
        bonus = int(abs(sum(lengths) - tokens) <= abs(sum(lengths) + len(lengths) - tokens))
    if not bonus:
        source.findings.note("trap", "The lengths leave out the bonus token, unlike Spec-Bench's own.")
    if tokens is not None:
        committed = sum(lengths) + (0 if bonus else len(lengths))
        # each turn has a first token from its prompt, and a last round that may be cut
        if abs(committed - tokens) > turns * (max(lengths) + 2) + 0.02 * tokens:
            source.findings.contradict(f"Rounds that yield {committed:,} tokens stand beside {tokens:,} new tokens.")
    return bonus


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
