"""Whether a person is at the other end: a stream may be a terminal, a pipe, closed, or not there at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from ..engine.errors import SpecviewError


class NoTerminalError(SpecviewError):
    """The screen was asked for where there is none."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; Python has None in the place of a stream that was closed before it started."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed since
        return False


def on_terminal() -> bool:
    """Whether a person can type and read here."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def check_screen(instead: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise NoTerminalError, which ends with what to do `instead`, where nothing can draw the screen."""
    in_browser = "TEXTUAL_DRIVER" in environ  # then a server draws what comes out of our pipe
    if not in_browser and not on_terminal():
        raise NoTerminalError(f"The screen needs a terminal; {instead}.")
