"""Text with tones: what a panel draws, before any colour; a tone names a style in the .tcss."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size


class Span(NamedTuple):
    """Literal text in one tone; never markup."""

    text: str
    tone: str = ""


Line = tuple[Span, ...]
EMPTY: Line = ()


def line(*parts: str | tuple[str, str] | Span) -> Line:
    """A line from texts and (text, tone) pairs; empty texts are left out."""
    spans = (Span(part) if isinstance(part, str) else Span(*part) for part in parts)
    return tuple(span for span in spans if span.text)


def width_of(spans: Iterable[Span]) -> int:
    """Cells a line takes."""
    return sum(cell_len(span.text) for span in spans)


def left(text: str, width: int) -> str:
    """Text in exactly so many cells, cut with … where it is longer."""
    if cell_len(text) > width > 0:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, max(0, width))


def right(text: str, width: int) -> str:
    """Text at the right end of so many cells."""
    return " " * max(0, width - cell_len(text)) + text


def wrapped(text: str, width: int, tone: str = "", indent: int = 0) -> list[Line]:
    """Text broken at spaces into lines of at most `width` cells, later ones indented."""
    lines: list[Line] = []
    current = ""
    for word in text.split():
        room = width - (indent if lines else 0)
        if current and cell_len(current) + 1 + cell_len(word) > room:
            lines.append(line(" " * (indent if lines else 0), (current, tone)))
            current = word
        else:
            current = f"{current} {word}" if current else word
    if current:
        lines.append(line(" " * (indent if lines else 0), (current, tone)))
    return lines


def clipped(spans: Line, width: int) -> Line:
    """A line cut to so many cells, with … where something is missing."""
    if width_of(spans) <= width:
        return spans
    kept: list[Span] = []
    room = width - 1
    for span in spans:
        cells = cell_len(span.text)
        if cells > room:
            kept.append(Span(set_cell_size(span.text, room) + "…", span.tone))
            break
        kept.append(span)
        room -= cells
    return tuple(kept)


def shortened(text: str, width: int) -> str:
    """Text of parts, " · " between them, in at most so many cells: whole words, the lesser ones left out.

    What words stand in brackets go first, then what follows the last comma of a part, the last part's first, then whole
    parts from the end, then words; … stands only in a single word that is too long. Of two names with " ↔ " between
    them both stay, each cut to its half.
    """
    if cell_len(text) <= width:
        return text
    one, between, other = text.partition(" ↔ ")
    if between:
        half = (width - len(between)) // 2
        room = max(half, width - len(between) - cell_len(other)), max(half, width - len(between) - cell_len(one))
        named = zip((one, other), room, strict=True)
        return between.join(left(name, min(cells, cell_len(name))) for name, cells in named)
    text = re.sub(r" \([^() ][^()]*\)", "", text)
    parts = text.split(" · ")
    for index in reversed(range(len(parts))):
        while cell_len(" · ".join(parts)) > width and ", " in parts[index]:
            parts[index] = parts[index].rpartition(", ")[0]
    while len(parts) > 1 and cell_len(" · ".join(parts)) > width:
        parts.pop()
    words = " · ".join(parts).split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) > width:
        words.pop()
    return left(" ".join(words), min(width, cell_len(" ".join(words))))


def whole_items(spans: Line, width: int) -> Line:
    """A legend in at most so many cells: of its items, two spaces apart, as many of the first as fit."""
    if width_of(spans) <= width:
        return spans
    text = "".join(span.text for span in spans)
    room = len(text)
    while room > 0 and cell_len(text[:room].rstrip()) > width:
        room = text[:room].rstrip().rfind("  ") + 1
    kept: list[Span] = []
    for span in spans:
        if room <= 0:
            break
        kept.append(Span(span.text[:room], span.tone))
        room -= len(span.text)
    return tuple(kept) if kept else clipped(spans, width)


def folded(spans: Line, width: int) -> list[Line]:
    """A line as rows of at most `width` cells, broken at a space in the second half of a row, else where it is full."""
    rows: list[Line] = []
    cells = [(character, cell_len(character), span.tone) for span in spans for character in span.text]
    start = 0
    while True:
        used, end, space = 0, start, -1
        while end < len(cells) and used + cells[end][1] <= width:
            used += cells[end][1]
            if cells[end][0] == " " and used > width // 2:
                space = end
            end += 1
        if end < len(cells) and space >= 0:
            end = space + 1
        end = max(end, min(start + 1, len(cells)))
        rows.append(_joined(cells[start:end]))
        start = end
        if start >= len(cells):
            return rows


def _joined(cells: list[tuple[str, int, str]]) -> Line:
    """Characters with tones as few spans."""
    spans: list[Span] = []
    for character, _, tone in cells:
        if spans and spans[-1].tone == tone:
            spans[-1] = Span(spans[-1].text + character, tone)
        else:
            spans.append(Span(character, tone))
    return tuple(spans)
