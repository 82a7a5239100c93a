"""What displays are made of: interrupted passes and slopes left out once, for every table alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gap_probes import BLOCKS, MS, fenced, queued, whole
from session_builder import CASES

from specview.profilers.judge.blocks_table import blocks_table
from specview.profilers.judge.curve import verify_curves
from specview.profilers.judge.gap_parts import gap_parts
from specview.profilers.judge.rulers import ruler_table
from specview.profilers.judge.shown import at_one_context, shown_passes, shown_slopes
from specview.profilers.record.session import session_of

RECORDED = session_of(CASES["cannot-win"])
EMPTY = replace(RECORDED, probes=(), calibrations=(), steps=(), rounds=(), runs=())
TORN = whole(build=(3.0,) * 8 + (30.0, 3.0), evaluation=(55.0,) * 8 + (55.0, 500.0))
FAR = [queued("head", "output head", ms) for ms in (20.1, 19.9, 20.0, 20.0, 90.0)]


def surveyed(*probes, **more):
    return replace(EMPTY, probes=probes, **more)


def test_a_pass_is_left_out_for_its_build_or_its_evaluation():
    shown = shown_passes([TORN])
    assert (len(shown.totals_ns), shown.left_out) == (8, 2)
    assert set(shown.totals_ns) == {58 * MS}
    assert (shown.build_ms, shown.evaluation_ms) == (3.0, 55.0)


def test_passes_that_tell_no_build_apart_count_only_where_none_does():
    plain = replace(whole(), build_ns=None, eval_ns=None)
    assert len(shown_passes([plain]).totals_ns) == 3 and shown_passes([plain]).build_ms is None
    assert shown_passes([plain, whole()]).by_probe_ns == shown_passes([whole()]).by_probe_ns
    assert shown_passes([]).totals_ns == ()


def test_slopes_are_compared_with_those_of_their_place_and_arrangement_only():
    hot = [queued("head", "output head", 5.0, arrangement="hot", layers=2) for _ in range(5)]
    kept = shown_slopes([*FAR, *hot, fenced("head", "output head", 20.0)])
    left = [probe for each in kept for probe in each.rows]
    assert len(left) == len(FAR) + len(hot) and FAR[-1] not in left


def test_every_table_has_the_same_wall_the_same_sum_and_the_same_gap():
    session = surveyed(TORN, *BLOCKS, *FAR)
    parts, blocks, rulers = gap_parts(session), blocks_table(session), ruler_table(session)
    assert parts is not None and blocks is not None and rulers is not None and blocks.gap is not None
    assert parts.wall.estimate == pytest.approx(58.0) == pytest.approx(blocks.wall_ms)
    assert rulers.synchronous.ms == pytest.approx(58.0)
    assert parts.queued.estimate == pytest.approx(50.0) == pytest.approx(blocks.queued_ms)
    assert rulers.queued_cycled.ms == pytest.approx(50.0)
    assert sum(row.decode_queued_ms for row in blocks.rows) == pytest.approx(50.0)
    assert blocks.gap == parts.gap and blocks.gap.ms == pytest.approx(8.0)
    assert (parts.passes, parts.interrupted) == (blocks.passes, blocks.left_out) == (8, 2)
    assert (rulers.synchronous.n, rulers.synchronous.left_out) == (8, 2)
    assert (rulers.queued_cycled.n, rulers.queued_cycled.left_out) == (1 + 1 + 4, 1)


def test_a_curve_leaves_out_the_same_passes_and_says_how_many():
    wide = whole(width=2, evaluation=(80.0, 80.0, 80.0))
    [curve] = verify_curves(surveyed(TORN, wide))
    assert curve.points[0].ms.mean.estimate == pytest.approx(58.0)
    assert [(p.ms.n, p.left_out) for p in curve.points] == [(8, 2), (3, 0)]
    assert curve.left_out == "Interrupted passes, far off the others, are left out: 2 at n = 1."
    assert verify_curves(surveyed(whole(), wide))[0].left_out == ""


def test_passes_of_a_survey_at_other_contexts_are_not_pooled_with_the_blocks():
    far = replace(whole(evaluation=(500.0,) * 3), context=4096)
    alone, beside = surveyed(whole(), *BLOCKS), surveyed(whole(), far, *BLOCKS)
    assert blocks_table(beside) == blocks_table(alone)
    assert ruler_table(beside) == ruler_table(alone) and gap_parts(beside) == gap_parts(alone)
    assert at_one_context(replace(beside, runs=RECORDED.runs)).probes == beside.probes


def test_a_place_whose_turn_never_comes_is_said_to_be_impossible_to_queue():
    experts = fenced("layers.*.ffn", "MoE", 30.0, layers=30)
    blocks, rulers = blocks_table(surveyed(whole(), experts, *BLOCKS)), ruler_table(surveyed(whole(), experts, *BLOCKS))
    assert blocks is not None and rulers is not None and blocks.gap is None
    assert blocks.waiting == "No queued sum and no gap: MoE cannot be queued (it reads its routes in mid-pass)."
    said = "MoE cannot be queued (it reads its routes in mid-pass), so there is no queued sum."
    assert rulers.queued_cycled.missing == rulers.queued_hot.missing == said
    [row] = [row for row in rulers.categories if row.category == "MoE"]
    assert row.queued_cycled.missing == said


def test_a_place_whose_turn_may_still_come_is_waited_for():
    cycled = [p for p in BLOCKS if p.arrangement != "hot"]
    experts = fenced("layers.*.ffn", "MoE", 30.0, layers=30)
    live = surveyed(whole(), experts, *cycled, footer=None, runs=RECORDED.runs)
    blocks, rulers = blocks_table(live), ruler_table(live)
    assert blocks is not None and rulers is not None
    assert blocks.waiting == "The gap waits for the queued ruler: 2 of 3 places timed so far."
    assert "2 of 3 places were timed with layers cycled so far" in rulers.queued_cycled.missing
    again = blocks_table(replace(live, probes=(*live.probes, cycled[0])))
    assert again is not None and "cannot be queued" in again.waiting
    assert blocks_table(surveyed(whole(), *BLOCKS)).waiting == ""  # type: ignore[union-attr]
