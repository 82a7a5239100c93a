"""The verdict in words: from a ledger, or from nothing yet, to the first lines of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import figures
from .synthetic import CHOSEN, is_synthetic
from .view_models import BreakEvenView, HeadlineKind, HeadlineView, Live

if TYPE_CHECKING:
    from ..profilers.judge.imported import ImportedVerdict
    from ..profilers.judge.ledger import Ledger
    from ..profilers.judge.verdict import GuardFinding

WORDS: dict[HeadlineKind, str] = {
    "wins": "WINS",
    "loses": "LOSES",
    "cannot_win": "CANNOT WIN",
    "too_close": "TOO CLOSE",
    "refused": "NO VERDICT",
    "measuring": "MEASURING",
    "problem": "PROBLEM",
    "costs": "COSTS ONLY",
}
NOT_YET = "NO VERDICT YET"
KINDS: dict[str, HeadlineKind] = {
    "wins": "wins",
    "loses": "loses",
    "unwinnable": "cannot_win",
    "too_close": "too_close",
    "refused": "refused",
}
UNFINISHED = ("loading", "recording", "paused", "following", "waiting", "stalled")


def first_headline(live: Live) -> HeadlineView:
    """Before there is a session to speak of."""
    if live.trouble and live.state in ("ended", "waiting"):
        return HeadlineView("problem", WORDS["problem"], live.trouble, "", "")
    if live.reading is not None:
        return HeadlineView(
            "measuring", "READING", f"{live.name or 'the session'} … {live.reading:.0%}",
            "A long session: the verdict comes when all of its lines are read.", "",
        )  # fmt: skip
    if live.state == "loading":
        what = f"loading {live.doing}" if live.doing else "starting the recorder"
        return HeadlineView(
            "measuring", "LOADING", f"{what} …", "The first numbers come a few seconds after the model is there.", ""
        )
    if not live.name:
        what = "t sets up a recording, r records at once, o shows the saved sessions."
        return HeadlineView("measuring", "WAITING", "for something to show …", what, "")
    return HeadlineView("measuring", "WAITING", f"for {live.name} …", "Nothing is written yet.", "")


def known_headline(live: Live, why: str) -> HeadlineView:
    """With a session whose numbers cannot be computed yet, and why not."""
    if live.state in UNFINISHED:
        return HeadlineView("measuring", WORDS["measuring"], why, "", "")
    return HeadlineView("refused", WORDS["refused"], why, "", "")


def headline(ledger: Ledger, live: Live, break_even: BreakEvenView) -> HeadlineView:
    """The verdict of a ledger; a refused one shows its reason and remedy and no speed.

    What a synthetic drafter reached is called so first of all: nobody's drafts are that good or bad.
    """
    view = _verdict(ledger, live, break_even)
    if not is_synthetic(ledger.setting.drafter):
        return view
    return replace(view, first=f"synthetic: {view.first}", second=f"{_capital(CHOSEN)}. {view.second}".rstrip())


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _verdict(ledger: Ledger, live: Live, break_even: BreakEvenView) -> HeadlineView:
    verdict, facts = ledger.verdict, ledger.facts
    if verdict.kind == "refused" or verdict.speedup is None:
        codes = [finding.code for finding in verdict.findings]
        if codes[:1] == ["too_few_rounds"] and live.state in UNFINISHED:
            so_far = (
                f"{figures.count(facts.rounds, 'round')} in {figures.count(facts.segments, 'pair')} of segments, "
                f"{figures.count(len(facts.log_ratios), 'prompt')} so far …"
            )
            third = _also(verdict.findings[1:]) or _parts_so_far(ledger)
            return HeadlineView("measuring", WORDS["measuring"], so_far, verdict.remedy, third)
        return HeadlineView("refused", WORDS["refused"], verdict.reason, verdict.remedy, _also(verdict.findings[1:]))
    rates = f"{_bare_rate(ledger.drafting_rate)} vs {figures.rate(ledger.plain_rate)}, end to end"
    s = verdict.speedup
    first = f"{figures.times(s.estimate)} measured, {figures.span(s)} ({rates}){_predicted(ledger)}"
    scope = " This prompt only." if verdict.scope == "this prompt only" else ""
    side = f" {facts.switch.sentence}" if facts.switch is not None and facts.switch.sentence else ""
    return HeadlineView(
        verdict.kind, WORDS[verdict.kind], first, _why(ledger) + scope + side, _limit(break_even, ledger)
    )


def _also(findings: Sequence[GuardFinding]) -> str:
    return " ".join(f"Also: {finding.message}" for finding in findings)


def _predicted(ledger: Ledger) -> str:
    prediction, error = ledger.prediction, ledger.prediction_error
    if prediction is None or error is None:
        return ""
    return (
        f" · {figures.times(prediction.speedup.estimate)} predicted ({figures.percent(error.error, signed=True)} tok/s)"
    )


def _why(ledger: Ledger) -> str:
    verdict, facts = ledger.verdict, ledger.facts
    tokens, steps, full, most = facts.tokens_per_round, facts.round_steps, facts.round_steps_full, facts.most_tokens
    cost = verdict.reason
    if tokens is not None and steps is not None:
        cost = (
            f"A round costs {figures.ratio(steps.estimate)} decode steps and yields "
            f"{figures.ratio(tokens.estimate)} tokens."
        )
    if verdict.kind == "cannot_win" and full is not None and most is not None:
        return (
            f"{cost} Even at p = 1 it yields {figures.ratio(most)} for {figures.ratio(full.estimate)}: "
            "no draft can win until verify gets cheaper."
        )
    if verdict.kind == "too_close" and verdict.still_needed:
        units = "prompt" if verdict.scope == "prompts" else "segment"
        return f"{cost} About {figures.count(verdict.still_needed, f'more {units}')} may settle it."
    return f"{cost} {verdict.remedy}"


def _limit(view: BreakEvenView, ledger: Ledger) -> str:
    if view.curve is None or view.limit_ms is None or view.limit_steps is None:
        return ""
    text = (
        f"Break-even at this {view.symbol}: verify({view.curve.k + 1}) ≤ {figures.ms(view.limit_ms)} "
        f"({figures.steps(view.limit_steps)}), now {figures.bare_ms(view.curve.verify_ms)}"
        f" ({figures.steps(view.verify_steps)})."
    )
    if view.curve.crossing is None:
        return f"{text} No {view.symbol} breaks even at this verify."
    return f"{text} At this verify it takes {view.symbol} ≥ {figures.share(view.curve.crossing)}."


def _parts_so_far(ledger: Ledger) -> str:
    known = [
        f"{name} {figures.ms(number.mean.estimate)}"
        for name, number in (("decode", ledger.decode), ("round", ledger.round), ("verify", ledger.verify))
        if number is not None
    ]
    return f"Known so far: {' · '.join(known)}." if known else ""


def _bare_rate(tokens_per_second: float | None) -> str:
    return figures.NONE if tokens_per_second is None else figures.significant(tokens_per_second)


def imported_headline(found: ImportedVerdict | None, others: int, limit: str, live: Live) -> HeadlineView:
    """The verdict of another engine's windows; without one, what is known and what is missing.

    `limit` says what would break even, `others` how many groups of unlike windows there are besides.
    """
    unfinished = live.state in UNFINISHED
    if found is None:
        if unfinished:
            return HeadlineView("measuring", NOT_YET, "nothing was counted yet …", "Counts come as it generates.", "")
        return HeadlineView("refused", WORDS["refused"], "Nothing was counted here.", "", "")
    more = f"{figures.count(others, 'other group')} of unlike windows: l shows all." if others else ""
    warned = " ".join(f"Also: {each.message}" for each in found.warnings if each.message not in found.sentence)
    kind = None if found.verdict is None else KINDS[found.verdict]
    if kind is None:
        word = NOT_YET if unfinished else WORDS["refused"]
        first = _known_of(found) or found.sentence.removeprefix("No verdict: ")
        return HeadlineView(
            "measuring" if unfinished else "refused", word, first, " ".join(found.missing), _joined(more, limit, warned)
        )
    if kind == "refused":
        first, second = _refusal(found)
        return HeadlineView(kind, WORDS[kind], first, second, _joined(more, _remedy(found), _known_of(found)))
    so_far = "So far: an interval that is looked at while it grows promises less than 95%." if unfinished else ""
    return HeadlineView(kind, WORDS[kind], _measured(found), _cost(found), _joined(more, limit, so_far, warned))


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _known_of(found: ImportedVerdict) -> str:
    """E and tok/s, as far as they are known."""
    tokens = found.numbers.get("tokens_per_round")
    parts = [] if tokens is None else [f"{figures.ratio(tokens)} tokens per round"]
    if found.drafting is not None:
        parts.append(f"{figures.rate(found.drafting.tokens_per_second)} with drafts")
    if found.plain is not None:
        parts.append(f"{figures.rate(found.plain.tokens_per_second)} without drafts")
    return ", ".join(parts)


def _refusal(found: ImportedVerdict) -> tuple[str, str]:
    """Why there is no verdict: by two rulers which one is wrong, of several requests what their speeds do say."""
    rulers = found.two_rulers
    if rulers is not None and rulers.sentence in found.sentence:
        return rulers.sentence, rulers.answer
    first = found.sentence.removeprefix("No verdict: ")
    if found.throughput is not None:
        return first, f"Drafting ÷ plain tok/s of all requests is {figures.times(found.throughput)}, at this load only."
    return first, " ".join(found.missing)


def _remedy(found: ImportedVerdict) -> str:
    batched = any(each.code == "batched_speed" for each in found.warnings)
    return "" if batched or found.answer is None else found.answer.advice


def _measured(found: ImportedVerdict) -> str:
    """S with its interval and both speeds; where it comes from parts, that it is no measured speed."""
    s = found.speedup
    if s is None:
        return found.sentence
    span = figures.span(s) if "speedup_95" in found.numbers else "one point, nothing repeated"
    if found.numbers.get("round_from") == "parts" or found.drafting is None:
        return f"{figures.times(s.estimate)} from the parts of a round, {span}"
    plain = None if found.plain is None else found.plain.tokens_per_second
    rates = f"{_bare_rate(found.drafting.tokens_per_second)} vs {figures.rate(plain)}"
    return f"{figures.times(s.estimate)} measured, {span} ({rates})"


def _cost(found: ImportedVerdict) -> str:
    """What a round costs and yields, and what to do."""
    steps, tokens, k = (found.numbers.get(name) for name in ("round_steps", "tokens_per_round", "k"))
    advice = "" if found.answer is None else found.answer.advice
    if steps is None or tokens is None:
        return advice
    cost = f"A round costs {figures.ratio(steps)} decode steps and yields {figures.ratio(tokens)} tokens"
    if found.verdict == "unwinnable" and k is not None:
        cost += f", at most {k + 1}"
    return f"{cost}. {advice}".rstrip()
