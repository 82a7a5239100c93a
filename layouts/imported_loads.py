"""Another engine's groups of like windows as workloads: what they say of acceptance and speed, and their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..profilers.judge.acceptance import AcceptanceKind
from ..profilers.judge.imported import ImportedVerdict
from ..profilers.judge.imported_acceptance import KnownAcceptance
from ..profilers.judge.windows import Group, groups_of, tokens_per_second
from ..profilers.record.records import Counters
from ..profilers.record.session import Session
from . import figures
from .tables import Column, TableRow, TableView
from .view_models import Tone

MOST_WINDOWS = 200
WORDS = {
    "wins": "wins",
    "loses": "loses",
    "unwinnable": "cannot win",
    "too_close": "too close",
    "refused": "no verdict",
}
TONES: dict[str, Tone] = {"wins": "good", "loses": "bad", "unwinnable": "bad", "too_close": "warn"}
PREFERRED = (AcceptanceKind.CONDITIONAL, AcceptanceKind.PER_DRAFT, AcceptanceKind.MEAN_ACCEPTED)
WINDOWS = (
    Column("label", "window", text=True, least=10),
    Column("arm", "", 3, text=True, least=5),
    Column("tokens", "E", 2),
    Column("share", "p, per draft", 1),
    Column("rate", "tok/s", 0),
    Column("plain", "plain tok/s", 3),
    Column("speedup", "S", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLoad:
    """One group: its cells by column of the workloads' table, its windows (worst S first), and what is said of it."""

    key: str
    cells: Mapping[str, str]
    tone: Tone
    said: str
    windows: TableView


def imported_loads(found: Sequence[ImportedVerdict], session: Session) -> tuple[ImportedLoad, ...]:
    """The groups that drafted, in order."""
    groups = {group.manner: group for group in groups_of(session)}
    return tuple(
        _load(str(i), each, groups.get(each.manner))
        for i, each in enumerate(found)
        if each.windows and each.windows > 0
    )


def _load(key: str, found: ImportedVerdict, group: Group | None) -> ImportedLoad:
    manner, numbers, speedup = found.manner, found.numbers, found.speedup
    acceptance = _acceptance(found.acceptance)
    sampling = " ".join(
        part for part in (manner.rule or "", f"T {manner.temperature:g}" if manner.temperature else "") if part
    )
    k = manner.k if manner.k is not None else numbers.get("k")
    tokens = numbers.get("tokens_per_round")
    cells = {
        "class": manner.source,
        "sampling": sampling or "not said",
        "length": "" if manner.batch in (None, 1) else f"{manner.batch} at once",
        "drafter": (manner.drafter or "drafts") + ("" if k is None else f" k={k}"),
        "n": figures.grouped(found.windows),
        "rounds": "" if found.rounds is None else figures.grouped(found.rounds),
        "p": figures.NONE if acceptance is None else figures.share(acceptance.values[0]),
        "p_span": "" if acceptance is None else figures.span(acceptance.interval),
        "kind": "" if acceptance is None else acceptance.kind.value.replace("_", " "),
        "tokens": figures.NONE if tokens is None else figures.ratio(tokens),
        "speedup": figures.NONE if speedup is None else figures.times(speedup.estimate),
        "span": figures.span(speedup) if speedup is not None and "speedup_95" in numbers else "",
        "verdict": WORDS.get(found.verdict or "", "no verdict"),
    }
    return ImportedLoad(
        key=key,
        cells=cells,
        tone=TONES.get(found.verdict or "", ""),
        said=found.sentence,
        windows=_windows(group),
    )


def _acceptance(known: Sequence[KnownAcceptance]) -> KnownAcceptance | None:
    by_kind = {each.kind: each for each in known}
    return next((by_kind[kind] for kind in PREFERRED if kind in by_kind), None)


def _windows(group: Group | None) -> TableView:
    if group is None:
        return TableView(message="Single windows are not known here.")
    plain: dict[str | None, list[float]] = {}
    for window in group.plain:
        rate = tokens_per_second(window)
        if rate:
            plain.setdefault(window.label, []).append(rate)
    made = [_window(i, window, plain) for i, window in enumerate(group.drafting[-MOST_WINDOWS:])]
    made.sort(key=lambda each: each[0])
    rows = [row for _, row in made]
    kept = [i for i, _ in enumerate(WINDOWS) if not rows or any(row.cells[i] for row in rows)]
    return TableView(
        tuple(WINDOWS[i] for i in kept),
        tuple(TableRow(row.key, tuple(row.cells[i] for i in kept), row.tone) for row in rows),
        message="No single window is known here.",
    )


def _window(number: int, window: Counters, plain: Mapping[str | None, Sequence[float]]) -> tuple[float, TableRow]:
    rate, tokens = tokens_per_second(window), window.tokens_per_round
    if window.rounds and window.accepted is not None:
        tokens = 1 + window.accepted / window.rounds
    share = window.accepted / window.drafted if window.drafted and window.accepted is not None else None
    beside = plain.get(window.label) if window.label is not None else None
    baseline = None if not beside else sum(beside) / len(beside)
    speedup = rate / baseline if rate and baseline and window.batch in (None, 1) else None
    cells = (
        window.label or f"window {number + 1}",
        "",
        "" if tokens is None else figures.ratio(tokens),
        "" if share is None else figures.share(share),
        "" if rate is None else figures.significant(rate),
        "" if baseline is None else figures.significant(baseline),
        "" if speedup is None else figures.times(speedup),
    )
    tone = "" if speedup is None else "good" if speedup > 1 else "bad"
    return (speedup if speedup is not None else float("inf")), TableRow(f"{number}", cells, tone)
