"""Facts in, verdict out: what follows from a benchmark's numbers, and what in them does not hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..acceptance import AcceptanceKind
from . import checks
from .cautions import Notes, Warned
from .facts import AcceptanceFacts, Facts, facts_of
from .many_k import judge_many_k, listed
from .one_k import judge_one_k
from .plain_numbers import counts_of, curve_of, experts_of, gap_of
from .questions import Question, questions_of
from .round_facts import baseline_of, measured_runs
from .sentences import advice_of, summary_of
from .tally import Tally, completed
from .yields import as_kind, kind_is_open


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a benchmark's facts say. `numbers` holds every field that could be derived, by the names of docs/judge.md.

    Times are ms, speeds tok/s, shares fractions; a value None says that no such number exists. `verdict` is None
    where the facts carry none.
    """

    verdict: str | None
    numbers: Mapping[str, Any]
    inferred: tuple[str, ...]
    assumed: tuple[str, ...]
    warnings: tuple[Warned, ...]
    questions: tuple[Question, ...]
    summary: str
    advice: str

    def to_object(self) -> dict[str, Any]:
        """The answer as one JSON object."""
        verdict = {} if self.verdict is None else {"verdict": self.verdict}
        return {
            **verdict,
            "summary": self.summary,
            "advice": self.advice,
            **self.numbers,
            "inferred": list(self.inferred),
            "assumed": list(self.assumed),
            "warnings": [{"code": w.code, "message": w.message} for w in self.warnings],
            "questions": [
                {"question": q.code, "asks": q.asks, "state": q.state, "answer": q.answer} for q in self.questions
            ],
        }


def judge_facts(given: Mapping[str, Any]) -> Answer:
    """The answer to a parsed object of facts; raises FactsError where they cannot be used."""
    notes = Notes()
    facts = facts_of(given, notes)
    derived = _derived_k(facts)
    if not kind_is_open(facts, facts.k or ((derived,) if derived is not None else ())):
        if facts.acceptance.value is not None and facts.acceptance.kind is None:
            facts = as_kind(facts, AcceptanceKind.CONDITIONAL)  # at k = 1 the kinds are one
        return _judged(facts, notes)
    return _under_both_kinds(facts, notes)


def _under_both_kinds(facts: Facts, notes: Notes) -> Answer:
    """What holds whichever kind was meant; a verdict that depends on it is refused."""
    answers = []
    for kind in (AcceptanceKind.CONDITIONAL, AcceptanceKind.PER_DRAFT):
        own = Notes(inferred=list(notes.inferred), assumed=list(notes.assumed), warnings=list(notes.warnings))
        answers.append(_judged(as_kind(facts, kind), own))
    first, second = answers
    value = facts.acceptance.value
    if facts.tokens_per_round is not None:
        fitting = [a for a in answers if not any(w.code == "contradictory_facts" for w in a.warnings)]
        if len(fitting) == 1:
            return replace(fitting[0], inferred=(*fitting[0].inferred, "acceptance.kind"))
    held = {name: item for name, item in first.numbers.items() if second.numbers.get(name, ...) == item}
    common = Notes(
        inferred=[name for name in first.inferred if name in second.inferred],
        assumed=[name for name in first.assumed if name in second.assumed],
        warnings=[warned for warned in first.warnings if warned in second.warnings],
    )
    by_kind = {
        str(kind): {name: a.numbers[name] for name in ("tokens_per_round", "speedup") if name in a.numbers}
        for kind, a in zip((AcceptanceKind.CONDITIONAL, AcceptanceKind.PER_DRAFT), answers, strict=True)
    }
    verdicts = {first.verdict, second.verdict}
    if len(verdicts) > 1:
        common.warn(
            "acceptance_kind_unknown",
            f"An acceptance of {value:g} came without its kind: {_said(first, 'conditional')}, "
            f"{_said(second, 'per draft')}.",
        )
        verdict: str | None = "refused"
    else:
        common.warn(
            "kind_unsaid",
            f"An acceptance of {value:g} has no kind: conditional and per draft yield different tokens per round"
            + ("." if first.verdict in (None, "refused") else f", though the verdict is the same: {first.verdict}."),
        )
        verdict = first.verdict
    numbers = {**held, "by_kind": by_kind}
    return _answer(facts, verdict, numbers, common)


