"""`specview` on a terminal: what the arguments ask the app to show."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import Any

from ..engine.errors import SpecviewError
from .settings import shown_path

OWN = ("command", "session", "follow", "out", "control", "light", "port", "theme", "ascii", "fresh", "setup")


class NoTerminalError(SpecviewError):
    """The screen was asked for where there is none."""


def recorder_options(options: argparse.Namespace) -> tuple[str, ...]:
    """The recording options of a command line, as the recorder's own."""
    found: list[str] = []
    for name, value in vars(options).items():
        if name in OWN or value is None or value is False:
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            for item in value:
                found += [flag, str(item)]
            continue
        found.append(flag)
        if value is not True:
            found.append(str(value))
    return tuple(found)


def look(options: argparse.Namespace) -> dict[str, Any]:
    """How the app is to look on this terminal, and what it goes on with, as its keyword arguments."""
    from .appearance import FEW, colours_of, first_theme, wants_ascii
    from .kept_state import Keeper
    from .settings import kept_state_file

    wishes = vars(options)
    keeper = Keeper(kept_state_file(), fresh=bool(wishes.get("fresh")))
    asked = wishes.get("theme") or ("light" if wishes.get("light") else None)
    in_browser = "TEXTUAL_DRIVER" in os.environ  # which shows every colour and glyph
    colours = "many" if in_browser else colours_of(os.environ)
    encoding = None if sys.__stderr__ is None else sys.__stderr__.encoding  # Textual draws through stderr
    return {
        "theme": first_theme(asked, keeper.state.theme, colours),
        "few_colours": colours in FEW,
        "ascii": bool(wishes.get("ascii")) or (not in_browser and wants_ascii(os.environ, encoding)),
        "keeper": keeper,
    }


def watch(options: argparse.Namespace) -> int:
    """Open the screen: on a session, on a file that grows, or on a recording of its own."""
    from .application import Source, SpecviewApp

    in_browser = "TEXTUAL_DRIVER" in os.environ  # then a server draws what comes out of our pipe
    if not in_browser and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminalError("The screen needs a terminal; specview show SESSION prints what a session says.")
    if options.follow is not None:
        source = Source(options.follow, options=recorder_options(options), following=True)
    elif options.session is not None:
        if not options.session.is_file():
            raise SpecviewError(f"There is no session {options.session.name}; press o inside specview for a list.")
        source = Source(options.session, options=recorder_options(options))
    else:
        source = Source(options.out, record=True, options=recorder_options(options))
    wishes = vars(options)
    setup = bool(wishes.get("setup")) and source.record
    if setup:
        source = replace(source, record=False)
    app = SpecviewApp(source, setup=setup, tour=not (source.following or in_browser), **look(options))
    app.run()
    if app.recorded is not None:
        print(f"Saved: {shown_path(app.recorded)}")
    return app.return_code or 0
