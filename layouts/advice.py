"""The advice screen: what would make drafting win, or lose, and how long drafts should be, each as a what-if to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..engine.errors import SpecviewError
from ..profilers.judge.question import MEASURED, Basis, Question
from ..profilers.judge.what_wins import NAMED, WhatWins, what_wins
from . import figures
from .advice_changes import changes_of, short_words
from .advice_facts import AdviceFacts
from .advice_lengths import lengths_table
from .lines import Line, line, wrapped
from .tables import TableView
from .told_rows import remark_of
from .view_models import WhatIf
from .what_if import question_of

WAIT = "Reckoning …"
WAITING = TableView(message=WAIT)


@dataclass(frozen=True, slots=True)
class AdviceView:
    """Sentences, the changes, and the draft lengths; `what_if_by_key` is what Enter asks on a row of either table."""

    title: str = "What would make this win?"
    table_title: str = "Changes"
    sentences: tuple[tuple[str, str], ...] = ()
    changes: TableView = WAITING
    lengths: TableView = WAITING
    remark_by_key: tuple[tuple[str, str], ...] = ()
    what_if_by_key: tuple[tuple[str, WhatIf], ...] = ()
    numbers: tuple[str, ...] = ()

    def remark(self, key: str | None) -> str:
        """What is said of a row."""
        return remark_of(self.remark_by_key, key)

    def what_if(self, key: str | None) -> WhatIf | None:
        """What a row asks."""
        return next((asked for known, asked in self.what_if_by_key if known == key), None)


def advice_view(facts: AdviceFacts, what_if: WhatIf) -> AdviceView:
    """The tables; under a what-if the changes start from what is asked, and are marked."""
    basis, wins = facts.basis, facts.wins
    if basis is None or wins is None:
        message = facts.message or WAIT
        return AdviceView(changes=TableView(message=message), lengths=TableView(message=message))
    asked, refused = what_if != WhatIf(), ""
    start = MEASURED
    if asked:
        start = replace(question_of(what_if), batch=None)
        try:
            wins = what_wins(basis, facts.floors, start)
        except (SpecviewError, ArithmeticError, ValueError) as error:
            refused, start, asked = str(error), MEASURED, False
    changes, remarks, questions = changes_of(basis, wins)
    lengths, more = lengths_table(facts, basis, start if asked else None)
    return AdviceView(
        title=_title(facts, wins, asked),
        table_title=_table_title(facts, wins, asked),
        sentences=_sentences(facts, wins, asked, refused),
        changes=changes,
        lengths=lengths,
        remark_by_key=(*remarks, *more),
        what_if_by_key=tuple((key, _as_what_if(each, basis)) for key, each in questions),
        numbers=_numbers(wins, basis),
    )


def _turns(facts: AdviceFacts, wins: WhatWins) -> str:
    """Whether changes are to make it win or lose; empty where no verdict says, or the formula says otherwise."""
    basis = facts.basis
    if basis is not None and basis.free:
        return "win"
    if facts.kind in ("loses", "cannot_win", "unwinnable"):
        return "" if wins.wins else "win"
    return "lose" if facts.kind == "wins" and wins.wins else ""


def _title(facts: AdviceFacts, wins: WhatWins, asked: bool) -> str:
    turned = _turns(facts, wins)
    what = f"What would make this {turned}?" if turned else "What would turn this?"
    return f"{what} · WHAT IF" if asked else what


def _table_title(facts: AdviceFacts, wins: WhatWins, asked: bool) -> str:
    margin = wins.wins and _turns(facts, wins) == "lose"
    title = f"One change at a time, {'to where it stops winning' if margin else 'to S = 1'}"
    return f"{title} · WHAT IF" if asked else title


def _as_what_if(question: Question, basis: Basis) -> WhatIf:
    k = None if question.k == basis.k else question.k
    return WhatIf(p=question.p, k=k, verify=max(question.verify, 0.0), draft=question.draft, batch=question.batch)


def _sentences(facts: AdviceFacts, wins: WhatWins, asked: bool, refused: str) -> tuple[tuple[str, str], ...]:
    """Text and tone: the verdict, whether any p wins, and the nearest changes in one line each."""
    now = wins.now
    found: list[tuple[str, str]] = []
    if refused:
        found.append((f"What if: {refused}", "what-if"))
    symbol = "p" if now.k == 1 else "α"
    marked, tone = ("What if: ", "what-if") if asked else ("", "")
    if wins.no_p and not wins.wins:
        sure = facts.cannot_win or asked or (facts.basis is not None and facts.basis.free)
        head = f"{'No' if sure else 'Hardly any'} acceptance wins at k = {now.k}"
        doubt = "which the interval of the verdict does not tell apart" if facts.has_verdict else "by the formula alone"
        tail = "." if sure else f", {doubt}."
        text = (
            f"{marked}{head}: even with every draft accepted a round yields {now.most_tokens:.3g} tokens and costs "
            f"{now.full_steps:.2f} decode steps{tail}"
        )
        found.append((text, tone or "bad"))
    if facts.verdict:
        found.append((facts.verdict, "strong"))
    if asked:
        found.append((f"What if: {_point(wins)}. The changes below start from there.", "what-if"))
    found += [(f"{marked}{text}", tone or own) for text, own in _nearest(facts, wins, symbol)]
    if wins.no_floor:
        found.append((wins.no_floor, "quiet"))
    elif facts.survey:
        found.append((f"The floor is that of {facts.survey}, a survey of this model on this machine.", "quiet"))
    return tuple(found)


def _nearest(facts: AdviceFacts, wins: WhatWins, symbol: str) -> list[tuple[str, str]]:
    """The changes in a line, and what is most worth changing; text and tone."""
    now, near = wins.now, wins.nearest
    if not _turns(facts, wins):
        parts = [short_words(option, symbol) for option in wins.single[:NAMED]]
        said = f"By the formula alone it breaks even with {' or '.join(parts)}." if parts else ""
        return [(said or "By the formula alone no single change turns it.", "")]
    if wins.wins:
        parts = [short_words(option, symbol) for option in wins.single[:NAMED]]
        found = [(f"It stops winning with {' or '.join(parts)}." if parts else "No single change makes it lose.", "")]
        best = wins.at_best[0] if wins.at_best else None
        if best is not None and best.speedup > now.speedup:
            more = f"{figures.times(best.speedup)} instead of {figures.times(now.speedup)}"
            found.append((f"Most is in {best.what}: {more}.", ""))
        return found
    if near:
        return [(f"Nearest: {', or '.join(short_words(option, symbol) for option in near)}.", "")]
    if wins.single:
        return [("Every change that would make it win is out of reach. Turn drafting off.", "bad")]
    return [("No single change of verify, acceptance, k or draft makes it win. Turn drafting off.", "bad")]


def _point(wins: WhatWins) -> str:
    now = wins.now
    return (
        f"p {now.alpha:.2f}, k {now.k}, T_verify {figures.ms(now.verify_ms)}: E {now.tokens:.2f}, "
        f"R {now.round_steps:.2f}, S {figures.times(now.speedup)}"
    )


def _numbers(wins: WhatWins, basis: Basis) -> tuple[str, ...]:
    now = wins.now
    parts = [f"T_verify {figures.bare_ms(now.verify_ms)}"]
    parts += [f"T_draft {figures.bare_ms(now.draft_ms)}"] if now.draft_ms is not None else []
    parts += [f"T_rest {figures.bare_ms(now.rest_ms)}"] if now.rest_ms is not None else []
    known = sum(ms for ms in (now.draft_ms, now.rest_ms) if ms is not None)
    crossing = "none" if now.crossing is None else f"{now.crossing:.3f}"
    return (
        f"S = {now.tokens:.3f} × {figures.bare_ms(now.decode_ms)} ÷ ({' + '.join(parts)}) = {now.speedup:.3f}x",
        f"verify that breaks even = {now.tokens:.3f} × {figures.bare_ms(now.decode_ms)} − {figures.bare_ms(known)} "
        f"= {figures.ms(now.limit_ms)}",
        f"p that breaks even at this verify: {crossing}",
        f"at p = 1: {now.most_tokens:.3g} tokens for {now.full_steps:.2f} steps",
    )


def said_lines(view: AdviceView, width: int) -> list[Line]:
    """The sentences in their tones."""
    lines: list[Line] = []
    for text, tone in view.sentences:
        lines += wrapped(text, width, tone, indent=2)
    return lines or [line((view.changes.message, "quiet"))]
