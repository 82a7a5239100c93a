"""The numbers of another engine's rounds, one a row: as it says, derived and marked, or shown as missing."""

from __future__ import annotations

from collections.abc import Sequence

from ..profilers.judge.acceptance import AcceptanceKind
from ..profilers.judge.imported import ImportedVerdict, Speed
from ..profilers.judge.imported_acceptance import KnownAcceptance
from ..profilers.judge.statistics import Interval
from ..profilers.record.records import Counters
from ..profilers.record.session import Session
from . import figures
from .ledger import SIGNS
from .view_models import RoundsView, Row

SAYS, DERIVED = SIGNS["imported"], SIGNS["inferred"]
MOST_POSITIONS = 8
COUNTS = frozenset(("rounds", "drafted", "accepted"))


def imported_rounds(session: Session, found: ImportedVerdict | None, draft_step_ms: float | None) -> RoundsView:
    """Every row that a round has, in the same order whatever is known; `draft_step_ms` was timed alone."""
    if found is None:
        return RoundsView(tuple(_about(session)), "Nothing was counted yet.")
    rows = [
        *_yield(found),
        *_speeds(session, found),
        *_rulers(found),
        *_times(found, draft_step_ms),
        *_predicted(found),
        *_setting(found),
        *_warnings(found),
    ]
    return RoundsView((*rows, *_about(session)), f"{SAYS} said · {DERIVED} derived · {figures.NONE} not said")


def _row(label: str, text: str, remark: str = "", *, derived: bool) -> Row:
    """A value with its sign; a missing one has none, and nothing to remark."""
    if not text or text.startswith(figures.NONE):
        return Row(label, figures.NONE)
    return Row(label, f"{DERIVED if derived else SAYS} {text}", remark)


def _by(found: ImportedVerdict, *names: str) -> str:
    """Which of these fields the importer computed."""
    held = [name.replace("_", " ") for name in names if name in found.derived]
    return f"derived: {', '.join(held)}" if held else ""


def _yield(found: ImportedVerdict) -> list[Row]:
    numbers = found.numbers
    counts = "" if found.rounds is None else f"{found.rounds:,}"
    if found.rounds is not None and found.accepted is not None:
        counts += f" · {figures.count(found.rounds + found.accepted, 'token')}"
    told = "" if found.accepted is None else f"{found.accepted:,} of {_whole(found.drafted)} drafts accepted"
    per_draft = _of(found.acceptance, AcceptanceKind.PER_DRAFT)
    tokens, ends = numbers.get("tokens_per_round"), numbers.get("tokens_per_round_95")
    interval = None if ends is None or tokens is None else Interval(tokens, ends[0], ends[1], 0.95, 0)
    e = figures.with_span(interval) if interval is not None else figures.ratio(tokens)
    inferred = found.answer is not None and "tokens_per_round" in found.answer.inferred
    e_derived = inferred or bool({"tokens_per_round", *COUNTS} & set(found.derived))
    named = _by(found, "tokens_per_round", *sorted(COUNTS)) or "E, accepted + 1"
    return [
        _row("rounds", counts, told, derived="rounds" in found.derived),
        _row("tokens/round", e, named, derived=e_derived),
        _row("p per draft", _value(per_draft), "accepted ÷ drafted", derived=_is_derived(found, per_draft)),
        *_positions(found),
    ]


def _positions(found: ImportedVerdict) -> list[Row]:
    """Cumulative and conditional by position; the one α that fits stands where nothing was counted by position."""
    cumulative = _counted(found.acceptance, AcceptanceKind.CUMULATIVE)
    conditional = _counted(found.acceptance, AcceptanceKind.CONDITIONAL)
    first = _row("cumulative", _list(cumulative), "by position", derived="accepted_by_position" in found.derived)
    alpha = found.numbers.get("conditional_acceptance")
    if conditional is None and alpha is not None:
        return [first, _row("conditional", figures.share(alpha), "one α for all positions", derived=True)]
    return [first, _row("conditional", _list(conditional), "by position, all before accepted", derived=True)]


def _counted(known: Sequence[KnownAcceptance], kind: AcceptanceKind) -> tuple[float, ...] | None:
    """Values by position that were counted, not spread from one α."""
    held = [each.values for each in known if each.kind is kind and not each.inferred]
    return max(held, key=len, default=None)


def _list(values: Sequence[float] | None) -> str:
    if values is None:
        return figures.NONE
    more = " …" if len(values) > MOST_POSITIONS else ""
    return " ".join(figures.share(value) for value in values[:MOST_POSITIONS]) + more


def _of(known: Sequence[KnownAcceptance], kind: AcceptanceKind) -> KnownAcceptance | None:
    return next((each for each in known if each.kind is kind), None)


def _value(known: KnownAcceptance | None) -> str:
    if known is None:
        return figures.NONE
    return figures.with_span(known.interval) if known.interval is not None else figures.share(known.values[0])


def _is_derived(found: ImportedVerdict, known: KnownAcceptance | None) -> bool:
    return known is None or known.inferred or bool({"drafted", "accepted"} & set(found.derived))


