"""vLLM's log: windows of about ten seconds with the rounds of drafting and the speed beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..records import Counters
from .counter_differences import Reset, differences
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .log_clock import LogClock
from .log_windows import LogWindows, joined
from .vllm_spec_line import OldTotals, SpecWindow, old_totals, spec_window
from .vllm_startup import Startup, startup_in
from .written_numbers import LINE_CHARACTERS, NUMBER, number, plain_line, whole

FORM = "vLLM log"
ENGINE = "vllm"

_SPEAKER = re.compile(r"\(([\w-]+(?: [\w-]+)? pid=\d+)\)")
_ENGINE_NUMBER = re.compile(r"\bEngine (\d+)\b")
_SPEED = re.compile(rf"Avg generation throughput:\s*({NUMBER})\s*tok", re.IGNORECASE)
_PROMPT_SPEED = re.compile(rf"Avg prompt throughput:\s*({NUMBER})\s*tok", re.IGNORECASE)
_RUNNING = re.compile(rf"Running:\s*({NUMBER})", re.IGNORECASE)
_SPEED_NAME = "Avg generation throughput"
_SPEC_NAME = "SpecDecoding metrics:"
_OLD_NAME = "Speculative metrics:"
_LIKE_FIGURES = re.compile(r"SpecDecodeWorker stage times|acceptance (?:rate|length)[:=]\s*\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Speed:
    """One throughput line that no drafting line has taken yet."""

    t_ns: int
    engine: str | None
    tokens_per_second: float
    running: int | None
    clean: bool


@dataclass(slots=True)
class _Life:
    """One life of a server, from its start to the next."""

    drafts: bool | None = None
    k: int | None = None
    windows: LogWindows = field(default_factory=LogWindows)
    undrafted: LogWindows = field(default_factory=LogWindows)
    undrafted_count: int = 0
    pending: dict[str, dict[str | None, _Speed]] = field(default_factory=dict)
    totals: dict[str, OldTotals] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    lines: int = 0


def likely(head: str) -> float:
    """Say how likely a text is a log of vLLM."""
    if _SPEC_NAME in head or _OLD_NAME in head:
        return 0.95
    if _SPEED_NAME in head:
        return 0.8
    return 0.4 if "vLLM API server version" in head or "vllm.entrypoints" in head else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Return a stretch for each window; a server without speculative decoding gives plain ones."""
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
        self._k: int | None = None

    def take(self, raw: str) -> None:
        """Read one line."""
        if len(raw) > LINE_CHARACTERS:
            self._tally.puzzle(raw[:LINE_CHARACTERS])
            return
        line = plain_line(raw)
        t_ns = self._clock.at(line)
        spoken = _SPEAKER.search(line)
        speaker = spoken[1] if spoken else ""
        if _SPEC_NAME in line:
            self._spec(line, speaker, t_ns)
        elif _OLD_NAME in line:
            self._old(line, speaker, t_ns)
        elif _SPEED_NAME in line:
            self._speed(line, speaker, t_ns)
        elif (startup := startup_in(line)) is not None:
            self._started(startup)
            self._tally.ignore()
        elif _LIKE_FIGURES.search(line):
            self._tally.puzzle(line)
        else:
            self._tally.ignore()

    def imported(self) -> Imported:
        """Return what the log said."""
        self._end_life()
        counters = joined(self._finished)
        if not counters:
            raise ImportFailed(
                "No throughput or SpecDecoding line of vLLM is in this log; run the server without "
                "--disable-log-stats while it generates, and import its log again."
            )
        if any(one.arm == "drafting" for one in counters):
            self._findings.note(
                "rounded", "Rounds are not printed; they were found as the whole number that fits the printed figures."
            )
        return Imported(
            engine=ENGINE,
            form=FORM,
            records=(*counters, *self._findings.notes(self._clock.now_ns)),
            tally=self._tally,
            model=self._model,
            drafter=self._drafter,
            k=self._k or next((one.k for one in counters if one.k), None),
        )

    def _spec(self, line: str, speaker: str, t_ns: int) -> None:
        window = spec_window(line, self._life.k, self._findings)
        if window is None:
            self._tally.puzzle(line)
            return
        self._tally.understand()
        self._life.drafts = True
        self._life.lines += 1
        speed = self._speed_for(line, speaker)
        if window.drafted:
            self._life.windows.add(self._window(window, speed, t_ns), clean=speed is None or speed.clean)

    def _window(self, window: SpecWindow, speed: _Speed | None, t_ns: int) -> Counters:
        rounds, derived = window.rounds, []
        per_round, per_second, elapsed_ns, tokens, positions = window.tokens_per_round, None, None, None, None
        if rounds:
            tokens = window.accepted + rounds
            derived += ["rounds", "tokens"]
            if per_round is None:
                per_round = 1 + window.accepted / rounds
                derived.append("tokens_per_round")
            if window.rates:
                positions = tuple(round(rate * rounds) for rate in window.rates)
                derived.append("accepted_by_position")
        if speed is not None and speed.tokens_per_second:
            per_second = speed.tokens_per_second
        elif speed is None and window.accepted_per_second and window.accepted and tokens:
            per_second = window.accepted_per_second * tokens / window.accepted
            derived.append("tokens_per_second")
            self._findings.note(
                "wall_time",
                "Without a throughput line beside it a window's speed is from its accepted tokens per second: pauses "
                "and prompts are inside.",
            )
        if per_second and tokens and tokens / per_second < 1e9:
            elapsed_ns = round(tokens / per_second * 1e9)
            derived.append("elapsed_ns")
        return Counters(
            t_ns=t_ns,
            arm="drafting",
            source=ENGINE,
            label=self._label(speed),
            drafter=self._drafter,
            k=len(window.rates) or self._life.k,
            batch=(speed.running or None) if speed else None,
            rounds=rounds,
            drafted=window.drafted,
            accepted=window.accepted,
            accepted_by_position=positions,
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            tokens_per_second=per_second,
            tokens_per_round=per_round,
            derived=tuple(derived),
        )

    def _old(self, line: str, speaker: str, t_ns: int) -> None:
        now = old_totals(line)
        if now is None:
            self._tally.puzzle(line)
            return
        self._tally.understand()
        self._life.drafts = True
        self._life.lines += 1
        speed = self._speed_for(line, speaker)
        before = self._life.totals.get(speaker)
        self._life.totals[speaker] = now
        drafted, emitted = now.drafted, now.emitted
        if before is None or before.k != now.k:
            self._findings.note("warm_up", "The first line counts since the server's start, warm-up included.")
        else:
            grown = differences(
                {"drafted": before.drafted, "emitted": before.emitted}, {"drafted": drafted, "emitted": emitted}
            )
            if isinstance(grown, Reset):
                self._findings.note("restart", "The server was restarted inside the log.")
            else:
                drafted, emitted = int(grown["drafted"]), int(grown["emitted"])
        if not drafted:
            return
        rounds = drafted // now.k if drafted % now.k == 0 else None
        accepted = emitted - rounds if rounds is not None and emitted >= rounds else None
        self._findings.note(
            "old_version",
            "vLLM before its rewrite counts drafts that would have been accepted behind a rejected one; accepted "
            "drafts here are the emitted tokens less one a round.",
        )
        self._life.windows.add(
            Counters(
                t_ns=t_ns,
                arm="drafting",
                source=ENGINE,
                label=self._label(speed),
                drafter=self._drafter,
                k=now.k,
                batch=(speed.running or None) if speed else None,
                rounds=rounds,
                drafted=drafted,
                accepted=accepted,
                tokens=emitted,
                tokens_per_second=(speed.tokens_per_second or None) if speed else None,
                tokens_per_round=emitted / rounds if accepted is not None and rounds else None,
                derived=("rounds", "accepted", "tokens_per_round") if accepted is not None else (),
            ),
            clean=speed is None or speed.clean,
        )

    def _speed(self, line: str, speaker: str, t_ns: int) -> None:
        found, prompt, running = _SPEED.search(line), _PROMPT_SPEED.search(line), _RUNNING.search(line)
        value = number(found[1]) if found else None
        if value is None:
            self._tally.puzzle(line)
            return
        self._tally.understand()
        self._life.lines += 1
        numbered = _ENGINE_NUMBER.search(line)
        engine = numbered[1] if numbered else None
        if engine is not None and len(self._life.engines) < 1024:
            self._life.engines.add(engine)
        at_once = whole(running[1]) if running else None
        prompt_speed = number(prompt[1]) if prompt else None
        speed = _Speed(
            t_ns=t_ns,
            engine=engine,
            tokens_per_second=value,
            running=at_once,
            clean=not prompt_speed and at_once != 0,
        )
        waiting = self._life.pending.setdefault(speaker, {})
        if engine in waiting:
            self._leave(waiting.pop(engine))
        if len(waiting) >= 1024:
            self._leave(waiting.pop(next(iter(waiting))))
        waiting[engine] = speed

    def _speed_for(self, line: str, speaker: str) -> _Speed | None:
        """Take the throughput line that belongs to a drafting line: of the engine it names, else the latest one."""
        waiting = self._life.pending.get(speaker)
        if not waiting:
            return None
        numbered = _ENGINE_NUMBER.search(line)
        if numbered:
            return waiting.pop(numbered[1], None)
        return waiting.pop(next(reversed(waiting)))

    def _leave(self, speed: _Speed) -> None:
        """Keep a throughput line that no drafting line followed."""
        if not speed.tokens_per_second:
            return
        self._life.undrafted_count += 1
        self._life.undrafted.add(
            Counters(
                t_ns=speed.t_ns,
                arm="plain",
                source=ENGINE,
                label=self._label(speed),
                batch=speed.running or None,
                tokens_per_second=speed.tokens_per_second,
            ),
            clean=speed.clean,
        )

    def _label(self, speed: _Speed | None) -> str | None:
        several = len(self._life.engines) > 1
        return f"engine {speed.engine}" if several and speed is not None and speed.engine is not None else None

    def _started(self, startup: Startup) -> None:
        if startup.begins and self._life.lines:
            self._end_life()
        self._model = startup.model or self._model
        if startup.drafts is not None:
            self._life.drafts = startup.drafts
        self._drafter = startup.drafter or self._drafter
        if startup.k:
            self._life.k = self._k = startup.k

    def _end_life(self) -> None:
        life = self._life
        for waiting in life.pending.values():
            for speed in waiting.values():
                self._leave(speed)
        self._finished.append(life.windows.all(self._findings))
        if not life.drafts:
            self._finished.append(life.undrafted.all(self._findings))
            if life.drafts is None and life.undrafted_count:
                self._findings.note(
                    "assumed_plain",
                    "The log does not say whether drafting was on; no line of it speaks of drafts, so it is taken as "
                    "plain decoding.",
                )
        elif life.undrafted_count:
            self._findings.note(
                "undrafted",
                f"{life.undrafted_count:,} windows of a drafting server had no drafts in them: they are neither plain "
                "decoding nor drafting and are left out.",
            )
        self._life = _Life()


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
