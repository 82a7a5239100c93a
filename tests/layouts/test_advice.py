"""The advice screen's view: possible or not in words, a what-if for each row, and off as a row."""

from __future__ import annotations

import pytest
from session_builder import CASES
from survey_builder import SURVEYS

from specview.layouts.advice import advice_view
from specview.layouts.advice_facts import advice_facts
from specview.layouts.advice_lengths import length_question
from specview.layouts.lengths import ranges_of
from specview.layouts.view_models import WhatIf
from specview.layouts.views import break_even_of, reckon
from specview.profilers.record.session import session_of

ALL = {**CASES, **SURVEYS}


def view_of(case: str, what_if: WhatIf = WhatIf()):  # noqa: B008
    return advice_view(advice_facts(reckon(session_of(ALL[case]))), what_if)


def text_of(view) -> str:
    return "\n".join([*(text for text, _ in view.sentences), *(" ".join(row.cells) for row in view.changes.rows)])


def test_a_session_that_cannot_win_says_so_first() -> None:
    view = view_of("cannot-win")
    assert view.sentences[0][0].startswith("No acceptance wins at k = 1") and view.sentences[0][1] == "bad"
    assert "Cannot win" in view.sentences[1][0]
    text = text_of(view)
    assert "Nearest: verify" in text and "even p = 1 loses" in text and "NO" in text


def test_every_row_asks_a_what_if_that_breaks_even() -> None:
    reckoning = reckon(session_of(CASES["cannot-win"]))
    view = advice_view(advice_facts(reckoning), WhatIf())
    what_if = view.what_if("verify")
    assert what_if is not None and what_if.verify < 1
    found = break_even_of(reckoning, what_if).what_if
    assert found is not None and found.speedup == pytest.approx(1.0, abs=1e-6)
    assert view.what_if("together") is None and view.remark("verify").endswith("as a what-if.")


def test_a_win_shows_its_margin_and_the_best_k() -> None:
    view = view_of("wins")
    assert view.title == "What would make this lose?" and any("It stops winning with" in t for t, _ in view.sentences)
    assert view.table_title.endswith("stops winning")


def test_off_is_a_row_and_the_best_one_is_marked() -> None:
    rows = {row.key: row.cells for row in view_of("cannot-win").lengths.rows}
    assert rows["k 0"][-1] == "◀ best: off" and "this run" in rows["k 1"][-1] and "measured" in rows["k 1"][-1]
    best = [row for row in view_of("wins").lengths.rows if "◀ best" in row.cells[-1]]
    assert len(best) == 1 and best[0].key != "k 0"
    assert length_question("k 2", 1) == WhatIf(k=2) and length_question("k 0", 1) is None
    assert length_question("k 1", 1) == WhatIf()


def test_lengths_have_intervals_where_errors_are_known() -> None:
    view = view_of("wins")
    at = [column.key for column in view.lengths.columns].index("interval")
    assert all(row.cells[at].startswith("[") for row in view.lengths.rows if row.key != "k 0")


def test_a_what_if_is_marked_and_changes_start_from_it() -> None:
    plain, asked = view_of("cannot-win"), view_of("cannot-win", WhatIf(verify=0.9))
    assert "WHAT IF" in asked.title and "WHAT IF" not in plain.title
    assert any(tone == "what-if" for _, tone in asked.sentences)
    assert asked.changes != plain.changes and "what if" in [c.title for c in asked.lengths.columns]
    measured = [c.key for c in plain.lengths.columns]
    for before, after in zip(plain.lengths.rows, asked.lengths.rows, strict=True):
        shown = dict(zip((c.key for c in asked.lengths.columns), after.cells, strict=True))
        assert [shown[key] for key in measured if key != "mark"] == list(before.cells[:-1])
    assert "What if: k = 40 needs verify" in view_of("cannot-win", WhatIf(k=40)).sentences[0][0]


def test_a_survey_has_advice_for_drafts_that_cost_nothing_and_its_floor() -> None:
    view = view_of("survey")
    assert "Costs only" in text_of(view) and "the floor," in text_of(view)
    assert view.numbers and "T_verify" in view.numbers[0]


def test_without_rounds_the_reason_stands_in_both_tables() -> None:
    view = view_of("one-round")
    assert view.changes.rows == () and view.changes.message and view.lengths.message == view.changes.message


def test_numbers_in_order_are_ranges() -> None:
    assert ranges_of([1, 2, 3, 5, 8, 9]) == "1–3, 5, 8–9" and ranges_of([]) == ""
