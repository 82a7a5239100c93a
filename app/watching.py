"""`specview` on a terminal, and `specview export`: what the arguments ask the app to show."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..engine.errors import SpecviewError
from .settings import shown_path

OWN = ("command", "session", "follow", "out", "control", "light")


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


def watch(options: argparse.Namespace) -> int:
    """Open the screen: on a session, on a file that grows, or on a recording of its own."""
    from .application import Source, SpecviewApp

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminalError("The screen needs a terminal; specview show SESSION prints what a session says.")
    if options.follow is not None:
        source = Source(options.follow, options=recorder_options(options), following=True)
    elif options.session is not None:
        if not options.session.is_file():
            raise SpecviewError(f"There is no session {options.session.name}; press o inside specview for a list.")
        source = Source(options.session, options=recorder_options(options))
    else:
        source = Source(options.out, record=True, options=recorder_options(options))
    app = SpecviewApp(source, theme="light" if options.light else "dark")
    app.run()
    if app.recorded is not None:
        print(f"Saved: {shown_path(app.recorded)}")
    return app.return_code or 0


def export(options: argparse.Namespace) -> int:
    """Write a picture of a saved session, or its events as a table."""
    out: Path = options.out or Path(f"{options.session.name.split('.')[0]}.{options.form}")
    if options.form == "csv":
        from .tables import export_table

        export_table(options.session, out)
        return 0
    from .exports import export_session, parsed_size

    os.environ.pop("NO_COLOR", None)  # a picture has colours whatever this terminal wants
    export_session(options.session, options.form, parsed_size(options.size), out, options.theme)
    return 0
