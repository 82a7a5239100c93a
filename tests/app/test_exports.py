"""Pictures: offline, with their font inside, of the size asked for, and a sentence where that cannot be."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from specview.app.cli import main
from specview.app.exports import ExportError, parsed_size
from specview.layouts.pictures import CELL, FONTS, MARGIN, cells_of, offline_svg, png


def test_cells_of_wide_and_reversed_text() -> None:
    style = Style(color=Color.from_rgb(1, 2, 3), bgcolor=Color.from_rgb(4, 5, 6), reverse=True, bold=True)
    (row,) = cells_of([[Segment("以a", style)]])
    assert [(c.text, c.width) for c in row] == [("以", 2), ("a", 1)]
    assert row[0].foreground == (4, 5, 6) and row[0].background == (1, 2, 3) and row[0].bold


def test_blocks_join_without_a_seam() -> None:
    style = Style(color=Color.from_rgb(255, 0, 0), bgcolor=Color.from_rgb(0, 0, 0))
    image = Image.open(io.BytesIO(png(cells_of([[Segment("██", style)]]), (0, 0, 0)))).convert("RGB")
    middle = MARGIN + CELL[1] // 2
    assert {image.getpixel((MARGIN + x, middle)) for x in range(2 * CELL[0])} == {(255, 0, 0)}


def test_every_sign_of_the_screen_is_drawn() -> None:
    style = Style(color=Color.from_rgb(255, 255, 255), bgcolor=Color.from_rgb(0, 0, 0), strike=False)
    for sign in "█▉▌▏▁▇▀▐▔▕░▒▓─│┌┐└┘├┤┬┴┼╭╮╰╯╌┊⣿●◇◆◌■▲▸◂Σ÷×≤≥→←↑↓−…·以中①":
        image = Image.open(io.BytesIO(png(cells_of([[Segment(sign, style)]]), (0, 0, 0)))).convert("L")
        assert image.getextrema()[1] > 100, sign


def test_the_fonts_come_with_their_licence() -> None:
    assert "SIL OPEN FONT LICENSE" in (FONTS / "OFL.txt").read_text(encoding="utf-8")


def test_the_remote_font_of_textual_is_taken_out() -> None:
    svg = '<svg><style>@font-face { src: url("https://cdn.example/x.woff2"); }</style><!-- https://x --></svg>'
    assert "https" not in offline_svg(svg)


@pytest.mark.parametrize("text", ["", "x", "120", "1x1", "99999x40", "120x9999", "-5x40"])
def test_a_wrong_size_is_a_sentence(text: str) -> None:
    with pytest.raises(ExportError, match="columns x rows"):
        parsed_size(text)


def test_a_session_that_is_none_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path / "none.specview.jsonl")]) == 1
    assert "There is no file" in capsys.readouterr().err
