"""Counts with their nouns."""

from __future__ import annotations

import pytest

from specview.profilers.judge.counted import counted


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 rounds"), (1, "1 round"), (1.0, "1 round"), (15936, "15,936 rounds"), (2.5, "2.5 rounds")],
)
def test_a_noun_goes_with_its_number_and_digits_stand_in_groups(number: float, shown: str) -> None:
    assert counted(number, "round") == shown


def test_an_unusual_plural_is_given() -> None:
    assert counted(2, "stretch", "stretches") == "2 stretches" and counted(1, "stretch", "stretches") == "1 stretch"
