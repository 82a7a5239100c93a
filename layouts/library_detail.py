"""One session of the library in full: its verdict, what was measured where, and what was written down."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from ..profilers.record.library.entries import Entry
from . import figures
from .library import KIND_WORDS, SIGNS, STATUS_WORDS, drafter_text, size_text
from .library_verdict import LARGEST_BYTES, VerdictWords
from .lines import EMPTY, Line, folded, line, wrapped

LABEL = 9
VERDICT_TONES = {"wins": "good", "loses": "bad", "cannot_win": "bad", "too_close": "warn"}


def why_none(entry: Entry, paused: str) -> str:
    """Why the list has no verdict of a session yet; `paused` is why none are reckoned at the moment."""
    if entry.status == "recording":
        return "It is being recorded: enter follows it."
    if entry.size_bytes > LARGEST_BYTES:
        return f"At {size_text(entry.size_bytes)} it is too large to be reckoned for a list: enter opens it."
    return paused or "Reckoning what it says …"


def detail_lines(
    entry: Entry | None, verdict: VerdictWords | None, width: int, paused: str = "", zone: tzinfo | None = None
) -> list[Line]:
    """The chosen session, its verdict first."""
    if entry is None:
        return []
    state = f"{SIGNS[entry.status]} {KIND_WORDS[entry.kind]}, {STATUS_WORDS[entry.status]}".replace("  ", " ")
    if entry.status in ("recording", "unreadable", "empty", "unread"):
        state = f"{SIGNS[entry.status]} {STATUS_WORDS[entry.status]}"
    reason = f": {entry.reason}" if entry.reason else ""
    lines = folded(line((entry.name, "strong"), (f"  {state}{reason}", "quiet")), width)
    if entry.status in ("unreadable", "empty"):
        return [*lines, *_labelled("file", size_text(entry.size_bytes), width)]
    lines += _said(verdict, why_none(entry, paused), width)
    lines += _labelled("note", entry.note, width, "strong")
    lines += _labelled("tags", " ".join(f"#{tag}" for tag in entry.tags), width, "strong")
    lines += wrapped("" if verdict is None else verdict.second, width, "quiet")
    lines.append(EMPTY)
    lines += _labelled("model", _model(entry), width)
    lines += _labelled("drafts", "" if not entry.drafter else drafter_text(entry), width)
    lines += _labelled("machine", " · ".join(part for part in (entry.chip, entry.device, entry.blas) if part), width)
    lines += _labelled("from", entry.source, width)
    lines += _labelled("when", _when(entry, zone), width)
    lines += _labelled("holds", _holds(entry), width)
    lines += _labelled("plan", entry.plan, width)
    for remark in entry.remarks:
        lines += _labelled("remark", remark, width, "quiet")
    return lines


def _said(verdict: VerdictWords | None, why: str, width: int) -> list[Line]:
    if verdict is None:
        return wrapped(why, width, "quiet")
    tone = VERDICT_TONES.get(verdict.kind, "strong")
    first = wrapped(f"{verdict.word} {verdict.first}", width)
    lead = len(verdict.word)
    head = "".join(span.text for span in first[0])
    first[0] = line((head[:lead], tone), head[lead:])
    return first


def _labelled(label: str, text: str, width: int, tone: str = "") -> list[Line]:
    if not text:
        return []
    rows = wrapped(text, max(10, width - LABEL), tone)
    return [line((label if n == 0 else "").ljust(LABEL), *row) for n, row in enumerate(rows)]


def _model(entry: Entry) -> str:
    facts = [entry.architecture, entry.quantisation, entry.dtype]
    told = ", ".join(fact for fact in facts if fact)
    return f"{entry.model} ({told})" if entry.model and told else entry.model or told


def _when(entry: Entry, zone: tzinfo | None) -> str:
    try:
        when = datetime.fromtimestamp(entry.when_ns / 1e9, UTC).astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return ""
    told = f"{when:%Y-%m-%d %H:%M}" if entry.started_unix_ns else f"file of {when:%Y-%m-%d %H:%M}"
    return told if not entry.duration_ns else f"{told}, {figures.clock(entry.duration_ns / 1e9)} long"


def _holds(entry: Entry) -> str:
    parts = [size_text(entry.size_bytes)]
    counted = (("round", entry.rounds), ("step", entry.steps), ("token", entry.tokens))
    parts += [figures.count(number, noun) for noun, number in counted if number]
    return ", ".join(parts)
