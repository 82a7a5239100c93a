"""Light and dark: the two palettes, with names for what the panels draw."""

from __future__ import annotations

from pathlib import Path

from textual.theme import Theme

NAMES = ("dashboard.tcss", "windows.tcss", "pages.tcss", "ops.tcss", "sweep.tcss", "experiments.tcss", "ledger.tcss")
STYLES = tuple(Path(__file__).parent / "screens" / name for name in NAMES)

DARK_NAMES = {
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
    "verdict": "#55606a",
    "win": "#2c7a12",
    "lose": "#b4164b",
    "close": "#8f5200",
    "quiet": "#59636b",
    "cat-embedding": "#7a44c2",
    "cat-linear": "#0d7f96",
    "cat-full": "#1d5fc4",
    "cat-moe": "#b4164b",
    "cat-mlp": "#2c7a12",
    "cat-norms": "#7d6a00",
    "cat-head": "#b35900",
    "cat-sampling": "#14795a",
    "cat-misc": "#6a7278",
    "whole": "#3d8a0e",
    "measured": "#b4164b",
    "limit": "#3d7a0e",
    "what-if": "#7a44c2",
    "band": "#a9c9e2",
    "frame": "#6c9cc4",
}
FOOTER = {"footer-key-foreground": "#ffb454", "footer-background": "#1c2a33"}
LIGHT_FOOTER = {"footer-key-foreground": "#8f5200", "footer-background": "#dfe6ec"}

DARK = Theme(
    name="specview-dark",
    primary="#2d6a9f",
    secondary="#5bd1e8",
    accent="#ffb454",
    warning="#ffb454",
    error="#ff5c8a",
    success="#7ed957",
    foreground="#e4e8eb",
    background="#101214",
    surface="#15181b",
    panel="#1c2a33",
    dark=True,
    variables={**DARK_NAMES, **FOOTER},
)
LIGHT = Theme(
    name="specview-light",
    primary="#3f7fb5",
    secondary="#0d7f96",
    accent="#8f5200",
    warning="#8f5200",
    error="#b4164b",
    success="#2c7a12",
    foreground="#1c2226",
    background="#fbfcfd",
    surface="#f3f6f8",
    panel="#dfe6ec",
    dark=False,
    variables={**LIGHT_NAMES, **LIGHT_FOOTER},
)
