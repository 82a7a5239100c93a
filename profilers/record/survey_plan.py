"""What a survey is to measure: a model or a bare shape, which parts of its cost, at which widths and contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from ...engine.errors import SpecviewError
from ...engine.limits import checked_draft_length
from .plan import name_of_drafter

Part = Literal[
    "calibration",
    "whole",
    "blocks",
    "census",
    "routes",
    "replays",
    "curve",
    "experiment",
    "policies",
    "batch",
    "batched",
]
PARTS: tuple[Part, ...] = get_args(Part)
WIDEST = 256
BATCHES = (1, 2, 4, 8)
FEWEST_TOKENS = 8
LARGEST_BATCH = 256


class SurveyError(SpecviewError):
    """A survey that makes no sense, or that broke off."""


class Progress(Protocol):
    """Whoever wants to know how far a survey is."""

    def loading(self, what: str) -> None:
        """Something that takes a while begins."""
        ...

    def measuring(self, what: str, done: int, total: int) -> None:
        """So many of the timings of one part are made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPlan:
    """One survey: what passes over a model cost; nothing is generated, and so nothing accepted, but in batches.

    `shape` names an architecture to build with random weights instead of `model`; `layers` and `experts` how many of
    its own to build. `contexts` are positions in the cache, `widths` positions of a pass, `place_ms` the time that
    each place of blocks may take by the queued ruler. `curve_widths` are those of the verify curve where it has others.
    `batches` are numbers of sequences at once; with a `draft` each is also generated with drafts of `k` and without, in
    stretches of `tokens` a text.
    """

    parts: tuple[Part, ...]
    model: str = "bundled"
    shape: str | None = None
    layers: int | None = None
    experts: int | None = None
    dtype: str | None = None
    contexts: tuple[int, ...] = (128,)
    widths: tuple[int, ...] = (1, 2)
    curve_widths: tuple[int, ...] | None = None
    batches: tuple[int, ...] = BATCHES
    draft: str | None = None
    draft_dtype: str | None = None
    k: int = 1
    tokens: int = 32
    repeats: int = 5
    place_ms: float = 300.0
    experiments: tuple[str, ...] = ()
    seed: int = 0
    recalibrate: bool = False
    trust_remote_code: bool = False

    def checked(self) -> SurveyPlan:
        """This plan, or SurveyError with what to change."""
        if not self.widths or min(self.every_width) < 1 or max(self.every_width) > WIDEST:
            raise SurveyError(f"--widths {listed(self.widths)}: give numbers of positions from 1 to {WIDEST}.")
        if "curve" in self.parts and (1 not in self.over or len(self.over) < 2):
            raise SurveyError(f"--widths {listed(self.over)} is no curve: give 1 and at least one more.")
        if not self.contexts or min(self.contexts) < 1:
            raise SurveyError(f"--context {listed(self.contexts)}: give numbers of positions, at least 1.")
        if "batch" in self.parts and (
            not self.batches or not 1 <= min(self.batches) <= max(self.batches) <= LARGEST_BATCH
        ):
            raise SurveyError(f"--batches {listed(self.batches)}: give numbers of sequences from 1 to {LARGEST_BATCH}.")
        if self.draft is not None:
            checked_draft_length(self.k)
            if self.k < 1:
                raise SurveyError("--k 0 drafts nothing: ask for at least 1, or for --draft none.")
            if self.tokens < FEWEST_TOKENS:
                raise SurveyError(f"--tokens {self.tokens} is too short to time: ask for at least {FEWEST_TOKENS}.")
        if self.repeats < 2:
            raise SurveyError(f"--repeats {self.repeats} gives no interval: ask for at least 2.")
        if math.isinf(self.place_ms):
            raise SurveyError("--place-ms inf would measure for ever: ask for a number of milliseconds.")
        if not self.place_ms > 0:
            raise SurveyError(f"--place-ms {self.place_ms:g} leaves no time to measure: ask for more than 0.")
        if self.shape is None and (self.layers is not None or self.experts is not None):
            raise SurveyError("--layers and --experts belong to --shape: a model with weights is measured whole.")
        return self

    @property
    def over(self) -> tuple[int, ...]:
        """The widths of the verify curve."""
        return self.curve_widths or self.widths

    @property
    def every_width(self) -> tuple[int, ...]:
        """All widths that some part needs, in order."""
        return tuple(sorted({*self.widths, *(self.over if "curve" in self.parts else ())}))

    def sentence(self) -> str:
        """The plan in one line, for the header; names no path."""
        many = f", batches {listed(self.batches)}" if "batch" in self.parts else ""
        generated = "nothing generated"
        if self.draft is not None and "batched" in self.parts:
            generated = f"drafts of {self.k} by {name_of_drafter(self.draft)}, {self.tokens} tokens a text"
        return (
            f"costs only ({', '.join(self.parts)}), widths {listed(self.every_width)}{many}, "
            f"context {listed(self.contexts)}, {self.repeats} repeats, seed {self.seed}; {generated}"
        )


def listed(numbers: tuple[int, ...]) -> str:
    """Numbers as people write them: 1, 2, 4."""
    return ", ".join(str(n) for n in numbers)


def numbers_of(text: str, flag: str) -> tuple[int, ...]:
    """Widths or contexts from the command line: `1,2,4`, `1-16`, or both, in order, each once."""
    found: list[int] = []
    for piece in text.split(","):
        first, dash, last = piece.strip().partition("-")
        if len(first) > 7 or len(last) > 7:
            raise SurveyError(f"{flag} {text!r} is out of reach: give numbers of at most 7 digits.")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise SurveyError(f"{flag} {text!r} cannot be read: write numbers such as 1,2,4 or 1-16.")
        end = int(last) if dash else int(first)
        if end < int(first) or end - int(first) > 4096:
            raise SurveyError(f"{flag} {text!r} cannot be read: a range goes upwards, over at most 4096 numbers.")
        found.extend(range(int(first), end + 1))
    return tuple(dict.fromkeys(found))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
