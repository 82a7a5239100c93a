"""An app's screen as text that can be compared and read: the characters, and under them their styles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

PAUSES = 400
WORDS = 24  # characters of a run that are told with its style
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


def styled_rows(app: Any) -> list[str]:
    """Row by row the styles, in the order in which they appear, each with its cells and the words that have it.

    Rows that read alike are one line; the style of most cells is said once and left out.
    """
    from specview.app.exports import rows_of

    rows = [_runs(row) for row in rows_of(app)]
    cells = Counter[str]()
    for runs in rows:
        for style, start, end, _ in runs:
            cells[style] += end - start + 1
    usual = cells.most_common(1)[0][0]
    told: list[tuple[str, int, int]] = []
    for number, runs in enumerate(rows, 1):
        places: dict[str, list[str]] = {}
        for style, start, end, text in runs:
            if style != usual:
                where = f"{start}" if start == end else f"{start}-{end}"
                words = " ".join(text.split())
                named = any(character.isalnum() for character in words)
                cut = words if len(words) <= WORDS else f"{words[:WORDS]}…"
                places.setdefault(style, []).append(f'{where} "{cut}"' if named else where)
        said = " · ".join(f"{style}: {', '.join(each)}" for style, each in places.items())
        if told and told[-1][0] == said:
            told[-1] = (said, told[-1][1], number)
        else:
            told.append((said, number, number))
    lines = [f"{first if first == last else f'{first}-{last}'} {said}" for said, first, last in told if said]
    return [f"else {usual}", *lines]


def _runs(row: Any) -> list[tuple[str, int, int, str]]:
    """Style, first and last cell counted from 1, and text of every run of one style."""
    runs: list[tuple[str, int, int, str]] = []
    at = 1
    for segment in row:
        if not segment.cell_length:
            continue
        style, end = str(segment.style or "none"), at + segment.cell_length - 1
        if runs and runs[-1][0] == style:
            runs[-1] = (style, runs[-1][1], end, runs[-1][3] + segment.text)
        else:
            runs.append((style, at, end, segment.text))
        at = end + 1
    return runs
