"""A count with its noun, as every sentence says it: 1 round, 2 rounds, 15,936 rounds."""

from __future__ import annotations


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """The number in groups of three digits, and the noun in the form that goes with it."""
    return f"{number:,.12g} {noun if number == 1 else plural or noun + 's'}"
