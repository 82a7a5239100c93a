"""dflash-mlx: the summary of a generation; its acceptance is accepted ÷ generated, its blocks count positions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..codec import LARGEST
from ..records import Counters
from .imported import Imported, Importer
from .object_fields import Fields
from .object_source import ObjectSource, accepted_by_position, brief, objects_in

ENGINE = "dflash-mlx"
FORM = "dflash-mlx summary"

_KNOWN = frozenset(
    {
        "ttft_ms",
        "generation_tps",
        "accepted_from_draft",
        "tokens_per_cycle",
        "cycles",
        "cycles_completed",
        "acceptance_ratio",
        "elapsed_us",
        "phase_timings_us",
        "generation_tokens",
        "block_tokens",
        "draft_tokens_attempted",
        "draft_acceptance_ratio",
        "acceptance_history",
        "acceptance_first_20_avg",
        "acceptance_last_20_avg",
        "acceptance_position_rates",
        "acceptance_position_attempts",
        "acceptance_position_accepted",
        "verify_len_cap",
        "draft_sink_size",
        "draft_window_size",
        "verify_chunk_tokens",
        "prompt_token_count",
        "peak_memory_gb",
    }
)
_MARKS = ("acceptance_ratio", "accepted_from_draft", "tokens_per_cycle", "generation_tps", "cycles_completed")
_TELLING = re.compile(r"accept|draft|verify|cycle|_tps$|_us$")
_PLAIN = re.compile(r"base|plain|vanilla|autoregressive|(?:^|[._])ar(?:$|[._])", re.IGNORECASE)
# Phases that are timed around lazy graphs hold only the building of them: such a set is a fraction of the whole.
_LEAST_SHARE = 0.8


def likely(head: str) -> float:
    """Whether the head of a text is such a summary."""
    names = ('"accepted_from_draft"', '"acceptance_ratio"', '"phase_timings_us"', '"tokens_per_cycle"')
    return (0.0, 0.3, 0.6, 0.85, 0.95)[sum(name in head for name in names)]


def read(lines: Iterable[str]) -> Imported:
    """Read each summary of a text as one stretch; a `baseline` beside it, or a fallback, is plain decoding."""
    source = ObjectSource(ENGINE, FORM)
    for value in source.documents(lines):
        found = False
        for path, item in objects_in(value):
            for name in ("model", "target_model", "model_id"):
                source.name_model(Fields(item).text(name))
            if any(name in item for name in _MARKS):
                found = True
                _read_summary(source, item, path)
        if not found:
            source.tally.ignore()
    return source.imported("give it the JSON that dflash-mlx prints after a generation.")


def _read_summary(source: ObjectSource, item: dict[str, Any], path: str) -> None:
    fields = Fields(item)
    label = fields.text("name") or path or None
    rounds = fields.count("cycles_completed" if "cycles_completed" in item else "cycles")
    accepted, tokens = fields.count("accepted_from_draft"), fields.count("generation_tokens")
    ratio, mean, speed = (fields.number(name) for name in ("acceptance_ratio", "tokens_per_cycle", "generation_tps"))
    drafted, block = fields.count("draft_tokens_attempted"), fields.count("block_tokens")
    derived: list[str] = []
    # what was counted overrules a name: "database" and "explain" hold the words for plain decoding too
    drafting = bool(accepted or drafted or ratio) or (mean is not None and mean > 1)
    named_plain = bool(_PLAIN.search(path)) or (accepted is None and ratio is None and mean is None)
    plain = item.get("fallback_ar") is True or (named_plain and not drafting)
    if ratio is not None and ratio > 1:
        source.findings.contradict(f"An acceptance ratio of {ratio:g} is more than all; it was left out.")
        ratio = None
    if accepted is None and ratio is not None and tokens is not None:
        accepted = round(ratio * tokens)
        derived.append("accepted")
    if tokens is None and rounds is not None and accepted is not None and not plain:
        tokens = min(rounds + accepted, LARGEST)
        derived.append("tokens")
    if ratio is not None and accepted is not None and tokens and abs(accepted / tokens - ratio) > 0.01 + 1 / tokens:
        source.findings.contradict(
            f"The acceptance ratio is {ratio:.3f}, but {accepted:,} of {tokens:,} tokens is {accepted / tokens:.3f}."
        )
    elapsed_ns = _decode_ns(fields)
    if elapsed_ns is not None and "elapsed_us" in item:
        derived.append("elapsed_ns")
    if speed is None and tokens and elapsed_ns:
        speed = tokens * 1e9 / elapsed_ns
        derived.append("tokens_per_second")
    elif elapsed_ns is None and tokens and speed:
        elapsed_ns = min(round(tokens * 1e9 / speed), LARGEST)
        derived.append("elapsed_ns")
    if not speed and accepted is None and mean is None:
        source.puzzle_fields(fields, _KNOWN, _TELLING)
        source.tally.puzzle(brief(item))
        return
    history = fields.counts("acceptance_history")
    positions = _positions(source, history, rounds, accepted)
    if plain:
        source.keep(
            Counters(
                t_ns=0,
                arm="plain",
                source=ENGINE,
                label=label,
                tokens=tokens,
                elapsed_ns=elapsed_ns,
                tokens_per_second=speed or None,
                derived=tuple(derived),
            )
        )
    else:
        if block:
            source.findings.note("trap", "block_tokens counts positions: a block of n is a draft of k = n − 1.")
        if mean is None and rounds and accepted is not None:
            mean = 1 + accepted / rounds
            derived.append("tokens_per_round")
        phases = _phases(source, item, elapsed_ns, derived)
        source.keep(
            Counters(
                t_ns=0,
                arm="drafting",
                source=ENGINE,
                label=label,
                drafter="dflash",
                k=block - 1 if block else None,
                rounds=rounds,
                drafted=drafted,
                accepted=accepted,
                accepted_by_position=positions,
                tokens=tokens,
                elapsed_ns=elapsed_ns,
                draft_ns=phases[0],
                verify_ns=phases[1],
                rest_ns=phases[2],
                tokens_per_second=speed or None,
                tokens_per_round=mean or None,
                derived=tuple(dict.fromkeys((*derived, *(("accepted_by_position",) if positions else ())))),
            )
        )
    source.puzzle_fields(fields, _KNOWN, _TELLING)


def _positions(
    source: ObjectSource, history: tuple[int, ...] | None, rounds: int | None, accepted: int | None
) -> tuple[int, ...] | None:
    """Accepted by position, from the history of every cycle; a history of some of them is not that of all."""
    if not history or max(history) > 4096:
        return None
    if (rounds is not None and len(history) != rounds) or (accepted is not None and sum(history) != accepted):
        source.findings.contradict(f"The history of {len(history):,} cycles does not add up to the totals beside it.")
        return None
    counts: dict[int, int] = {}
    for kept in history:
        counts[kept] = counts.get(kept, 0) + 1
    return accepted_by_position(counts)


def _decode_ns(fields: Fields) -> int | None:
    """The whole time without that of the prompt."""
    whole = fields.number("elapsed_us")
    prefill = _phase_fields(fields.values).number("prefill")
    if whole is None or prefill is None:
        return None
    decode_ns = round((whole - prefill) * 1000)
    return decode_ns if 0 < decode_ns <= LARGEST else None


def _phase_fields(item: dict[str, Any]) -> Fields:
    phases = item.get("phase_timings_us")
    return Fields(phases if isinstance(phases, dict) else {})


def _phases(
    source: ObjectSource, item: dict[str, Any], elapsed_ns: int | None, derived: list[str]
) -> tuple[int | None, int | None, int | None]:
    """Draft, verify and rest, where the engine waited for its phases; `draft` holds its own two sub-phases."""
    fields = _phase_fields(item)
    draft, verify, replay, commit = (fields.number(name) for name in ("draft", "verify", "replay", "commit"))
    for wrong in fields.wrong:
        source.tally.puzzle(f"phase_timings_us.{wrong}")
    given_us = sum(part for part in (draft, verify, replay, commit) if part is not None)
    if given_us <= 0 or given_us > LARGEST / 1000:
        return None, None, None
    if elapsed_ns is not None and given_us * 1000 < _LEAST_SHARE * elapsed_ns:
        source.findings.note(
            "trap",
            f"The phases add up to {given_us * 1000 / elapsed_ns:.0%} of the time: they were not waited for, so they "
            "were left out.",
        )
        return None, None, None
    rest = None
    if replay is not None and commit is not None:
        rest = replay + commit
        derived.append("rest_ns")
    return _ns(draft), _ns(verify), _ns(rest)


def _ns(us: float | None) -> int | None:
    return None if us is None else round(us * 1000)


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