def _said(answer: Answer, kind: str) -> str:
    speedup = answer.numbers.get("speedup")
    times = f" at {speedup:.2f}x" if isinstance(speedup, float) else ""
    return f"{kind} means {answer.verdict or 'no verdict'}{times}"


def _judged(facts: Facts, notes: Notes) -> Answer:
    k = _one_k(facts, notes)
    given = facts.acceptance
    # Counts of a conditional acceptance are tries, of which a round has no fixed number.
    tries = given.kind is AcceptanceKind.CONDITIONAL and given.rounds is None and given.accepted is not None and k != 1
    tally = completed(_merged(facts), None if tries else k, notes)
    alone = not (facts.k_listed and len(facts.k) > 1)
    baseline = baseline_of(facts, tally, notes)
    measured = measured_runs(facts, tally, notes)
    numbers: dict[str, Any] = {}
    if alone:
        verdict, found = judge_one_k(facts, tally, k, baseline, measured, notes)
        if facts.k_listed and k is not None:
            found |= listed(k, found)
    else:
        verdict, found = judge_many_k(facts, tally, facts.k, baseline, notes)
    numbers |= found
    numbers |= curve_of(facts, k if alone else found.get("best_k"), baseline, notes)
    numbers |= gap_of(facts, baseline, notes)
    numbers |= counts_of(facts, tally, k, notes)
    numbers |= experts_of(facts, k)
    if facts.content is not None and "random" in facts.content.lower():
        notes.warn("random_prompts", "Random tokens as prompts flatter drafts, by a quarter where it was compared.")
    return _answer(facts, verdict, numbers, notes)


def _answer(facts: Facts, verdict: str | None, numbers: Mapping[str, Any], notes: Notes) -> Answer:
    if notes.refused:
        verdict = "refused"
    questions = questions_of(facts, numbers, notes)
    return Answer(
        verdict=verdict,
        numbers=numbers,
        inferred=tuple(notes.inferred),
        assumed=tuple(notes.assumed),
        warnings=tuple(notes.warnings),
        questions=questions,
        summary=summary_of(verdict, numbers, notes),
        advice=advice_of(verdict, numbers, notes),
    )


def _one_k(facts: Facts, notes: Notes) -> int | None:
    """The one draft length, said or derived; None where there is none or several."""
    if facts.k:
        if len(facts.k) > 1:
            return None
        _compare_k(facts, facts.k[0], notes)
        return facts.k[0]
    found = _derived_k(facts)
    if found is not None and 0 <= found <= checks.LONGEST_DRAFT:
        if facts.tally.k is None or facts.tally.width is not None:
            notes.infer("k")
        return found
    return None


def _compare_k(facts: Facts, k: int, notes: Notes) -> None:
    counted = facts.tally.k
    if counted is None or counted == k:
        return
    if facts.tally.width == k:
        notes.warn("k_counts_positions", f"The engine verifies {k} positions a round, so k = {k} counts positions.")
    else:
        notes.warn("contradictory_facts", f"k is {k}, and the engine's own fields say {counted} drafts a round.")


def _derived_k(facts: Facts) -> int | None:
    tally, given = facts.tally, facts.acceptance
    if tally.k is not None:
        return tally.k
    if given.positions or tally.positions:
        return len(given.positions or tally.positions)
    drafted = given.drafted if given.drafted is not None else tally.drafted
    rounds = given.rounds if given.rounds is not None else tally.rounds
    if drafted and rounds and drafted % rounds == 0:
        return round(drafted / rounds)
    if tally.histogram:
        return max(0, len(tally.histogram) - 1)
    if tally.accepted_at:
        return len(tally.accepted_at)
    wider = [width for width in facts.verify_ms if width > 1]
    yields = facts.tokens_per_round is not None or given != AcceptanceFacts()
    return wider[0] - 1 if len(wider) == 1 and yields else None


def _merged(facts: Facts) -> Tally:
    """The engine's tally with the counts that the acceptance names."""
    given, tally = facts.acceptance, facts.tally
    return replace(
        tally,
        accepted=tally.accepted if given.accepted is None else given.accepted,
        drafted=tally.drafted if given.drafted is None else given.drafted,
        rounds=tally.rounds if given.rounds is None else given.rounds,
    )
