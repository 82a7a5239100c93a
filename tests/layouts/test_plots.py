"""Charts of plain characters, for outside the screen."""

from __future__ import annotations

from specview.layouts.plots import chart_lines
from specview.profilers.judge.ledger import ledger_of


def test_charts_are_plain_characters(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    lines = chart_lines(ledger_of(build.finished()), {})
    assert not any("\x1b" in line for line in lines)
    assert any("breaks even" in line or "still to be measured" in line for line in lines)
