"""The Ops views: sorted, filtered, by place or primitive, one row in full, and what is said where nothing is."""

from __future__ import annotations

from dataclasses import replace

from session_builder import CASES
from survey_builder import SURVEYS, Surveyed, surveyed

from specview.layouts.ops import (
    NOTHING,
    OpsAsk,
    detail_lines,
    detail_view,
    floors_view,
    moved_sort,
    moved_width,
    ops_facts,
    ops_view,
)
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

MOE = ops_facts(session_of(SURVEYS["survey-moe"]))


def told(spans) -> str:
    return "\n".join("".join(span.text for span in line) for line in spans)


def test_every_column_sorts_and_the_cycle_comes_round() -> None:
    ask = OpsAsk(by="primitive")
    seen = set()
    for _ in range(12):
        ask = moved_sort(ask)
        view = ops_view(MOE, ask)
        seen.add(view.table.sorted_by)
        assert len(view.table.rows) == 15
    assert len(seen) == 12 and ask == OpsAsk(by="primitive")
    assert "primitive" not in {moved_sort(OpsAsk(sort="category")).sort}


def test_a_filter_takes_all_its_words_and_says_how_many_are_left() -> None:
    view = ops_view(MOE, OpsAsk(by="primitive", needle="experts gather"))
    assert [row.cells[2] for row in view.table.rows] == ["GatherQMM"] and "1 of 15" in view.title
    assert "nope" in ops_view(MOE, OpsAsk(needle="nope")).table.message


def test_widths_move_to_the_ends_only() -> None:
    facts = ops_facts(session_of(CASES["wins"]))
    assert moved_width(facts, OpsAsk(), 1).width == moved_width(facts, OpsAsk(), -1).width == facts.first


def test_one_row_in_full_has_its_floor_experts_and_amortisation_with_the_cliff() -> None:
    row = next(row for row in ops_view(MOE, OpsAsk()).table.rows if "switch_mlp" in row.cells[0])
    text = told(detail_lines(detail_view(MOE, OpsAsk(), row.key), 100))
    assert "distinct experts" in text and "16 without sharing" in text
    assert "down_proj" in text and "▲" in text
    assert told(detail_lines(detail_view(MOE, OpsAsk(), None), 100)).startswith("A pass over 2 positions")


def test_floors_have_a_row_for_every_kind_and_a_sum() -> None:
    rows = [row.cells[0] for row in floors_view(MOE, OpsAsk()).table.rows]
    assert "MoE" in rows and "  routed experts" in rows and rows[-1] == "all"


def test_a_session_without_anything_says_which_key_and_command_make_it() -> None:
    facts = ops_facts(session_of(SURVEYS["curve-only"]))
    assert facts.message == NOTHING and "y surveys" in NOTHING and "specview survey" in NOTHING
    assert ops_view(facts, OpsAsk()).table.message == NOTHING
    assert "y surveys" in " ".join(ops_view(ops_facts(session_of(CASES["wins"])), OpsAsk()).notes)


def test_names_seen_without_shapes_show_no_bytes() -> None:
    records = tuple(
        replace(x, method="names", bytes_read=0, bytes_written=0, flops=0) if isinstance(x, r.Census) else x
        for x in surveyed(Surveyed(blocks=False))
    )
    view = ops_view(ops_facts(session_of(records)), OpsAsk())
    at = [column.key for column in view.table.columns].index("bytes")
    assert {row.cells[at] for row in view.table.rows} == {"—"}


def test_records_that_do_not_fit_together_are_a_sentence() -> None:
    records = tuple(replace(x, value=1e-300) if isinstance(x, r.Calibration) else x for x in SURVEYS["survey"])
    assert ops_facts(session_of(records)) is not None
