"""The changes that would turn a verdict as a table: how far, whether possible, why, and what each asks."""

from __future__ import annotations

from ..profilers.judge.question import Basis, Question
from ..profilers.judge.what_wins import Allowed, AtBest, Option, WhatWins
from . import figures
from .lengths import ranges_of
from .tables import Column, TableView
from .told_rows import ToldRows

MANY = 10.0  # beyond that many times as much a percentage says nothing
ALLOWED: dict[Allowed, str] = {"yes": "yes", "no": "NO", "not shown": "not shown", "unknown": "unknown"}
TONES: dict[Allowed, str] = {"yes": "good", "no": "bad", "not shown": "warn", "unknown": ""}
CHANGES = (
    Column("what", "change", text=True, least=17),
    Column("now", "now", 1),
    Column("needed", "to", 0),
    Column("by", "by", 0),
    Column("allowed", "possible?", 0, text=True, least=9),
    Column("then", "S then", 2),
    Column("why", "because", 5, text=True, least=20),
)
Made = tuple[TableView, list[tuple[str, str]], list[tuple[str, Question]]]


def changes_of(basis: Basis, wins: WhatWins) -> Made:
    """The table, what is said of each row, and what each row asks, by its key."""
    told = ToldRows(CHANGES)
    questions: list[tuple[str, Question]] = []

    def put(key: str, cells: tuple[str, ...], tone: str, said: str, question: Question) -> None:
        told.put(key, cells, f"{said} Enter shows every screen so, as a what-if.", tone)
        questions.append((key, question))

    for option in wins.single:
        cells, said = _option(option, wins)
        put(option.what, cells, "" if wins.wins else TONES[option.allowed], said, option.question)
    for name, now, why in _missing(basis, wins):
        cells = (name, now, "none", "", "NO" if not wins.wins else "", "", why)
        told.put(f"no {name}", cells, f"{name}: {why}.", "quiet")
    if wins.together:
        told.heading("together", "Two at once", "Less of each is needed where two change together.", "quiet")
    for option in wins.together:
        cells, said = _option(option, wins)
        put(option.what, cells, TONES[option.allowed], said, option.question)
    if wins.at_best:
        said = "All else as it is: how much lies in each thing at most, a bound and no forecast."
        told.heading("best", "At best", said, "quiet")
    for each in wins.at_best:
        cells, said = _best(each, wins)
        put(f"best {each.what}", cells, "good" if each.speedup > 1 else "", said, each.question)
    return told.view("Nothing can be changed here."), told.remarks, questions


def _missing(basis: Basis, wins: WhatWins) -> list[tuple[str, str, str]]:
    """The changes that do not turn it, however far they go: name, value now, and why."""
    known, now, missing = {option.what for option in wins.single}, wins.now, []
    turned = "lose" if wins.wins else "win"
    if "verify" not in known and not basis.whole:
        missing.append((f"T_verify({now.k + 1})", figures.ms(now.verify_ms), "even a free verify loses at this E"))
    if "acceptance" not in known:
        missing.append(("p" if now.k == 1 else "α", f"{now.alpha:.2f}", "even p = 1 loses"))
    if "k" not in known:
        tried = ranges_of([k for k in basis.lengths if k != now.k])
        why = (
            f"none of the measured k would {turned}: {tried}" if tried else "no other k was measured: y surveys widths"
        )
        missing.append(("k, drafts a round", str(now.k), why))
    return missing


