"""Floors by hand: bytes over bandwidth, flops over peak, what is read once, and what could be avoided."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_builder import CASES

from specview.profilers.judge.floor import FloorTable, floor_table
from specview.profilers.judge.floors import Floors, NoFloor, floors_of
from specview.profilers.judge.least import StateMoves
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.places_timed import as_built, scale_in_full
from specview.profilers.judge.reachable import Reachable, reachable
from specview.profilers.record.records import Calibration, Demand, Probe, Routes
from specview.profilers.record.session import Session, session_of

BUILT = session_of(CASES["cannot-win"])
GB_PER_S = Calibration(what="bandwidth", value=1e11, unit="B/s", low=0.8e11, high=1.25e11, t_ns=0)
PEAK = Calibration(what="peak", dtype="bfloat16", value=1e12, unit="flop/s", t_ns=0)
MLP, EXPERTS, ATTENTION, DELTA = "layers.*.mlp", "layers.*.moe", "layers.*.attn", "layers.*.delta"


def demand(block: str, category: str, **fields: Any) -> Demand:
    return Demand(block=block, category=category, **{"layers": 4, "context": 64, "dtype": "bfloat16", **fields})


def session(*demands: Demand, **kinds: Any) -> Session:
    return replace(BUILT, **{"probes": (), "demands": demands, "calibrations": (GB_PER_S, PEAK), **kinds})


def table(held: Session, width: int | None = 2, **options: Any) -> FloorTable:
    found = floor_table(held, width, **options)
    assert isinstance(found, FloorTable), found
    return found


def queued(block: str, category: str, width: int, ms: float, **fields: Any) -> Probe:
    part = "decode" if width == 1 else "verify"
    return Probe(
        t_ns=0, ruler="queued", part=part, width=width, block=block, category=category,
        **{"context": 64, "slope_ns": ms * 1e6 / 4, "layers": 4, "arrangement": "cycled", **fields},
    )  # fmt: skip


DENSE = demand(MLP, "MLP", weight_bytes=10**9)
ROUTED = demand(EXPERTS, "MoE", weight_bytes=0, expert_bytes=256 * 10**8, experts=256, active=8)
KEYS = demand(ATTENTION, "full attention", weight_bytes=0, kv_bytes=5 * 10**8)
STATE = demand(DELTA, "linear attention", weight_bytes=0, state_bytes=10**8)


def test_dense_weights_are_read_once_for_all_positions() -> None:
    (row,) = table(session(DENSE)).rows
    assert (row.decode.ms, row.verify.ms) == pytest.approx((10.0, 10.0))
    assert row.floor_ratio == pytest.approx(1.0) and row.verify.binds == "bytes"


def test_8_of_256_experts_cost_1_97_times_as_much_at_two_positions_under_independent_routing() -> None:
    (row,) = table(session(ROUTED)).rows
    assert (row.decode.ms, row.verify.ms) == pytest.approx((8.0, 15.75))
    assert row.floor_ratio == pytest.approx(1.96875)
    assert row.experts is not None and not row.experts.recorded
    assert row.experts.distinct == pytest.approx(15.75)
    assert (row.experts.without_sharing, row.experts.without_sharing_ms) == (16, pytest.approx(16.0))


def test_experts_follow_the_routes_that_occurred_beside_the_independent_ones() -> None:
    routes = Routes(t_ns=0, block=EXPERTS, width=2, experts=256, active=8, distinct=(11, 13))
    (row,) = table(session(ROUTED, routes=(routes,))).rows
    assert row.verify.ms == pytest.approx(12.0) and row.floor_ratio == pytest.approx(1.5)
    assert row.experts is not None and row.experts.recorded
    assert (row.experts.verify_ms, row.experts.independent_ms) == pytest.approx((12.0, 15.75))


def test_keys_and_values_are_read_once() -> None:
    (row,) = table(session(KEYS), 16).rows
    assert (row.decode.ms, row.verify.ms) == pytest.approx((5.0, 5.0))


def test_a_state_is_read_and_written_once_as_the_engine_rewinds() -> None:
    (row,) = table(session(STATE), 8).rows
    assert (row.decode.ms, row.verify.ms) == pytest.approx((2.0, 2.0))


def test_a_state_kept_after_every_position_is_written_as_often() -> None:
    (row,) = table(session(STATE), 8, state=StateMoves(each_position=True)).rows
    assert (row.decode.ms, row.verify.ms) == pytest.approx((2.0, 9.0))


def test_flops_bind_once_positions_are_many() -> None:
    wide = replace(DENSE, flops=10**9)
    (row,) = table(session(wide), 1000).rows
    assert row.verify.ms == pytest.approx(1000.0) and row.verify.binds == "flops"
    assert row.decode.ms == pytest.approx(10.0) and row.decode.binds == "bytes"


def test_a_dtype_without_a_peak_counts_bytes_only_and_is_named() -> None:
    found = table(session(replace(DENSE, flops=10**9, dtype="float16")), 1000)
    assert found.verify.ms == pytest.approx(10.0) and found.without_peak == ("float16",)


def test_the_floor_carries_the_interval_of_the_bandwidth() -> None:
    found = table(session(DENSE))
    assert (found.verify.low_ms, found.verify.high_ms) == pytest.approx((8.0, 12.5))


def test_without_a_bandwidth_or_demands_there_is_a_reason_instead() -> None:
    for held, word in ((session(DENSE, calibrations=(PEAK,)), "calibration"), (session(), "census")):
        found = floor_table(held, 2)
        assert isinstance(found, NoFloor) and word in found.reason
    foreign = replace(GB_PER_S, unit="GB/s")
    assert isinstance(floor_table(session(DENSE, calibrations=(foreign,)), 2), NoFloor)


def test_what_fits_the_last_level_cache_is_held_against_its_bandwidth() -> None:
    cache = replace(GB_PER_S, what="cache bandwidth", value=4e11, low=4e11, high=4e11)
    for size, ms, inside in ((2e9, 2.5, True), (0.5e9, 10.0, False)):
        held = replace(cache, what="cache size", value=size, low=size, high=size, unit="B")
        found = table(session(DENSE, calibrations=(GB_PER_S, PEAK, cache, held)))
        assert found.verify.ms == pytest.approx(ms) and found.from_cache is inside


def timed(*extra: Probe) -> tuple[Probe, ...]:
    return (
        queued(MLP, "MLP", 1, 12.0), queued(MLP, "MLP", 2, 14.0),
        queued(EXPERTS, "MoE", 1, 9.0), queued(EXPERTS, "MoE", 2, 30.0), *extra,
    )  # fmt: skip


def test_rows_are_sorted_by_what_could_be_avoided() -> None:
    found = table(session(DENSE, ROUTED, probes=timed()))
    assert [row.category for row in found.rows] == ["MoE", "MLP"]
    assert [row.avoidable_ms for row in found.rows] == pytest.approx([14.25, 4.0])
    assert [row.measured_ratio for row in found.rows] == pytest.approx([30 / 9, 14 / 12])
    assert found.ruler == "queued" and found.measured_verify_ms == pytest.approx(44.0)
    assert found.verify.ms == pytest.approx(25.75) and found.decode.ms == pytest.approx(18.0)


def test_where_not_every_place_was_queued_all_rows_are_fenced() -> None:
    fenced = tuple(
        Probe(
            t_ns=width, ruler="fenced", part="verify", width=width, context=64, block=block, category=category,
            samples_ns=(int(ms * 1e6),), layers=4,
        )
        for width in (1, 2) for block, category, ms in ((MLP, "MLP", 16.0), (EXPERTS, "MoE", 20.0))
    )  # fmt: skip
    found = table(session(DENSE, ROUTED, probes=(*timed()[:3], *fenced)))
    assert found.ruler == "fenced" and found.measured_verify_ms == pytest.approx(36.0)


def test_a_category_that_was_not_timed_whole_has_no_measured_number_and_stands_last() -> None:
    fenced = tuple(
        Probe(
            t_ns=width, ruler="fenced", part="verify", width=width, context=64, block=MLP, category="MLP",
            samples_ns=(16_000_000,), layers=4,
        )
        for width in (1, 2)
    )  # fmt: skip
    found = table(session(DENSE, ROUTED, probes=fenced))
    assert [row.category for row in found.rows] == ["MLP", "MoE"]
    assert found.rows[1].avoidable_ms is None and found.measured_verify_ms is None


def test_below_the_floor_is_shown_as_nothing_avoidable_and_kept_raw() -> None:
    probes = (queued(MLP, "MLP", 1, 12.0), queued(MLP, "MLP", 2, 9.5))
    (row,) = table(session(DENSE, probes=probes)).rows
    assert row.avoidable_ms == 0.0 and row.raw_avoidable_ms == pytest.approx(-0.5)


def test_details_of_a_category_have_rows_of_their_own() -> None:
    router = demand("layers.*.moe.gate", "MoE", detail="router", weight_bytes=10**8)
    routed = replace(ROUTED, detail="routed experts")
    probes = tuple(
        queued(d.block, "MoE", width, ms * width, detail=d.detail)
        for d, ms in ((router, 2.0), (routed, 10.0))
        for width in (1, 2)
    )
    (row,) = table(session(router, routed, probes=probes)).rows
    assert row.detail is None and row.measured_verify_ms == pytest.approx(24.0)
    assert [(d.detail, d.measured_verify_ms) for d in row.details] == [("routed experts", 20.0), ("router", 4.0)]
    assert row.verify.ms == pytest.approx(sum(d.verify.ms for d in row.details))


def test_details_that_lie_in_one_block_need_timings_that_tell_them_apart() -> None:
    router = demand(EXPERTS, "MoE", detail="router", weight_bytes=10**8)
    probes = (queued(EXPERTS, "MoE", 1, 10.0), queued(EXPERTS, "MoE", 2, 20.0))
    (row,) = table(session(router, replace(ROUTED, detail="routed experts"), probes=probes)).rows
    assert row.measured_verify_ms == pytest.approx(20.0)
    assert [d.measured_verify_ms for d in row.details] == [None, None]


def test_layers_that_were_not_built_scale_floors_and_timings_alike() -> None:
    found = table(session(DENSE, ROUTED, probes=timed()), layer_scale=lambda p: 3.0 if p.block == MLP else 1.0)
    by_category = {row.category: row for row in found.rows}
    assert by_category["MLP"].verify.ms == pytest.approx(30.0)
    assert by_category["MLP"].measured_verify_ms == pytest.approx(42.0)
    assert by_category["MoE"].verify.ms == pytest.approx(15.75)


def test_layers_in_full_scale_the_places_within_layers_only() -> None:
    head = demand("lm_head", "output head", weight_bytes=10**9, layers=1)
    held = session(DENSE, head)
    assert scale_in_full(held) is as_built
    model = replace(held.header.model, layers=(("full attention", 2),), layers_in_full=(("full attention", 10),))
    few = replace(held, header=replace(held.header, model=model))
    found = table(few, layer_scale=scale_in_full(few))
    assert {row.category: row.verify.ms for row in found.rows} == pytest.approx({"MLP": 50.0, "output head": 10.0})
    assert found.extrapolated and not table(few).extrapolated


def test_what_cannot_be_queued_does_not_make_the_table_fenced() -> None:
    rest = demand("layers.*", "misc", weight_bytes=0, flops=10)
    found = table(session(DENSE, ROUTED, rest, probes=timed()))
    assert found.ruler == "queued" and found.measured_verify_ms == pytest.approx(44.0)
    assert [row.avoidable_ms for row in found.rows if row.category == "misc"] == [None]


def test_demands_and_timings_of_other_contexts_stay_out() -> None:
    long = replace(KEYS, context=4096, kv_bytes=64 * KEYS.kv_bytes)
    far = queued(ATTENTION, "full attention", 2, 400.0, context=4000)
    near = tuple(queued(ATTENTION, "full attention", n, 6.0, context=80) for n in (1, 2))
    held = session(KEYS, long, probes=(*near, far))
    assert table(held, context=70).measured_verify_ms == pytest.approx(6.0)
    assert table(held, context=5000).verify.ms == pytest.approx(320.0)


def test_a_demand_that_was_recorded_twice_counts_once() -> None:
    assert table(session(replace(DENSE, weight_bytes=1), DENSE)).verify.ms == pytest.approx(10.0)


def test_the_width_is_the_one_that_blocks_were_timed_at() -> None:
    probes = (queued(MLP, "MLP", 1, 12.0), queued(MLP, "MLP", 3, 14.0))
    assert table(session(DENSE, probes=probes), None).width == 3


def test_the_floor_in_decode_steps_is_over_pipelined_decode() -> None:
    steps = table(session(DENSE)).verify_steps
    assert steps == pytest.approx(10.0 / 10.94, rel=0.01)
    probe = Probe(
        t_ns=0, ruler="whole", part="decode", width=1, context=64, samples_ns=(20_000_000,) * 2, pipelined=True
    )
    assert table(session(DENSE, steps=(), probes=(probe,))).verify_steps == pytest.approx(0.5)
    assert table(session(DENSE, steps=())).verify_steps is None


def test_the_best_speedup_takes_verify_at_its_floor_and_the_rest_as_measured() -> None:
    held = session(DENSE, probes=BUILT.probes, calibrations=(*BUILT.calibrations, GB_PER_S))
    ledger, floors = ledger_of(held), floors_of(held)
    assert isinstance(floors, Floors)
    best = reachable(held, ledger, floors)
    assert isinstance(best, Reachable) and ledger.acceptance is not None
    expected = ledger.acceptance.tokens_per_round.estimate * 10.94 / (10.0 + 0.64 * 1.065 + 0.10)
    assert best.speedup.estimate == pytest.approx(expected, rel=0.01)
    assert best.speedup.low < best.speedup.estimate < best.speedup.high
    assert best.now is None or best.now < best.speedup.estimate


def test_random_weights_have_no_best_speedup() -> None:
    held = session(DENSE, probes=BUILT.probes)
    ledger, floors = ledger_of(held), floors_of(held)
    random = replace(held, header=replace(held.header, model=replace(held.header.model, random_weights=True)))
    assert isinstance(floors, Floors)
    found = reachable(random, ledger, floors)
    assert isinstance(found, NoFloor) and "random" in found.reason


numbers = st.integers(0, 10**12)
demands = st.builds(
    demand,
    st.sampled_from([MLP, EXPERTS]),
    st.sampled_from(["MLP", "MoE"]),
    detail=st.sampled_from([None, "router"]),
    dtype=st.sampled_from(["bfloat16", "float32"]),
    weight_bytes=numbers,
    expert_bytes=numbers,
    experts=st.integers(1, 512) | st.none(),
    active=st.integers(1, 64) | st.none(),
    kv_bytes=numbers,
    state_bytes=numbers,
    flops=numbers,
)
probes = st.builds(
    queued,
    st.sampled_from([MLP, EXPERTS]),
    st.sampled_from(["MLP", "MoE"]),
    st.sampled_from([1, 2]),
    st.floats(-1.0, 1e4),
    detail=st.sampled_from([None, "router"]),
)


@settings(deadline=None)
@given(st.lists(demands, min_size=1, max_size=4), st.booleans())
def test_the_floor_never_falls_with_more_positions(found: list[Demand], each_position: bool) -> None:
    floors = floors_of(session(*found), state=StateMoves(each_position=each_position))
    assert isinstance(floors, Floors)
    costs = [floors.verify(n) for n in (1, 2, 3, 5, 8, 64)]
    for fewer, more in pairwise(costs):
        assert more.ms >= fewer.ms * (1 - 1e-12)
    assert all(cost.low_ms <= cost.ms * (1 + 1e-12) and cost.ms <= cost.high_ms * (1 + 1e-12) for cost in costs)


@settings(deadline=None)
@given(st.lists(demands, min_size=1, max_size=4), st.lists(probes, max_size=8))
def test_what_is_avoidable_is_never_negative_and_hides_no_number(found: list[Demand], timings: list[Probe]) -> None:
    for row in table(session(*found, probes=tuple(timings))).rows:
        for each in (row, *row.details):
            raw, shown = each.raw_avoidable_ms, each.avoidable_ms
            assert (raw is None) == (shown is None) == (each.measured_verify_ms is None)
            if raw is not None and shown is not None:
                assert shown == max(0.0, raw)
