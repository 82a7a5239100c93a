"""Every glyph that we draw as one of ASCII in as many cells, for terminals that show no others."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

HORIZONTAL, DOUBLE, VERTICAL = "─╌┄┈╴╶╼╾", "━═╍┅┉╸╺", "│┃║┊┋╎╏┆┇╵╷╹╻"
ASCII_BY_GLYPH = {
    **dict.fromkeys(HORIZONTAL, "-"),
    **dict.fromkeys(DOUBLE, "="),
    **dict.fromkeys(VERTICAL, "|"),
    "╱": "/", "╲": "\\", "╳": "x",
    "█": "#", "▓": "%", "▒": ":", "░": ".", "▀": "\"", "▐": "|", "▔": "-", "▕": "|",
    "▏": ".", "▎": ".", "▍": ":", "▌": ":", "▋": ":", "▊": "|", "▉": "|",
    "▁": "_", "▂": "_", "▃": ".", "▄": "-", "▅": "=", "▆": "+", "▇": "*",
    "●": "*", "○": "o", "◆": "+", "◇": "x", "◌": ".", "■": "#", "□": "o", "◉": "@", "•": "*", "·": ".",
    "▲": "!", "△": "^", "▼": "v", "▽": "v", "▴": "^", "▾": "v", "▸": ">", "▶": ">", "◂": "<", "◀": "<", "►": ">",
    "←": "<", "→": ">", "↑": "^", "↓": "v", "↔": "-", "⇔": "=", "⇒": ">", "↵": "<", "⏎": "<", "␣": "_",
    "≤": "<", "≥": ">", "≈": "~", "≠": "!", "±": "~", "×": "x", "÷": "/", "−": "-", "∞": "8", "√": "v",
    "∑": "S", "∏": "P", "Σ": "S", "Π": "P", "Δ": "D", "∆": "D",
    "α": "a", "β": "b", "γ": "y", "δ": "d", "λ": "l", "μ": "u", "µ": "u", "π": "p", "σ": "s", "τ": "t",
    "–": "-", "—": "-", "‐": "-", "‑": "-", "…": ".", "“": "\"", "”": "\"", "„": "\"", "‘": "'", "’": "'", "‹": "<",
    "›": ">", "«": "<", "»": ">", "✓": "v", "✔": "v", "✗": "x", "✕": "x", "✖": "x", "⚠": "!", "★": "*", "☆": "*",
    "°": "o", "§": "S", "¶": "P", "′": "'", "″": "\"", "¬": "!", "©": "c", "½": "/", "\u00a0": " ", "⭘": "o",
}  # fmt: skip
BRAILLE, BRAILLE_END, BOX, BOX_END, QUADRANT, QUADRANT_END = 0x2800, 0x28FF, 0x2500, 0x257F, 0x2596, 0x259F
BRAILLE_ROWS = (0x01 | 0x08, 0x02 | 0x10, 0x04 | 0x20, 0x40 | 0x80)
UNKNOWN = "?"


class _Glyphs(dict[int, str]):
    """Finds what a character becomes when it first comes up."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _ascii_of(chr(code))
        return found


_GLYPHS = _Glyphs({code: chr(code) for code in range(128)})


def ascii_text(text: str) -> str:
    """The text in ASCII alone, in exactly as many cells; what has no likeness is ?."""
    if text.isascii():
        return text
    plain = text.translate(_GLYPHS)
    cells = cell_len(text)
    return plain if len(plain) == cells else set_cell_size(plain, cells)


def _ascii_of(character: str) -> str:
    code = ord(character)
    if character in ASCII_BY_GLYPH:
        return ASCII_BY_GLYPH[character]
    if BRAILLE <= code <= BRAILLE_END:
        return _dots(code - BRAILLE)
    if BOX <= code <= BOX_END:
        return "+"
    if QUADRANT <= code <= QUADRANT_END:
        return "#"
    cells = cell_len(character)
    base = unicodedata.normalize("NFKD", character)[:1]
    if cells == 1 and base.isascii() and base.isprintable():
        return base
    return UNKNOWN * cells


def _dots(bits: int) -> str:
    """A curve's dots: high, in the middle, low, or over more than one of them."""
    rows = [row for row, mask in enumerate(BRAILLE_ROWS) if bits & mask]
    if not rows:
        return " "
    if rows[-1] - rows[0] > 1:
        return ":"
    return "'-.."[rows[0]] if len(rows) == 1 else "'-."[rows[0]]


class AsciiFilter(LineFilter):
    """Lays ASCII over everything that is drawn, whoever drew it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII, as wide."""
        return [
            segment if segment.text.isascii() else Segment(ascii_text(segment.text), segment.style, segment.control)
            for segment in segments
        ]
