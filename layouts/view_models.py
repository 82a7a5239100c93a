"""What the panels of the dashboard render: frozen, plain, comparable; numbers are raw, times in ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..profilers.record.records import Header

HeadlineKind = Literal["wins", "loses", "cannot_win", "too_close", "refused", "measuring", "problem", "costs"]
LiveState = Literal["loading", "recording", "paused", "stalled", "following", "saved", "ended", "waiting"]
PieceKind = Literal["accepted", "own", "rejected", "plain", "mark"]
Tone = Literal["", "good", "bad", "warn", "quiet", "what-if"]


@dataclass(frozen=True, slots=True)
class Live:
    """What the app knows beside the file: what its recorder does, and what looking costs.

    `progress` is prompts done and prompts planned, or of a survey the timings of its part; `looking` is this app's
    share of all cores; `trouble` is a sentence about the recorder or the file. `measures` is what the recorder
    measures, where that is a survey or an experiment. `reading` is the share of a long file that is read so far, of
    which nothing but its `header` is known; a growing file is on the screen `behind_s` late at most.
    """

    state: LiveState = "waiting"
    name: str = ""
    doing: str = ""
    progress: tuple[float, int] | None = None
    trouble: str = ""
    looking: float | None = None
    measures: str = ""
    reading: float | None = None
    header: Header | None = None
    behind_s: float = 0.0


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A question: what if p were this, what if k were that; None keeps the measured one.

    `verify` and `draft` multiply T_verify and T_draft as they were measured; `batch` is how many sequences run at once.
    """

    p: float | None = None
    k: int | None = None
    verify: float = 1.0
    draft: float = 1.0
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class StatusView:
    """The line at the top: what runs, the state in a word, how far."""

    title: str
    state: LiveState
    word: str
    seconds: float | None
    progress: tuple[float, int] | None


@dataclass(frozen=True, slots=True)
class HeadlineView:
    """The verdict: its kind, its word, the rest of the first line, and two lines under it."""

    kind: HeadlineKind
    word: str
    first: str
    second: str
    third: str


@dataclass(frozen=True, slots=True)
class CategoryTime:
    """One op category of a decode step, in ms, on the ruler that is shown."""

    category: str
    ms: float


@dataclass(frozen=True, slots=True)
class GapShare:
    """One part of the gap in ms, below zero where it shortens the wall."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class DecodeView:
    """A decode step by three rulers: the whole graph, its blocks between fences, and its blocks by slope.

    `sum_ms` is of blocks with layers cycled, `hot_ms` of copies that stay at one layer. `gap_of_sum` and
    `gap_of_wall` are shares, `gap_parts` what the gap is made of where that is known. `waiting` says what the gap
    still waits for, `sentences` why the rulers disagree. Without blocks `message` says so and the whole-graph numbers
    stand alone.
    """

    message: str = ""
    whole_ms: float | None = None
    pipelined_ms: float | None = None
    build_ms: float | None = None
    eval_ms: float | None = None
    sum_ms: float | None = None
    ruler: str = ""
    waiting: str = ""
    fenced_ms: float | None = None
    fence_ms: float | None = None
    gap_ms: float | None = None
    gap_of_sum: float | None = None
    gap_of_wall: float | None = None
    categories: tuple[CategoryTime, ...] = ()
    hot_ms: float | None = None
    gap_parts: tuple[GapShare, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RatioBar:
    """Verify ÷ decode of one op category, or of one width; `marked` for the width of this run.

    `asked` is the ratio under a what-if, `asked_about` marks the width that one is about.
    """

    label: str
    ratio: float
    marked: bool = False
    asked: float | None = None
    asked_about: bool = False


@dataclass(frozen=True, slots=True)
class VerifyView:
    """Verify ÷ decode by op category at `width` positions, and of the whole graph by width.

    Widths are the measured ones only; a cliff shows as a jump between neighbours. `no_widths` stands where none is.
    """

    message: str = ""
    width: int | None = None
    ruler: str = ""
    categories: tuple[RatioBar, ...] = ()
    widths: tuple[RatioBar, ...] = ()
    cliffs: tuple[str, ...] = ()
    no_widths: str = "Widths are not measured yet: probes run between segments."


@dataclass(frozen=True, slots=True)
class Curve:
    """The T_verify that breaks even over p from 0 to 1, in equal steps, and the measured T_verify."""

    k: int
    limits_ms: tuple[float, ...]
    verify_ms: float
    crossing: float | None


@dataclass(frozen=True, slots=True)
class Moved:
    """One number under a what-if: what it would be, and what the same formula gives as measured (None: nothing).

    `asked` marks what the question itself sets, `key` tells numbers apart whatever they are called on the screen.
    """

    key: str
    name: str
    unit: str
    now: float | None
    was: float | None
    asked: bool = False

    @property
    def differs(self) -> bool:
        """Whether the question moves it."""
        return self.now != self.was


@dataclass(frozen=True, slots=True)
class WhatIfView:
    """The answer to a what-if, never mixed with what was measured.

    `speedup` is by the formula, `was` what the formula gives as measured, `measured` the verdict's; both are None where
    there is no verdict. `moved` are all numbers of a round, `at_most` says that drafts are taken to cost nothing.
    """

    p: float
    k: int
    p_asked: bool
    k_asked: bool
    curve: Curve
    limit_ms: float
    speedup: float
    note: str
    was: float | None = None
    measured: float | None = None
    moved: tuple[Moved, ...] = ()
    at_most: bool = False

    def of(self, key: str) -> Moved | None:
        """One of the moved numbers."""
        return next((each for each in self.moved if each.key == key), None)


@dataclass(frozen=True, slots=True)
class BreakEvenView:
    """The break-even line with the measured point and its interval; `message` where it cannot be drawn.

    `unmeasured`: nothing was generated, so there is a line and no point on it. `symbol` is p at k = 1 and α, the
    conditional acceptance, at longer drafts, where the two differ.
    `level` names the cost that is compared where it is not that of a verify pass alone. `batches` are those that a
    what-if can ask about, `cloud` (p, T_verify in ms) of single prompts.
    """

    message: str = ""
    curve: Curve | None = None
    p: float | None = None
    p_low: float | None = None
    p_high: float | None = None
    limit_ms: float | None = None
    limit_steps: float | None = None
    verify_steps: float | None = None
    symbol: str = "p"
    level: str = ""
    note: str = ""
    unmeasured: bool = False
    what_if: WhatIfView | None = None
    what_if_message: str = ""
    cloud: tuple[tuple[float, float], ...] = ()
    batches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamPiece:
    """A stretch of text of one kind."""

    text: str
    kind: PieceKind


@dataclass(frozen=True, slots=True)
class StreamView:
    """Generated text in order, drafts told apart; `where` names the prompt that is on."""

    message: str = ""
    where: str = ""
    pieces: tuple[StreamPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A name, its value as text, a remark, and whether it is good or bad news."""

    label: str
    value: str
    remark: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class RoundsView:
    """The numbers of the rounds, one a row; `message` says what is missing."""

    rows: tuple[Row, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class DashboardView:
    """Everything on the main screen."""

    status: StatusView
    headline: HeadlineView
    decode: DecodeView
    verify: VerifyView
    break_even: BreakEvenView
    stream: StreamView
    rounds: RoundsView
