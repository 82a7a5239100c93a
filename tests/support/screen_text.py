"""An app's screen as text that can be compared and read: the characters, and under them their styles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

PAUSES = 400
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-*/=<>!?$%&@#~^"


async def until(pilot: Pilot[Any], true: Callable[[], object], what: str = "") -> None:
    """Let the app work until something holds."""
    for _ in range(PAUSES):
        await pilot.pause(0.02)
        if true():
            await pilot.pause()
            return
    raise AssertionError(f"never came true: {what or true}")


def text_of(app: Any) -> str:
    """The characters on the screen."""
    from specview.app.exports import rows_of

    return "\n".join("".join(segment.text for segment in row).rstrip() for row in rows_of(app))


def snapshot_of(app: Any) -> str:
    """The characters, a letter for the style of every run of them, and what the letters mean."""
    from specview.app.exports import rows_of

    names: dict[str, str] = {}
    texts, styles = [], []
    for row in rows_of(app):
        runs: list[list[Any]] = []
        for segment in row:
            if not segment.cell_length:  # whether an empty one is there depends on when it was painted
                continue
            style = str(segment.style or "none")
            letter = names.setdefault(style, LETTERS[len(names) % len(LETTERS)])
            if runs and runs[-1][0] == letter:
                runs[-1][1] += segment.cell_length
            else:
                runs.append([letter, segment.cell_length])
        texts.append("".join(segment.text for segment in row).rstrip())
        styles.append(" ".join(f"{letter}{cells}" for letter, cells in runs if cells))
    meanings = [f"{letter}: {style}" for style, letter in names.items()]
    return "\n".join([*texts, "", "styles by row", *styles, "", *meanings, ""])
