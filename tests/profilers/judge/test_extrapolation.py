"""From few layers to all: each place by its kind of layer, the rest once, and the mark on all of it."""

from __future__ import annotations

import pytest

from specview.profilers.judge.extrapolation import Extrapolation, PlaceCost, extrapolation

HYBRID = Extrapolation(
    layers_built=(("full attention", 1), ("linear attention", 3)),
    layers_in_full=(("full attention", 10), ("linear attention", 30)),
)
UNEVEN = Extrapolation(
    layers_built=(("full attention", 1), ("linear attention", 4)),
    layers_in_full=(("full attention", 10), ("linear attention", 30)),
)
DENSE_FIRST = Extrapolation(
    layers_built=(("full attention, MLP", 1), ("full attention, MoE", 3)),
    layers_in_full=(("full attention, MLP", 3), ("full attention, MoE", 58)),
)
SLIDING = Extrapolation(
    layers_built=(("full attention", 1), ("sliding attention", 3)),
    layers_in_full=(("full attention", 8), ("sliding attention", 40)),
)


def cost(place, category, ms=2.0, detail=None):
    return PlaceCost(place=place, category=category, ms=ms, detail=detail)


@pytest.mark.parametrize("category", ["embedding", "output head", "sampling", "misc", "norms and residuals"])
def test_what_is_outside_the_layers_counts_once_and_is_not_marked(category):
    scaled = HYBRID.scaled(cost("model.norm", category))
    assert (scaled.ms, scaled.factor, scaled.extrapolated) == (2.0, 1.0, False)


@pytest.mark.parametrize(
    ("category", "factor"), [("linear attention", 7.5), ("full attention", 10), ("MoE", 8), ("norms and residuals", 8)]
)
def test_a_place_grows_with_its_kind_of_layer(category, factor):
    scaled = UNEVEN.scaled(cost("model.layers.*.part", category))
    assert scaled.factor == factor
    assert scaled.ms == 2.0 * factor and scaled.built_ms == 2.0
    assert scaled.extrapolated and scaled.alike


def test_dense_layers_that_come_first_are_not_taken_for_experts():
    assert DENSE_FIRST.factor("MLP", "model.layers.*.mlp") == (3.0, True)
    assert DENSE_FIRST.factor("MoE", "model.layers.*.mlp") == (pytest.approx(58 / 3), True)
    assert DENSE_FIRST.factor("norms and residuals", "model.layers.*.input_layernorm")[0] == 61 / 4


def test_sliding_and_full_attention_are_told_apart_by_their_detail():
    place = "model.layers.*.self_attn"
    assert SLIDING.factor("full attention", place, "sliding window") == (pytest.approx(40 / 3), True)
    assert SLIDING.factor("full attention", place, "global") == (8.0, True)
    factor, alike = SLIDING.factor("full attention", place)
    assert (factor, alike) == (12.0, False), "one place for both kinds, which were not built in proportion"


def test_a_detail_that_no_kind_has_takes_all_layers():
    assert DENSE_FIRST.factor("full attention", "model.layers.*.self_attn", "sliding window")[0] == 61 / 4


def test_a_whole_pass_grows_by_its_places_and_the_gap_between_once_and_always():
    costs = [
        cost("embed", "embedding", 1.0),
        cost("model.layers.*.linear_attn", "linear attention", 3.0),
        cost("model.layers.*.self_attn", "full attention", 1.0),
        cost("lm_head", "output head", 2.0),
    ]
    whole = HYBRID.whole_pass(7.5, costs)
    assert (whole.low_ms, whole.high_ms) == (43.5, 48.0)
    assert whole.built_ms == 7.5 and whole.extrapolated
    below = HYBRID.whole_pass(6.5, costs)
    assert (below.low_ms, below.high_ms) == (38.0, 42.5), "a gap below zero orders the ends too"


def test_nothing_is_extrapolated_where_all_layers_were_built():
    built = (("full attention", 2), ("linear attention", 6))
    assert extrapolation(built, None) is None
    assert extrapolation(built, built[::-1]) is None


@pytest.mark.parametrize(
    "in_full",
    [
        (("full attention", 20),),
        (("full attention", 20), ("sliding attention", 3)),
        (("full attention", 1), ("linear attention", 60)),
        (),
    ],
)
def test_kinds_that_do_not_match_are_not_extrapolated(in_full):
    assert extrapolation((("full attention", 2), ("linear attention", 6)), in_full) is None


def test_fewer_layers_than_in_full_are_extrapolated():
    assert extrapolation(HYBRID.layers_built, HYBRID.layers_in_full) == HYBRID
    assert extrapolation((("a", 0),), (("a", 2),)) is None
