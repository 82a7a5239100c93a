"""SGLang's log: `Decode batch` lines, each over the last few dozen steps of one scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .log_clock import LogClock
from .log_windows import LogWindows, joined
from .model_names import name_without_path
from .served_counters import about_rate
from .written_numbers import LINE_CHARACTERS, NUMBER, number, plain_line, whole

FORM = "SGLang log"
ENGINE = "sglang"

_RANKS = re.compile(r"\b(DP|TP|PP)(\d{1,4})\b")
_RUNNING = re.compile(rf"#running-req:\s*({NUMBER})")
_LENGTH = re.compile(rf"accept(?:ance)? len(?:gth)?:\s*({NUMBER})")
_RATE = re.compile(rf"accept(?:ance)? rate:\s*({NUMBER})")
_SPEED = re.compile(rf"gen throughput \(token/s\):\s*({NUMBER})")
_ARGUMENT = r"{}['\"]?\s*[=:]\s*(?:'([^']*)'|\"([^\"]*)\"|([^,)\s]+))"
_ROUNDING = 0.0051


@dataclass(slots=True)
class _Fit:
    """Which whole numbers fit the printed rates: k if they count drafts, positions if they count those."""

    lowest_k: float = 0
    highest_k: float = inf
    lowest_positions: float = 0
    highest_positions: float = inf

    def narrow(self, length: float, rate: float) -> None:
        """Take one more line's tokens per round and rate, both rounded to two decimals."""
        if rate <= 0.02 or length <= 1.05:
            return
        low, high = rate - _ROUNDING, rate + _ROUNDING
        self.lowest_k = max(self.lowest_k, (length - 1 - _ROUNDING) / high)
        self.highest_k = min(self.highest_k, (length - 1 + _ROUNDING) / low)
        self.lowest_positions = max(self.lowest_positions, (length - _ROUNDING) / high)
        self.highest_positions = min(self.highest_positions, (length + _ROUNDING) / low)

    def k(self) -> int | None:
        """Return the one k that fits, None if there is none or more than one."""
        if self.highest_k == inf:
            return None
        by_drafts = range(max(ceil(self.lowest_k), 1), min(floor(self.highest_k), 1000) + 1)
        by_positions = range(max(ceil(self.lowest_positions), 2), min(floor(self.highest_positions), 1000) + 1)
        fitting = {*by_drafts, *(positions - 1 for positions in by_positions)}
        return fitting.pop() if len(fitting) == 1 else None


@dataclass(slots=True)
class _Life:
    """One life of a server, from its start to the next."""

    positions: int | None = None
    k: int | None = None
    windows: LogWindows = field(default_factory=LogWindows)
    fit: _Fit = field(default_factory=_Fit)
    lines: int = 0
    with_prompt: set[str] = field(default_factory=set)


def likely(head: str) -> float:
    """Say how likely a text is a log of SGLang."""
    if "Decode batch" in head and "gen throughput (token/s)" in head:
        return 0.95
    return 0.5 if "server_args=ServerArgs(" in head or "Prefill batch" in head else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Return a stretch for each line; a server without drafting gives plain ones."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    return reader.imported()


