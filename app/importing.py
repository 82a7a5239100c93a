"""`specview import`: figures of other engines into a session, with an account of every file's lines."""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ..engine.errors import SpecviewError
from ..layouts.figures import count
from ..profilers.record.codec import safe_text
from .settings import sessions_folder, shown_path

if TYPE_CHECKING:
    from ..profilers.record.importers.importing import ImportedSession
    from ..profilers.record.importers.reading import ReadFile
    from ..profilers.record.session import Session


def add_import(parser: argparse.ArgumentParser) -> None:
    """Give the command its arguments."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="what an engine printed, also as .gz")
    parser.add_argument("--kind", help="the form of the files, where it cannot be seen; a wrong one lists them all")
    parser.add_argument("--out", type=Path, help="the session file to write (default: a new one among the sessions)")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def import_files(options: argparse.Namespace) -> int:
    """Read the files, save one session, say what was understood and what it means; 0 if anything was usable."""
    # here and not above, so that the other commands start without them
    from ..profilers.record.importers.importing import import_source
    from ..profilers.record.importers.registry import IMPORTER_BY_KIND
    from ..profilers.record.session import read_session

    made = import_source(
        options.files,
        folder=sessions_folder(),
        started=datetime.now(),
        importers=IMPORTER_BY_KIND,
        kind=options.kind,
        out=options.out,
    )
    session = read_session(made.path)
    if options.json:
        answer = {
            "session": shown_path(made.path),
            "engine": made.engine,
            "files": list(map(_file_object, made.files)),
            "notes": [{"text": note.text, "tags": list(note.tags)} for note in session.notes],
            "judgement": _judgement_object(session),
        }
        print(json.dumps(answer))
        return 0
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in (*_account(made), *_judgement_lines(session)):
        console.print(line)
    return 0


def _judgement_lines(session: Session) -> tuple[str, ...]:
    """What the figures say of drafting, with the notes, or why they say nothing."""
    from ..layouts.summary import summary_lines

    try:
        return ("", *summary_lines(session))
    except SpecviewError as error:
        return (*(f"note: {note.text}" for note in session.notes), f"no verdict: {error}")


def _judgement_object(session: Session) -> dict[str, Any]:
    from ..layouts.summary import as_object

    try:
        return as_object(session)
    except SpecviewError as error:
        return {"verdict": None, "reason": str(error)}


def _account(made: ImportedSession) -> tuple[str, ...]:
    lines = []
    for file in made.files:
        lines += _file_lines(file)
    return (*lines, f"saved {shown_path(made.path)}")


def _file_lines(file: ReadFile) -> list[str]:
    if file.imported is None:
        return [f"not used: {file.failure}"]
    tally = file.imported.tally
    lines = [
        f"{file.name}: {file.imported.form}; {count(tally.understood, 'line')} understood, {tally.ignored:,} ignored, "
        f"{tally.not_understood:,} not understood"
    ]
    return lines + [f"    not understood: {safe_text(example)}" for example in tally.examples]


def _file_object(file: ReadFile) -> dict[str, Any]:
    if file.imported is None:
        return {"name": file.name, "failure": file.failure}
    tally = file.imported.tally
    return {
        "name": file.name,
        "form": file.imported.form,
        "lines": tally.lines,
        "understood": tally.understood,
        "ignored": tally.ignored,
        "not_understood": tally.not_understood,
        "examples": list(tally.examples),
    }
