"""What-ifs on every view: each moved number is marked, what is measured stays, and one WhatIf() is the way back."""

from __future__ import annotations

import pytest
from session_builder import CASES, Made, built
from survey_builder import SURVEYS

from specview.layouts.ledger import ledger_view
from specview.layouts.panels.what_if import refused, worded
from specview.layouts.sweep import sweep_facts, sweep_view
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import break_even_of, dashboard, reckon
from specview.layouts.what_if import moved_batch, moved_k, moved_scale
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.record.session import session_of

QUESTIONS = (
    WhatIf(p=0.5),
    WhatIf(k=1),
    WhatIf(verify=0.9),
    WhatIf(draft=1.2),
    WhatIf(p=0.9, k=2, verify=0.8, draft=0.5),
)


def reckoned(case: str = "wins"):
    return reckon(session_of(CASES[case]))


def answer(what_if: WhatIf, case: str = "wins"):
    found = break_even_of(reckoned(case), what_if).what_if
    assert found is not None
    return found


@pytest.mark.parametrize("what_if", QUESTIONS)
def test_every_number_that_follows_is_in_the_answer_beside_the_measured_one(what_if: WhatIf) -> None:
    found = answer(what_if)
    value = {each.key: each.now for each in found.moved}
    parts = value["verify"] + value["draft"] + value["rest"]
    assert value["round"] == pytest.approx(parts)
    assert value["steps"] == pytest.approx(parts / value["decode"])
    assert value["speedup"] == pytest.approx(value["tokens"] / value["steps"]) == pytest.approx(found.speedup)
    assert value["rate"] == pytest.approx(1000 * value["tokens"] / parts)
    assert value["limit"] == pytest.approx(value["tokens"] * value["decode"] - value["draft"] - value["rest"])
    assert {each.key for each in found.moved if each.asked} == {
        key for key, asked in (("p", what_if.p), ("k", what_if.k), ("verify", what_if.verify != 1.0 or None),
                               ("draft", what_if.draft != 1.0 or None)) if asked is not None
    }  # fmt: skip
    assert all(each.was is not None for each in found.moved)


def test_nothing_asked_is_no_answer() -> None:
    view = break_even_of(reckoned(), WhatIf())
    assert view.what_if is None and view.what_if_message == ""


def test_the_rounds_and_the_widths_move_marked() -> None:
    plain = dashboard(reckoned(), Live("saved"), WhatIf())
    asked = dashboard(reckoned(), Live("saved"), WhatIf(p=0.5, verify=0.9))
    assert asked.headline == plain.headline and asked.decode == plain.decode and asked.stream == plain.stream
    changed = {row.label for row in asked.rounds.rows if row.tone == "what-if"}
    assert {"α", "tokens/round", "steps/round", "verify(4)", "round", "drafting"} <= changed
    here = next(bar for bar in asked.verify.widths if bar.marked)
    assert here.asked == pytest.approx(0.9 * here.ratio)
    assert next(bar for bar in asked.verify.widths if bar.label == "1").asked is None


def test_the_ledger_has_a_row_for_each_with_source_what_if() -> None:
    reckoning = reckoned()
    sheets = ledger_sheets(reckoning.session, reckoning.ledger)
    plain, asked = ledger_view(sheets), ledger_view(sheets, answer(WhatIf(p=0.5, verify=0.9)))
    new = [
        row
        for row in asked.table.rows
        if row.key not in {r.key for r in plain.table.rows} or row not in plain.table.rows
    ]
    names = " ".join(row.cells[0] for row in asked.table.rows)
    for name in ("S, as asked", "α", "T_verify(4)", "R, round in steps", "T_round"):
        assert f"? {name}" in names
    assert all("what-if" in row.cells for row in new if row.cells[0].startswith("?"))
    kept = [row.cells for row in asked.table.rows if not row.cells[0].startswith("?")]
    assert kept == [row.cells for row in plain.table.rows if not row.cells[0].startswith("?")]


