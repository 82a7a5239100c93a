"""What every importer gives: the records of one source, and an account of its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ....engine.errors import SpecviewError
from .. import records

EXAMPLES = 5
EXAMPLE_CHARACTERS = 200


class ImportFailed(SpecviewError):
    """A source that cannot be read as what it was taken for; the text says what to do."""


@dataclass(slots=True)
class Tally:
    """Counts lines as they are read: understood, known to say nothing about drafting, or not understood.

    A line (of a JSON source: an object or a field) that looks as if it should be understood and is not must never
    vanish: it is counted, and the first few are kept as examples.
    """

    lines: int = 0
    understood: int = 0
    ignored: int = 0
    not_understood: int = 0
    examples: list[str] = field(default_factory=list)

    def understand(self) -> None:
        """One more line gave figures."""
        self.lines += 1
        self.understood += 1

    def ignore(self) -> None:
        """One more line says nothing about drafting or speed."""
        self.lines += 1
        self.ignored += 1

    def puzzle(self, line: str) -> None:
        """One more line looks like figures and was not understood."""
        self.lines += 1
        self.not_understood += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(line.strip()[:EXAMPLE_CHARACTERS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One source as records: counters, whole-graph probes of a verify curve, notes about traps.

    `engine` names the engine ("llama.cpp"), `form` the form of the source ("llama.cpp log"). `model`, `drafter`,
    `device`, `k` are what the source says of them, None where it does not.
    """

    engine: str
    form: str
    records: tuple[records.Counters | records.Probe | records.Round | records.Run | records.Step | records.Note, ...]
    tally: Tally
    model: str | None = None
    drafter: str | None = None
    device: str | None = None
    k: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One form of source. `likely(head)` says from the first 64 kB of text whether it is this form (0 to 1)."""

    form: str
    engine: str
    likely: Callable[[str], float]
    read: Callable[[Iterable[str]], Imported]
