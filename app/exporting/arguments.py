"""The options of `specview export`; loads nothing of what carries them out."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...layouts.export.names import FORMS

SCREENS = (
    "a screen by its name (dashboard, ledger, sweep, ops, rounds …), or report (everything) or events (every timed "
    "event); default: the dashboard of pictures, the ledger of tables, the report of html"
)
USUAL_SIZE, USUAL_THEME = "120x40", "dark"


def add_export(command: argparse.ArgumentParser) -> None:
    """The options of `specview export`."""
    add = command.add_argument
    add("session", type=Path)
    add("--as", dest="form", choices=FORMS, default="svg", help="which kind (default svg)")
    add("--screen", help=SCREENS)
    add("--with", dest="other", type=Path, metavar="OTHER", help="a second session, for the screen compare")
    add("--size", default=USUAL_SIZE, help=f"of pictures: columns x rows (default {USUAL_SIZE})")
    add("--theme", default=USUAL_THEME, help="of pictures: dark, light, contrast-dark, contrast-light (default dark)")
    add("--redact", action="store_true", help="with --as session: a copy to post, without prompts, text and notes")
    add("--keep-notes", action="store_true", help="with --redact: notes stay in the copy")
    add("--force", action="store_true", help="write over a file that is there already")
    add("-o", "--out", type=Path, help="the file to write, or - for standard output (default: named after the session)")
