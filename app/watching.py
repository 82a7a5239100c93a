"""`specview` on a terminal: what the arguments ask the app to show."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import Any

from ..engine.errors import SpecviewError
from .settings import shown_path
from .terminal import check_screen

OWN = ("command", "session", "follow", "out", "control", "light", "port", "theme", "ascii", "fresh", "setup")


class WatchError(SpecviewError):
    """Options that do not go together."""


def recorder_options(options: argparse.Namespace) -> tuple[str, ...]:
    """The recording options of a command line, as the recorder's own."""
    found: list[str] = []
    for name, value in vars(options).items():
        if name in OWN or value is None or value is False:
            continue
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            found.append(flag)
            continue
        for item in value if isinstance(value, list) else [value]:
            found += option_words(flag, str(item))
    return tuple(found)


def option_words(flag: str, value: str) -> tuple[str, ...]:
    """An option as words of a command line; a value that begins with a dash would be taken for another option."""
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def check_shown(options: argparse.Namespace) -> None:
    """Raise WatchError where a file is to be shown, and options ask for what only a new recording has."""
    wishes = vars(options)
    followed = wishes.get("follow")
    if followed is not None and options.session is not None:
        raise WatchError("--follow and SESSION each name a file to show: give one of them.")
    shown = options.session if followed is None else followed
    if shown is None:
        return
    asked = [name for name in ("out", "setup") if wishes.get(name)]
    if asked:
        raise WatchError(
            f"--{asked[0]} is for a new recording, and {shown.name} is to be shown: leave one of them out."
        )


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

    check_shown(options)
    check_screen("specview show SESSION prints what a session says")
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
    in_browser = "TEXTUAL_DRIVER" in os.environ
    app = SpecviewApp(source, setup=setup, tour=not (source.following or in_browser), **look(options))
    app.run()
    if app.recorded is not None:
        print(f"Saved: {shown_path(app.recorded)}")
    return app.return_code or 0