class _Reader:
    """Follows a log line by line; holds bounded lists only."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._findings = Findings()
        self._clock = LogClock()
        self._life = _Life()
        self._finished: list[tuple[Counters, ...]] = []
        self._model: str | None = None
        self._drafter: str | None = None

    def take(self, raw: str) -> None:
        """Read one line."""
        if len(raw) > LINE_CHARACTERS:
            self._tally.puzzle(raw[:LINE_CHARACTERS])
            return
        line = plain_line(raw)
        t_ns = self._clock.at(line)
        if "Decode batch" in line:
            self._decode(line, t_ns)
        elif "Prefill batch" in line:
            scheduler = _scheduler(line)
            if scheduler is not None and len(self._life.with_prompt) < 1024:
                self._life.with_prompt.add(scheduler)
            self._tally.ignore()
        elif "ServerArgs(" in line or "server_args=" in line:
            self._started(line)
            self._tally.ignore()
        elif _LENGTH.search(line) or _SPEED.search(line):
            self._tally.puzzle(line)
        else:
            self._tally.ignore()

    def imported(self) -> Imported:
        """Return what the log said."""
        self._end_life()
        counters = joined(self._finished)
        if not counters:
            raise ImportFailed(
                "No Decode batch line of SGLang with a speed is in this log; let the server generate a few hundred "
                "tokens and import its log again."
            )
        if any(one.arm == "drafting" for one in counters):
            self._findings.note(
                "weights", "A line does not say how many rounds it covers: all lines count as equally many."
            )
        return Imported(
            engine=ENGINE,
            form=FORM,
            records=(*counters, *self._findings.notes(self._clock.now_ns)),
            tally=self._tally,
            model=self._model,
            drafter=self._drafter,
            k=next((one.k for one in counters if one.k), None),
        )

    def _decode(self, line: str, t_ns: int) -> None:
        scheduler = _scheduler(line)
        if scheduler is None:
            # another rank of the same batch says the same again
            self._tally.ignore()
            return
        speed, length = _number(_SPEED, line), _number(_LENGTH, line)
        if speed is None or ("accept len" in line and length is None):
            self._tally.puzzle(line)
            return
        self._tally.understand()
        self._life.lines += 1
        running = _RUNNING.search(line)
        batch = whole(running[1]) if running else None
        clean = scheduler not in self._life.with_prompt
        self._life.with_prompt.discard(scheduler)
        rate = _number(_RATE, line)
        if length is not None and length < 1:
            if length:
                self._findings.contradict(f"An accept length of {length:.2f} is less than one token a round.", "length")
            length = None
            if speed == 0:
                return
        if length is not None and rate is not None:
            self._life.fit.narrow(length, rate)
            if self._life.positions:
                about_rate(rate, length, self._life.positions, self._findings)
        if speed or length:
            self._life.windows.add(
                Counters(
                    t_ns=t_ns,
                    arm="plain" if "accept len" not in line else "drafting",
                    source=ENGINE,
                    label=scheduler or None,
                    drafter=self._drafter if length is not None else None,
                    k=self._life.k if length is not None else None,
                    batch=batch or None,
                    tokens_per_second=speed or None,
                    tokens_per_round=length,
                ),
                clean=clean,
            )

    def _started(self, line: str) -> None:
        if self._life.lines:
            self._end_life()
        model, draft = _argument("model_path", line), _argument("speculative_draft_model_path", line)
        method = _argument("speculative_algorithm", line)
        positions, steps = _argument("speculative_num_draft_tokens", line), _argument("speculative_num_steps", line)
        if model:
            self._model = name_without_path(model)
        named = [method, name_without_path(draft) if draft else None]
        self._drafter = " ".join(part for part in named if part) or None
        count = whole(positions) if positions else None
        if count and 1 < count <= 1000:
            self._life.positions = count
            deep = whole(steps) if steps else None
            if deep is None or count == deep + 1:
                self._life.k = count - 1
            else:
                self._findings.note(
                    "tree", f"Drafts are trees: {count - 1} drafts in {deep} steps; k is not one number."
                )

    def _end_life(self) -> None:
        life = self._life
        windows = life.windows.all(self._findings)
        drafting = any(window.arm == "drafting" for window in windows)
        if drafting and life.positions is None:
            k = life.fit.k()
            if k is None:
                self._findings.note(
                    "kind",
                    "Accept rates do not tell k: older versions count every verified position, newer ones the drafts, "
                    "and these numbers fit both or neither.",
                )
            else:
                windows = tuple(
                    replace(one, k=k, derived=(*one.derived, "k")) if one.arm == "drafting" else one for one in windows
                )
        self._finished.append(windows)
        self._life = _Life()


def _scheduler(line: str) -> str | None:
    """Return the name of the scheduler that speaks ("" for the only one), None for a rank that repeats another's."""
    head = line.partition(" batch")[0]
    ranks = dict(_RANKS.findall(head))
    if "DP" in ranks:
        return f"DP{ranks['DP']}"
    return "" if int(ranks.get("TP", 0)) == 0 and int(ranks.get("PP", 0)) == 0 else None


def _argument(name: str, line: str) -> str | None:
    found = re.search(r"(?<![\w])" + _ARGUMENT.format(name), line)
    value = next((part for part in found.groups() if part is not None), None) if found else None
    return None if value in (None, "", "None") else value


def _number(pattern: re.Pattern[str], line: str) -> float | None:
    found = pattern.search(line)
    return number(found[1]) if found else None


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
