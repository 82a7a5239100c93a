"""One cell onto a picture: blocks, braille and box lines as shapes, all else from the shipped fonts, or a box."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import ImageDraw, ImageFont

if TYPE_CHECKING:
    from .pictures import Cell

Box = tuple[int, int, int, int]
SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}
# which sides a box line reaches, as right, down, left, up; and whether it is rounded
LINES = {
    "─": "rl", "│": "du", "┌": "rd", "┐": "dl", "└": "ru", "┘": "lu", "├": "rdu", "┤": "dlu", "┬": "rdl", "┴": "rlu",
    "┼": "rdlu", "╭": "rd", "╮": "dl", "╰": "ru", "╯": "lu",
}  # fmt: skip
MISSING = "\U0010fffd"  # a character that no font has
DASHES = {"╌": ("rl", 2), "┊": ("du", 4)}
# which quarters are filled: upper left, upper right, lower left, lower right
QUARTERS = {
    "▖": "..x.", "▗": "...x", "▘": "x...", "▙": "x.xx", "▚": "x..x", "▛": "xxx.", "▜": "xx.x", "▝": ".x..", "▞": ".xx.",
    "▟": ".xxx",
}  # fmt: skip
# signs that the shipped fonts lack, and ones of theirs that say the same
STAND_INS = {"✔": "✓", "✕": "×", "✖": "✗", "∆": "Δ", "★": "*", "☆": "*", "☐": "□", "☑": "■"}


def draw_glyph(draw: ImageDraw.ImageDraw, cell: Cell, box: Box) -> None:
    """Draw the cell's character, and its strike or underline, into its box (left, top, right, bottom)."""
    left, top, right, bottom = box
    character, ink = STAND_INS.get(cell.text, cell.text), cell.foreground
    if not character.isspace() and not _shape(draw, character, ink, cell.background, box):
        font = _font(character, cell.bold)
        if font is None:
            draw.rectangle((left + 3, top + 8, right - 4, bottom - 9), outline=ink, width=2)
        else:
            draw.text((left, top + (bottom - top) * 0.77), character, font=font, fill=ink, anchor="ls")
    if cell.strike:
        draw.rectangle((left, (top + bottom) // 2, right - 1, (top + bottom) // 2 + 1), fill=ink)
    if cell.underline:
        draw.rectangle((left, bottom - 4, right - 1, bottom - 3), fill=ink)


def _shape(
    draw: ImageDraw.ImageDraw, character: str, ink: tuple[int, int, int], under: tuple[int, int, int], box: Box
) -> bool:
    """Draw a character that is a shape; False for one that is a letter."""
    left, top, right, bottom = box
    code = ord(character)
    if character in SHADES:
        _dither(draw, ink, box, SHADES[character])
    elif 0x2588 <= code <= 0x258F:  # █ ▉ … ▏: eighths from the left
        draw.rectangle((left, top, left + round((right - left) * (0x2590 - code) / 8) - 1, bottom - 1), fill=ink)
    elif 0x2581 <= code <= 0x2587:  # ▁ … ▇: eighths from below
        draw.rectangle((left, bottom - round((bottom - top) * (code - 0x2580) / 8), right - 1, bottom - 1), fill=ink)
    elif character == "▀":
        draw.rectangle((left, top, right - 1, (top + bottom) // 2 - 1), fill=ink)
    elif character == "▐":
        draw.rectangle(((left + right) // 2, top, right - 1, bottom - 1), fill=ink)
    elif character == "▔":
        draw.rectangle((left, top, right - 1, top + (bottom - top) // 8), fill=ink)
    elif character == "▕":
        draw.rectangle((right - max(2, (right - left) // 8), top, right - 1, bottom - 1), fill=ink)
    elif 0x2800 <= code <= 0x28FF:
        _braille(draw, code - 0x2800, ink, box)
    elif character in LINES:
        _line(draw, LINES[character], ink, box)
    elif character in DASHES:
        _dashes(draw, *DASHES[character], ink, box)
    elif character in QUARTERS:
        _quarters(draw, QUARTERS[character], ink, box)
    elif character in "○◉⭘":
        _ring(draw, ink, box, filled=character == "◉")
    elif character == "⚠":
        _warning(draw, ink, under, box)
    else:
        return False
    return True


def _dither(draw: ImageDraw.ImageDraw, ink: tuple[int, int, int], box: Box, share: float) -> None:
    """Dots on a grid that goes on into the next cell."""
    left, top, right, bottom = box
    step = 2
    for y in range(top - top % step, bottom, step):
        for x in range(left - left % step, right, step):
            if x < left or y < top:
                continue
            phase = ((x // step) % 2) + 2 * ((y // step) % 2)
            order = (0, 3, 2, 1)[phase]
            if order < share * 4:
                draw.rectangle((x, y, min(x + step, right) - 1, min(y + step, bottom) - 1), fill=ink)


def _braille(draw: ImageDraw.ImageDraw, bits: int, ink: tuple[int, int, int], box: Box) -> None:
    left, top, right, bottom = box
    for bit, (column, row) in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
        if bits >> bit & 1:
            x = left + (right - left) * (2 * column + 1) / 4
            y = top + (bottom - top) * (2 * row + 1) / 8
            draw.ellipse((x - 2, y - 2, x + 2, y + 2), fill=ink)


def _line(draw: ImageDraw.ImageDraw, sides: str, ink: tuple[int, int, int], box: Box) -> None:
    left, top, right, bottom = box
    x, y = (left + right) // 2, (top + bottom) // 2
    ends = {"r": (x, y, right - 1, y + 1), "d": (x, y, x + 1, bottom - 1), "l": (left, y, x + 1, y + 1),
            "u": (x, top, x + 1, y + 1)}  # fmt: skip
    for side in sides:
        draw.rectangle(ends[side], fill=ink)


def _dashes(draw: ImageDraw.ImageDraw, sides: str, count: int, ink: tuple[int, int, int], box: Box) -> None:
    left, top, right, bottom = box
    x, y = (left + right) // 2, (top + bottom) // 2
    along = right - left if sides == "rl" else bottom - top
    for i in range(count):
        start, end = round(along * i / count), round(along * (i + 0.6) / count)
        if sides == "rl":
            draw.rectangle((left + start, y, left + end, y + 1), fill=ink)
        else:
            draw.rectangle((x, top + start, x + 1, top + end), fill=ink)


def _quarters(draw: ImageDraw.ImageDraw, filled: str, ink: tuple[int, int, int], box: Box) -> None:
    left, top, right, bottom = box
    x, y = (left + right) // 2, (top + bottom) // 2
    places = ((left, top, x - 1, y - 1), (x, top, right - 1, y - 1), (left, y, x - 1, bottom - 1),
              (x, y, right - 1, bottom - 1))  # fmt: skip
    for sign, place in zip(filled, places, strict=True):
        if sign == "x":
            draw.rectangle(place, fill=ink)


def _ring(draw: ImageDraw.ImageDraw, ink: tuple[int, int, int], box: Box, *, filled: bool) -> None:
    """A circle as high as a small letter, which stands in the middle of its cell."""
    left, top, right, bottom = box
    x, y, reach = (left + right - 1) / 2, top + (bottom - top) * 0.5, (right - left) * 0.4
    draw.ellipse((x - reach, y - reach, x + reach, y + reach), outline=ink, width=2)
    if filled:
        draw.ellipse((x - reach / 2, y - reach / 2, x + reach / 2, y + reach / 2), fill=ink)


def _warning(draw: ImageDraw.ImageDraw, ink: tuple[int, int, int], under: tuple[int, int, int], box: Box) -> None:
    left, top, right, bottom = box
    x, low, high = (left + right - 1) / 2, bottom - (bottom - top) * 0.26, top + (bottom - top) * 0.3
    draw.polygon(((x, high), (left, low), (right - 1, low)), fill=ink)
    draw.line((x, high + 6, x, low - 6), fill=under, width=2)
    draw.line((x, low - 4, x, low - 3), fill=under, width=2)


@cache
def _font(character: str, bold: bool) -> ImageFont.FreeTypeFont | None:
    """The first font that has the character: ours, the wide one, then one of the system; None if none has."""
    from .pictures import POINTS

    for path in _paths(bold):
        font = _loaded(path, POINTS)
        if font is not None and bytes(font.getmask(character)) != bytes(font.getmask(MISSING)):
            return font
    return None


def _paths(bold: bool) -> Iterator[Path]:
    """Ours first; the system is searched only for what they lack."""
    from .pictures import BOLD, FONTS, REGULAR, WIDE

    yield FONTS / (BOLD if bold else REGULAR)
    yield FONTS / WIDE
    yield from _found()


@cache
def _loaded(path: Path, points: int) -> ImageFont.FreeTypeFont | None:
    try:
        return ImageFont.truetype(str(path), points)
    except OSError:
        return None


@cache
def _found() -> tuple[Path, ...]:
    """Fonts of the system that may hold what ours do not, e.g. other scripts."""
    folders = (Path("/usr/share/fonts"), Path("/System/Library/Fonts"), Path("/Library/Fonts"))
    names = ("*CJK*", "*wqy*", "PingFang*", "Hiragino*", "*Unicode*", "DejaVuSansMono.ttf", "Menlo*")
    return tuple(path for folder in folders if folder.is_dir() for name in names for path in sorted(folder.rglob(name)))
