"""Every text colour on every background it stands on, and which theme comes next."""

from __future__ import annotations

import pytest
from contrast import contrast, rgb
from textual.theme import Theme

from specview.app.cli import parser
from specview.layouts.themes import ANSI_NAMES, DARK_NAMES, THEME_BY_NAME, THEMES, WORDS_BY_NAME, next_theme

SHAPES = ("band", "frame", "ink", "input-selection-background")
OWN = [theme for theme in THEMES if not theme.ansi]


def least(theme: Theme) -> float:
    return 7.0 if "contrast" in theme.name else 4.5


def texts(theme: Theme) -> dict[str, str]:
    named = {
        name: colour for name, colour in theme.variables.items() if name not in SHAPES and "background" not in name
    }
    return {**named, "foreground": theme.foreground or "", "accent": theme.accent or ""}


@pytest.mark.parametrize("theme", OWN, ids=lambda theme: theme.name)
def test_every_text_colour_reads_on_every_background(theme: Theme) -> None:
    for name, colour in texts(theme).items():
        under_cursor = (theme.variables["block-cursor-background"],) if name in ("quiet", "foreground") else ()
        for under in (theme.background, theme.surface, theme.panel, *under_cursor):
            assert contrast(rgb(colour), rgb(under or "")) >= least(theme), (name, under)
            assert contrast(rgb(colour, "256"), rgb(under or "", "256")) >= 0.95 * least(theme), (name, under, "256")


@pytest.mark.parametrize("theme", OWN, ids=lambda theme: theme.name)
def test_the_verdicts_word_reads_on_its_colour_and_shapes_can_be_seen(theme: Theme) -> None:
    for kind in ("verdict", "win", "lose", "close", "what-if"):
        assert contrast(rgb(theme.variables["ink"]), rgb(theme.variables[kind])) >= least(theme), kind
    for shape in ("band", "frame"):
        seen = contrast(rgb(theme.variables[shape]), rgb(theme.background or ""))
        assert seen >= (3.0 if "contrast" in theme.name and shape == "frame" else 1.4), shape


def test_every_theme_knows_every_name() -> None:
    for theme in THEMES:
        assert set(DARK_NAMES) <= set(theme.variables), theme.name
    assert all(colour.startswith("ansi_") for colour in ANSI_NAMES.values())


def test_d_goes_round_and_takes_the_16_colours_in_only_where_there_are_no_more() -> None:
    assert [next_theme(name) for name in ("dark", "light", "contrast-dark", "contrast-light", "ansi", "gone")] == [
        "light",
        "contrast-dark",
        "contrast-light",
        "dark",
        "dark",
        "dark",
    ]
    assert next_theme("contrast-light", few_colours=True) == "ansi" and next_theme("ansi", few_colours=True) == "dark"


def test_the_command_line_takes_every_theme() -> None:
    assert set(THEME_BY_NAME) == set(WORDS_BY_NAME)
    for name in THEME_BY_NAME:
        assert parser().parse_args(["watch", "--theme", name]).theme == name
