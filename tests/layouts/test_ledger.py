"""The Ledger's view: signs for sources, numbers with units, the divisions with their numbers in place."""

from __future__ import annotations

import july
from rich.cells import cell_len
from session_builder import CASES
from windows_made import drafting, plain, session

from specview.layouts.ledger import SIGNS, head_lines, ledger_view, table_for
from specview.layouts.tables import fitted
from specview.layouts.view_models import Curve, WhatIfView
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.record.session import session_of


def view_of(made, asked=None):
    return ledger_view(ledger_sheets(made), asked)


def texts(view, width=120):
    return ["".join(span.text for span in spans) for spans in head_lines(view, width)]


def cell(view, name, column):
    keys = [c.key for c in view.table.columns]
    (row,) = [row for row in view.table.rows if row.cells[0] == name]
    return row.cells[keys.index(column)]


NORMAL = view_of(session_of(CASES["normal"]))
JULY = view_of(session_of(july.records()))


def test_july_shows_both_divisions_one_below_the_other_with_the_wrong_one_named():
    lines = texts(JULY)
    wrong = lines.index("✗ wrong ruler  1.6457 × 10.941 ÷ (2 × 8.128 + 0.643) ms = 1.0655x, 97.4 tok/s")
    assert lines[wrong + 1] == "✓ right ruler  1.6457 × 10.941 ÷ (2 × 10.941 + 0.643) ms = 0.7994x, 73.1 tok/s"
    gap = "whole graph 10.941 − fenced sum 8.128 = 2.813 ms: 34.6% of the sum, 25.7% of the wall"
    assert lines[wrong + 2].endswith(gap)
    assert lines[0].startswith("Mixed rulers: a fenced block sum for verify is divided into a whole-graph baseline")


def test_the_notes_of_july_say_that_nothing_was_measured_here():
    assert any("specview measured none of them" in line for line in texts(JULY, 200))
    assert any("= 1.066x" in line for line in texts(JULY, 200))


def test_divisions_are_written_out():
    lines = texts(NORMAL)
    assert any(line.startswith("● measured") and "÷" in line and line.endswith("x") for line in lines)
    assert any("S = E · T_decode ÷ (T_verify + T_draft + T_rest)" in line for line in lines)


def test_no_line_above_the_table_is_wider_than_the_screen():
    for view in (NORMAL, JULY):
        for width in (56, 76, 116):
            assert max(cell_len(text) for text in texts(view, width)) <= width


def test_sources_are_told_apart_by_a_sign_and_a_word():
    assert len(set(SIGNS.values())) == 4
    assert cell(NORMAL, "● T_decode", "source") == "measured"
    assert cell(NORMAL, "? S at p = 1", "source") == "what-if"
    assert cell(JULY, "◇ plain speed", "source") == "imported"
    assert cell(JULY, "○ T_decode", "source") == "inferred"
    assert NORMAL.legend == "● measured · ○ inferred · ◇ imported · ? what-if"


def test_values_have_units_and_intervals_theirs():
    assert cell(NORMAL, "● T_decode", "value").endswith(" ms")
    assert cell(NORMAL, "● S, speedup", "value").endswith("x")
    assert cell(NORMAL, "● plain speed", "value").endswith(" tok/s")
    assert cell(NORMAL, "○ error", "value").endswith("%")
    assert cell(NORMAL, "● S, speedup", "interval").startswith("[")
    assert " ± " in cell(NORMAL, "● T_decode", "spread")


def test_a_column_in_which_nothing_stands_is_left_out():
    assert "spread" not in [column.key for column in JULY.table.columns]


def test_name_and_value_stay_where_little_fits():
    for view in (NORMAL, JULY):
        kept = [view.table.columns[i].key for i in fitted(view.table, 54).indices]
        assert kept[:2] == ["name", "value"] and "ruler" in kept


def test_remarks_give_way_where_names_need_the_room():
    assert table_for(NORMAL, 120) == NORMAL.table
    assert "remark" not in [column.key for column in table_for(NORMAL, 80).columns]


def test_every_number_has_a_remark_with_its_source():
    for row in NORMAL.table.rows:
        remark = NORMAL.remark(row.key)
        assert remark
        assert row.cells[0].startswith("──") or remark.split(":")[0] in SIGNS
    assert NORMAL.remark(None) == ""


def test_several_groups_are_named_in_their_headings():
    view = view_of(session(plain(90.0), drafting(60.0), drafting(61.0, k=2)))
    headings = [row.cells[0] for row in view.table.rows if row.cells[0].startswith("──")]
    assert "── Baseline · vLLM, eagle, k = 3, 1 at once" in headings
    assert view.title == "Ledger · 2 groups"
    assert len({row.key for row in view.table.rows}) == len(view.table.rows)


def test_the_what_if_of_the_dashboard_is_a_row():
    asked = WhatIfView(
        p=0.9, k=1, p_asked=True, k_asked=False, curve=Curve(1, (1.0,), 1.0, None), limit_ms=1.0, speedup=1.2, note=""
    )
    view = view_of(session_of(CASES["normal"]), asked)
    assert cell(view, "? S, as asked", "value") == "1.200x"
