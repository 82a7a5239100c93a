"""The command line: reads arguments, starts what they ask for, and turns errors into one sentence and a status."""

from __future__ import annotations

import argparse
import errno
import io
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console

from .. import __version__
from ..engine.errors import SpecviewError
from ..profilers.record.plan import ONE_PASS, PROBES_DUTY, RULES
from .attaching import add_attach
from .comparing import add_diff
from .exporting.arguments import add_export
from .importing import add_import
from .judging import add_judge
from .library_commands import LIBRARY, add_library, library_command
from .library_names import find_sessions
from .prompt_cache import add_cache_prompt
from .settings import sessions_folder
from .surveying import QUESTIONS, add_surveys, survey
from .terminal import on_terminal

COMMANDS = (
    "record",
    "show",
    "doctor",
    "watch",
    "export",
    "judge",
    "diff",
    "import",
    "attach",
    "cache-prompt",
    "serve",
    *LIBRARY,
    *QUESTIONS,
)
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 for an error told in one sentence, 2 for wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × shows ? and goes on
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        status = _status_of(given, errors)
        _flush_output()
        return status
    except BrokenPipeError:
        _drop(sys.stdout)
        _drop(sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        _drop(sys.stdout)
        why = (error.strerror or "unknown error").lower()
        errors.print(f"specview: The output could not be written ({why}): free some space, or send it elsewhere.")
        return 1


def _drop(stream: TextIO | None) -> None:
    """Close a stream that takes nothing any more: what it still holds would fail again at the end of the process."""
    if stream is not None:
        with suppress(OSError):
            stream.close()


def _status_of(given: list[str], errors: Console) -> int:
    """Run one command; what is wrong with it is told on `errors`."""
    try:
        return run(parser().parse_args(_with_command(given)))
    except SpecviewError as error:
        errors.print(f"specview: {error}")
        return 1
    except KeyboardInterrupt:
        errors.print("specview: interrupted.")
        return 130
    except SystemExit:  # argparse has printed help, or what is wrong
        _flush_output()
        raise


def _flush_output() -> None:
    """Write what stdout still holds now, where a failure can be told, and not at the end of the process."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _with_command(given: list[str]) -> list[str]:
    """What is meant without a command: a session is shown, a shape surveyed, and nothing records on the bundled model.

    All of it on the screen where there is one.
    """
    if given and (given[0] in COMMANDS or given[0] in ("-h", "--help", "--version")):
        return given
    screen = on_terminal()
    if any(word == "--shape" or word.startswith("--shape=") for word in given):
        return ["survey", *(["--screen"] if screen else []), *given]
    if screen or "--follow" in given:
        return ["watch", *given]
    if given and not given[0].startswith("-"):
        return ["show", *given]
    print("specview: no terminal here, so this records without the screen.", file=sys.stderr)
    return ["record", *given]


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="specview",
        description="See whether speculative decoding pays on MLX, and why.",
        epilog="specview alone records on the bundled model; specview SESSION shows a saved session.",
    )
    top.add_argument("--version", action="version", version=f"specview {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_record(commands.add_parser("record", help="generate with and without drafts, measure, save a session"))
    show = commands.add_parser("show", help="what a saved session says; needs no MLX")
    show.add_argument("session", type=Path)
    show.add_argument("--json", action="store_true", help="one JSON object")
    show.add_argument("--chart", action="store_true", help="the break-even line and verify(n) as charts too")
    show.add_argument(
        "--baseline-tps", type=float, metavar="X", help="plain decode's tokens per second, where the session has none"
    )
    watch = commands.add_parser("watch", help="the screen: a session, a growing file, or a recording of its own")
    watch.add_argument("session", type=Path, nargs="?", help="a session to open instead of recording one")
    watch.add_argument("--follow", type=Path, metavar="FILE", help="follow a session that another terminal writes")
    watch.add_argument("--light", action="store_true", help="start with the light theme")
    watch.add_argument(
        "--theme",
        choices=("dark", "light", "contrast-dark", "contrast-light", "ansi"),
        help="the theme (default: the last one; ansi where the terminal has 16 colours)",
    )
    watch.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    watch.add_argument("--fresh", action="store_true", help="do not go on where the last launch ended")
    watch.add_argument("--setup", action="store_true", help="choose model, drafter and prompts before recording")
    _add_record(watch)
    serve = commands.add_parser("serve", help="the screen in a browser of this machine, behind a token")
    serve.add_argument("session", type=Path, nargs="?", help="a session to open instead of recording one")
    serve.add_argument("--port", type=int, default=8321, help="port on loopback (default 8321; 0: any free one)")
    _add_record(serve)
    add_export(commands.add_parser("export", help="screens, reports and traces of a saved session as files"))
    add_library(commands)
    add_surveys(commands)
    add_import(commands.add_parser("import", help="what another engine printed, as a session"))
    add_attach(commands.add_parser("attach", help="watch a serving engine by its metrics page"))
    add_cache_prompt(commands.add_parser("cache-prompt", help="read a long prompt once, for record --prompt-cache"))
    add_judge(commands.add_parser("judge", help="facts of any benchmark in, a verdict out"))
    add_diff(commands.add_parser("diff", help="what changed between sessions, and which part of a round did it"))
    doctor = commands.add_parser("doctor", help="what of this machine bends measurements, and what to do")
    doctor.add_argument("--json", action="store_true", help="one JSON object")
    return top


def _add_record(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--model", default="bundled", help="bundled, a folder that mlx_lm wrote, or a hub id")
    add("--draft", default=None, help="mtp, lookup, none, skip:8, quantised:4, fixed:0.7, or a draft model")
    add("--k", type=int, default=1, help="longest draft of a round (default 1; 0: the loop without drafts)")
    add("--dtype", choices=("float32", "float16", "bfloat16"), help="cast the weights, dequantising them")
    add("--draft-dtype", choices=("float32", "float16", "bfloat16"), help="the same for a draft model")
    add("--prompts", default="all", help="all, english, chinese, code (or several, by commas), a file, or - for stdin")
    add("--limit", type=int, help="use only the first N prompts")
    add("--tokens", type=int, default=64, help="tokens to generate for each prompt (default 64)")
    add("--budget", help="stop after 30s, 5m, 1h, or a number of rounds")
    add("--context", type=int, help="longest text in tokens, prompt included")
    add("--seed", type=int, default=0, help="seed of the order of arms and of drawn tokens (default 0)")
    add("--rule", choices=RULES, help="acceptance rule (default greedy; with a temperature rejection)")
    add("--temperature", type=float, default=0.0, help="draw tokens at this temperature (default 0: greedy)")
    add("--top-p", type=float, default=1.0, help="keep the likeliest tokens that hold this much (default 1: all)")
    add("--top-k", type=int, default=0, help="keep so many of the likeliest tokens (default 0: all)")
    add("--min-p", type=float, default=0.0, help="keep tokens this likely against the likeliest (default 0: all)")
    add("--adaptive", action="store_true", help="let each round choose its draft length, up to --k, or none")
    add("--policy", default=ONE_PASS, help="how verify passes are made: one pass, single passes, dense, compiled")
    add("--kv-bits", type=int, help="keep keys and values in so many bits")
    add("--kv-start", type=int, default=0, help="the same, but only from this position of the text on (default 0)")
    add("--mtp-without-prompt", action="store_true", help="an MTP head whose cache never saw the prompt")
    add("--system", help="a system prompt before every prompt")
    add("--stop", action="append", default=[], metavar="TOKEN", help="a token that ends an answer, besides the model's")
    add("--prompt-cache", metavar="FILE", help="go on from a prompt that cache-prompt or mlx_lm.cache_prompt has read")
    add("--out", type=Path, help="the session file to write (default: a new one among the sessions)")
    add("--no-chat", action="store_true", help="do not wrap prompts in the model's chat template")
    add("--duty", type=float, default=PROBES_DUTY, help="share of time for passes of other widths (default 0.15)")
    add("--no-blocks", action="store_true", help="do not time blocks between segments")
    add("--keep-prompts", action="store_true", help="store the prompts' text, not only their hash")
    add("--no-text", action="store_true", help="leave generated text out of the session")
    add("--trust-remote-code", action="store_true", help="let a model run code of its own")
    add(
        "--control",
        action="store_true",
        help="obey one-line JSON commands on stdin; its end stops the recording",
    )


def run(options: argparse.Namespace) -> int:
    """Carry out parsed options."""
    _check_out(getattr(options, "out", None))
    find_sessions(options, sessions_folder(), COMMANDS)
    if options.command in LIBRARY:
        return _open(options) if options.command == "open" else library_command(options)
    if options.command == "show":
        return show_session(options.session, options.json, options.chart, options.baseline_tps)
    if options.command == "doctor":
        from .examination import examine

        return examine(options.json)
    if options.command == "watch":
        from .watching import watch

        return watch(options)
    if options.command == "serve":
        return _serve(options)
    if options.command == "import":
        from .importing import import_files

        return import_files(options)
    if options.command == "attach":
        from .attaching import attach

        return attach(options)
    if options.command == "cache-prompt":
        from .prompt_cache import cache_prompt

        return cache_prompt(options)
    if options.command == "diff":
        from .comparing import diff

        return diff(options)
    if options.command == "judge":
        from .judging import judge_facts

        return judge_facts(options)
    if options.command in QUESTIONS:
        return survey(options)
    if options.command == "export":
        from .export_command import export

        return export(options)
    from .recording import record_headless

    return record_headless(options)


def _check_out(out: Path | None) -> None:
    if out is not None and not out.name:
        raise SpecviewError(f"--out {str(out)!r} is a folder: name the file to write.")


def _serve(options: argparse.Namespace) -> int:
    try:
        from .serving import serve
    except ModuleNotFoundError as error:
        raise SpecviewError("specview serve needs its extra: pip install 'specview[serve]'.") from error
    return serve(options)


def _open(options: argparse.Namespace) -> int:
    """A saved session on the screen, or without a terminal in words."""
    if not on_terminal():
        return show_session(options.session, as_json=False)
    from .watching import watch

    return watch(parser().parse_args(["watch", *(["--light"] if options.light else []), "--", str(options.session)]))


def show_session(path: Path, as_json: bool, chart: bool = False, baseline_tps: float | None = None) -> int:
    """Print what a session says; `baseline_tps` is plain decode's speed, where the session has none."""
    from ..layouts.summary import as_object, summary_lines
    from ..profilers.record.session import read_session

    if baseline_tps is not None and not 0 < baseline_tps < 1e9:
        raise SpecviewError(f"--baseline-tps {baseline_tps:g} is no speed: give plain decode's tokens per second.")
    session = read_session(path)
    if as_json:
        print(json.dumps(as_object(session, baseline_tps=baseline_tps)))
        return 0
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in summary_lines(session, baseline_tps=baseline_tps):
        console.print(line)
    if chart:
        from ..layouts.plots import chart_lines
        from ..layouts.views import reckon

        reckoning = reckon(session)
        drawn = [reckoning.why_not or "There is nothing to draw: this session has no rounds."]
        if reckoning.ledger is not None:
            drawn = chart_lines(reckoning.ledger, reckoning.share_by_drafted)
        for line in ("", *drawn):
            console.print(line)
    return 0
