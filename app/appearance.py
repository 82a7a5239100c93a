"""What the terminal can show: how many colours, and whether more than ASCII; and the theme that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Colours = Literal["none", "16", "256", "many"]
FEW: tuple[Colours, ...] = ("none", "16")
NO, YES = ("", "0", "no", "false"), ("1", "yes", "true")
# terminals whose font has no braille and no rounded corners
PLAIN_TERMINALS = ("linux", "dumb", "vt100", "vt102", "vt220", "ansi", "cons25")
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def colours_of(environ: Mapping[str, str]) -> Colours:
    """How many colours the terminal has, by the same signs that Rich and Textual go by.

    TEXTUAL_COLOR_SYSTEM overrules them, as it does in Textual; NO_COLOR means none.
    """
    if environ.get("NO_COLOR"):
        return "none"
    told: dict[str, Colours] = {"standard": "16", "windows": "16", "256": "256", "truecolor": "many"}
    wish = environ.get("TEXTUAL_COLOR_SYSTEM", "")
    if wish in told:
        return told[wish]
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "many"
    term = environ.get("TERM", "").strip().lower()
    if term in ("dumb", "unknown"):
        return "none"
    return "256" if term.rpartition("-")[2] in ("256color", "kitty") else "16"


def wants_ascii(environ: Mapping[str, str], encoding: str | None) -> bool:
    """Whether the screen has to do with ASCII: asked for by SPECVIEW_ASCII, or a locale or terminal without more.

    Python coerces the locales C and POSIX to UTF-8 and sets LC_CTYPE for it, so LANG is what a person chose then.
    """
    wish = environ.get("SPECVIEW_ASCII", "").strip().lower()
    if wish in YES:
        return True
    if wish and wish in NO:
        return False
    if environ.get("TERM", "").strip().lower() in PLAIN_TERMINALS:
        return True
    if encoding is not None and "utf" not in encoding.lower():
        return True
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if not environ.get("LC_ALL") and environ.get("LC_CTYPE") in COERCED and environ.get("LANG") in ("C", "POSIX"):
        return True
    return bool(locale) and "utf" not in locale.lower()


def first_theme(asked: str | None, kept: str | None, colours: Colours) -> str:
    """The theme to begin with: what was asked for, else the terminal's own where it has few colours, else the last."""
    if asked is not None:
        return asked
    if colours in FEW:
        return "ansi"
    return kept if kept not in (None, "ansi") else "dark"
