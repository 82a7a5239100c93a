"""Surveys from the command line: what passes over a model cost, measured or read from a saved session, as tables."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar

from ..engine.errors import SpecviewError
from ..profilers.record import records
from ..profilers.record.session import Session, read_session
from ..profilers.record.steering import Steering
from ..profilers.record.store import SessionStore, StoreError, new_session_path
from ..profilers.record.survey_plan import BATCHES, Part, Progress, SurveyError, SurveyPlan, numbers_of
from .recording import Reports, StopOnSignal, no_backend
from .settings import kept_folder, sessions_folder, shown_path
from .terminal import check_screen, is_terminal

if TYPE_CHECKING:
    from ..profilers.record.survey import Survey


NOT_FOR_CHILD = ("json", "screen", "control", "session", "out", "command", "p")
PIPED_COLUMNS = 160  # what is read by a file or another program need not fit a screen
CURVE_WIDTHS = tuple(range(1, 17))


@dataclass(frozen=True, slots=True)
class Question:
    """One survey command: what it measures, and at which widths and how often where none are named.

    `curve_widths` are those of its verify curve where it has others. `against_one`: its answer is a ratio to one
    position, so that is measured whatever widths are named.
    """

    help: str
    parts: tuple[Part, ...]
    widths: tuple[int, ...]
    repeats: int
    curve_widths: tuple[int, ...] | None = None
    against_one: bool = True


QUESTIONS = {
    "blocks": Question(
        "what each op category costs by three rulers, and what the gap between them is made of",
        ("calibration", "whole", "blocks", "census"),
        (1, 2),
        5,
    ),
    "census": Question(
        "every primitive of a pass: shapes, bytes, flops; and how heavy ones amortise over positions",
        ("census", "replays"),
        (1, 2),
        5,
        against_one=False,
    ),
    "curve": Question(
        "T_verify(n), marginal cost per position, and cliffs between widths",
        ("curve",),
        CURVE_WIDTHS,
        6,
    ),
    "floor": Question(
        "how cheap verify could get on this machine, by op category",
        ("calibration", "whole", "blocks", "census", "routes"),
        (1, 2),
        3,
    ),
    "survey": Question(
        "all of these at once, for the Ops and Sweep screens",
        ("calibration", "whole", "blocks", "census", "routes", "replays", "curve"),
        (1, 2),
        5,
        CURVE_WIDTHS,
    ),
    "experiment": Question(
        "switches of MLX against the present setting, each in a process of its own, interleaved",
        ("experiment",),
        (1, 2),
        6,
        against_one=False,
    ),
    "policies": Question(
        "ways to run a verify pass (one by one, dense copies, compiled) against one pass, in turns on the same tokens",
        ("policies",),
        (1, 2, 4),
        3,
        against_one=False,
    ),
    "batch": Question(
        "several sequences at once: decode, verify, texts with drafts, and from which batch drafts lose",
        ("batch", "batched"),
        (1, 2, 4),
        3,
        against_one=False,
    ),
}


def add_surveys(commands: Any) -> None:
    """The survey commands and their options."""
    for name, question in QUESTIONS.items():
        command = commands.add_parser(name, help=question.help)
        add = command.add_argument
        add("session", type=Path, nargs="?", help="a saved session to read instead of measuring; needs no MLX")
        if name == "experiment":
            add(
                "--switch",
                action="append",
                default=[],
                metavar="NAME",
                help="which one (default: all that do something here)",
            )
        if name == "batch":
            shown = ",".join(map(str, BATCHES))
            add("--batches", default=shown, help=f"sequences at once, as 1,2,4 or 1-8 (default {shown})")
            add(
                "--p",
                type=float,
                help="what if drafts were accepted so often, each given those before it: the speedup by batch",
            )
            add("--draft", help="what drafts, as for record (default: mtp for the bundled model, none for a shape)")
            add("--draft-dtype", choices=("float32", "float16", "bfloat16"), help="unquantised draft model")
            add("--k", type=int, default=1, help="drafts of a round (default 1)")
            add("--tokens", type=int, default=32, help="tokens of each text, with drafts and without (default 32)")
        add("--model", default="bundled", help="bundled, a folder that mlx_lm wrote, or a hub id")
        add(
            "--shape",
            metavar="FILE_OR_HUB_ID",
            help="an architecture with random weights instead: a preset, a config.json, a hub id",
        )
        add("--layers", type=int, help="of a shape: how many layers to build, each kind in its proportion")
        add("--experts", type=int, help="of a shape: how many experts to build")
        add("--dtype", choices=("float32", "float16", "bfloat16"), help="unquantised, in this dtype")
        add("--context", default="128", help="positions in the cache, several by commas (default 128)")
        one = "; 1 is always among them" if question.against_one else ""
        curve = f", the curve {_shown(question.curve_widths)}" if question.curve_widths else ""
        add(
            "--widths",
            help=f"positions of a pass, as 1,2,4 or 1-16 (default {_shown(question.widths)}{curve}{one})",
        )
        add("--repeats", type=int, default=question.repeats, help=f"(default {question.repeats})")
        add("--place-ms", type=float, default=300.0, help="time for each block place by the queued ruler (default 300)")
        add("--seed", type=int, default=0)
        add("--recalibrate", action="store_true", help="measure this machine's bandwidth and peaks again")
        add("--trust-remote-code", action="store_true", help="let a model run code of its own")
        add("--out", type=Path, help="the session file to write (default: a new one among the sessions)")
        add("--json", action="store_true", help="one JSON object")
        add("--screen", action="store_true", help="show the survey live on the screen")
        add("--control", action="store_true", help="report on stdout as JSON; the end of stdin stops it")


def _shown(widths: tuple[int, ...]) -> str:
    return f"{widths[0]}-{widths[-1]}" if len(widths) > 4 else ",".join(map(str, widths))


def survey(options: argparse.Namespace) -> int:
    """Measure, or read a session, and print the answer; returns the exit status."""
    question = QUESTIONS[options.command]
    _check_acceptance(options)
    _check_saved(options)
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if options.control:
        return _controlled(options, question)
    if options.screen:
        return _on_screen(options, question)
    path = options.session
    if path is None:
        path = _measured(options, question, errors)
    try:
        _print(options, read_session(path), path)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        with suppress(OSError):
            sys.stdout.close()  # what it still holds would fail again at the end of the process
        raise SurveyError(
            f"The answer could not be written ({(error.strerror or 'unknown error').lower()}); {path.name} is "
            f"whole: read it again with specview {options.command} {shown_path(path)}."
        ) from error
    return 0


def _check_acceptance(options: argparse.Namespace) -> None:
    """Before anything is measured, for a survey takes minutes."""
    p: float | None = getattr(options, "p", None)
    if p is not None and not 0 <= p <= 1:
        raise SurveyError(f"--p {p:g} is no probability: give a number from 0 to 1.")


def _check_saved(options: argparse.Namespace) -> None:
    """A saved session is read, so what is only for measuring would mean nothing."""
    path: Path | None = options.session
    asked = [name for name in ("shape", "control", "screen", "out") if getattr(options, name)]
    if path is not None and asked:
        raise SurveyError(
            f"--{asked[0]} is for measuring, and a saved session is only read: "
            f"specview open {shlex.quote(shown_path(path))} shows it."
        )


def _print(options: argparse.Namespace, session: Session, path: Path) -> None:
    from ..layouts.survey_tables import as_drawn, as_object

    p: float | None = getattr(options, "p", None)
    if options.json:
        found = {"session": path.name, **as_object(options.command, session, p)}
        print(json.dumps(found, allow_nan=False))
        return
    named = is_terminal(sys.stdout) or os.environ.get("COLUMNS", "").isdigit()
    console = Console(highlight=False, markup=False, width=None if named else PIPED_COLUMNS)
    for drawing in as_drawn(options.command, session, p):
        console.print(drawing)
    if options.session is None:
        console.print(f"Saved: {shown_path(path)}", soft_wrap=True)


def _measured(options: argparse.Namespace, question: Question, errors: Console) -> Path:
    """Measure in front of a person: says on `errors` where a survey is that was stopped, and throws empty ones away."""
    plan = plan_of(options, question)
    made: list[Path] = []
    try:
        with _Bars(errors) as bars:
            path, footer = _surveyed(options, plan, bars, Steering(), made.append)
    except (StoreError, KeyboardInterrupt):  # a full disk has said already what is safe and where
        _drop_if_empty(made)
        raise
    except SpecviewError as error:
        if _drop_if_empty(made):
            raise
        raise SurveyError(f"{error} What was measured before is in {shown_path(made[0])}.") from error
    if footer.status == "stopped":
        if _drop_if_empty(made):
            raise SurveyError("Stopped before anything was measured, so nothing is saved.")
        errors.print(f"specview: stopped; what was measured is in {shown_path(path)}.")
    return path


def _drop_if_empty(made: Sequence[Path]) -> bool:
    """Remove a file of this process that holds nothing but header and footer; True also where there is none."""
    for path in made:
        with suppress(SpecviewError, OSError):
            session = read_session(path)
            kinds = (session.probes, session.batch_probes, session.census, session.replays)
            if any((*kinds, session.experiments, session.calibrations)):
                return False
        path.unlink(missing_ok=True)
    return True


def _surveyed(
    options: argparse.Namespace,
    plan: SurveyPlan,
    progress: Progress,
    steering: Steering,
    created: Callable[[Path], None],
) -> tuple[Path, records.Footer]:
    made = _survey_class()(plan, progress, kept_folder(), steering)
    stem = f"{made.target.name}-{options.command}"
    path: Path = options.out or new_session_path(sessions_folder(), stem, datetime.now())
    with SessionStore.create(path) as store, StopOnSignal(steering):
        created(path)
        try:
            return path, made.record(store)
        finally:
            if not store.counts.records:
                path.unlink(missing_ok=True)


def _on_screen(options: argparse.Namespace, question: Question) -> int:
    """The survey in a process of its own, shown live."""
    from .application import Source, SpecviewApp
    from .process import survey_command
    from .watching import look, recorder_options

    plan_of(options, question)  # what makes no sense is told before the screen opens
    check_screen("without --screen this prints what it measured")
    own = argparse.Namespace(**{name: value for name, value in vars(options).items() if name not in NOT_FOR_CHILD})
    source = Source(options.out, record=True, options=recorder_options(own))
    app = SpecviewApp(
        source, command=lambda path, wishes: survey_command(options.command, path, wishes), **look(options)
    )
    app.run()
    if app.recorded is not None:
        print(f"Saved: {shown_path(app.recorded)}")
    return app.return_code or 0


def _controlled(options: argparse.Namespace, question: Question) -> int:
    """Measure under the eyes of the app: reports on stdout, and the end of stdin stops it."""
    reports = _SurveyReports(sys.stdout)
    try:
        plan = plan_of(options, question)
        _, footer = _surveyed(
            options, plan, reports, Steering(sys.stdin), lambda path: reports.say("session", name=path.name)
        )
    except SpecviewError as error:
        reports.say("failed", message=str(error))
        raise
    reports.say("finished", status=footer.status, reason=footer.reason)
    return 0


class _SurveyReports(Reports):
    """Progress as reports, a few a second at most, so that telling costs the measurement nothing."""

    def __init__(self, stream: IO[str] | None) -> None:
        super().__init__(stream)
        self._told = ("", 0)

    def measuring(self, what: str, done: int, total: int) -> None:
        """Tell each whole percent of a part once."""
        told = (what, 100 * done // max(total, 1))
        if told != self._told:
            self._told = told
            self.say("progress", prompts_done=done, prompts_all=total, what=what)


def plan_of(options: argparse.Namespace, question: Question) -> SurveyPlan:
    """The survey that command-line options ask for."""
    if options.shape is not None and options.model != "bundled":
        raise SurveyError("--shape builds an architecture and --model loads one: name one of them.")
    widths = question.widths if options.widths is None else numbers_of(options.widths, "--widths")
    if question.against_one and 1 not in widths and min(widths) > 0:
        widths = (1, *widths)
    draft = _draft_of(options) if "batched" in question.parts else None
    if draft is not None and options.k + 1 not in widths:
        widths = (*widths, options.k + 1)  # what its rounds verify
    return SurveyPlan(
        parts=question.parts,
        model=options.model,
        shape=options.shape,
        layers=options.layers,
        experts=options.experts,
        dtype=options.dtype,
        contexts=numbers_of(options.context, "--context"),
        widths=widths,
        curve_widths=question.curve_widths if options.widths is None else None,
        batches=numbers_of(options.batches, "--batches") if "batch" in question.parts else BATCHES,
        draft=draft,
        draft_dtype=getattr(options, "draft_dtype", None),
        k=getattr(options, "k", 1),
        tokens=getattr(options, "tokens", 32),
        repeats=options.repeats,
        place_ms=options.place_ms,
        experiments=tuple(getattr(options, "switch", ())),
        seed=options.seed,
        recalibrate=options.recalibrate,
        trust_remote_code=options.trust_remote_code,
    ).checked()


def _draft_of(options: argparse.Namespace) -> str | None:
    """The drafter that is asked for, or the usual one as for record; None for a shape, whose texts mean nothing."""
    usual = "none" if options.shape is not None else "mtp" if options.model == "bundled" else "lookup"
    wish: str = usual if options.draft is None else options.draft
    return None if wish == "none" else wish


def _survey_class() -> type[Survey]:
    try:
        from ..profilers.record.survey import Survey
    except ImportError as error:
        raise no_backend(error) from error
    return Survey


class _Bars:
    """Shows which part of a survey runs and how far it is, on a terminal; draws only between timings."""

    def __init__(self, console: Console) -> None:
        self._progress = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("loading", total=None)

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def loading(self, what: str) -> None:
        self._progress.update(self._task, description=f"loading {what}", completed=0, total=None, refresh=True)

    def measuring(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=what, completed=done, total=total, refresh=True)
