"""Which layer a module belongs to, and its place with the layer left open."""

from __future__ import annotations

import mlx.nn as nn

from specview.profilers.measure.layers import Layers


class Block(nn.Module):
    def __init__(self, shared=None):
        super().__init__()
        self.norms = [nn.LayerNorm(4), nn.LayerNorm(4), nn.LayerNorm(4)]
        self.mlp = shared or nn.Linear(4, 4)


class Body(nn.Module):
    def __init__(self, count, shared=None):
        super().__init__()
        self.blocks = [Block(shared) for _ in range(count)]
        self.gates = [nn.Linear(4, 1) for _ in range(count)]
        self.heads = [nn.Linear(4, 4), nn.Linear(4, 4)]


def test_without_a_list_of_layers_the_longest_list_is_taken():
    body = Body(5)
    layers = Layers(body)
    assert layers.module(3) is body.blocks[3] and not layers.holds(body.heads[0])
    assert layers.of("blocks.3.mlp", None) == 3
    assert layers.place("blocks.3.mlp", 3) == "blocks.*.mlp"


def test_a_list_as_long_as_the_layers_counts_with_them_unless_it_lies_in_one():
    layers = Layers(Body(5))
    assert layers.of("gates.4", None) == 4 and layers.place("gates.4", 4) == "gates.*"
    assert layers.of("heads.1", None) is None
    inside = Layers(Body(3))
    assert inside.of("blocks.1.norms.2", None) == 1
    assert inside.place("blocks.1.norms.2", 1) == "blocks.*.norms.2"


def test_a_module_that_layers_share_has_the_path_of_the_layer_that_calls_it():
    shared = nn.Linear(4, 4)
    layers = Layers(Body(3, shared))
    assert layers.path(shared, 2) == "blocks.2.mlp"


def test_holders_are_told_innermost_first_and_end_at_the_layer():
    body = Body(5)
    assert Layers(body).around("blocks.1.mlp") == []
    assert Layers(body).holds(body) and not Layers(body).holds(body.heads[0])