def test_the_sweep_moves_formula_curve_and_table_and_no_measured_point() -> None:
    reckoning = reckoned()
    facts = sweep_facts(reckoning.session, reckoning.ledger, reckoning.share_by_drafted)
    plain, asked = sweep_view(facts, WhatIf()), sweep_view(facts, WhatIf(k=2, verify=0.8))
    assert asked.speed.series[1] == plain.speed.series[1] and asked.speed.series[0] != plain.speed.series[0]
    assert asked.curve.series[: len(plain.curve.series)] == plain.curve.series
    assert asked.curve.series[-1].points[0].y == pytest.approx(0.8 * plain.curve.series[0].points[1].y)
    assert "WHAT IF" in asked.curve_title and "WHAT IF" in asked.speed_title
    assert any(column.title == "what if ms" for column in asked.widths.columns)
    assert [row.cells[-1] for row in asked.lengths.rows if row.key == "2"] == ["◀ WHAT IF"]
    costs = sweep_facts(session_of(SURVEYS["survey"]), None, {})
    half = sweep_view(costs, WhatIf(p=0.5, verify=0.5)).speed.series[1].points[0].y
    assert half == pytest.approx(2 * sweep_view(costs, WhatIf(p=0.5)).speed.series[1].points[0].y)


def test_without_a_verdict_no_measured_s_is_given_beside_the_answer() -> None:
    reckoning = reckon(session_of(built(Made(others=0.6))))
    found = break_even_of(reckoning, WhatIf(p=0.9)).what_if
    assert found is not None and found.was is None and found.measured is None
    assert "measured 0." not in " ".join(worded(found)[0].split("→")[1:])


def test_the_bar_says_what_is_asked_what_follows_and_the_way_back_in_any_width() -> None:
    found = answer(WhatIf(p=0.5, verify=0.9))
    long, *_, least = worded(found)
    assert "α 0.50 (measured 0.8" in long and "T_verify(4) 13." in long and "esc: back to measured" in long
    assert f"S {found.speedup:.2f}x" in long and "would" in long and "measured 1." in long
    assert "esc" in least and f"{found.speedup:.2f}x" in least
    assert [len(text) for text in worded(found)[:-1]] == sorted((len(t) for t in worded(found)[:-1]), reverse=True)
    assert all("esc" in text for text in refused("No."))


def test_what_cannot_be_asked_is_a_sentence_and_no_number() -> None:
    view = break_even_of(reckoned("cannot-win"), WhatIf(k=5))
    assert view.what_if is None and "6 positions, which is not measured" in view.what_if_message
    assert "No batch" in break_even_of(reckoned(), WhatIf(batch=4)).what_if_message
    assert "counts as free" in break_even_of(reckon(session_of(SURVEYS["survey"])), WhatIf(draft=0.5)).what_if_message


def test_a_verify_below_its_floor_is_told() -> None:
    reckoning = reckon(session_of(SURVEYS["survey"]))
    found = break_even_of(reckoning, WhatIf(p=0.5, verify=0.05)).what_if
    assert found is not None and "below the floor of verify" in found.note


def test_the_next_question_moves_on_whole_steps_and_back_to_the_measured_one() -> None:
    assert moved_scale(1.0, -1) == 0.99 and moved_scale(0.99, 1) == 1.0
    assert moved_scale(0.9055, 1) == 0.91 and moved_scale(0.9055, -1) == 0.90
    assert moved_scale(0.01, -1) == 0.01 and moved_scale(10.0, 1) == 10.0
    assert moved_k(3, WhatIf(), 1) == WhatIf(k=4) and moved_k(3, WhatIf(k=4), -1) == WhatIf()
    assert moved_k(1, WhatIf(), -1) is None and moved_k(64, WhatIf(), 1) is None
    assert moved_batch((2, 4), None, 1) == 2 and moved_batch((2, 4), 4, 1) == 4
    assert moved_batch((2, 4), 2, -1) is None and moved_batch((), None, 1) is None
