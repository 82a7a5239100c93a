"""Pictures of the running app's screen: SVG, PNG, and the same as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.control import Control
from rich.segment import Segment

from ..layouts.pictures import cells_of, offline_svg, png
from .exporting.files import ExportError

if TYPE_CHECKING:
    from .application import SpecviewApp

__all__ = ["ExportError", "parsed_size", "png_of", "png_of_rows", "rows_of", "svg_of", "text_of"]


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
    return png_of_rows(rows_of(app), background_of(app))


def png_of_rows(rows: Sequence[Sequence[Segment]], background: tuple[int, int, int]) -> bytes:
    """Rows of a screen as PNG, on a margin of that colour; needs no app, so a thread may do it."""
    return png(cells_of(rows), background)


def background_of(app: SpecviewApp) -> tuple[int, int, int]:
    """The colour around the screen."""
    return app.screen.styles.background.rgb


def rows_of(app: SpecviewApp) -> list[list[Segment]]:
    """What the terminal shows, row by row."""
    width, height = app.size
    console = Console(width=width, height=height, force_terminal=True, color_system="truecolor", legacy_windows=False)
    update = app.screen._compositor.render_full_update(simplify=True)
    segments = [s for s in console.render(update) if not isinstance(s, Control) and not s.control]
    return [list(row) for row in Segment.split_lines(segments)][:height]


def text_of(app: SpecviewApp) -> str:
    """The characters of the screen, without colours."""
    rows = ("".join(segment.text for segment in row).rstrip() for row in rows_of(app))
    return "\n".join(rows).strip("\n") + "\n"
