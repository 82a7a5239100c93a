"""`specview diff A B …`: what changed between saved sessions, in words or as JSON, with an exit status for CI."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ..engine.errors import SpecviewError
from ..layouts.lines import Line, line

if TYPE_CHECKING:  # heavy: loaded when there is something to compare
    from ..profilers.judge.comparison.comparing import Compared, Named
    from ..profilers.judge.comparison.gate import Gate

SLOWER, UNDECIDED = 3, 4
LEAST_WIDTH = 60
WIDE = 120  # where nobody looks, nothing is left out
STYLES = {"good": "green", "bad": "bold red", "warn": "yellow", "quiet": "dim", "strong": "bold"}
EPILOG = (
    "exit status: 0 compared, and not slower beyond the limit; 1 an error, or sessions that were not measured alike; "
    "2 wrong usage; 3 slower than --fail-if-slower allows, beyond noise; 4 with --strict, the data cannot tell."
)


class DiffError(SpecviewError):
    """Sessions that cannot be compared as they were named."""


def add_diff(parser: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("base", type=Path, metavar="A", help="the session that others are compared with")
    add("others", type=Path, nargs="+", metavar="B", help="one or more sessions")
    add("--json", action="store_true", help="one JSON object, units in the names")
    add("--anyway", action="store_true", help="compare sessions of unlike machines, models or prompts too")
    add("--fail-if-slower", metavar="3%", help="exit 3 where a session is slower than A by more, beyond noise")
    add(
        "--quantity",
        choices=("drafting", "plain", "speedup"),
        default="drafting",
        help="what --fail-if-slower looks at: tok/s with drafts (default), tok/s without, or their ratio",
    )
    add("--strict", action="store_true", help="exit 4 where --fail-if-slower cannot tell")


def diff(options: argparse.Namespace) -> int:
    """Compare and print; returns the exit status that `EPILOG` lists."""
    from ..profilers.judge.comparison.comparing import LETTERS, compare_all
    from ..profilers.judge.comparison.environments import UnlikeError
    from ..profilers.judge.comparison.gate import gate, limit_from, worst

    limit = None if options.fail_if_slower is None else limit_from(options.fail_if_slower)
    try:
        compared = compare_all(sessions_at((options.base, *options.others)), anyway=options.anyway)
    except UnlikeError as error:
        raise DiffError(f"{error} Add --anyway to compare them all the same.") from error
    letters = LETTERS[1 : len(compared) + 1]
    gates: list[Gate] = []
    if limit is not None:
        gates = [gate(each, limit, options.quantity, letter) for each, letter in zip(compared, letters, strict=True)]
    if options.json:
        from ..layouts.compare_object import compare_object

        print(json.dumps(compare_object(compared, letters, gates), ensure_ascii=True, allow_nan=False))
    else:
        _print(compared, letters, gates)
    outcome = worst(gates) if gates else "passed"
    return SLOWER if outcome == "slower" else UNDECIDED if outcome == "undecided" and options.strict else 0


def sessions_at(paths: Sequence[Path]) -> list[Named]:
    """The sessions of these files, each by its file's name; raises SpecviewError for one that cannot be opened."""
    from ..profilers.judge.comparison.comparing import Named
    from ..profilers.record.codec import safe_text
    from ..profilers.record.session import read_session
    from ..profilers.record.store import SUFFIX

    return [Named(safe_text(path.name.removesuffix(SUFFIX)), read_session(path)) for path in paths]


def _print(compared: Sequence[Compared], letters: str, gates: Sequence[Gate]) -> None:
    from ..layouts.compare import change_table, environments
    from ..layouts.compare_bars import bars_lines, split_title
    from ..layouts.compare_words import interval_words, sentences
    from ..layouts.tables import table_lines

    console = Console(highlight=False, markup=False, soft_wrap=True)
    width = max(LEAST_WIDTH, console.width) if console.is_terminal else WIDE
    for at, (each, letter) in enumerate(zip(compared, letters, strict=True)):
        if at:
            console.print()
        console.print(Text(f"A {each.base.name}  ↔  {letter} {each.other.name}", style="bold"))
        heading = line((f"{letter} against A", "strong"), (f" · {interval_words(each)}", "quiet"))
        shown: list[Line] = [*sentences(each, letter), (), heading, *table_lines(change_table(each, letter), width)]
        if each.split is not None:
            shown += [(), line((split_title(each.split, letter), "strong")), *bars_lines(each.split, width, letter)]
        found = environments(each.differences, letter)
        if found.rows:
            shown += [(), *table_lines(found, width)]
        for row in shown:
            console.print(_text(row))
    for answer in gates:
        console.print()
        style = {"slower": "bold red", "undecided": "yellow", "passed": "green"}[answer.outcome]
        console.print(Text(answer.sentence, style=style))


def _text(row: Line) -> Text:
    return Text.assemble(*((span.text, STYLES.get(span.tone, "")) for span in row))
