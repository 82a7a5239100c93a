"""Census, timings, floors and replays in one table: what is joined, what is missing, and what is extrapolated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from survey_builder import DENSE, MOE, SURVEYS, Surveyed, surveyed

from specview.profilers.judge.floors import NoFloor
from specview.profilers.judge.ops import ops_table, ops_widths
from specview.profilers.judge.spans import Ruler
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of


def table_of(records, width=None):
    table = ops_table(session_of(records), width)
    assert table is not None
    return table


def test_a_place_has_counts_times_floor_and_its_matrices() -> None:
    table = table_of(SURVEYS["survey"])
    row = next(row for row in table.places if row.place.block == "model.layers.*.mlp")
    spot = DENSE[1]
    assert table.width == 2 and table.ruler is Ruler.QUEUED
    assert row.count == (3 + 4 + 5) * spot.layers and row.dispatches == (3 + 5) * spot.layers
    assert row.decode_ms == pytest.approx(spot.ms) and row.verify_ms == pytest.approx(spot.ms * 1.9)
    assert row.ratio == pytest.approx(1.9)
    assert row.floor_ms == pytest.approx(spot.weight_bytes / 40e9 * 1e3)
    assert row.avoidable_ms == pytest.approx(spot.ms * 1.9 - spot.weight_bytes / 40e9 * 1e3)
    assert [each.weight for each in row.matrices] == ["model.layers.*.mlp.up_proj"]


def test_rows_stand_by_what_is_avoidable() -> None:
    table = table_of(SURVEYS["survey-moe"])
    for rows in (table.places, table.primitives):
        known = [row.avoidable_ms for row in rows if row.avoidable_ms is not None]
        assert known == sorted(known, reverse=True)
        assert [row.avoidable_ms is None for row in rows] == sorted(row.avoidable_ms is None for row in rows)


def test_a_primitive_takes_what_its_replays_take_all_calls_together() -> None:
    table = table_of(SURVEYS["survey"])
    row = next(row for row in table.primitives if row.place.block == "model.layers.*.mlp" and row.matrices)
    assert row.primitive == "QuantizedMatmul"
    assert row.decode_ms == pytest.approx(5.1 * 0.8) and row.verify_ms == pytest.approx(5.1 * 0.8 * 1.9)
    assert row.floor_ms == pytest.approx(60e6 / 40e9 * 1e3)
    others = [row for row in table.primitives if not row.matrices]
    assert others and all(row.verify_ms is None and row.floor_ms is None for row in others)


def test_what_was_replayed_under_another_name_has_a_row_of_its_own() -> None:
    records = tuple(
        replace(x, primitive="GatedDelta") if isinstance(x, r.Replay) and x.detail == "gated delta" else x
        for x in SURVEYS["survey-moe"]
    )
    row = next(row for row in table_of(records).primitives if row.primitive == "GatedDelta")
    assert row.verify_ms is not None and row.count is None and not row.known


def test_a_matrix_belongs_to_the_place_named_most_exactly() -> None:
    table = table_of(SURVEYS["survey-moe"])
    owners = {each.weight: row.place.block for row in table.places for each in row.matrices}
    assert owners["model.layers.*.mlp.switch_mlp.down_proj"] == "model.layers.*.mlp.switch_mlp"
    assert owners["model.layers.*.mlp.gate"] == "model.layers.*.mlp.gate"
    assert owners["lm_head"] == "lm_head"


def test_with_few_layers_built_everything_stands_for_all_and_is_marked() -> None:
    table = table_of(SURVEYS["survey-moe"])
    row = next(row for row in table.places if row.place.category == "linear attention")
    assert table.extrapolated and row.layers == 30
    assert row.decode_ms == pytest.approx(MOE[0].ms * 5)
    assert not table_of(SURVEYS["survey"]).extrapolated


def test_without_a_census_the_times_stand_and_the_floor_says_why_not() -> None:
    table = table_of(surveyed(Surveyed(census=False)))
    assert isinstance(table.floor, NoFloor) and table.primitives == () and table.totals is None
    assert table.places[0].verify_ms is not None and table.places[0].count is None
    assert table.floor_of(table.places[0].place) is None


def test_without_blocks_the_counts_stand() -> None:
    table = table_of(surveyed(Surveyed(blocks=False)))
    assert table.ruler is None and all(row.verify_ms is None for row in table.places)
    assert all(row.count for row in table.places)


def test_decode_shows_before_verify_is_timed() -> None:
    records = tuple(
        x for x in SURVEYS["survey"] if not (isinstance(x, r.Probe) and x.category is not None and x.width == 2)
    )
    table = table_of(records)
    assert table.ruler is None and table.places[0].decode_ms is not None and table.places[0].verify_ms is None


def test_nothing_known_is_no_table() -> None:
    session = session_of(SURVEYS["curve-only"])
    assert ops_table(session) is None and ops_widths(session) == ()


def test_a_kind_of_a_category_has_a_floor_of_its_own() -> None:
    table = table_of(SURVEYS["survey-moe"])
    routed = next(row for row in table.places if row.place.detail == "routed experts")
    floor = table.floor_of(routed.place)
    assert floor is not None and floor.detail == "routed experts" and floor.experts is not None
    assert floor.experts.recorded
