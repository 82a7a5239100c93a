"""Hidden states apart from logits: for every architecture the model's own logits come of them, or it is refused."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache
from tiny_models import model_types, tiny_target

from specview.engine.split import SplitError, check_split, inner_of
from specview.engine.verify_policies import one_pass

REFUSED = {
    "afm7": "no one part of it holds all its layers",
    "gemma3n": "what holds its layers makes the logits too",
    "gpt_neox": "what holds its layers makes the logits too",
    "lille-130m": "what holds its layers makes the logits too",
}
# what their own top-level call does between hidden states and logits, and what a plain output matrix would leave out
SCALED_OR_CAPPED = ("cohere", "cohere2", "gemma2", "gemma4", "granite", "llama4_text", "minicpm", "phi3small")
NAMED_OTHERWISE = ("gpt2", "mamba", "mamba2", "exaone", "internlm2", "openelm")
TEXT = mx.array([[5, 7, 2, 9]])


@pytest.mark.parametrize("model_type", [t for t in model_types() if t not in REFUSED])
def test_logits_of_hidden_states_are_the_models_own(model_type):
    target = tiny_target(model_type)
    check_split(target.model, make_prompt_cache)
    whole = target.logits(TEXT, make_prompt_cache(target.model))
    hidden, logits = target.with_hidden(TEXT, make_prompt_cache(target.model))
    assert hidden.shape[:2] == (1, 4)
    assert mx.array_equal(logits, whole)
    assert mx.array_equal(target.head(hidden), whole)


@pytest.mark.parametrize(("model_type", "why"), REFUSED.items())
def test_an_architecture_that_cannot_be_split_is_refused_in_one_sentence(model_type, why):
    target = tiny_target(model_type)
    with pytest.raises(SplitError) as refused:
        check_split(target.model, make_prompt_cache)
    assert why in str(refused.value)
    assert str(refused.value).count(". ") == 0 and str(refused.value).endswith("a draft model.")


@pytest.mark.parametrize("model_type", [*SCALED_OR_CAPPED, *NAMED_OTHERWISE])
def test_a_pass_that_keeps_hidden_states_has_the_logits_of_one_that_does_not(model_type):
    target = tiny_target(model_type)
    _, kept = one_pass(target, TEXT, make_prompt_cache(target.model), True)
    _, plain = one_pass(target, TEXT, make_prompt_cache(target.model), False)
    assert mx.array_equal(kept, plain)


def test_listening_leaves_the_model_as_it_was():
    target = tiny_target("gemma2")
    inner = inner_of(target.model)
    kind = type(inner)
    hidden, _ = target.with_hidden(TEXT, make_prompt_cache(target.model))
    target.head(hidden)
    assert type(inner_of(target.model)) is kind and inner_of(target.model) is inner
    assert not hasattr(inner, "on_split")


def test_a_model_whose_logits_take_more_than_hidden_states_is_refused():
    class Biased(nn.Module):
        def __init__(self, body: nn.Module) -> None:
            super().__init__()
            self.body = body

        @property
        def layers(self):
            return self.body.layers

        def __call__(self, tokens, cache=None):
            return self.body(tokens, cache=cache) + tokens[..., None]

    target = tiny_target("llama")
    with pytest.raises(SplitError, match="depend on more than its last hidden states"):
        check_split(Biased(target.model), make_prompt_cache)
