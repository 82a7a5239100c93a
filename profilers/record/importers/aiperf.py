"""AIPerf's acceptance record, the neutral shape of one request: read as counters, and made from a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ....engine.errors import SpecviewError
from ..codec import LARGEST
from ..records import Counters, Round, Run
from ..session import Session
from .imported import Imported, Importer
from .object_fields import Fields
from .object_source import ObjectSource, accepted_by_position, brief, objects_in

ENGINE = "AIPerf"
FORM = "AIPerf acceptance records"

_KNOWN = frozenset(
    {
        "engine",
        "mean_acceptance_length",
        "draft_acceptance_rate",
        "acceptance_histogram",
        "num_accepted_draft_tokens",
        "num_draft_tokens",
        "num_spec_steps",
        "num_spec_tokens",
        "completion_tokens",
        "per_step_accepted",
        "per_step_drafted",
    }
)
_TELLING = re.compile(r"accept|draft|spec_|per_step")
_MARKS = frozenset({"num_spec_steps", "num_accepted_draft_tokens"})
_LONGEST = 4096


class ExportError(SpecviewError):
    """Figures that do not make an acceptance record; the text says what they lack."""


def likely(head: str) -> float:
    """Whether the head of a text holds such records; without an engine's name it is that engine's own."""
    if not all(f'"{name}"' in head for name in _MARKS):
        return 0.0
    return 0.9 if re.search(r'"engine"\s*:', head) else 0.3


def read(lines: Iterable[str]) -> Imported:
    """Read each record of a text as one stretch, wherever in a document it stands; no record knows of time."""
    source = ObjectSource(ENGINE, FORM)
    engines: set[str] = set()
    for value in source.documents(lines):
        found = False
        for _, item in objects_in(value):
            source.name_model(Fields(item).text("model"))
            if item.keys() >= _MARKS:
                found = True
                _read_record(source, item, engines)
        if not found:
            source.tally.ignore()
    if len(engines) == 1:
        source.engine = next(iter(engines))
    return source.imported("give it AIPerf's acceptance records, one JSON object a request.")


def _read_record(source: ObjectSource, item: dict[str, Any], engines: set[str]) -> None:
    fields = Fields(item)
    engine = (fields.text("engine") or ENGINE)[:80]
    rounds, accepted = fields.count("num_spec_steps"), fields.count("num_accepted_draft_tokens")
    drafted, k = fields.count("num_draft_tokens"), fields.count("num_spec_tokens")
    mean, rate = fields.number("mean_acceptance_length"), fields.number("draft_acceptance_rate")
    tokens = fields.count("completion_tokens")
    steps = fields.counts("per_step_accepted"), fields.counts("per_step_drafted")
    histogram = _histogram(fields)
    source.puzzle_fields(fields, _KNOWN, _TELLING)
    if rounds is None or accepted is None:
        source.tally.puzzle(brief(item))
        return
    _check(source, rounds, accepted, drafted, rate, histogram)
    _check_steps(source, steps, rounds, accepted, drafted)
    engines.add(engine)
    derived = ["accepted_by_position"] if histogram else []
    if mean is None and rounds:
        mean = 1 + accepted / rounds
        derived.append("tokens_per_round")
    source.keep(
        Counters(
            t_ns=0,
            arm="drafting",
            source=engine,
            k=k,
            rounds=rounds,
            drafted=drafted,
            accepted=accepted,
            accepted_by_position=accepted_by_position(histogram) if histogram else None,
            tokens=tokens,
            tokens_per_round=mean if rounds else None,
            derived=tuple(derived),
        )
    )


def _histogram(fields: Fields) -> dict[int, int] | None:
    """How many rounds accepted exactly j drafts: a list by j, or an object with j as the name, zeros left out."""
    name = "acceptance_histogram"
    value = fields.values.get(name)
    if isinstance(value, list):
        counts = fields.counts(name)
        return None if counts is None or len(counts) > _LONGEST else dict(enumerate(counts))
    if not isinstance(value, dict):
        if value is not None:
            fields.wrong.append(f"{name}: {brief(value)}")
        return None
    inner = Fields(value)
    found: dict[int, int] = {}
    for key in value:
        count = inner.count(key) if key.isascii() and key.isdigit() and len(key) <= 4 else None
        if count is None or int(key) > _LONGEST:
            fields.wrong.append(f"{name}: {brief(value)}")
            return None
        found[int(key)] = count
    return found


def _check(
    source: ObjectSource,
    rounds: int,
    accepted: int,
    drafted: int | None,
    rate: float | None,
    histogram: dict[int, int] | None,
) -> None:
    """The checks of such a record: its rate, and the histogram against rounds and accepted drafts."""
    if rate is not None and drafted and abs(rate - accepted / drafted) > 0.005:
        text = f"The acceptance rate is {rate:.4f}, but {accepted:,} of {drafted:,} drafts is {accepted / drafted:.4f}."
        if abs(rate / 100 - accepted / drafted) <= 0.005:
            text += " It is a percentage."
        source.findings.contradict(text)
    if histogram is not None:
        by_histogram = sum(kept * count for kept, count in histogram.items())
        if by_histogram != accepted:
            source.findings.contradict(f"The histogram holds {by_histogram:,} accepted drafts, not {accepted:,}.")
        if sum(histogram.values()) != rounds:
            source.findings.contradict(f"The histogram holds {sum(histogram.values()):,} rounds, not {rounds:,}.")


def _check_steps(
    source: ObjectSource,
    steps: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
    rounds: int,
    accepted: int,
    drafted: int | None,
) -> None:
    for name, each, total in (("accepted", steps[0], accepted), ("drafted", steps[1], drafted)):
        if each is not None and (len(each) != rounds or (total is not None and sum(each) != total)):
            source.findings.contradict(f"The {len(each):,} steps of per_step_{name} do not add up to the totals.")
    if steps[0] and steps[1] and any(kept > made for kept, made in zip(steps[0], steps[1], strict=False)):
        source.findings.contradict("A step accepted more drafts than it had.")


def aiperf_of(figures: Session | Counters) -> dict[str, Any]:
    """Return the acceptance record of a session's free rounds (of its last setting), or of one stretch of counters.

    Warm-up and rounds that only repeat a text are left out, as in the ledger. ExportError where counts are missing.
    """
    if isinstance(figures, Counters):
        return _record_of_counters(figures)
    rounds, engine = _rounds_of(figures)
    if rounds:
        ks = {run.k for run in figures.runs if run.run in {each.run for each in rounds}}
        return _record(
            engine=engine,
            drafted=[each.drafted for each in rounds],
            kept=[each.accepted for each in rounds],
            k=ks.pop() if len(ks) == 1 else None,
            tokens=sum(each.tokens for each in rounds),
        )
    drafting = [each for each in figures.counters if each.arm == "drafting"]
    if len(drafting) == 1:
        return _record_of_counters(drafting[0])
    raise ExportError(
        "This session holds no rounds of drafting and "
        f"{len(drafting):,} stretches of counters; choose one stretch to export."
    )


def _rounds_of(session: Session) -> tuple[Sequence[Round], str]:
    settings: dict[int, tuple[Any, ...]] = {run.run: _setting(run) for run in session.runs if _is_free(run)}
    last = list(settings.values())[-1] if settings else None
    rounds = [each for each in session.rounds if not each.warm_up and settings.get(each.run, ()) == last]
    return [each for each in rounds if not each.replay] or rounds, session.header.source or "specview"


def _is_free(run: Run) -> bool:
    return run.arm in ("drafting", "k0")


def _setting(run: Run) -> tuple[Any, ...]:
    return run.drafter, run.k, run.rule, run.temperature, run.top_p


def _record(*, engine: str, drafted: list[int], kept: list[int], k: int | None, tokens: int) -> dict[str, Any]:
    histogram = Counter(kept)
    return {
        "engine": engine,
        "mean_acceptance_length": 1 + sum(kept) / len(kept),
        "draft_acceptance_rate": sum(kept) / sum(drafted) if sum(drafted) else 0.0,
        "acceptance_histogram": {str(j): histogram[j] for j in sorted(histogram)},
        "num_accepted_draft_tokens": sum(kept),
        "num_draft_tokens": sum(drafted),
        "num_spec_steps": len(kept),
        "num_spec_tokens": k,
        "completion_tokens": tokens,
        "per_step_accepted": kept,
        "per_step_drafted": drafted,
    }


def _record_of_counters(c: Counters) -> dict[str, Any]:
    if not c.rounds or c.accepted is None or c.drafted is None or c.accepted_by_position is None:
        raise ExportError(
            "An acceptance record needs the rounds, the drafted and accepted tokens and how many were accepted at each "
            "position, and these counters lack one of them."
        )
    at_least = (c.rounds, *c.accepted_by_position, 0)
    histogram = {str(j): at_least[j] - at_least[j + 1] for j in range(len(at_least) - 1)}
    if any(count < 0 for count in histogram.values()) or sum(c.accepted_by_position) > LARGEST:
        raise ExportError("These counters contradict themselves, so no acceptance record can be made of them.")
    return {
        "engine": c.source,
        "mean_acceptance_length": 1 + c.accepted / c.rounds,
        "draft_acceptance_rate": c.accepted / c.drafted if c.drafted else 0.0,
        "acceptance_histogram": {j: count for j, count in histogram.items() if count},
        "num_accepted_draft_tokens": c.accepted,
        "num_draft_tokens": c.drafted,
        "num_spec_steps": c.rounds,
        "num_spec_tokens": c.k,
        "completion_tokens": c.tokens,
        "per_step_accepted": None,
        "per_step_drafted": None,
    }


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
