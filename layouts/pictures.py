"""The screen as a picture: SVG with its font inside, and PNG drawn cell by cell; nothing is fetched."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.terminal_theme import SVG_EXPORT_THEME

FONTS = Path(__file__).resolve().parent.parent / "assets" / "fonts"
FAMILY = "JetBrains Mono"
REGULAR, BOLD, WIDE = "JetBrainsMono-Regular.ttf", "JetBrainsMono-Bold.ttf", "NotoSansMonoCJK-subset.otf"
POINTS = 30
CELL = (18, 40)  # JetBrains Mono advances 0.6 em; even, so that shades join
MARGIN = 20
COLOURS = 128
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
REMOTE = re.compile(r"@font-face\s*\{[^}]*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cell:
    """One character with its colours (RGB) and weight; a wide one covers the next cell too."""

    text: str
    foreground: tuple[int, int, int]
    background: tuple[int, int, int]
    bold: bool = False
    italic: bool = False
    strike: bool = False
    underline: bool = False
    width: int = 1


def cells_of(rows: Iterable[Sequence[Segment]]) -> list[list[Cell]]:
    """Rendered segments as rows of cells, reverse and dim resolved."""
    return [[cell for segment in row for cell in _cells(segment)] for row in rows]


def _cells(segment: Segment) -> list[Cell]:
    style = segment.style
    foreground = _rgb(style.color if style else None, SVG_EXPORT_THEME.foreground_color)
    background = _rgb(style.bgcolor if style else None, SVG_EXPORT_THEME.background_color)
    if style and style.reverse:
        foreground, background = background, foreground
    if style and style.dim:
        foreground = _blend(foreground, background)
    return [
        Cell(
            character,
            foreground,
            background,
            bool(style and style.bold),
            bool(style and style.italic),
            bool(style and style.strike),
            bool(style and style.underline),
            cell_len(character),
        )
        for character in segment.text
        if cell_len(character) > 0
    ]


def _rgb(color: Color | None, default: tuple[int, int, int]) -> tuple[int, int, int]:
    if color is None or color.type == ColorType.DEFAULT:
        return (default[0], default[1], default[2])
    found = color.get_truecolor(SVG_EXPORT_THEME)
    return (found.red, found.green, found.blue)


def _blend(top: tuple[int, int, int], under: tuple[int, int, int]) -> tuple[int, int, int]:
    red, green, blue = (round(a * 0.6 + b * 0.4) for a, b in zip(top, under, strict=True))
    return (red, green, blue)


def offline_svg(svg: str) -> str:
    """Textual's SVG with the font it names put inside, so that nothing outside is referred to."""
    faces = "\n".join(
        f'@font-face {{ font-family: "{FAMILY}"; font-weight: {weight}; font-style: normal; '
        f'src: url("data:font/woff2;base64,{_woff2(name)}") format("woff2"); }}'
        for name, weight in ((REGULAR, 400), (BOLD, 700))
    )
    without = COMMENT.sub("", REMOTE.sub("", svg)).replace("Fira Code", FAMILY)
    return without.replace("<style>", f"<style>\n{faces}\n", 1)


@cache
def _woff2(name: str) -> str:
    return base64.b64encode((FONTS / name).with_suffix(".woff2").read_bytes()).decode("ascii")


def png(rows: Sequence[Sequence[Cell]], background: tuple[int, int, int]) -> bytes:
    """The cells as a PNG. Boxes, blocks and shades are drawn as shapes, so that they join as in a terminal."""
    from PIL import Image, ImageDraw

    from .glyphs import draw_glyph

    width = max((sum(cell.width for cell in row) for row in rows), default=1)
    image = Image.new("RGB", (width * CELL[0] + 2 * MARGIN, len(rows) * CELL[1] + 2 * MARGIN), background)
    draw = ImageDraw.Draw(image)
    for y, row in enumerate(rows):
        x = 0
        for cell in row:
            left, top = MARGIN + x * CELL[0], MARGIN + y * CELL[1]
            right, bottom = left + cell.width * CELL[0], top + CELL[1]
            draw.rectangle((left, top, right - 1, bottom - 1), fill=cell.background)
            draw_glyph(draw, cell, (left, top, right, bottom))
            x += cell.width
    out = io.BytesIO()
    # without dithering, so that flat colours stay flat; text needs few shades
    image.quantize(colors=COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
