"""Rounds and steps of somebody's own engine, appended to a session file that specview follows while it grows.

No MLX and no numpy in here, and nothing in here breaks the engine: what cannot be written is dropped, and told once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from ...engine.errors import SpecviewError
from .own_file import Clock, OwnFile, Status, Warn, own_header, warn_in_python
from .own_rounds import TimedRound, TimedStep
from .own_runs import DROPPED, Arm, OpenRun, OwnRuns, Setting
from .privacy import without_paths
from .records import Note, Pieces, Probe, Record, Round, Step

SEGMENT_TOKENS = 32
_WRONG = (SpecviewError, TypeError, ValueError, ArithmeticError, AttributeError)


class OwnLoop:
    """A recording of one engine, as a context manager. Times are in ns; call it from one thread.

    Plain and drafting runs of one prompt are compared segment by segment, so give both of each prompt.
    """

    def __init__(self, file: OwnFile, runs: OwnRuns, keep_text: bool, clock: Clock) -> None:
        self._file, self._runs, self._keep_text, self.clock = file, runs, keep_text, clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status: Status = "finished"
        reason = None
        if isinstance(error, KeyboardInterrupt):
            status, reason = "stopped", "interrupted"
        elif error is not None:
            status, reason = "failed", _reason(error)
        if self._file.refused:
            self.note(f"{self._file.refused:,} records were left out, because something in them was wrong.")
        self._file.close(status, reason)

    @property
    def path(self) -> Path | None:
        """The session file, None where none could be made."""
        return self._file.path

    @property
    def recording(self) -> bool:
        """Whether events are still written; False once a disk is full."""
        return self._file.is_open

    @property
    def arm(self) -> str | None:
        """The arm of the open run: plain, drafting, split or k0; None before the first."""
        return None if self._runs.current is None else self._runs.current.arm

    @property
    def k(self) -> int:
        """The longest draft of the open run, else of the loop."""
        return self._runs.setting.k

    def run(
        self,
        prompt: str | None = None,
        arm: Arm = "drafting",
        k: int | None = None,
        *,
        kind: str = "unknown",
        prompt_tokens: int = 0,
        segment: int | None = None,
        drafter: str | None = None,
        rule: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        seed: int | None = None,
    ) -> None:
        """Go on with a prompt (only its hash is kept) and an arm: plain, drafting, or split.

        `kind` names the sort of text. Split rounds have a wait between their phases, which costs a little, so they
        give the parts and drafting rounds the speed. `segment` numbers what follows, for loops that go to and fro
        between arms from one state; else every 32 tokens are one. What is left out is as before.
        """
        with self._guarded():
            if arm not in ("plain", "drafting", "split"):
                raise SpecviewError(f"An arm is plain, drafting or split, not {str(arm)[:40]}.")
            before = self._runs.setting
            setting = Setting(
                drafter=before.drafter if drafter is None else drafter,
                k=before.k if k is None or arm == "plain" else _whole(k),
                rule=before.rule if rule is None else rule,
                temperature=before.temperature if temperature is None else float(temperature),
                top_p=before.top_p if top_p is None else float(top_p),
            )
            facts = self._runs.facts(prompt, kind, _whole(prompt_tokens))
            numbered = None if segment is None else _whole(segment)
            self._append(self._runs.begin(facts, arm, setting, numbered, seed, self._file.now_ns()))

    def plain(
        self,
        step_ns: float,
        tokens: int = 1,
        *,
        pieces: Sequence[str] | None = None,
        pipelined: bool = True,
        warm_up: bool = False,
    ) -> None:
        """One step of plain decoding, `step_ns` from the token before it to its own.

        `pipelined`: this is the plain loop at the full speed it has, the baseline of a verdict; a step that was
        timed by itself, with a wait around it, is not. In a drafting run it is a round that drafted nothing.
        """
        run = self._runs.current
        if run is not None and self._runs.named and run.arm != "plain":
            self.round(0, 0, step_ns, tokens=tokens, pieces=pieces, warm_up=warm_up)
            return
        with self._guarded():
            run = self._current("plain")
            made = Step(
                run=run.number,
                i=run.i,
                segment=self._runs.segment,
                t_ns=self._file.now_ns(),
                context=self._runs.context,
                tokens=_whole(tokens),
                pieces=self._shown(pieces, run),
                step_ns=_whole(step_ns),
                pipelined=pipelined,
                warm_up=warm_up or run.since_switch < DROPPED,
                replay=run.replay,
            )
            self._advance(run, made)

    def round(
        self,
        drafted: int,
        accepted: int,
        round_ns: float,
        *,
        draft_ns: float | None = None,
        verify_ns: float | None = None,
        rest_ns: float | None = None,
        tokens: int | None = None,
        pieces: Sequence[str] | None = None,
        warm_up: bool = False,
    ) -> None:
        """One round: tokens drafted, the prefix of them that was accepted, the whole time, phases where known.

        `tokens` are those committed: accepted + 1, unless a text ended in the middle of them.
        """
        with self._guarded():
            run = self._current("drafting")
            proposed, kept = _whole(drafted), _whole(accepted)
            if kept > proposed:
                raise SpecviewError(f"A round cannot accept {kept} of {proposed} drafted tokens.")
            if run.arm == "plain":
                raise SpecviewError("This run is plain; call run(arm='drafting') before its rounds.")
            shown = self._shown(pieces, run)
            made = Round(
                run=run.number,
                i=run.i,
                segment=self._runs.segment,
                t_ns=self._file.now_ns(),
                context=self._runs.context,
                drafted=proposed,
                accepted=kept,
                width=proposed + 1,
                tokens=kept + 1 if tokens is None else _whole(tokens),
                pieces=None if shown is None else Pieces(shown, ()),
                round_ns=_whole(round_ns),
                draft_ns=None if draft_ns is None else _whole(draft_ns),
                verify_ns=None if verify_ns is None else _whole(verify_ns),
                rest_ns=None if rest_ns is None else _whole(rest_ns),
                warm_up=warm_up or run.since_switch < DROPPED,
                replay=run.replay,
            )
            self._advance(run, made)

    def verify(self, width: int, ns: float) -> None:
        """One target pass over `width` positions, read as the rounds read theirs, timed by itself with a wait."""
        self._probe("verify", width, ns)

    def draft(self, width: int, ns: float) -> None:
        """One drafter step over `width` positions, timed by itself with a wait."""
        self._probe("draft", width, ns)

    def note(self, text: str) -> None:
        """A remark, with its time."""
        with self._guarded():
            self._append(Note(t_ns=self._file.now_ns(), text=text))

    @contextmanager
    def timed_round(self) -> Iterator[TimedRound]:
        """Time a round: call `accepted` on it, and `drafted` and `verified` where those phases end."""
        timer = TimedRound(self.clock)
        yield timer
        timer.close()
        if timer.proposed is None:
            self._file.refuse("a timed round has to say accepted(n, of=k)")
            return
        self.round(
            timer.proposed,
            timer.kept,
            timer.round_ns,
            draft_ns=timer.draft_ns,
            verify_ns=timer.verify_ns,
            rest_ns=timer.rest_ns,
            tokens=timer.committed,
        )

    @contextmanager
    def timed_step(self, *, pipelined: bool = True) -> Iterator[TimedStep]:
        """Time a step of plain decoding; call `tokens` on it where it gives more than one."""
        timer = TimedStep(self.clock)
        yield timer
        timer.close()
        self.plain(timer.step_ns, timer.count, pipelined=pipelined)

    def _current(self, kind: str) -> OpenRun:
        if not self._runs.named:
            self._append(self._runs.fall_into("plain" if kind == "plain" else "drafting", self._file.now_ns()))
        run = self._runs.current
        assert run is not None
        return run

    def _probe(self, part: str, width: int, ns: float) -> None:
        with self._guarded():
            run, setting = self._runs.current, self._runs.setting
            drawn = part == "verify" and setting.temperature > 0
            made = Probe(
                t_ns=self._file.now_ns(),
                ruler="whole",
                part=part,
                width=_whole(width),
                context=self._runs.context,
                samples_ns=(_whole(ns),),
                run=None if run is None else run.number,
                rule=setting.rule if drawn else None,
            )
            self._append(made)

    def _shown(self, pieces: Sequence[str] | None, run: OpenRun) -> tuple[str, ...] | None:
        return tuple(pieces) if pieces is not None and self._keep_text and not run.replay else None

    def _advance(self, run: OpenRun, event: Round | Step) -> None:
        self._append(event)
        run.i += 1
        run.since_switch += 1
        run.tokens += event.tokens

    def _append(self, record: Record | None) -> None:
        if record is not None:
            self._file.append(record)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Whatever is wrong with one record is no reason to stop an engine."""
        try:
            yield
        except _WRONG as error:
            self._file.refuse(str(error))


