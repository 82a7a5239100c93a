"""The themes: palettes with names for what the panels draw, two of them with high contrast, one of 16 colours."""

from __future__ import annotations

from pathlib import Path

from textual.theme import BUILTIN_THEMES, Theme

NAMES = (
    "dashboard.tcss",
    "windows.tcss",
    "pages.tcss",
    "ops.tcss",
    "sweep.tcss",
    "experiments.tcss",
    "ledger.tcss",
    "compare.tcss",
    "advice.tcss",
    "workloads.tcss",
    "export.tcss",
    "sessions.tcss",
    "rounds.tcss",
    "glossary.tcss",
    "setup.tcss",
    "tour.tcss",
)
STYLES = tuple(Path(__file__).parent / "screens" / name for name in NAMES)

# `ink` is the text on a verdict's colour; `band` and `frame` are shapes, everything else is text too
DARK_NAMES = {
    "ink": "#101214",
    "verdict": "#a0a8b0",
    "win": "#7ed957",
    "lose": "#ff5c8a",
    "close": "#ffb454",
    "quiet": "#9aa4ad",
    "cat-embedding": "#c9a0ff",
    "cat-linear": "#5bd1e8",
    "cat-full": "#4d9dff",
    "cat-moe": "#ff5c8a",
    "cat-mlp": "#7ed957",
    "cat-norms": "#e8d44d",
    "cat-head": "#ff9d3c",
    "cat-sampling": "#66d9b0",
    "cat-misc": "#b8bdc2",
    "whole": "#98e024",
    "measured": "#ff5c8a",
    "limit": "#98e024",
    "what-if": "#c9a0ff",
    "band": "#31536b",
    "frame": "#2d6a9f",
}
LIGHT_NAMES = {
    "ink": "#fbfcfd",
    "verdict": "#55606a",
    "win": "#207106",
    "lose": "#b4164b",
    "close": "#713400",
    "quiet": "#525b63",
    "cat-embedding": "#652fad",
    "cat-linear": "#0a6f84",
    "cat-full": "#165cc1",
    "cat-moe": "#b4164b",
    "cat-mlp": "#207106",
    "cat-norms": "#716000",
    "cat-head": "#7e2f00",
    "cat-sampling": "#106c50",
    "cat-misc": "#5a636a",
    "whole": "#2f720a",
    "measured": "#b4164b",
    "limit": "#2f720a",
    "what-if": "#652fad",
    "band": "#a9c9e2",
    "frame": "#6c9cc4",
}
CONTRAST_DARK_NAMES = {
    "ink": "#000000",
    "verdict": "#e6e6e6",
    "win": "#8dff5c",
    "lose": "#ff9db8",
    "close": "#ffc870",
    "quiet": "#d4d4d4",
    "cat-embedding": "#dcc4ff",
    "cat-linear": "#7de6ff",
    "cat-full": "#8fc4ff",
    "cat-moe": "#ff9db8",
    "cat-mlp": "#8dff5c",
    "cat-norms": "#fff066",
    "cat-head": "#ffbb70",
    "cat-sampling": "#80f2cb",
    "cat-misc": "#e0e0e0",
    "whole": "#b4ff40",
    "measured": "#ff9db8",
    "limit": "#b4ff40",
    "what-if": "#dcc4ff",
    "band": "#4a7fa6",
    "frame": "#ffffff",
}
CONTRAST_LIGHT_NAMES = {
    "ink": "#ffffff",
    "verdict": "#303030",
    "win": "#002f00",
    "lose": "#86002f",
    "close": "#562d00",
    "quiet": "#333333",
    "cat-embedding": "#4a148c",
    "cat-linear": "#002d3b",
    "cat-full": "#002d79",
    "cat-moe": "#86002f",
    "cat-mlp": "#002f00",
    "cat-norms": "#392f00",
    "cat-head": "#632f00",
    "cat-sampling": "#002d17",
    "cat-misc": "#3a3a3a",
    "whole": "#002f00",
    "measured": "#86002f",
    "limit": "#002f00",
    "what-if": "#4a148c",
    "band": "#7fa8c9",
    "frame": "#000000",
}
# of the terminal's own 16 colours, and on its own background: what reads on black and on white
ANSI_NAMES = {
    "ink": "ansi_default",
    "verdict": "ansi_default",
    "win": "ansi_green",
    "lose": "ansi_red",
    "close": "ansi_magenta",
    "quiet": "ansi_default",
    "cat-embedding": "ansi_magenta",
    "cat-linear": "ansi_cyan",
    "cat-full": "ansi_blue",
    "cat-moe": "ansi_red",
    "cat-mlp": "ansi_green",
    "cat-norms": "ansi_yellow",
    "cat-head": "ansi_yellow",
    "cat-sampling": "ansi_cyan",
    "cat-misc": "ansi_default",
    "whole": "ansi_green",
    "measured": "ansi_red",
    "limit": "ansi_green",
    "what-if": "ansi_magenta",
    "band": "ansi_blue",
    "frame": "ansi_blue",
}


