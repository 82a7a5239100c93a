"""`specview export`: one session, one form, one file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..layouts.export.document import Document
from ..layouts.export.names import (
    PICTURES,
    Form,
    forms_of,
    suggested_name,
    usual_screen,
)
from ..profilers.record.session import read_session
from .exporting.arguments import USUAL_SIZE, USUAL_THEME
from .exporting.files import STANDARD_OUTPUT, ExportError, Pieces, free_path, write_new, write_standard_output
from .settings import shown_path
from .terminal import is_terminal

if TYPE_CHECKING:
    from .application import SpecviewApp

COMPARE = "compare"


def export(options: argparse.Namespace) -> int:
    """Carry out parsed options; says where the file is."""
    form: Form = options.form
    screen: str = options.screen or usual_screen(form)
    _check(form, screen, options)
    pieces = _pieces(options, form, screen)
    if options.out == STANDARD_OUTPUT:
        if form == "png" and is_terminal(sys.stdout):
            raise ExportError("A PNG is nothing for a terminal: name a file with -o, or pipe it on.")
        write_standard_output(pieces)
        return 0
    size = _size(options.size) if form in PICTURES else None
    out: Path = options.out or Path(suggested_name(options.session.name, screen, form, size))
    if options.out is None and not options.force:
        out = free_path(out)
    write_new(out, pieces, force=options.force)
    print(f"Saved: {shown_path(out)}")
    return 0


def _check(form: Form, screen: str, options: argparse.Namespace) -> None:
    """Before anything is read. Size and theme are checked for every form; loading what knows them takes a while."""
    if options.size != USUAL_SIZE:
        _size(options.size)
    if options.theme != USUAL_THEME:
        _theme(options.theme)
    if (screen == COMPARE) != (options.other is not None):
        raise ExportError("The screen compare takes a second session: give --screen compare --with OTHER, or neither.")
    if options.keep_notes and not options.redact:
        raise ExportError("--keep-notes says what --redact leaves in: give both, with --as session.")
    if options.redact and form != "session":
        raise ExportError("--redact makes a session file to post: add --as session.")
    if form == "session" and not options.redact:
        raise ExportError(
            "--as session copies a session without its texts: add --redact. A plain copy is the file itself."
        )
    if form in ("html", "trace", "session"):
        if options.screen not in (None, usual_screen(form)):
            raise ExportError(f"--as {form} is of the whole session: leave --screen out.")
    elif form not in forms_of(screen):
        raise ExportError(f"{screen} can be exported as {', '.join(forms_of(screen))}, not as {form}.")


def _pieces(options: argparse.Namespace, form: Form, screen: str) -> Pieces:
    from .exporting.forms import document_text, redacted_lines, session_pieces

    path: Path = options.session
    session = read_session(path)  # a file that is no session is told of in one sentence, whatever the form
    if options.other is not None:
        read_session(options.other)
    if form == "session":
        return redacted_lines(path, keep_notes=options.keep_notes)
    if form not in PICTURES:
        found = session_pieces(session, path, screen, form)
        if found is not None:
            return found
    from .exporting.headless import Sight, looked_at
    from .exports import png_of, svg_of

    os.environ.pop("NO_COLOR", None)  # a picture has colours whatever this terminal wants
    sight = Sight(screen=screen, size=_size(options.size), theme=_theme(options.theme), other=options.other)
    if form == "svg":
        return (looked_at(path, sight, svg_of),)
    if form == "png":
        return (looked_at(path, sight, png_of),)
    return (document_text([looked_at(path, sight, _document_on)], form),)


def _document_on(app: SpecviewApp) -> Document:
    from ..layouts.screens.on_page import page_document

    if app.page is None:
        raise ExportError("The dashboard is no page.")
    return page_document(app.page)


def _size(text: str) -> tuple[int, int]:
    from .exports import parsed_size

    return parsed_size(text)


def _theme(name: str) -> str:
    from ..layouts.themes import THEME_BY_NAME

    if name not in THEME_BY_NAME:
        raise ExportError(f"There is no theme {name!r}: choose one of {', '.join(THEME_BY_NAME)}.")
    return name
