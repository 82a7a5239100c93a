"""Rows of a census add up."""

from __future__ import annotations

from dataclasses import replace

from specview.profilers.measure.census.rows import CensusRow, CensusTaken, Coverage, merged, without_weights
from specview.profilers.record.census_records import census_records
from specview.profilers.record.records import from_object, to_line

ROW = CensusRow(
    place="model.layers.*.mlp",
    category="MLP",
    detail=None,
    layers=2,
    primitive="Matmul",
    count=1,
    inputs=("float32[1,4]", "float32[4,4]"),
    outputs=("float32[1,4]",),
    bytes_read=80,
    bytes_written=16,
    flops=32,
    method="exported",
    weight="model.layers.*.mlp.up_proj.weight",
    weights=("model.layers.0.mlp.up_proj.weight",),
)


def test_rows_of_two_layers_become_one():
    (row,) = merged([ROW, replace(ROW, weights=("model.layers.1.mlp.up_proj.weight",))])
    assert (row.count, row.bytes_read, row.bytes_written, row.flops, row.layers) == (2, 160, 32, 64, 2)
    assert row.weights == ("model.layers.0.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weight")


def test_rows_of_other_shapes_or_weights_stay_apart():
    others = [replace(ROW, inputs=("float32[2,4]", "float32[4,4]")), replace(ROW, weight="another")]
    assert len(merged([ROW, *others])) == 3
    assert len(without_weights([ROW, *others])) == 2


def test_views_are_primitives_but_no_dispatches():
    rows = (ROW, replace(ROW, primitive="Transpose", count=3))
    taken = CensusTaken(width=1, context=4, rows=rows, coverage=Coverage(primitives=1.25, bytes=1.0, flops=1.0))
    assert (taken.primitives, taken.dispatches) == (4, 1)


def test_records_of_a_census_are_written_and_read():
    import json

    taken = CensusTaken(width=1, context=4, rows=(ROW,), coverage=Coverage(primitives=1.25, bytes=None, flops=None))
    (record,) = census_records(taken)
    assert from_object(json.loads(to_line(record))) == record
    assert (record.coverage, record.context, record.method, record.count) == (1.0, 4, "exported", 1)