def _theme(name: str, dark: bool, names: dict[str, str], base: dict[str, str]) -> Theme:
    """A theme of our names and of the base colours: foreground, background, surface, panel, accent, primary, cursor."""
    return Theme(
        name=f"specview-{name}",
        primary=base["primary"],
        secondary=names["cat-linear"],
        accent=base["accent"],
        warning=names["close"],
        error=names["lose"],
        success=names["win"],
        foreground=base["foreground"],
        background=base["background"],
        surface=base["surface"],
        panel=base["panel"],
        dark=dark,
        variables={
            **names,
            "footer-key-foreground": base["accent"],
            "footer-background": base["panel"],
            "input-selection-background": base["marked"],
            "block-cursor-background": base["cursor"],
            "block-cursor-foreground": base["foreground"],
            "block-cursor-blurred-background": base["cursor"],
            "block-cursor-blurred-foreground": base["foreground"],
            "block-hover-background": base["panel"],
        },
    )


DARK = _theme(
    "dark",
    True,
    DARK_NAMES,
    {
        "primary": "#2d6a9f",
        "accent": "#ffb454",
        "foreground": "#e4e8eb",
        "background": "#101214",
        "surface": "#15181b",
        "panel": "#1c2a33",
        "marked": "#1f4a70",
        "cursor": "#2b3238",
    },
)
LIGHT = _theme(
    "light",
    False,
    LIGHT_NAMES,
    {
        "primary": "#3f7fb5",
        "accent": "#854c00",
        "foreground": "#1c2226",
        "background": "#fbfcfd",
        "surface": "#f3f6f8",
        "panel": "#e6e8eb",
        "marked": "#b9d3ea",
        "cursor": "#d3e2ef",
    },
)
CONTRAST_DARK = _theme(
    "contrast-dark",
    True,
    CONTRAST_DARK_NAMES,
    {
        "primary": "#8fc4ff",
        "accent": "#ffd75f",
        "foreground": "#ffffff",
        "background": "#000000",
        "surface": "#000000",
        "panel": "#1a1a1a",
        "marked": "#004a80",
        "cursor": "#2b3238",
    },
)
CONTRAST_LIGHT = _theme(
    "contrast-light",
    False,
    CONTRAST_LIGHT_NAMES,
    {
        "primary": "#00337f",
        "accent": "#5c2b00",
        "foreground": "#000000",
        "background": "#ffffff",
        "surface": "#ffffff",
        "panel": "#eeeeee",
        "marked": "#b3d4f0",
        "cursor": "#cfe4f7",
    },
)
ANSI = Theme(
    name="specview-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_magenta",
    warning="ansi_magenta",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        **BUILTIN_THEMES["ansi-dark"].variables,
        **ANSI_NAMES,
        "footer-key-foreground": "ansi_default",
        "footer-background": "ansi_default",
    },
)
THEMES = (DARK, LIGHT, CONTRAST_DARK, CONTRAST_LIGHT, ANSI)
THEME_BY_NAME = {theme.name.removeprefix("specview-"): theme for theme in THEMES}
WORDS_BY_NAME = {
    "dark": "dark",
    "light": "light",
    "contrast-dark": "dark with high contrast",
    "contrast-light": "light with high contrast",
    "ansi": "the terminal's own 16 colours",
}


def next_theme(name: str, few_colours: bool = False) -> str:
    """The name of the theme after one; that of 16 colours is in the circle only where the terminal has no more."""
    circle = [each for each in THEME_BY_NAME if few_colours or each != "ansi"]
    return circle[(circle.index(name) + 1) % len(circle)] if name in circle else circle[0]
