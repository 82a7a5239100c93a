"""The Compare page: sessions against a base, in words, as a table, as the split of the change, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.errors import SpecviewError
from ..profilers.judge.comparison.comparing import LETTERS, Compared, Named, compare
from ..profilers.judge.comparison.environments import Difference, UnlikeError
from ..profilers.judge.comparison.measures import Change
from ..profilers.judge.comparison.split import Split
from . import figures
from .compare_words import interval_words, percent, sentences, short, signed, span_text, visible_text, word_of
from .lines import Line, line
from .tables import Column, TableRow, TableView

ASK = "c chooses a session to compare with this one."
READING = "Reading and comparing …"
ANYWAY = "Press A (shift+a) to compare them anyway, c to choose another session."
STANDINGS = {"unlike": "unlike", "change": "changed", "told": "told only"}
FINDING_TONES = {"maybe": "quiet", "noise": "quiet", "unknown": "quiet"}


@dataclass(frozen=True, slots=True)
class Refused:
    """A session that was not compared: why, and what differs; `unlike` where asking for it anyway would."""

    name: str
    why: str
    differences: tuple[Difference, ...] = ()
    unlike: bool = False


@dataclass(frozen=True, slots=True)
class CompareFacts:
    """The base and what came of comparing every other session with it; `message` stands where nothing did."""

    base: str = ""
    others: tuple[Compared | Refused, ...] = ()
    message: str = ASK


@dataclass(frozen=True, slots=True)
class CompareView:
    """What the page shows of one of the others (`letter`); `sessions` lists all where there are several."""

    title: str = "Compare"
    letter: str = "B"
    sentences: tuple[Line, ...] = ()
    table: TableView = field(default_factory=lambda: TableView(message=ASK))
    split: Split | None = None
    split_message: str = ""
    environments: TableView = field(default_factory=TableView)
    sessions: TableView = field(default_factory=TableView)
    refused: bool = False
    intervals: str = ""


def compare_facts(sessions: Sequence[Named], *, anyway: bool = False) -> CompareFacts:
    """Every session against the first; one that cannot be compared says why and spoils nothing for the others."""
    if len(sessions) < 2:
        return CompareFacts(sessions[0].name if sessions else "")
    found: list[Compared | Refused] = []
    for at, other in enumerate(sessions[1 : len(LETTERS)], start=1):
        try:
            found.append(compare(sessions[0], other, anyway=anyway, letter=LETTERS[at]))
        except UnlikeError as error:
            found.append(Refused(other.name, str(error), error.differences, True))
        except SpecviewError as error:
            found.append(Refused(other.name, str(error)))
        except (ArithmeticError, ValueError) as error:
            found.append(Refused(other.name, f"The numbers of the two do not fit together ({error})."))
    return CompareFacts(sessions[0].name, tuple(found), "")


def compare_view(facts: CompareFacts, chosen: int = 0) -> CompareView:
    """The page for one of the others."""
    if not facts.others:
        return CompareView(table=TableView(message=facts.message), sentences=(line(facts.message),))
    at = max(0, min(chosen, len(facts.others) - 1))
    letter, other = LETTERS[at + 1], facts.others[at]
    name = other.name if isinstance(other, Refused) else other.other.name
    title = f"A {facts.base} ↔ {letter} {name}"
    sessions = _sessions(facts) if len(facts.others) > 1 else TableView()
    if isinstance(other, Refused):
        return CompareView(
            title=title,
            letter=letter,
            sentences=_refusal(other),
            table=TableView(message=ANYWAY if other.unlike else "c chooses another session."),
            split_message="Nothing is compared, so there is nothing to take apart.",
            environments=environments(other.differences, letter),
            sessions=sessions,
            refused=other.unlike,
        )
    return CompareView(
        title=title,
        letter=letter,
        sentences=sentences(other, letter),
        table=change_table(other, letter),
        split=other.split,
        split_message="" if other.split is not None else "One of the two has no rounds with drafts to take apart.",
        environments=environments(other.differences, letter),
        sessions=sessions,
        intervals=interval_words(other),
    )


def _refusal(other: Refused) -> tuple[Line, ...]:
    if not other.unlike:
        return (line(("NOT COMPARED  ", "warn"), other.why),)
    return (line(("UNLIKE  ", "bad"), (ANYWAY, "strong")), line(other.why))


def change_table(compared: Compared, letter: str = "B") -> TableView:
    """A row for each quantity: both values, the change with its interval, how sure it is, and what would have shown."""
    columns = (
        Column("name", "quantity", text=True, least=13),
        Column("unit", "", text=True, least=2),
        Column("base", "A"),
        Column("other", letter),
        Column("change", "change"),
        Column("finding", "", text=True),
        Column("interval", "95%", 1),
        Column("visible", "would show", 3),
        Column("ruler", "ruler or kind", 4, text=True),
    )
    rows = tuple(TableRow(each.key, _cells(each), _tone(each)) for each in compared.changes)
    return TableView(columns, rows)


def _cells(change: Change) -> tuple[str, ...]:
    effect = change.log_ratio
    if effect is not None:
        moved, held = percent(effect.estimate), span_text(effect, logs=True)
    elif change.difference is not None:
        moved, held = signed(change.difference.estimate), span_text(change.difference, logs=False)
    else:
        moved, held = figures.NONE, ""
    finding = "" if change.difference is None else word_of(change)
    return (
        short(change.name),
        change.unit,
        value_text(change.base, change.unit),
        value_text(change.other, change.unit),
        moved,
        finding,
        held,
        visible_text(change),
        change.ruler,
    )


def value_text(value: float | None, unit: str) -> str:
    """A value of a quantity without its unit, which stands beside it."""
    if value is None:
        return figures.NONE
    if unit == "tok/s":
        return figures.significant(value)
    if unit == "ms" and abs(value) < 0.1:
        return f"{value:.3f}"
    return figures.bare_ms(value) if unit == "ms" else figures.share(value)


def _tone(change: Change) -> str:
    """Good or bad news only where it is real and one direction is better."""
    effect = change.log_ratio if change.log_ratio is not None else change.difference
    if effect is None or change.finding != "real" or change.group == "machine":
        return FINDING_TONES.get(change.finding, "")
    return "good" if (effect.estimate > 0) == (change.better == "more") else "bad"


def environments(differences: Sequence[Difference], letter: str = "B") -> TableView:
    """What differs: the fact in both, and whether it forbids a comparison, is what is compared, or is only told."""
    columns = (
        Column("fact", "differs", text=True),
        Column("base", "A", text=True, least=8),
        Column("other", letter, text=True, least=8),
        Column("standing", "which is", 1, text=True),
    )
    rows = tuple(
        TableRow(
            each.fact,
            (each.fact, each.base or "not said", each.other or "not said", STANDINGS[each.standing]),
            {"unlike": "bad", "change": "strong", "told": "quiet"}[each.standing],
        )
        for each in differences
    )
    return TableView(columns, rows, message="The two were measured alike: machine, model, drafts and software agree.")


def _sessions(facts: CompareFacts) -> TableView:
    """All sessions, the base first; the selected one is shown."""
    columns = (
        Column("letter", "", text=True),
        Column("name", "session", text=True),
        Column("speed", "with drafts"),
        Column("change", "against A"),
        Column("finding", "", text=True),
        Column("speedup", "speedup", 1),
    )
    compared = [each for each in facts.others if isinstance(each, Compared)]
    drafting = [change for each in compared if (change := each.change("drafting_tokens_per_second"))]
    speedup = [change for each in compared if (change := each.change("speedup_times"))]
    rows = [
        TableRow(
            "0",
            (
                "A",
                facts.base,
                figures.rate(drafting[0].base if drafting else None),
                "the base",
                "",
                figures.times(speedup[0].base if speedup else None),
            ),
        )
    ]
    for at, other in enumerate(facts.others, start=1):
        if isinstance(other, Refused):
            why = "unlike" if other.unlike else "not compared"
            rows.append(TableRow(str(at), (LETTERS[at], other.name, "", why, "", ""), "warn"))
            continue
        change, gained = other.change("drafting_tokens_per_second"), other.change("speedup_times")
        told = _cells(change) if change is not None else ("",) * 9
        doubted = "not to be trusted" if other.doubts else told[5]
        rows.append(
            TableRow(
                str(at),
                (
                    LETTERS[at],
                    other.other.name,
                    figures.rate(None if change is None else change.other),
                    told[4],
                    doubted,
                    figures.times(None if gained is None else gained.other),
                ),
                "warn" if other.doubts or change is None else _tone(change),
            )
        )
    return TableView(columns, tuple(rows))
