"""ASCII in place of every glyph, in as many cells."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from specview.layouts.ascii import ASCII_BY_GLYPH, AsciiFilter, ascii_text

DRAWN = "".join(
    chr(code) for start, end in ((0x2190, 0x2200), (0x2500, 0x2600), (0x2800, 0x2900)) for code in range(start, end)
)


@pytest.mark.parametrize(
    "text", [DRAWN, "Σ ÷ α ≤ ± µ", "文件 mixed é ñ", "e\u0301", "👩‍👩‍👧 family", "\ud800", "\u200b|"]
)
def test_every_text_becomes_ascii_of_the_same_width(text: str) -> None:
    plain = ascii_text(text)
    assert plain.isascii() and len(plain) == cell_len(text)


def test_ascii_stays_as_it_is() -> None:
    assert ascii_text("| 10.94 ms |") == "| 10.94 ms |"


def test_what_is_drawn_stays_readable() -> None:
    assert ascii_text("╭─ Verify(2) ÷ decode ─╮") == "+- Verify(2) / decode -+"
    assert ascii_text("● p 0.88  10.48 ms ≤ 11.58 · α") == "* p 0.88  10.48 ms < 11.58 . a"
    assert ascii_text("███▉█▉") == "###|#|"
    assert ascii_text("⣀⠤⠒⠉") == ".--'" or len(set(ascii_text("⣀⠤⠒⠉"))) == 3
    assert ascii_text("文") == "??"


def test_marks_that_mean_different_things_stay_different() -> None:
    marks = [ascii_text(mark) for mark in "●○◇◆▲■"]
    assert len(set(marks)) == len(marks)
    assert all(len(plain) == cell_len(glyph) == 1 for glyph, plain in ASCII_BY_GLYPH.items())


def test_the_filter_keeps_styles() -> None:
    bold = Style(bold=True)
    given = [Segment("█ x", bold), Segment("plain", None)]
    assert AsciiFilter().apply(given, Color(0, 0, 0)) == [Segment("# x", bold), Segment("plain", None)]
