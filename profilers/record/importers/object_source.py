"""One pass over the objects of a JSON source: the stretches they give, and an account of what was not understood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..codec import LARGEST
from ..records import Counters, Note, Round, Run
from .findings import Findings
from .imported import EXAMPLE_CHARACTERS, Imported, ImportFailed, Tally
from .json_documents import documents
from .model_names import name_without_path
from .object_fields import Fields, count_loose
from .stretches import Stretches

_STRANGE = 1000


@dataclass(slots=True)
class ObjectSource:
    """What an importer collects of one source; `t_ns` is the time that its stretches took so far, end to end."""

    engine: str
    form: str
    tally: Tally = field(default_factory=Tally)
    findings: Findings = field(default_factory=Findings)
    stretches: Stretches = field(default_factory=Stretches)
    model: str | None = None
    t_ns: int = 0
    _strange: set[str] = field(default_factory=set)

    def documents(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the objects of a text, and account for what is none; the caller says what became of the objects."""
        for found in documents(lines):
            if found.value is None:
                count_loose(found, self.tally)
            else:
                yield found.value

    def keep(self, counters: Counters) -> None:
        """Take the figures of one object, with what in them contradicts itself."""
        self.tally.understand()
        for text in contradictions(counters):
            self.findings.contradict(text)
        self.t_ns = min(self.t_ns + (counters.elapsed_ns or 0), LARGEST)
        self.stretches.add(replace(counters, t_ns=self.t_ns))

    def puzzle_fields(self, fields: Fields, known: frozenset[str], telling: re.Pattern[str]) -> None:
        """Account for the fields of an object that are unusable, and once for each figure whose name is not known."""
        for wrong in fields.wrong:
            self.tally.puzzle(wrong)
        for name, value in fields.values.items():
            if name in known or name in self._strange or not telling.search(name):
                continue
            if _is_figure(value) and len(self._strange) < _STRANGE:
                self._strange.add(name)
                self.tally.puzzle(f"{name}: {brief(value)}")

    def name_model(self, name: str | None) -> None:
        """Remember the first name that the source has for its model."""
        if self.model is None and name:
            self.model = name_without_path(name)

    def imported(
        self, remedy: str, others: tuple[Run | Round, ...] = (), drafter: str | None = None, k: int | None = None
    ) -> Imported:
        """Return what was collected; ImportFailed with `remedy` when that is nothing."""
        counters = self.stretches.all()
        if not counters and not others:
            raise ImportFailed(f"This holds no figures of {self.engine} that can be used; {remedy}")
        if self.stretches.merged:
            self.findings.note(
                "merged", f"More than {self.stretches.most:,} stretches: neighbours were added together."
            )
        if self.stretches.dropped:
            self.findings.note("merged", f"{self.stretches.dropped:,} stretches were of too many kinds to be kept.")
        notes: tuple[Note, ...] = self.findings.notes(self.t_ns)
        return Imported(
            engine=self.engine,
            form=self.form,
            records=(*others, *counters, *notes),
            tally=self.tally,
            model=self.model,
            drafter=drafter,
            k=k,
        )


def brief(value: Any) -> str:
    """A value as text, short enough for an example."""
    return json.dumps(value, default=str)[:EXAMPLE_CHARACTERS]


def objects_in(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in a document, outer ones first, each with the names that lead to it, joined by points."""
    stack: list[tuple[str, Any]] = [(path, value)]
    while stack:
        at, item = stack.pop()
        if isinstance(item, dict):
            yield at, item
            parts = [(f"{at}.{name}"[-200:].strip("."), part) for name, part in item.items()]
        elif isinstance(item, list):
            parts = [(at, part) for part in item]
        else:
            continue
        stack += [part for part in reversed(parts) if isinstance(part[1], dict | list)]


def accepted_by_position(counts: dict[int, int]) -> tuple[int, ...]:
    """How many rounds kept at least 1, 2, … drafts, from how many kept exactly each number of them."""
    longest = max((kept for kept, rounds in counts.items() if rounds), default=0)
    by_position: list[int] = []
    at_least = 0
    for kept in range(longest, 0, -1):
        at_least += counts.get(kept, 0)
        by_position.append(at_least)
    return tuple(reversed(by_position))


def contradictions(c: Counters) -> Iterator[str]:
    """Sentences about figures of one stretch that cannot all be right; derived ones are not held against others."""
    of = f" of {c.label}" if c.label else ""
    said = {name: None if name in c.derived else getattr(c, name) for name in _CHECKED}
    rounds, drafted, accepted, tokens = (said[name] for name in ("rounds", "drafted", "accepted", "tokens"))
    positions = said["accepted_by_position"]
    if accepted is not None and drafted is not None and accepted > drafted:
        yield f"The figures{of} have {accepted:,} drafts accepted of only {drafted:,}."
    if positions:
        if list(positions) != sorted(positions, reverse=True):
            yield f"The drafts accepted by position{of} rise from one position to the next."
        if accepted is not None and sum(positions) != accepted:
            yield f"The drafts accepted by position{of} add up to {sum(positions):,}, not to {accepted:,}."
        if rounds is not None and positions[0] > rounds:
            yield f"The first draft{of} was kept in {positions[0]:,} of {rounds:,} rounds."
    if rounds is not None and drafted is not None and c.k is not None and drafted > rounds * c.k:
        yield f"The figures{of} have {drafted:,} drafts in {rounds:,} rounds of at most {c.k}."
    yield from _unlike_sums(c, of, said)
    kept = sum(positions) if accepted is None and positions else accepted
    if rounds is not None and kept is not None and tokens is not None:
        committed = rounds + kept
        if committed - tokens > (64 if c.k is None else c.k) + 1:
            yield f"The rounds{of} yield {committed:,} tokens, but {tokens:,} were generated."


_CHECKED = (
    "rounds",
    "drafted",
    "accepted",
    "accepted_by_position",
    "tokens",
    "elapsed_ns",
    "draft_ns",
    "verify_ns",
    "rest_ns",
    "tokens_per_second",
    "tokens_per_round",
)


def _unlike_sums(c: Counters, of: str, said: dict[str, Any]) -> Iterator[str]:
    """Means and times that do not fit the counts they are of."""
    rounds, accepted, tokens = said["rounds"], said["accepted"], said["tokens"]
    mean, elapsed, rate = said["tokens_per_round"], said["elapsed_ns"], said["tokens_per_second"]
    if mean is not None and rounds and accepted is not None:
        expected = 1 + accepted / rounds
        # the last round of a text may be cut short, and printed means are rounded
        if abs(mean - expected) > 0.006 + 0.01 * expected:
            yield f"The mean length{of} is {mean:.3f}, but 1 + {accepted:,}/{rounds:,} is {expected:.3f}."
    if rate and tokens and elapsed:
        expected = tokens * 1e9 / elapsed
        if abs(rate - expected) > 0.03 * expected:
            yield f"The speed{of} is {rate:.2f} tokens per second, but its tokens and time give {expected:.2f}."
    phases = [said[name] for name in ("draft_ns", "verify_ns", "rest_ns") if said[name] is not None]
    if phases and elapsed and sum(phases) > 1.02 * elapsed:
        yield f"The phases{of} take {sum(phases) / 1e9:.3f} s together, the whole only {elapsed / 1e9:.3f} s."


def _is_figure(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_figure(item) for item in value[:8])
    return isinstance(value, int | float) and not isinstance(value, bool)