def _speeds(session: Session, found: ImportedVerdict) -> list[Row]:
    steps, speedup = found.numbers.get("round_steps"), found.speedup
    known = speedup is not None and "speedup_95" in found.numbers
    value = figures.times(None if speedup is None else speedup.estimate)
    how = "pairs of the same requests" if found.speeds.pairs else "E ÷ R"
    return [
        _row("steps/round", figures.ratio(steps), "R, T_round ÷ T_decode", derived=True),
        _row(
            "speedup",
            f"{value} {figures.span(speedup)}" if known else value,
            how if known else "one point, nothing repeated",
            derived=True,
        ),
        _speed("plain", found.plain, [w for w in session.counters if w.arm == "plain"]),
        _speed("drafting", found.drafting, [w for w in session.counters if w.arm != "plain"]),
        *_throughput(found),
    ]


def _speed(name: str, speed: Speed | None, windows: Sequence[Counters]) -> Row:
    if speed is None:
        return Row(name, figures.NONE, "no speed without drafts" if name == "plain" else "no speed with drafts")
    derived = speed.given or any("tokens_per_second" in window.derived for window in windows)
    labels = {window.label for window in windows if "tokens_per_second" in window.derived}
    told = labels.pop() if len(labels) == 1 and speed.n == 1 else None
    return _row(name, figures.rate(speed.tokens_per_second), told or figures.count(speed.n, "window"), derived=derived)


def _throughput(found: ImportedVerdict) -> list[Row]:
    if found.throughput is None:
        return []
    return [_row("throughput", figures.times(found.throughput), "drafting ÷ plain, of all requests", derived=True)]


def _rulers(found: ImportedVerdict) -> list[Row]:
    """S by one ruler and by two, where blocks were divided into a whole graph."""
    rulers = found.two_rulers
    if rulers is None:
        return []
    return [
        _row("S, one ruler", figures.times(rulers.right.speedup), "whole graph on both sides", derived=True),
        Row("S, two rulers", f"{DERIVED} {figures.times(rulers.wrong.speedup)} is wrong", "", "bad"),
    ]


def _times(found: ImportedVerdict, draft_step_ms: float | None) -> list[Row]:
    numbers = found.numbers
    by_name = {part.name: part for part in found.parts}
    inferred = found.answer is not None and "decode_ms" in found.answer.inferred
    from_parts = numbers.get("round_from") == "parts"
    rows = [
        _row(
            "decode",
            figures.ms(numbers.get("decode_ms")),
            "one pass stands for it" if inferred else "1000 ÷ plain tok/s",
            derived=True,
        ),
        _row(
            "round",
            figures.ms(numbers.get("round_ms")),
            "verify + draft + rest" if from_parts else "E × ms per token",
            derived=True,
        ),
    ]
    for name in ("draft", "verify", "rest"):
        part = by_name.get(name)
        value = figures.ms(None if part is None else part.ms)
        rows.append(_row(name, value, "by the engine's clock", derived=part is not None and part.derived))
    if draft_step_ms is not None:
        rows.append(_row("draft step", figures.ms(draft_step_ms), "timed alone", derived=False))
    return rows


def _predicted(found: ImportedVerdict) -> list[Row]:
    speed = None if found.predicted is None else found.predicted.numbers.get("tokens_per_second")
    if speed is None:
        return []
    error = found.prediction_error
    remark = "from passes alone" if error is None else f"{figures.percent(error, signed=True)} off the measured"
    return [_row("predicted", figures.rate(speed), remark, derived=True)]


def _setting(found: ImportedVerdict) -> list[Row]:
    manner = found.manner
    sampling = [manner.rule or ""] + ([] if manner.temperature is None else [f"temperature {manner.temperature:g}"])
    return [
        _row("batch", "" if manner.batch is None else f"{manner.batch} at once", derived=False),
        _row("sampling", ", ".join(word for word in sampling if word), derived=False),
        Row("windows", f"{found.windows:,} with drafts, {found.plain_windows:,} without"),
    ]


def _warnings(found: ImportedVerdict) -> list[Row]:
    return [Row("warning", warned.message, tone="warn") for warned in found.warnings]


def _about(session: Session) -> list[Row]:
    """Guards, where the figures come from, and the last notes."""
    rows = [
        Row("guard", f"{guard.message} {guard.remedy or ''}".rstrip(), tone="warn") for guard in session.guards[-3:]
    ]
    for origin in session.origins[:3]:
        missed = f", {origin.not_understood:,} not understood" if origin.not_understood else ""
        told = f"{origin.form}, {figures.count(origin.understood, 'line')} understood{missed}"
        rows.append(Row("from", f"{origin.name}: {told}", tone="warn" if missed else ""))
    if len(session.origins) > 3:
        rows.append(Row("", f"and {len(session.origins) - 3:,} more files"))
    return rows + [Row("note", note.text) for note in session.notes[-4:]]


def _whole(number: int | None) -> str:
    return figures.NONE if number is None else f"{number:,}"
