"""Where things are kept: a checkout saves its sessions beside the code, an installed specview in the user's data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parent.parent


def sessions_folder(package: Path = PACKAGE) -> Path:
    """The folder that new sessions go to and that lists are made from."""
    if (package / "pyproject.toml").is_file() and (package / "sessions").is_dir():
        return package / "sessions"
    return platformdirs.user_data_path("specview") / "sessions"


def kept_folder() -> Path:
    """The folder that keeps what was measured of this machine between sessions."""
    return platformdirs.user_data_path("specview") / "machine"


def kept_state_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file that keeps theme, page and the like between launches; SPECVIEW_STATE names another one."""
    wish = environ.get("SPECVIEW_STATE")
    return Path(wish) if wish else platformdirs.user_state_path("specview") / "kept.json"


def library_cache() -> Path:
    """The file that keeps verdicts of saved sessions, so that a list need not reckon them again; it may be deleted."""
    return platformdirs.user_cache_path("specview") / "library.json"


def shown_path(path: Path) -> str:
    """The path as a person would type it from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
