"""A session without what its author may not want to post: no prompts, no text, no notes, no names of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from .importers.model_names import name_without_path
from .privacy import without_paths
from .prompts import BUNDLED_SUITES
from .records import Counters, Footer, Guard, Header, Note, Origin, PromptFacts, Record, Round, Run, Step

KINDS = (*BUNDLED_SUITES, "text")
# greedy, since a file may be named like the words that follow it
PROMPTS_IN_PLAN = re.compile(r"\bprompts (?:.*(?=, \d+ tokens each)|.*)", re.DOTALL)
CACHE_IN_PLAN = re.compile(r"\bbehind the prompt cache (?:.*(?=, split share )|.*)", re.DOTALL)
REPETITION = ", repetition "
LEFT_OUT = "left out"


@dataclass
class Redaction:
    """Takes records one by one and gives what may be posted of each; one object for one file.

    A prompt's hash would let anyone test a guess, so with `salt` (secret, fresh for every copy) it becomes another
    one, the same for the same prompt in this copy. Those in `known_hashes`, of prompts that everybody has, stay, so
    that posted sessions can be compared. Model ids and the machine stay; `keep_notes` keeps what people wrote.
    """

    salt: bytes
    known_hashes: Collection[str] = ()
    keep_notes: bool = False
    _kinds: dict[str, str] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)

    def record(self, record: Record) -> Record | None:
        """The record as it may be posted; None for one that may not."""
        match record:
            case Header():
                return replace(record, plan=self._plan(record.plan), text_kept=False, prompts_kept=False)
            case Run():
                return replace(record, prompt=self._prompt(record.prompt))
            case Round() | Step():
                return record if record.pieces is None else replace(record, pieces=None)
            case Note():
                return replace(record, text=without_paths(record.text)) if self.keep_notes else None
            case Counters():
                return replace(record, label=self._label(record.label), drafter=_named(record.drafter))
            case Origin():
                return replace(record, name=record.form, examples=())
            case Guard():
                remedy = None if record.remedy is None else without_paths(record.remedy)
                return replace(record, message=without_paths(record.message), remedy=remedy)
            case Footer():
                told = LEFT_OUT if record.status == "failed" else without_paths(record.reason or "")
                return replace(record, reason=told if record.reason else None)
        return record

    def _plan(self, plan: str) -> str:
        plan = CACHE_IN_PLAN.sub("behind a prompt cache", plan, count=1)
        found = PROMPTS_IN_PLAN.search(plan)
        names = [] if found is None else found[0].removeprefix("prompts ").strip().split(",")
        if found is None or all(name in (*BUNDLED_SUITES, "all") for name in names):
            return without_paths(plan)
        return without_paths(PROMPTS_IN_PLAN.sub("prompts of a file", plan, count=1))

    def _prompt(self, prompt: PromptFacts) -> PromptFacts:
        known = prompt.hash in self.known_hashes
        digest = hashlib.blake2b(prompt.hash.encode(), key=self.salt[:64], digest_size=8).hexdigest()
        return replace(
            prompt,
            suite=prompt.suite if prompt.suite in BUNDLED_SUITES else "prompts",
            kind=prompt.kind if prompt.kind in KINDS else self._numbered(self._kinds, prompt.kind, "kind"),
            hash=prompt.hash if known else digest,
            text=None,
        )

    def _label(self, label: str | None) -> str | None:
        """Another name for a window, the same for the same label; which repetition it was stays."""
        if label is None:
            return None
        stem, repetition, number = label.partition(REPETITION)
        kept = number if number.isdecimal() else ""
        named = self._numbered(self._labels, stem if kept else label, "window")
        return f"{named}{repetition}{kept}" if kept else named

    @staticmethod
    def _numbered(names: dict[str, str], name: str, word: str) -> str:
        return names.setdefault(name, f"{word} {len(names) + 1}")


def _named(drafter: str | None) -> str | None:
    """A drafter without the folders it lies in, which may have spaces in their names."""
    return None if drafter is None else without_paths(name_without_path(drafter))


def shipped_hashes() -> frozenset[str]:
    """The hashes of the prompts that come with specview."""
    from .prompts import load_prompts

    return frozenset(prompt.hash for prompt in load_prompts("all"))
