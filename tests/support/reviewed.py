"""Screens compared with reviewed text files; SPECVIEW_SNAPSHOTS=write writes the files anew."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from screen_text import snapshot_of
from textual.pilot import Pilot

SNAPSHOTS = Path(__file__).resolve().parents[1] / "layouts" / "snapshots"
Look = tuple[int, int, str]
LOOKS: tuple[Look, ...] = ((80, 24, "dark"), (120, 40, "light"), (200, 60, "dark"))
TURNS = 3  # that laying out and scrolling take


async def turned(pilot: Pilot[Any], width: int, height: int, theme: str) -> None:
    """Give the app another size and theme, and let it draw."""
    if pilot.app.size != (width, height):
        await pilot.resize_terminal(width, height)
    pilot.app.theme = f"specview-{theme}"
    for _ in range(TURNS):
        await pilot.pause()


async def looks_of(pilot: Pilot[Any], name: str, looks: Sequence[Look] = LOOKS) -> dict[str, str]:
    """What is on the screen in every size and theme, by the name of its file."""
    found = {}
    for width, height, theme in looks:
        await turned(pilot, width, height, theme)
        found[f"{name}-{width}x{height}-{theme}.txt"] = snapshot_of(pilot.app)
    return found


def assert_reviewed(found: Mapping[str, str], folder: Path = SNAPSHOTS) -> None:
    """Every text is what the file of its name holds."""
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        folder.mkdir(exist_ok=True)
        for name, text in found.items():
            (folder / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (folder / name).read_text(encoding="utf-8"), name
