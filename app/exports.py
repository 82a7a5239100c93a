"""Pictures of the screen: from the running app, and from a saved session without a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from textual.pilot import Pilot

from ..engine.errors import SpecviewError
from ..layouts.pictures import cells_of, offline_svg, png

if TYPE_CHECKING:
    from .application import SpecviewApp

Form = Literal["svg", "png"]
SETTLING = 5
PATIENCE = 600  # pauses of the app, each as long as it is busy


class ExportError(SpecviewError):
    """A picture that cannot be made or written."""


def parsed_size(text: str) -> tuple[int, int]:
    """`120x40` as columns and rows."""
    match = re.fullmatch(r"(\d{1,4})\s*[x×]\s*(\d{1,4})", text.strip())
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (60 <= size[0] <= 500 and 18 <= size[1] <= 300):
        raise ExportError(f"{text!r} is no size: write columns x rows, e.g. 120x40, at least 60x18.")
    return size


def svg_of(app: SpecviewApp) -> str:
    """The app's screen as SVG, its font inside."""
    return offline_svg(app.export_screenshot(title="specview", simplify=True))


def png_of(app: SpecviewApp) -> bytes:
    """The app's screen as PNG."""
    rows = rows_of(app)
    return png(cells_of(rows), app.screen.styles.background.rgb)


def rows_of(app: SpecviewApp) -> list[list[Segment]]:
    """What the terminal shows, row by row."""
    width, height = app.size
    console = Console(width=width, height=height, force_terminal=True, color_system="truecolor", legacy_windows=False)
    update = app.screen._compositor.render_full_update(simplify=True)
    segments = [s for s in console.render(update) if not isinstance(s, Control) and not s.control]
    return [list(row) for row in Segment.split_lines(segments)][:height]


def export_screen(app: SpecviewApp, session: Path | None, folder: Path) -> str:
    """Save the screen beside its session; returns the sentence that says where, or why not."""
    near = folder if session is None else session.parent
    stem = "specview" if session is None else session.name.split(".")[0]
    page = "" if app.page is None else f"-{app.page.NAME}"
    name = f"{stem}{page}-{app.size.width}x{app.size.height}"
    try:
        near.mkdir(parents=True, exist_ok=True)
        (near / f"{name}.svg").write_text(svg_of(app), encoding="utf-8")
        (near / f"{name}.png").write_bytes(png_of(app))
    except OSError as error:
        return f"The picture could not be saved in {near} ({(error.strerror or 'unknown error').lower()})."
    return f"Saved {name}.svg and {name}.png in {near}"


def export_session(
    session: Path, form: Form, size: tuple[int, int], out: Path, theme: Literal["dark", "light"] = "dark"
) -> None:
    """Draw a saved session's main screen without a terminal, and write it to `out`."""
    from ..profilers.record.session import read_session
    from .application import Source, SpecviewApp

    read_session(session)  # a file that is no session is told in one sentence, not drawn
    app = SpecviewApp(Source(session), theme=theme)
    make: Callable[[SpecviewApp], Any] = svg_of if form == "svg" else png_of
    made: list[Any] = []

    async def take(pilot: Pilot[object]) -> None:
        for _ in range(PATIENCE):
            await pilot.pause(0.02)
            if app.settled:
                break
        for _ in range(SETTLING):  # scrolling to the end of the stream takes a few turns
            await pilot.pause(0.02)
        made.append(make(app))
        app.exit()

    app.run(headless=True, size=size, auto_pilot=take)
    if not made:
        raise ExportError("The screen could not be drawn; open the session with specview to see why.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(made[0], str):
            out.write_text(made[0], encoding="utf-8")
        else:
            out.write_bytes(made[0])
    except OSError as error:
        raise ExportError(f"{out} cannot be written ({(error.strerror or 'unknown error').lower()}).") from error
