"""specview: an interactive terminal profiler for speculative decoding on MLX."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from .app.notebook import OpenedSession

__version__ = "0.1.0"


def open(path: str | Path) -> OpenedSession:
    """A saved session as pandas DataFrames: `.rounds`, `.blocks`, `.census`, `.ledger`; raises SessionError."""
    from .app.notebook import open_session

    return open_session(path)
