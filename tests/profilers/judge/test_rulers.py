"""Three rulers side by side: sums, intervals, and why a number is missing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from session_builder import BLOCKS, CASES

from specview.profilers.judge.blocks_table import blocks_table
from specview.profilers.judge.rulers import ruler_table
from specview.profilers.judge.spans import Fenced, Pipelined, Queued, Synchronous
from specview.profilers.record.records import Calibration, Probe
from specview.profilers.record.session import session_of

SESSION = session_of(CASES["cannot-win"])
NS = 1_000_000


def block(name: str, category: str, ruler: str, t_ns: int = 0, **more: object) -> Probe:
    made = {"part": "decode", "width": 1, "context": 9, **more}
    return Probe(t_ns=t_ns, ruler=ruler, block=name, category=category, **made)  # type: ignore[arg-type]


def slope(name: str, category: str, ms: float, half: float, **more: object) -> Probe:
    ends = {"slope_ns": ms * NS, "slope_low_ns": (ms - half) * NS, "slope_high_ns": (ms + half) * NS}
    return block(name, category, "queued", **ends, **more)


def fenced(t_ns: int, **ms_by_category: float) -> list[Probe]:
    return [block(c, c, "fenced", t_ns, samples_ns=(round(ms * NS),)) for c, ms in ms_by_category.items()]


def table(*probes: Probe, width: int = 1):
    found = ruler_table(replace(SESSION, probes=probes), width)
    assert found is not None
    return found


def test_every_ruler_of_a_recorded_pass_stands_beside_the_others() -> None:
    found = ruler_table(SESSION)
    assert found is not None and found.width == 1
    assert found.synchronous.ms == pytest.approx(10.94, rel=0.01) and found.synchronous.ruler is Synchronous
    assert found.pipelined.ms == pytest.approx(10.94, rel=0.01) and found.pipelined.ruler is Pipelined
    assert found.fenced.ms == pytest.approx(1.16 * 8.128, rel=1e-3) and found.fenced.ruler is Fenced
    assert found.queued_cycled.ms == pytest.approx(8.128) and found.queued_cycled.ruler is Queued
    assert (
        found.queued_hot.ms is None
        and found.queued_hot.missing == "No place was timed at one hot layer over one position."
    )
    for reading in (found.synchronous, found.pipelined, found.fenced, found.queued_cycled):
        assert reading.interval is not None and reading.interval.holds(reading.ms or 0.0) and not reading.missing
        assert reading.n > 1
    assert [row.category for row in found.categories] == [name for name, _ in BLOCKS] and found.details == ()
    assert found.fence_ms == pytest.approx(0.4) and found.fence is None


def test_the_ledger_and_the_blocks_table_say_the_same() -> None:
    found, blocks = ruler_table(SESSION), blocks_table(SESSION)
    assert found is not None and blocks is not None
    assert (found.synchronous.span, found.queued_cycled.span, found.fenced.span) == (
        blocks.wall,
        blocks.queued,
        blocks.fenced,
    )


def test_a_wide_pass_has_no_pipelined_ruler() -> None:
    found = ruler_table(SESSION, 2)
    assert found is not None and found.synchronous.ms == pytest.approx(21.88, rel=0.01)
    assert found.pipelined.span is None and "one position at a time" in found.pipelined.missing


def test_a_width_that_nothing_was_timed_at_has_no_table() -> None:
    assert ruler_table(SESSION, 13) is None


def test_whole_passes_alone_are_a_table_that_says_what_is_missing() -> None:
    found = ruler_table(session_of(CASES["interrupted"]))
    assert found is not None and found.synchronous.span is not None
    assert found.fenced.missing == "No fenced pass over one position was made."
    assert found.queued_cycled.span is None and found.categories == ()


def test_slope_intervals_add_in_quadrature_over_places_and_in_full_over_the_layers_they_stand_for() -> None:
    found = table(
        slope("layers.*.mlp", "MLP", 1.0, 0.1, layers=4, arrangement="cycled"),
        slope("lm_head", "output head", 2.0, 0.3, layers=1),
    ).queued_cycled
    assert found.ms == pytest.approx(6.0) and found.interval is not None
    assert found.interval.high - 6.0 == pytest.approx(math.hypot(0.4, 0.3), rel=0.01)
    assert found.n == 2


def test_two_slopes_of_one_place_are_averaged_and_many_that_scatter_are_as_wide_as_they_scatter() -> None:
    one = slope("lm_head", "output head", 2.0, 0.2, layers=1)
    pair = table(one, one).queued_cycled.interval
    assert pair is not None and pair.high - 2.0 == pytest.approx(0.2 / math.sqrt(2), rel=0.01)
    scattered = [slope("lm_head", "output head", ms, 0.001, layers=1) for ms in (1.0, 2.0, 3.0, 2.0)]
    wide = table(*scattered).queued_cycled.interval
    assert wide is not None and wide.high - 2.0 > 1.0


def test_a_place_of_one_block_is_its_own_cycle_and_counts_hot_too() -> None:
    found = table(
        slope("layers.*.mlp", "MLP", 1.0, 0.1, layers=4, arrangement="cycled", cached=False),
        slope("layers.*.mlp", "MLP", 0.5, 0.1, layers=4, arrangement="hot", layer=2, cached=True),
        slope("lm_head", "output head", 2.0, 0.3, layers=1),
    )
    assert (found.queued_cycled.ms, found.queued_hot.ms) == pytest.approx((6.0, 4.0))
    (mlp, _) = found.categories
    assert (mlp.blocks, mlp.hot_cached, mlp.cycled_cached) == (4, True, False)


def test_a_sum_waits_for_every_place_and_names_what_it_waits_for() -> None:
    found = table(
        *fenced(1, MLP=1.0, misc=0.2, **{"output head": 2.0}),
        slope("MLP", "MLP", 1.0, 0.1, layers=4, arrangement="cycled"),
    )
    assert found.queued_cycled.span is None
    assert found.queued_cycled.missing == "1 of 2 places were timed with layers cycled so far; missing: output head."
    by_category = {row.category: row for row in found.categories}
    assert by_category["MLP"].queued_cycled.ms == pytest.approx(4.0)
    assert by_category["misc"].queued_cycled.missing.startswith("These blocks cannot be queued")


def test_a_fenced_sum_is_as_sure_as_whole_passes_are_alike() -> None:
    against = table(*fenced(1, MLP=1.0, MoE=3.0), *fenced(2, MLP=2.0, MoE=2.0), *fenced(3, MLP=3.0, MoE=1.0)).fenced
    assert against.ms == pytest.approx(4.0) and against.n == 3
    assert against.interval is not None and against.interval.high - against.interval.low == pytest.approx(0.0, abs=1e-9)
    torn = table(*fenced(1, MLP=1.0, MoE=3.0), *fenced(2, MLP=2.0)).fenced
    assert torn.ms == pytest.approx(4.5) and torn.interval is None and "no interval" in torn.missing


def test_one_fenced_pass_has_a_sum_and_no_interval() -> None:
    found = table(*fenced(1, MLP=1.0, MoE=3.0)).fenced
    assert (found.ms, found.interval, found.n) == (pytest.approx(4.0), None, 1)
    assert found.missing == "A block was timed once, so the sum has no interval."


def test_kinds_of_one_category_have_rows_of_their_own_and_one_sum() -> None:
    experts = ("router", 0.1), ("routed experts", 2.0), ("shared expert", 0.4)
    probes = [
        slope(f"layers.*.mlp.{n}", "MoE", ms, 0.01, layers=2, arrangement="cycled", detail=name)
        for n, (name, ms) in enumerate(experts)
    ]
    found = table(*probes, slope("layers.*.mlp", "MLP", 1.0, 0.01, layers=2, arrangement="cycled"))
    assert {row.category: row.queued_cycled.ms for row in found.categories} == pytest.approx({"MoE": 5.0, "MLP": 2.0})
    assert {row.detail: row.queued_cycled.ms for row in found.details} == pytest.approx(
        {"router": 0.2, "routed experts": 4.0, "shared expert": 0.8}
    )
    assert found.blocks == 8


def test_a_fence_is_shown_with_the_interval_it_was_calibrated_with() -> None:
    fence = Calibration(what="fence", value=5.0, low=4.0, high=7.0, unit="us", t_ns=0)
    found = ruler_table(replace(SESSION, calibrations=(fence,)))
    assert found is not None and found.fence is not None
    assert (found.fence.estimate, found.fence.low, found.fence.high) == pytest.approx((0.005, 0.004, 0.007))


def test_steps_that_were_waited_for_are_no_pipelined_baseline() -> None:
    steps = tuple(replace(s, pipelined=False) for s in SESSION.steps)
    found = ruler_table(replace(SESSION, steps=steps))
    assert found is not None and found.pipelined.span is None and "not pipelined" in found.pipelined.missing
