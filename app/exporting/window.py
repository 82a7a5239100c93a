"""The export key: opens the window, makes what was chosen beside the screen, and says where it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.errors import SpecviewError
from ...engine.paths import local_path
from ...layouts.export.document import Document
from ...layouts.export.names import DASHBOARD, EVENTS, LEDGER, PICTURES, REPORT, TEXTS, Form
from ...layouts.screens.export import ExportScreen, ExportView, ExportWish, Offer, Way
from ..settings import shown_path
from .files import ExportError, Pieces, free_path, write_new

if TYPE_CHECKING:
    from ...layouts.views import Reckoning
    from ..application import SpecviewApp

REDACTED = "redacted"
COPIED: tuple[Way, ...] = ("copied", "copied text")


def export_view(app: SpecviewApp, folder: Path) -> ExportView:
    """What can be exported now, this screen first, into that folder."""
    screen = DASHBOARD if app.page is None else app.page.NAME
    ways: tuple[Way, ...] = ("png", "svg", *TEXTS, *COPIED) if app.reckoning is not None else (*PICTURES, "copied text")
    offers = [Offer(screen, f"This screen: {screen}", ways)]
    if app.reckoning is not None:
        if screen != LEDGER:
            offers.append(Offer(LEDGER, "Ledger", (*TEXTS, "copied")))
        offers.append(Offer(REPORT, "Whole report", ("html", "md", "json")))
        offers.append(Offer(EVENTS, "Every timed event", ("csv", "trace")))
        offers.append(Offer(REDACTED, "Session, to post", ("session",)))
    try:
        taken = frozenset(path.name for path in folder.iterdir())
    except OSError:
        taken = frozenset()
    name = None if app.shown is None else app.shown.name
    return ExportView(
        offers=tuple(offers), session_name=name, folder=shown_path(folder), taken=taken,
        size=(app.size.width, app.size.height),
    )  # fmt: skip


def folder_of(session: Path | None, sessions_folder: Path) -> Path:
    """Beside the session; where nothing can be written there, the folder that specview was started in."""
    near = sessions_folder if session is None else session.parent
    return near if os.access(near, os.W_OK) or not near.exists() else Path.cwd()


def open_export(app: SpecviewApp, sessions_folder: Path) -> None:
    """Show the window; what it is dismissed with is carried out once the screen below is back."""
    folder = folder_of(app.shown, sessions_folder)

    def begin(wish: ExportWish) -> None:
        app.run_worker(carry_out(app, wish, folder), name="export", exit_on_error=False)

    def chosen(wish: ExportWish | None) -> None:
        if wish is not None:
            app.call_after_refresh(begin, wish)

    app.push_screen(ExportScreen(export_view(app, folder)), chosen)


async def carry_out(app: SpecviewApp, wish: ExportWish, folder: Path) -> None:
    """Make the export in a thread, from what the screen showed, and say how it went."""
    app.clear_notifications()
    try:
        made = _making(app, wish)
        if wish.way == "copied" or wish.way == "copied text":
            text = "".join(map(str, await asyncio.to_thread(made)))
            app.copy_to_clipboard(text)
            said = f"Copied {len(text):,} characters, if your terminal lets programs copy (OSC 52)."
        else:
            path = await asyncio.to_thread(_saved, folder / local_path(wish.name), made)
            said = f"Saved {shown_path(path)}"
    except SpecviewError as error:
        said = str(error)
    app.notify(said, markup=False, timeout=8)


def _saved(path: Path, made: Callable[[], Pieces]) -> Path:
    free = free_path(path)
    write_new(free, made())
    return free


def _making(app: SpecviewApp, wish: ExportWish) -> Callable[[], Pieces]:
    """What makes the export; whatever comes from widgets is taken now, the rest may be done in a thread."""
    from ..exports import background_of, png_of_rows, rows_of, svg_of, text_of

    if wish.way == "png":
        rows, background = rows_of(app), background_of(app)
        return lambda: (png_of_rows(rows, background),)
    if wish.way == "svg":
        svg = svg_of(app)
        return lambda: (svg,)
    if wish.way == "copied text":
        text = text_of(app)
        return lambda: (text,)
    reckoning, path = app.reckoning, app.shown
    if reckoning is None or path is None:
        raise ExportError("There are no numbers to export yet.")
    form: Form = "md" if wish.way == "copied" else wish.way
    document = _document_on(app, wish.screen)
    return lambda: _pieces(reckoning, path, wish.screen, form, document)


def _document_on(app: SpecviewApp, screen: str) -> Document | None:
    """The page under the window as a document, where it is what is asked for."""
    from ...layouts.screens.on_page import page_document

    page = app.page
    return None if page is None or screen != page.NAME else page_document(page)


def _pieces(reckoning: Reckoning, path: Path, screen: str, form: Form, shown: Document | None) -> Pieces:
    from .forms import document_text, redacted_lines, session_pieces

    if form == "session":
        return redacted_lines(path)
    found = session_pieces(reckoning.session, path, screen, form, reckoning)
    if found is not None:
        return found
    assert shown is not None  # every screen without raw numbers is a page
    return (document_text([shown], form),)
