"""Lines: titles that lose whole words, and legends that lose whole items."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specview.layouts.lines import line, shortened, whole_items, width_of

STATUS = "specview — bundled 8-bit, groups of 64 · mtp k=1 · greedy match · cpu"
COSTS = "Ledger · costs only (calibration, whole, blocks), widths 1, 2, 4, context 128"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        (STATUS, 80, STATUS),
        (STATUS, 56, "specview — bundled 8-bit · mtp k=1 · greedy match · cpu"),
        (STATUS, 50, "specview — bundled 8-bit · mtp k=1 · greedy match"),
        (STATUS, 20, "specview — bundled"),
        (COSTS, 55, "Ledger · costs only, widths 1, 2, 4, context 128"),
        (COSTS, 34, "Ledger · costs only, widths 1, 2"),
        ("T_verify(n) · 19–82 positions in the cache", 34, "T_verify(n)"),
        ("A some-long-name ↔ B another-name", 24, "A some-lo… ↔ B another…"),
        ("A some-long-name ↔ B b", 20, "A some-long-n… ↔ B b"),
        ("ms: replays, queued · S sort · ( ) positions", 40, "ms: replays · S sort · ( ) positions"),
        ("unbreakable", 5, "unbr…"),
    ],
)
def test_a_title_loses_its_lesser_parts_in_whole_words(text: str, width: int, shown: str) -> None:
    assert shortened(text, width) == shown


@given(st.text("ab,() ·↔以", max_size=40), st.integers(1, 30))
def test_a_shortened_title_always_fits(text: str, width: int) -> None:
    assert cell_len(shortened(text, width)) <= max(width, len("… ↔ …"))


def test_a_legend_loses_whole_items_and_keeps_its_tones() -> None:
    legend = line(("●", "measured"), " α by window, │ 95%  ", ("──", "quiet"), " all 0.88  ", ("over rounds", "quiet"))
    assert whole_items(legend, width_of(legend)) == legend
    shown = whole_items(legend, 36)
    assert "".join(span.text for span in shown).rstrip() == "● α by window, │ 95%  ── all 0.88"
    assert shown[0].tone == "measured" and width_of(shown) <= 36
    assert "".join(span.text for span in whole_items(legend, 5)).endswith("…")  # not one item fits
