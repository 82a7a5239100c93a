"""Choosing a drafter by what a person wrote: every wish, and one sentence for each that cannot be."""

from __future__ import annotations

import pytest
from tiny_models import tiny_target

from specview.engine.drafters.choose import DrafterError, choose_drafter
from specview.engine.drafters.fixed import FixedError
from specview.engine.drafters.layer_skip import LayerSkipError
from specview.engine.drafters.quantised import QuantisedError


@pytest.mark.parametrize(
    ("wish", "kind"),
    [
        ("none", "none"),
        ("lookup", "lookup"),
        ("skip", "skip"),
        ("skip:2", "skip"),
        ("quantised", "quantised"),
        ("quantised:3", "quantised"),
        ("fixed:0.7", "fixed"),
        ("fixed:1", "fixed"),
    ],
)
@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_a_drafter_is_chosen_by_its_wish(wish, kind, model_type):
    assert choose_drafter(wish, tiny_target(model_type)).kind == kind


def test_numbers_of_a_wish_are_taken():
    target = tiny_target("llama")
    assert len(list(choose_drafter("skip:3", target).model.model.layers)) == 3
    assert choose_drafter("quantised:2", target).model.model.model.layers[0].mlp.up_proj.bits == 2
    assert choose_drafter("quantised", target).model.model.model.layers[0].mlp.up_proj.bits == 4
    assert choose_drafter("fixed:0.25", target).p == 0.25


def test_a_seed_reaches_the_synthetic_drafter():
    target = tiny_target("llama")

    def drafted(seed):
        drafter = choose_drafter("fixed:0.5", target, longest=40, seed=seed)
        drafter.begin([5, 6, 7], None)
        return drafter.draft((), 30).tokens.tolist()

    assert drafted(1) == drafted(1) != drafted(2)


def test_the_bundled_models_head_and_a_draft_model_are_chosen_as_before(stored):
    assert choose_drafter("mtp", stored).kind == "mtp"
    assert choose_drafter("bundled", stored).kind == "model"


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ("skip:", "'skip:' cannot be read: give a whole number of layers, as in skip:8"),
        ("skip:-1", "'skip:-1' cannot be read: give a whole number of layers"),
        ("skip:2.5", "'skip:2.5' cannot be read: give a whole number"),
        (f"skip:{'9' * 5000}", "'skip:9{40}' cannot be read: give a whole number"),
        (f"quantised:{'4' * 5000}", "'quantised:4{40}' cannot be read: give quantised:2"),
        ("skip:²", "cannot be read: give a whole number"),
        ("quantised:four", "'quantised:four' cannot be read: give quantised:2, quantised:3 or quantised:4"),
        ("fixed", "'fixed' cannot be read: give a chance from 0 to 1, as in fixed:0.7"),
        ("fixed:", "'fixed:' cannot be read: give a chance"),
        ("fixed:often", "'fixed:often' cannot be read: give a chance from 0 to 1"),
    ],
)
def test_a_malformed_wish_says_how_it_is_written(wish, sentence):
    with pytest.raises(DrafterError, match=sentence):
        choose_drafter(wish, tiny_target("llama"))


@pytest.mark.parametrize(
    ("wish", "error", "sentence"),
    [
        ("skip:0", LayerSkipError, "choose from 1 to 4"),
        ("skip:5", LayerSkipError, "choose from 1 to 4"),
        ("quantised:8", QuantisedError, "choose quantised:2, quantised:3 or quantised:4"),
        ("fixed:1.5", FixedError, "choose p from 0 to 1"),
        ("fixed:nan", FixedError, "choose p from 0 to 1"),
    ],
)
def test_a_number_out_of_range_names_the_range(wish, error, sentence):
    with pytest.raises(error, match=sentence):
        choose_drafter(wish, tiny_target("llama"))


@pytest.mark.parametrize("wish", ["magic", "skipping:3", "self:4", "quantized:4", ""])
def test_an_unknown_drafter_names_every_choice(wish):
    with pytest.raises(DrafterError) as caught:
        choose_drafter(wish, tiny_target("llama"))
    for choice in ("mtp", "lookup", "none", "the folder of a draft model", "skip:LAYERS", "quantised:BITS", "fixed:P"):
        assert choice in str(caught.value)
