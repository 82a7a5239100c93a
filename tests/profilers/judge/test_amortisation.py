"""The amortisation table: costs as multiples of one position, shares, bytes a second and cliffs."""

from __future__ import annotations

import pytest

from specview.profilers.judge.amortisation import amortisation_of
from specview.profilers.record.records import Probe, Replay


def replay(width, us, weight="model.layers.*.mlp.up_proj", count=30, bytes_read=4_000_000, half=0.02, **fields):
    ns = us * 1e3
    return Replay(
        **{
            "t_ns": 1, "primitive": "QuantizedMatmul", "weight": weight, "category": "MLP", "shape": "576→1536",
            "dtype": "4-bit, groups of 64, float32", "width": width, "count": count, "bytes_read": bytes_read,
            "slope_ns": ns, "slope_low_ns": ns * (1 - half), "slope_high_ns": ns * (1 + half), "cached": False,
        } | fields
    )  # fmt: skip


def test_a_session_without_replays_has_no_table(build):
    assert amortisation_of(build.session()) is None


def test_a_row_tells_multiples_bytes_a_second_and_cost_a_position(build):
    build.made += [replay(n, us) for n, us in ((1, 100.0), (2, 190.0), (4, 370.0))]
    table = amortisation_of(build.session())
    [row] = table.rows
    assert table.widths == (1, 2, 4) and (row.shape, row.count) == ("576→1536", 30)
    two = row.cell(2)
    assert two.ratio.estimate == pytest.approx(1.9) and two.ratio.low < 1.9 < two.ratio.high
    assert row.cell(1).ratio.low == row.cell(1).ratio.high == 1.0
    assert two.gigabytes_per_second == pytest.approx(4_000_000 / 190_000)
    assert two.per_position_ms == pytest.approx(0.095)
    assert row.cell(3) is None


def test_shares_are_of_all_replays_at_a_width_and_of_the_synchronous_pass(build):
    build.made += [replay(1, 100.0), replay(2, 200.0), replay(2, 600.0, weight="lm_head", count=5)]
    build.made.append(
        Probe(
            t_ns=1, ruler="whole", part="verify", width=2, context=9, samples_ns=(10_000_000, 14_000_000),
            pipelined=False,
        )
    )  # fmt: skip
    table = amortisation_of(build.session())
    assert table.replayed_ms == pytest.approx({1: 3.0, 2: 9.0})
    up = next(row for row in table.rows if row.weight.endswith("up_proj"))
    assert up.cell(2).share == pytest.approx(6 / 9) and up.cell(2).share_of_pass == pytest.approx(0.5)
    assert up.cell(1).share == 1.0 and up.cell(1).share_of_pass is None
    head = next(row for row in table.rows if row.weight == "lm_head")
    assert head.cells[0].ratio is None
    assert table.rows[0].weight.endswith("up_proj")


def test_rows_of_other_shapes_or_dtypes_of_one_place_stay_apart(build):
    build.made += [replay(1, 100.0), replay(1, 60.0, dtype="2-bit, groups of 64, float32"), replay(1, 9.0, shape="9→9")]
    assert len(amortisation_of(build.session()).rows) == 3


def test_cliffs_and_bumps_of_a_matrix_are_named(build):
    times = {1: 100.0, 2: 102.0, 3: 130.0, 4: 104.0, 6: 108.0, 8: 112.0, 9: 212.0, 16: 226.0}
    build.made += [replay(n, us, half=0.005) for n, us in times.items()]
    [row] = amortisation_of(build.session()).rows
    assert [(c.below, c.above) for c in row.cliffs] == [(8, 9)]
    assert [(b.width, b.pad_to) for b in row.bumps] == [(3, 4)]


def test_several_replays_of_one_matrix_and_width_are_pooled_and_a_slope_below_zero_has_no_multiple(build):
    build.made += [replay(1, 90.0), replay(1, 110.0), replay(2, 3.0, slope_low_ns=-2000.0), replay(4, -1.0)]
    [row] = amortisation_of(build.session()).rows
    one = row.cell(1)
    assert one.ms.estimate == pytest.approx(0.1) and one.ms.n == 2
    assert one.ms.high - one.ms.estimate == pytest.approx((1.8**2 + 2.2**2) ** 0.5 / 2 * 1e-3)
    assert row.cell(2).ratio is None
    assert row.cell(4).gigabytes_per_second is None