def own_loop(
    path: str | os.PathLike[str],
    *,
    model: str = "unknown",
    drafter: str = "unknown",
    k: int = 1,
    engine: str = "own loop",
    device: str | None = None,
    rule: str = "greedy",
    temperature: float = 0.0,
    top_p: float = 1.0,
    keep_text: bool = False,
    segment_tokens: int = SEGMENT_TOKENS,
    clock: Clock = time.perf_counter_ns,
    unix_clock: Clock = time.time_ns,
    warn: Warn = warn_in_python,
    write: Callable[[int, bytes], int] = os.write,
) -> OwnLoop:
    """Return a recording to use in `with`; the file is made at once, with a number in its name if that is taken.

    `drafter` says what drafts (mtp, lookup, model, …), `k` how many tokens at most. A file that cannot be made is
    told once, and the loop runs unrecorded.
    """
    setting = Setting(drafter=drafter, k=k, rule=rule, temperature=float(temperature), top_p=float(top_p))
    header = own_header(model, engine, device, (drafter, k), keep_text, unix_clock())
    runs = OwnRuns(engine, setting, segment_tokens)
    return OwnLoop(OwnFile(Path(path), header, clock, warn, write), runs, keep_text, clock)


def _whole(value: float) -> int:
    """A count or a time as the whole number that records hold; floats and other libraries' numbers are rounded."""
    return round(float(value)) if not isinstance(value, int) else int(value)


def _reason(error: BaseException) -> str:
    try:
        return without_paths(f"{type(error).__name__}: {error}")
    except Exception:  # an error that cannot even be told must not hide itself
        return type(error).__name__
