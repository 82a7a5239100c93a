"""The break-even line and T_verify(n) as charts of plain characters, for a terminal without the screen."""

from __future__ import annotations

from collections.abc import Mapping

import plotext

from ..engine.errors import SpecviewError
from ..profilers.judge.break_even import break_even_line
from ..profilers.judge.ledger import Ledger

WIDTH, HEIGHT = 72, 16
POINTS = 40


def chart_lines(ledger: Ledger, shares: Mapping[int, float]) -> list[str]:
    """Both charts, line by line; a sentence in place of one that has nothing to draw."""
    return [*_break_even(ledger, shares), "", *_widths(ledger)]


def _break_even(ledger: Ledger, shares: Mapping[int, float]) -> list[str]:
    try:
        line = break_even_line(ledger, shares)
    except SpecviewError as error:
        return [str(error)]
    _fresh("T_verify that breaks even (ms) by acceptance p")
    grid = [i / POINTS for i in range(POINTS + 1)]
    plotext.plot(grid, [line.limit_ms(p) for p in grid], label="breaks even", marker="braille")
    plotext.plot(grid, [line.verify.ms] * len(grid), label="T_verify, measured", marker="─")
    plotext.scatter([line.alpha.estimate], [line.verify.ms], label="here", marker="●")
    return _drawn()


def _widths(ledger: Ledger) -> list[str]:
    single = ledger.verify_by_width.get(1)
    if single is None or len(ledger.verify_by_width) < 2:
        return ["Verify passes of several widths are still to be measured."]
    _fresh("verify(n) ÷ verify(1) by positions n, measured widths only")
    widths = list(ledger.verify_by_width)
    plotext.bar(widths, [ledger.verify_by_width[n].spread.median / single.spread.median for n in widths])
    return _drawn()


def _fresh(title: str) -> None:
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(WIDTH, HEIGHT)
    plotext.title(title)


def _drawn() -> list[str]:
    text: str = plotext.uncolorize(plotext.build())
    return [row.rstrip() for row in text.splitlines()]
