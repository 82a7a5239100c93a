"""The gap's parts add up to the gap, whatever was measured, and each says where it comes from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gap_probes import BLOCKS, MS, calibration, fenced, queued, whole
from session_builder import CASES

from specview.profilers.judge.gap_parts import BOUNDARIES, BUILD, FENCE, REST, SUBMIT, UNQUEUED, gap_parts
from specview.profilers.record.records import Census, Probe
from specview.profilers.record.session import session_of

EMPTY = replace(session_of(CASES["interrupted"]), probes=(), calibrations=(), steps=())


def parts_of(*probes, calibrations=(), census=(), steps=(), width=1, context=None):
    session = replace(EMPTY, probes=probes, calibrations=tuple(calibrations), census=tuple(census), steps=steps)
    return gap_parts(session, width, context)


def by_name(found):
    return {part.name: part for part in found.parts}


def adds_up(found):
    """Σ parts + rest against the gap."""
    total = sum(p.ms for p in found.parts if p.ms is not None) + found.rest.ms
    return total == pytest.approx(found.gap.ms, abs=1e-9) and found.gap.ms == pytest.approx(
        found.wall.estimate - found.queued.estimate, abs=1e-9
    )


def test_there_is_no_gap_without_a_wall_or_before_every_place_was_queued():
    assert parts_of(*BLOCKS) is None
    assert parts_of(whole()) is None
    assert parts_of(whole(), *(p for p in BLOCKS if p.block != "head" or p.ruler == "fenced")) is None
    assert parts_of(whole(evaluation=(0, 0, 0)), *BLOCKS) is None
    assert parts_of(whole(), queued("head", "output head", -1.0)) is None


def test_the_gap_is_the_wall_less_the_cycled_sum_and_graph_build_is_its_first_part():
    found = parts_of(whole(), *BLOCKS)
    assert found.wall.estimate == pytest.approx(58.0)
    assert found.queued.estimate == pytest.approx(50.0)
    assert (found.gap.ms, found.gap.of_sum) == pytest.approx((8.0, 0.16))
    assert found.interval.low < 8.0 < found.interval.high
    named = by_name(found)
    assert named[BUILD].ms == pytest.approx(3.0)
    assert named[SUBMIT].ms is named[FENCE].ms is named[BOUNDARIES].ms is named[UNQUEUED].ms is None
    assert found.rest.name == REST and found.rest.ms == pytest.approx(5.0)
    assert found.rest.of_wall == pytest.approx(5.0 / 58.0)
    assert adds_up(found)


def test_every_part_that_was_measured_is_taken_off_the_rest_and_all_add_up():
    lone = queued(None, None, 53.0, spread=0.001)
    misc = fenced("model rest", "misc", 0.6, layers=2)
    census = [
        Census(
            width=1,
            block="head",
            category="output head",
            primitive="Matmul",
            count=900,
            bytes_read=1,
            bytes_written=1,
            flops=1,
            coverage=0.9,
        )
    ]
    constants = [calibration("fence", 100.0, "us"), calibration("boundary", 2000.0)]
    steady = {"build": (3.0, 3.1, 2.9) * 3, "evaluation": (55.0, 55.1, 54.9) * 3}
    submitted = whole(**steady, submit_ns=(50 * MS, 51 * MS, 49 * MS))
    found = parts_of(submitted, lone, misc, *BLOCKS, calibrations=constants, census=census)
    named = by_name(found)
    assert named[SUBMIT].ms == pytest.approx(55.0 - 53.0 - 0.1)
    assert named[FENCE].ms == pytest.approx(0.1)
    assert named[BOUNDARIES].ms == pytest.approx(100 * 0.002) and named[BOUNDARIES].count == 100
    assert named[BOUNDARIES].note.startswith("900 dispatches lie in blocks")
    assert named[UNQUEUED].ms == pytest.approx(0.6 - 2 * 0.1) and named[UNQUEUED].count == 2
    assert found.rest.ms == pytest.approx(8.0 - 3.0 - 1.9 - 0.1 - 0.2 - 0.4)
    assert found.submit.estimate == pytest.approx(50.0)
    assert "50.00 ms of 55.00 ms" in named[SUBMIT].note
    assert adds_up(found)


def test_time_that_wall_and_part_share_is_no_noise_of_the_rest():
    wild = whole(build=(1.0, 9.0, 5.0), evaluation=(55.0, 55.1, 54.9))
    found = parts_of(wild, *BLOCKS)
    assert found.interval.high - found.interval.low > 10.0
    assert found.rest.interval.high - found.rest.interval.low < 3.0


def test_a_submission_that_the_work_overlaps_is_not_attributed():
    lone = queued(None, None, 55.0, spread=0.02)
    found = parts_of(whole(submit_ns=(50 * MS,) * 3), lone, *BLOCKS)
    part = by_name(found)[SUBMIT]
    assert part.ms is None and "not told apart from none" in part.note and "that time is in the blocks" in part.note
    assert adds_up(found)


def test_a_negative_gap_is_shown_as_what_it_is_and_explained():
    found = parts_of(whole(build=(1.0, 1.0, 1.0), evaluation=(40.0, 40.1, 39.9)), *BLOCKS)
    assert found.gap.ms == pytest.approx(-9.0) and found.gap.of_wall < 0
    assert "overlap" in found.sentence and "-9.00 ms" in found.sentence
    assert found.rest.ms == pytest.approx(-10.0) and "overlap" in found.rest.note
    assert adds_up(found)


def test_a_gap_within_its_noise_says_so():
    found = parts_of(whole(evaluation=(30.0, 50.0, 65.0)), *BLOCKS)
    assert "not told apart from none" in found.sentence and "noise" in found.rest.note


def test_containers_that_take_no_longer_than_their_fences_are_named_and_left_out():
    misc = fenced("model rest", "misc", 0.01, layers=2)
    found = parts_of(whole(), misc, *BLOCKS, calibrations=[calibration("fence", 0.1, "ms")])
    part = by_name(found)[UNQUEUED]
    assert part.ms is None and part.count == 2 and part.note.startswith("Not queued")
    assert adds_up(found)


def test_dispatches_outside_the_blocks_are_only_counted_where_their_cost_is_unknown():
    census = [
        Census(
            width=1, block="b", category="MLP", primitive="Add", count=80, bytes_read=0, bytes_written=0, flops=0,
            coverage=0.8, context=context,
        )
        for context in (64, 128)
    ]  # fmt: skip
    part = by_name(parts_of(whole(), *BLOCKS, census=census))[BOUNDARIES]
    assert part.ms is None and part.count == 20 and "80 dispatches lie in blocks" in part.note
    views = [replace(census[1], primitive="Reshape", count=500), *census]
    assert by_name(parts_of(whole(), *BLOCKS, census=views))[BOUNDARIES].count == 20
    inside = [replace(c, coverage=1.0) for c in census]
    part = by_name(parts_of(whole(), *BLOCKS, census=inside))[BOUNDARIES]
    assert part.count == 0 and "none lies outside" in part.note


def test_widths_and_contexts_are_kept_apart():
    wide = (whole(width=2, evaluation=(70.0, 71.0, 69.0)), queued("head", "output head", 60.0, width=2))
    found = parts_of(whole(), *BLOCKS, *wide, width=2)
    assert found.wall.estimate == pytest.approx(73.0) and found.hidden is None
    assert parts_of(whole(), *BLOCKS, context=64) is None
    assert parts_of(whole(), *BLOCKS, context=128).gap.ms == pytest.approx(8.0)


def test_what_pipelining_hides_stands_beside_the_gap():
    piped = Probe(
        t_ns=0, ruler="whole", part="decode", width=1, context=128, samples_ns=(54 * MS, 55 * MS), pipelined=True
    )
    found, without = parts_of(whole(), piped, *BLOCKS), parts_of(whole(), *BLOCKS)
    assert found.hidden.estimate == pytest.approx(58.0 - 54.5)
    assert found.rest.ms == without.rest.ms and without.hidden is None


def test_passes_that_were_interrupted_are_left_out_and_counted():
    builds, evals = (3.0,) * 9 + (3.0, 30.0), (55.0, 55.2, 54.8, 55.1, 54.9, 55.0, 55.3, 54.7, 55.0, 400.0, 55.0)
    found = parts_of(whole(build=builds, evaluation=evals), *BLOCKS)
    assert (found.passes, found.interrupted) == (9, 2)
    assert found.wall.estimate == pytest.approx(58.0)
    assert adds_up(found)


def test_passes_that_do_not_tell_build_and_evaluation_apart_still_have_a_gap():
    plain = replace(whole(), build_ns=None, eval_ns=None)
    found = parts_of(plain, *BLOCKS)
    assert found.build is None and by_name(found)[BUILD].ms is None and found.rest.ms == pytest.approx(8.0)
    assert adds_up(found)
