"""The decode panel, `specview show` and `specview blocks` say the same of one session, interruptions and all."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from session_builder import CASES
from survey_records import COSTS, MS, cost_ms, footer, survey, whole

from specview.layouts import figures
from specview.layouts.panels.decode import DecodePanel
from specview.layouts.summary import summary_lines
from specview.layouts.survey_tables import as_drawn, as_object
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import dashboard, reckon
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.record.session import session_of

SUM_MS = sum(cost_ms(place, 1) for place in COSTS)
GAP_MS = 6.0


def torn():
    """A survey of which one whole pass and one slope were interrupted, with a pass at another context."""
    late = replace(whole(1, SUM_MS), samples_ns=(400 * MS,), build_ns=(2 * MS,), eval_ns=(398 * MS,))
    far = replace(whole(1, 500.0), context=4096)
    made = [p for p in survey() if getattr(p, "ruler", "") == "queued" and p.category == "output head" and p.width == 1]
    [head] = [p for p in made if p.arrangement == "cycled"]
    slopes = [replace(head, slope_ns=head.slope_ns * factor) for factor in (1.01, 0.99, 1.0, 1.0, 30.0)]
    return session_of([*survey()[:-1], late, far, *slopes, footer()])


SESSION = torn()
DECODE = dashboard(reckon(SESSION), Live(), WhatIf()).decode
ROWS = {row.name: row for sheet in ledger_sheets(SESSION) for row in sheet.rows}
BLOCKS = as_object("blocks", SESSION)["widths"]["1"]


def printed(question):
    text = io.StringIO()
    console = Console(file=text, width=100, highlight=False, markup=False, color_system=None)
    for drawing in as_drawn(question, SESSION):
        console.print(drawing)
    return " ".join(text.getvalue().split())


def test_all_three_have_one_wall():
    wall = BLOCKS["gap"]["wall"]["estimate"]
    assert wall == pytest.approx(SUM_MS + GAP_MS)
    assert DECODE.whole_ms == pytest.approx(wall) == pytest.approx(ROWS["T_verify(1)"].value)
    assert DECODE.build_ms + DECODE.eval_ms == pytest.approx(wall)
    assert ROWS["T_verify(1)"].n == 5 and "1 more interrupted and left out." in ROWS["T_verify(1)"].remark


def test_a_recording_shows_the_same_pass_and_gap_too():
    recorded = session_of(CASES["cannot-win"])
    single = next(p for p in recorded.probes if p.ruler == "whole" and p.part == "verify" and p.width == 1)
    late = replace(single, samples_ns=(10**9,), build_ns=(10**6,), eval_ns=(10**9 - 10**6,))
    session = replace(recorded, probes=(*recorded.probes, late))
    table = as_object("blocks", session)["widths"]["1"]
    decode = dashboard(reckon(session), Live(), WhatIf()).decode
    lines = [line.strip() for line in summary_lines(session)]
    gap, wall = table["gap"]["gap"]["ms"], table["gap"]["wall"]["estimate"]
    assert decode.gap_ms == pytest.approx(gap) and decode.whole_ms == pytest.approx(wall)
    assert any(
        line.startswith("one pass") and f"{figures.ms(wall)} " in line and "1 interrupted" in line for line in lines
    )
    assert any(f"whole graph {wall:.3f}" in line and f"= {gap:.3f} ms" in line for line in lines)


def test_all_three_have_one_gap():
    assert BLOCKS["gap"]["gap"]["ms"] == pytest.approx(GAP_MS)
    assert DECODE.gap_ms == ROWS["gap"].value == BLOCKS["gap"]["gap"]["ms"]
    assert DECODE.gap_of_wall == BLOCKS["gap"]["gap"]["of_wall"]
    shown = figures.bare_ms(GAP_MS)
    assert any(line.split()[1:3] == ["gap", shown] for line in summary_lines(SESSION) if len(line.split()) > 2)
    panel = [
        "".join(span.text for span in line).split() for line in DecodePanel(DECODE, id="decode").draw(DECODE, 60, 30)
    ]
    assert ["gap", shown] in [[cells[0], cells[-1]] for cells in panel if cells]
    assert f"gap {shown}" in printed("blocks")


def test_all_three_have_one_queued_sum():
    for found in (DECODE.sum_ms, ROWS["queued sum (1)"].value, BLOCKS["gap"]["queued"]["estimate"]):
        assert found == pytest.approx(SUM_MS)
    assert BLOCKS["rulers"]["queued_cycled"]["span"]["ms"] == pytest.approx(SUM_MS)
    assert sum(each.ms for each in DECODE.categories) == pytest.approx(SUM_MS)


def test_what_was_left_out_is_told_beside_the_tables():
    text = printed("blocks")
    assert "wall: 5 passes, 1 interrupted left out" in text
    assert "Left out as interrupted: 1 of 6 whole passes, 1 of 9 cycled slopes." in text
    assert "Interrupted passes, far off the others, are left out: 1 at n = 1." in printed("curve")
