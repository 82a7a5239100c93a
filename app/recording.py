"""Recording without a screen: a progress bar while it runs, and a few lines that say what happened."""

from __future__ import annotations

import argparse
import io
import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..engine.errors import SpecviewError
from ..layouts.figures import count
from ..profilers.record import records
from ..profilers.record.plan import BLOCKS_DUTY, Budget, Plan, parsed_budget
from ..profilers.record.steering import Command, Steering
from ..profilers.record.store import SessionStore, new_session_path
from .settings import sessions_folder, shown_path

if TYPE_CHECKING:
    from ..profilers.record.recorder import Recorder, Watcher


class NoBackendError(SpecviewError):
    """MLX cannot be imported."""


def no_backend(error: ImportError) -> NoBackendError:
    """What to install where MLX cannot be imported."""
    return NoBackendError(
        f"MLX cannot be loaded ({error.name or error}): install specview[cpu] or specview[cuda] on Linux, "
        "plain specview on a Mac; saved sessions open without it."
    )


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan that command-line options ask for."""
    drafter = options.draft or ("mtp" if options.model == "bundled" else "lookup")
    return Plan(
        model=options.model,
        drafter=drafter,
        k=options.k,
        dtype=options.dtype,
        drafter_dtype=options.draft_dtype,
        prompts=options.prompts,
        limit=options.limit,
        tokens=options.tokens,
        budget=parsed_budget(options.budget) if options.budget else Budget(),
        seed=options.seed,
        duty=options.duty,
        blocks_duty=0.0 if options.no_blocks else BLOCKS_DUTY,
        keep_text=not options.no_text,
        keep_prompts=options.keep_prompts,
        context=options.context,
        trust_remote_code=options.trust_remote_code,
        chat=not options.no_chat,
        rule=options.rule,
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=options.top_k,
        min_p=options.min_p,
        policy=options.policy,
        kv_bits=options.kv_bits,
        kv_start=options.kv_start,
        adaptive=options.adaptive,
        mtp_sees_prompt=not options.mtp_without_prompt,
        system=options.system,
        stop=tuple(options.stop),
        prompt_cache=options.prompt_cache,
    ).checked()


class _Bar:
    """Shows how far a recording is. It draws only between segments, so that it costs the measurement nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("loading", state="")

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def loading(self, what: str) -> None:
        self._progress.update(self._task, description=f"loading {what}", refresh=True)

    def advanced(self, prompts_done: float, prompts_all: int, rounds: int) -> None:
        self._progress.update(
            self._task,
            description="measuring",
            completed=prompts_done,
            total=prompts_all,
            state=f"prompt {min(int(prompts_done) + 1, prompts_all)} of {prompts_all}, {count(rounds, 'round')}",
            refresh=True,
        )


class Reports:
    """Tells whoever steers the recorder how far it is: one JSON object a line, for a program to read."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def __enter__(self) -> Reports:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, event: str, **facts: object) -> None:
        """Write one report; nobody reading is no reason to stop measuring."""
        if self._stream is None:
            return
        with suppress(OSError, ValueError):
            self._stream.write(json.dumps({"event": event, **facts}) + "\n")
            self._stream.flush()

    def loading(self, what: str) -> None:
        self.say("loading", what=what)

    def advanced(self, prompts_done: float, prompts_all: int, rounds: int) -> None:
        self.say("progress", prompts_done=prompts_done, prompts_all=prompts_all, rounds=rounds)


def record_headless(options: argparse.Namespace) -> int:
    """Record one session and print what it says; returns the exit status.

    With --control stdin is obeyed and stdout carries reports: loading,
    session (the file's name), progress, finished or failed.
    """
    if options.control:
        return _record_controlled(options)
    from ..layouts.summary import summary_lines
    from ..profilers.judge.ledger import ledger_of
    from ..profilers.record.session import read_session

    console = Console(highlight=False, markup=False, soft_wrap=True)
    with _Bar(console) as bar:
        path, _ = _record(options, bar, Steering(), lambda path: None)
    try:
        session = read_session(path)
        for line in summary_lines(session, ledger_of(session)):
            console.print(line)
    finally:  # also a session too short for a summary is there
        console.print(f"Saved: {shown_path(path)}")
    return 0


def _record_controlled(options: argparse.Namespace) -> int:
    reports = Reports(sys.stdout)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf8", errors="replace")  # a garbled command is no reason to stop
    try:
        with reports:
            _, footer = _record(
                options, reports, Steering(sys.stdin), lambda path: reports.say("session", name=path.name)
            )
    except SpecviewError as error:
        reports.say("failed", message=str(error))
        raise
    reports.say("finished", status=footer.status, reason=footer.reason)
    return 0


def _record(
    options: argparse.Namespace, watcher: Watcher, steering: Steering, created: Callable[[Path], None]
) -> tuple[Path, records.Footer]:
    from ..profilers.judge.ledger import undecided_kinds

    plan = plan_of(options)
    stdin = None if options.control else sys.stdin  # under control it carries commands
    recorder = _recorder_class()(plan, watcher, steering, undecided_kinds, stdin=stdin)
    stem = f"{recorder.target.name}-{recorder.drafter.kind}-k{plan.k}"
    path: Path = options.out or new_session_path(sessions_folder(), stem, datetime.now())
    with SessionStore.create(path) as store, StopOnSignal(steering):
        created(path)
        try:
            return path, recorder.record(store)
        finally:
            if not store.counts.records:
                path.unlink(missing_ok=True)


def _recorder_class() -> type[Recorder]:
    try:
        from ..profilers.record.recorder import Recorder
    except ImportError as error:
        raise no_backend(error) from error
    return Recorder


class StopOnSignal:
    """Ctrl-C and termination end the recording after the round in flight, with a footer; a second Ctrl-C breaks off."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._asked = False

    def __enter__(self) -> None:
        self._before = {s: signal.signal(s, self._stop) for s in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._steering.send(Command("stop", reason=signal.Signals(number).name))