def _option(option: Option, wins: WhatWins) -> tuple[tuple[str, ...], str]:
    symbol, k = ("p" if wins.now.k == 1 else "α"), wins.now.k
    why = _why(option, wins)
    possible = "" if wins.wins else ALLOWED[option.allowed]
    if option.what in ("verify", "draft"):
        name = f"T_verify({k + 1})" if option.what == "verify" else "T_draft"
        change = f"{option.needed - option.now:+.2f} ms"
        cells = (name, figures.ms(option.now), figures.ms(option.needed), f"{change}, {_by(option)}")
    elif option.what == "acceptance":
        name = f"{symbol}, conditional"
        cells = (name, f"{option.now:.2f}", f"{option.needed:.2f}", f"{option.needed - option.now:+.2f}")
    elif option.what == "k":
        name = "k, drafts a round"
        cells = (name, f"{option.now:.0f}", f"{option.needed:.0f}", f"{option.needed - option.now:+.0f}")
    elif option.what == "k and verify":
        name = f"k {option.beside:.0f} and verify"
        cells = (name, "", f"{figures.ms(option.needed)}", f"{(option.question.verify - 1) * 100:+.1f}%")
    else:
        name = f"verify and {symbol}"
        cells = (name, "", f"{figures.bare_ms(option.needed)} ms, {option.beside:.2f}", f"{_by(option)} and {symbol}")
    said = f"{name}: from {_value(option, option.now)} to {_value(option, option.needed)}."
    if option.what == "k and verify":
        said = f"With k = {option.beside:.0f} verify would have to take {figures.ms(option.needed)}."
    if option.beside is not None and option.what == "verify and acceptance":
        said = (
            f"Verify to {figures.ms(option.needed)} and {symbol} to {option.beside:.3f} together: each goes the same "
            "part of the way that it would have to go alone."
        )
    return (*cells, possible, figures.times(option.then), why), f"{said} {_capital(why)}.".replace("..", ".")


def _value(option: Option, value: float) -> str:
    if option.what in ("verify", "draft", "verify and acceptance", "k and verify"):
        return figures.ms(value)
    return f"{value:.0f}" if option.what == "k" else f"{value:.3f}"


def _why(option: Option, wins: WhatWins) -> str:
    """What is known of whether it can be."""
    if option.what == "k":
        return f"verify over {option.needed + 1:.0f} positions was measured"
    if option.what == "draft":
        return "no floor is known for drafters"
    parts = []
    if option.what in ("verify", "verify and acceptance", "k and verify"):
        if wins.wins:
            parts.append("as far as verify may grow")
        elif wins.floor_ms is None or option.what == "k and verify":
            parts.append("floor not measured: y surveys it")
        else:
            word = "allows it" if option.needed >= wins.floor_ms else "is above that: no kernel gets there"
            parts.append(f"the floor, {figures.ms(wins.floor_ms)}, {word}")
    if option.what in ("acceptance", "verify and acceptance"):
        needed = option.needed if option.what == "acceptance" else option.beside or 0.0
        parts.append(_shown(needed, wins))
    return "; ".join(parts)


def _shown(needed: float, wins: WhatWins) -> str:
    known = wins.acceptance
    if known is None:
        return "nothing was accepted here to compare with"
    ends = f"[{max(0.0, known.low):.2f}, {min(1.0, known.high):.2f}]"
    if needed > known.high:
        return f"above what this drafter showed, {ends}"
    return f"below what this drafter showed, {ends}" if needed < known.low else f"inside what was measured, {ends}"


def _best(each: AtBest, wins: WhatWins) -> tuple[tuple[str, ...], str]:
    to = {
        "verify at its floor": "" if wins.floor_ms is None else figures.ms(wins.floor_ms),
        "every draft accepted": f"{'p' if wins.now.k == 1 else 'α'} 1.00",
        "free drafts": "0 ms",
        "best k": f"k {each.question.k}",
    }[each.what]
    outcome = "wins" if each.speedup > 1 else "still loses"
    cells = (each.what, "", to, "", outcome, figures.times(each.speedup), "a bound, not a forecast")
    return cells, f"With {each.what}{f' ({to})' if to else ''} S would be {figures.times(each.speedup)}: {outcome}."


def short_words(option: Option, symbol: str) -> str:
    """A change in a few words."""
    if option.what == "verify":
        return f"verify {figures.bare_ms(option.now)} → {figures.ms(option.needed)} ({_by(option)})"
    if option.what == "acceptance":
        return f"{symbol} {option.now:.2f} → {option.needed:.2f}"
    if option.what == "k":
        return f"k {option.now:.0f} → {option.needed:.0f}"
    return f"draft {figures.bare_ms(option.now)} → {figures.ms(option.needed)} ({_by(option)})"


def _by(option: Option) -> str:
    change = option.needed / option.now - 1 if option.now > 0 else None
    if change is None:
        return ""
    return f"×{1 + change:.0f}" if abs(change) >= MANY else figures.percent(change, signed=True)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
