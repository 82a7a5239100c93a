"""Block probes to ms by category, the gap, and verify ÷ decode on one ruler."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_builder import BLOCKS, CASES

from specview.profilers.judge.blocks_table import blocks_table
from specview.profilers.record.records import Probe
from specview.profilers.record.session import session_of

SESSION = session_of(CASES["cannot-win"])


def test_a_session_without_blocks_has_no_table() -> None:
    assert blocks_table(session_of(CASES["interrupted"])) is None


def test_articles_ledger_comes_back() -> None:
    table = blocks_table(SESSION)
    assert table is not None and table.width == 2 and table.gap is not None
    assert table.queued_ms == pytest.approx(sum(ms for _, ms in BLOCKS))
    assert table.fenced_ms == pytest.approx(1.16 * 8.128, rel=1e-3)
    assert table.gap.of_sum == pytest.approx(0.346, abs=0.004)
    assert [row.ratio for row in table.rows] == pytest.approx([2.0] * 5, rel=1e-3)
    assert {row.ratio_ruler for row in table.rows} == {"queued"}
    assert table.fence_ms == pytest.approx(0.4)


def test_layers_add_up_and_repeats_of_one_block_are_averaged() -> None:
    base = Probe(t_ns=0, ruler="fenced", part="decode", width=1, context=9, category="MLP")
    probes = tuple(
        replace(base, block=f"layers.{layer}.mlp", layer=layer, samples_ns=(ns, ns + 2_000_000))
        for layer, ns in ((0, 1_000_000), (1, 3_000_000), (0, 1_000_000))
    )
    table = blocks_table(replace(SESSION, probes=probes))
    assert table is not None and table.fenced_ms == pytest.approx(2.0 + 4.0)
    assert table.queued_ms is None and table.gap is None and table.wall_ms is None


def test_hot_copies_are_left_out_where_cycled_ones_exist() -> None:
    base = Probe(t_ns=0, ruler="queued", part="decode", width=1, context=9, category="MLP", block="layers.*.mlp")
    cycled, hot = replace(base, slope_ns=2e6), replace(base, slope_ns=1e6, layer=3)
    table = blocks_table(replace(SESSION, probes=(hot, cycled)))
    assert table is not None and table.queued_ms == pytest.approx(2.0)
    table = blocks_table(replace(SESSION, probes=(hot,)))
    assert table is not None and table.queued_ms == pytest.approx(1.0)


def test_a_slope_is_of_one_block_and_counts_for_all_layers_of_its_place() -> None:
    base = Probe(t_ns=0, ruler="queued", part="decode", width=1, context=9, category="MLP", block="layers.*.mlp")
    probes = (
        replace(base, slope_ns=2e6, layers=8, arrangement="cycled"),
        replace(base, slope_ns=1e6, arrangement="hot"),
    )
    table = blocks_table(replace(SESSION, probes=probes))
    assert table is not None and table.queued_ms == pytest.approx(16.0)


def test_there_is_no_queued_sum_and_no_gap_before_every_place_was_timed() -> None:
    queued = [p for p in SESSION.probes if p.ruler == "queued"]
    some = tuple(p for p in SESSION.probes if p is not queued[0])
    table = blocks_table(replace(SESSION, probes=some))
    assert table is not None and table.queued_ms is None and table.gap is None
    assert (table.queued_places, table.places) == (4, 5)
    assert {row.ratio_ruler for row in table.rows} == {"fenced"}


def test_a_negative_slope_gives_no_ratio() -> None:
    base = Probe(t_ns=0, ruler="queued", part="decode", width=1, context=9, category="misc", block="x", slope_ns=-5.0)
    table = blocks_table(replace(SESSION, probes=(base, replace(base, part="verify", width=2, slope_ns=9.0))))
    assert table is not None and table.rows[0].ratio is None


def test_unknown_categories_come_last_and_an_unknown_unit_is_no_fence() -> None:
    odd = Probe(t_ns=0, ruler="fenced", part="decode", width=1, context=9, category="a new one", samples_ns=(5,))
    calibrations = tuple(replace(c, unit="fortnights") for c in SESSION.calibrations)
    table = blocks_table(replace(SESSION, probes=(odd, *SESSION.probes), calibrations=calibrations))
    assert table is not None and table.rows[-1].category == "a new one" and table.fence_ms is None


def test_ratios_and_gap_carry_intervals() -> None:
    table = blocks_table(SESSION)
    assert table is not None and table.gap is not None and table.gap.interval is not None
    assert table.gap.interval.low < table.gap.ms < table.gap.interval.high
    for row in table.rows:
        assert row.ratio_interval is not None and row.ratio_interval.holds(row.ratio or 0.0)


def test_places_of_one_category_add_up_and_their_kinds_have_ratios_of_their_own() -> None:
    base = Probe(t_ns=0, ruler="queued", part="decode", width=1, context=9, category="MoE", layers=2)
    probes = []
    for detail, once, wide in (("router", 1e6, 1e6), ("routed experts", 3e6, 6e6)):
        decode = replace(base, block=f"layers.*.{detail}", detail=detail, slope_ns=once, arrangement="cycled")
        probes += [decode, replace(decode, part="verify", width=2, slope_ns=wide)]
    table = blocks_table(replace(SESSION, probes=tuple(probes)))
    assert table is not None and table.queued_ms == pytest.approx(8.0)
    assert [(row.category, row.ratio) for row in table.rows] == [("MoE", pytest.approx(14 / 8))]
    assert {row.detail: row.ratio for row in table.details} == pytest.approx({"router": 1.0, "routed experts": 2.0})
