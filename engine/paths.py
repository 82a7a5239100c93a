"""Paths as a person types them."""

from __future__ import annotations

from pathlib import Path


def local_path(source: str) -> Path:
    """The path that `source` names here; a ~ of a user who does not exist stays as it is."""
    path = Path(source)
    try:
        return path.expanduser()
    except RuntimeError:
        return path
