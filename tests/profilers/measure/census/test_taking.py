"""A census of the bundled model names the weights that its primitives work on."""

from __future__ import annotations

from specview.engine.decode import start
from specview.profilers.measure.blocks import split_into_blocks
from specview.profilers.measure.census.taking import take_census


def test_matrix_products_name_their_weights_in_every_layer(stored):
    generation = start(stored, list(range(1, 12)))
    rows = take_census(generation, split_into_blocks(generation.target), [5, 6]).rows
    by_weight = {row.weight: row for row in rows if row.primitive in ("GatherQMM", "QuantizedMatmul", "Matmul")}
    down = by_weight["model.layers.*.mlp.switch_mlp.down_proj.weight"]
    assert (down.primitive, down.count, len(down.weights)) == ("GatherQMM", 8, 8)
    assert down.weights[3] == "model.layers.3.mlp.switch_mlp.down_proj.weight"
    assert by_weight["model.embed_tokens.weight"].count == 1
