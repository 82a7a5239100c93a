"""Whole numbers in order as a few ranges of text."""

from __future__ import annotations

from collections.abc import Sequence


def ranges_of(numbers: Sequence[int]) -> str:
    """Whole numbers in order as ranges, e.g. 1–4, 8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
