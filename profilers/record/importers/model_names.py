"""Names of models as servers print them, without the paths of somebody's disk."""

from __future__ import annotations

import re

_PATH = re.compile(r"^(?:[/~.\\]|[A-Za-z]:[\\/])")
_CHARACTERS = 200


def name_without_path(name: str) -> str:
    """Return a model's name; of a path only the last part, because paths are never kept."""
    name = name.strip().strip("\"'")
    if _PATH.match(name):
        name = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return name[:_CHARACTERS]
