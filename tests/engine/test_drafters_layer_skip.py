"""Layer skip: the first layers are the target's, draft on caches of their own, and never change the text."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from drafted_text import PROMPT, TINY, mean_tokens, plain_text, rounds_with, text_of
from mlx_lm.utils import _get_classes
from tiny_models import tiny_target

from specview.engine.cache import new_cache
from specview.engine.decode import speculate, start
from specview.engine.drafters.layer_skip import LayerSkip, LayerSkipError, first_layers
from specview.engine.models import describe, layers_by_kind
from specview.engine.probe import FreeProbe
from specview.engine.rewind import TapedCache
from specview.engine.sampling import Sampling
from specview.engine.trees import named_arrays

COUNT = 14


@pytest.mark.parametrize("model_type", TINY)
@pytest.mark.parametrize("layers", [1, 2])
def test_text_drafted_by_the_first_layers_is_the_plain_one(model_type, layers):
    target = tiny_target(model_type)
    plain = plain_text(target, PROMPT, COUNT)
    for k in range(1, 9):
        rounds = rounds_with(target, LayerSkip(target, layers), PROMPT, k, COUNT)
        assert text_of(rounds, COUNT) == plain


def test_the_bundled_model_drafts_for_itself_without_changing_its_text(bundled):
    prompt = bundled.tokenizer.encode("def add(self, value):\n    self.items.append(value)\n")
    plain = plain_text(bundled, prompt, 8)
    drafter = LayerSkip(bundled, 6)
    for k in range(1, 9):
        assert text_of(rounds_with(bundled, drafter, prompt, k, 8), 8) == plain


@pytest.mark.parametrize("model_type", TINY)
def test_all_layers_are_always_right(model_type):
    target = tiny_target(model_type)
    for k in (1, 3, 8):
        rounds = rounds_with(target, LayerSkip(target, len(target.model.layers)), PROMPT, k, COUNT)
        assert {r.accepted for r in rounds} == {k}
        assert mean_tokens(rounds) == k + 1
        assert [r.catch_up_width for r in rounds] == [1] + [2] * (len(rounds) - 1)


@pytest.mark.parametrize("model_type", ["llama", "mamba2"])
def test_first_layers_are_those_of_a_shallower_model(model_type):
    target = tiny_target(model_type)
    model_class, arguments_class = _get_classes(target.config)
    fields = {"num_hidden_layers": 2}
    shallow = model_class(arguments_class.from_dict({**target.config, **fields}))
    weights = dict(named_arrays(target.model.parameters()))
    shallow.load_weights([(name, weights[name]) for name, _ in named_arrays(shallow.parameters())])
    tokens = mx.array([PROMPT])
    first = first_layers(target, 2)
    np.testing.assert_allclose(np.array(first.logits(tokens, new_cache(first))), np.array(shallow(tokens)), atol=1e-4)


# gemma4 hands keys and values on beside hidden states, gptj names the argument, nemotron_h has layers without a cache
@pytest.mark.parametrize("model_type", ["gemma3n", "gemma4_text", "gptj", "nemotron_h", "qwen3_5", "rwkv7", "gpt2"])
def test_masks_and_positions_of_first_layers_are_those_of_their_own_caches(model_type):
    from mlx_lm.models.cache import make_prompt_cache

    target = tiny_target(model_type)
    for layers in range(1, len(target.model.layers)):
        model, tokens = first_layers(target, layers).model, mx.array([PROMPT])
        at_once = model(tokens, cache=make_prompt_cache(model))
        caches = make_prompt_cache(model)
        one_by_one = [model(tokens[:, i : i + 1], cache=caches) for i in range(len(PROMPT))]
        np.testing.assert_allclose(np.array(mx.concatenate(one_by_one, axis=1)), np.array(at_once), atol=1e-3)


def test_caches_are_made_for_the_first_layers_only():
    target = tiny_target("qwen3_next")
    first = first_layers(target, 2)
    assert len(list(first.model.layers)) == 2
    assert [isinstance(cache, TapedCache) for cache in new_cache(first)] == [True, True]
    assert len(new_cache(target)) > 2
    assert sum(count for _, count in layers_by_kind(first)) == 2


def test_weights_are_the_targets(bundled):
    drafter = LayerSkip(bundled, 2)
    theirs = {id(a) for _, a in named_arrays(bundled.model.parameters())}
    assert {id(a) for _, a in named_arrays(drafter.model.model.parameters())} <= theirs
    assert drafter.weight_bytes() == 0
    assert describe(drafter.model).layers == (("linear attention", 2),)
    assert drafter.model.name == "bundled, first 2 of 8 layers"


def test_the_target_stays_as_it_was():
    target = tiny_target("qwen3_next")
    tokens = mx.array([PROMPT])
    before = target.logits(tokens, new_cache(target))
    rounds_with(target, LayerSkip(target, 1), PROMPT, 3, 6)
    assert bool((before == target.logits(tokens, new_cache(target))).all().item())


@pytest.mark.parametrize("model_type", TINY)
def test_a_probes_step_leaves_drafter_and_target_as_they_were(model_type):
    target = tiny_target(model_type)
    plain = plain_text(target, PROMPT, COUNT)
    drafter = LayerSkip(target, 2)
    generation = start(target, list(PROMPT), drafter)
    mark = drafter.mark()
    drafts = drafter.draft(generation.tokens, 4).tokens.tolist()
    drafter.restore(mark)
    for width in (1, 2, 3):
        mx.eval(drafter.step(PROMPT[:width]))
        drafter.take_back(width)
    rounds = list(speculate(generation, drafter, 4, COUNT, FreeProbe(lambda: 0)))
    assert list(rounds[0].drafted) == drafts
    assert text_of(rounds, COUNT) == plain


def test_a_third_of_the_layers_drafts_unless_told_otherwise():
    assert len(first_layers(tiny_target("gemma3n")).model.layers) == 2
    assert len(first_layers(tiny_target("mamba2")).model.layers) == 1


@pytest.mark.parametrize("layers", [0, 99])
def test_a_number_of_layers_that_is_not_there_names_the_range(layers):
    with pytest.raises(LayerSkipError, match=rf"llama has 4 layers, so its first {layers} cannot draft: choose from 1"):
        first_layers(tiny_target("llama"), layers)


@pytest.mark.parametrize("model_type", ["iquestloopcoder", "afm7"])
def test_layers_that_share_more_than_hidden_states_say_so(model_type):
    with pytest.raises(LayerSkipError, match="its layers share more than hidden states: choose --draft quantised:4"):
        first_layers(tiny_target(model_type), 1)


def test_a_position_read_from_a_skipped_layer_says_so():
    target = tiny_target("bailing_moe_linear")
    with pytest.raises(LayerSkipError, match="reads its position from an attention layer that would be skipped"):
        first_layers(target, 1)
    assert first_layers(target, 4).model is target.model


def test_a_drafter_that_draws_tells_what_it_drew_from():
    target = tiny_target("llama")
    drafter = LayerSkip(target, 2)
    drafter.sampling = Sampling(temperature=1.0, seed=4)
    drafter.begin(PROMPT, None)
    assert drafter.draft(PROMPT, 3).probabilities.shape == (3, 96)
