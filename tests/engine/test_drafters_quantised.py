"""Quantised self: a copy in fewer bits drafts, the target stays what it was."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from drafted_text import PROMPT, TINY, plain_text, rounds_with, text_of
from tiny_models import tiny_target

from specview.engine.cache import check_rewindable, new_cache
from specview.engine.drafters.quantised import QuantisedError, QuantisedSelf, copied, quantised_copy
from specview.engine.trees import named_arrays, nbytes

COUNT = 14


@pytest.mark.parametrize("model_type", TINY)
def test_text_drafted_by_a_quantised_copy_is_the_plain_one(model_type):
    target = tiny_target(model_type)
    plain = plain_text(target, PROMPT, COUNT)
    drafter = QuantisedSelf(target, 3)
    for k in range(1, 9):
        assert text_of(rounds_with(target, drafter, PROMPT, k, COUNT), COUNT) == plain


def test_the_bundled_model_drafts_in_four_bits_without_changing_its_text(bundled):
    prompt = bundled.tokenizer.encode("def add(self, value):\n    self.items.append(value)\n")
    plain = plain_text(bundled, prompt, 8)
    drafter = QuantisedSelf(bundled, 4)
    accepted = 0
    for k in range(1, 9):
        rounds = rounds_with(bundled, drafter, prompt, k, 8)
        assert text_of(rounds, 8) == plain
        accepted += sum(r.accepted for r in rounds)
    assert accepted > 0


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_matrices_are_in_the_bits_that_were_asked_for(bits):
    model = quantised_copy(tiny_target("llama"), bits).model
    assert {m.bits for m in model.modules() if isinstance(m, nn.QuantizedLinear | nn.QuantizedEmbedding)} == {bits}


def test_groups_are_the_widest_that_divide_the_rows():
    model = quantised_copy(tiny_target("llama"), 4, on_cpu=True).model
    layer = model.model.layers[0].mlp
    assert layer.gate_proj.group_size == 64  # rows of 64
    assert layer.down_proj.group_size == 32  # rows of 96


def test_routers_keep_the_bits_of_their_model_file():
    model = quantised_copy(tiny_target("qwen3_next"), 2).model
    layer = next(layer.mlp for layer in model.model.layers if "switch_mlp" in layer.mlp)
    assert (layer.gate.bits, layer.switch_mlp.up_proj.bits) == (8, 2)


def test_scales_are_float32_on_the_cpu_and_kept_elsewhere():
    target = tiny_target("llama")
    half = replace(target, model=copied(target.model))
    half.model.set_dtype(mx.bfloat16)
    for on_cpu, dtype in ((True, mx.float32), (False, mx.bfloat16)):
        model = quantised_copy(half, 4, on_cpu=on_cpu).model
        assert model.model.layers[0].mlp.up_proj.scales.dtype == dtype
        assert model.model.norm.weight.dtype == dtype


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_the_target_keeps_its_weights_its_classes_and_its_logits(model_type):
    target = tiny_target(model_type)
    tokens = mx.array([PROMPT])
    before = target.logits(tokens, new_cache(target))
    mx.eval(before)
    arrays = {id(a) for _, a in named_arrays(target.model.parameters())}
    classes = [type(m) for m in target.model.modules()]
    QuantisedSelf(target, 3)
    assert {id(a) for _, a in named_arrays(target.model.parameters())} == arrays
    assert [type(m) for m in target.model.modules()] == classes
    assert bool((before == target.logits(tokens, new_cache(target))).all().item())


def test_a_copy_takes_no_notes_for_the_target():
    target = tiny_target("qwen3_next")
    check_rewindable(target)
    taught = [m for m in target.model.modules() if type(m).__mro__[1].__module__.startswith("specview")]
    assert taught
    model = copied(target.model)
    assert all(not c.__module__.startswith("specview") for m in model.modules() for c in type(m).__mro__)
    tokens = mx.array([PROMPT])
    copy_of_target = replace(target, model=model)
    np.testing.assert_array_equal(
        np.array(copy_of_target.logits(tokens, new_cache(copy_of_target))),
        np.array(target.logits(tokens, new_cache(target))),
    )


def test_a_module_used_twice_is_copied_once():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.both = {"same": [self.a]}

    new = copied(Twice())
    assert new.a is new.both["same"][0]


def test_own_bytes_are_those_that_are_not_the_targets(bundled):
    drafter = QuantisedSelf(bundled, 2)
    assert 0 < drafter.weight_bytes() < nbytes(bundled.model.parameters()) / 8
    assert drafter.model.name == "bundled, 2-bit copy"


def test_a_quantised_target_is_quantised_anew_in_fewer_bits(stored):
    drafter = QuantisedSelf(stored, 4)
    kinds = {m.bits for m in drafter.model.model.modules() if "scales" in m}
    assert 4 in kinds
    prompt = [5, 6, 7, 8]
    assert text_of(rounds_with(stored, drafter, prompt, 3, 8), 8) == plain_text(stored, prompt, 8)


@pytest.mark.parametrize(("bits", "advice"), [(4, "quantised:2 or quantised:3, or another draft"), (3, "quantised:2")])
def test_a_copy_in_no_fewer_bits_is_refused(bits, advice):
    target = quantised_copy(tiny_target("llama"), 4)
    if bits == 3:
        target = quantised_copy(target, 3)
    with pytest.raises(QuantisedError, match=rf"is stored in {bits} bits, so a copy in 4 would .* choose {advice}"):
        quantised_copy(target, 4)


@pytest.mark.parametrize("bits", [0, 1, 5, 16])
def test_other_bits_name_the_choices(bits):
    with pytest.raises(QuantisedError, match=f"A copy in {bits} bits is no draft: choose quantised:2, quantised:3 or"):
        quantised_copy(tiny_target("llama"), bits)


def test_layers_that_a_model_file_quantises_its_own_way_say_so():
    once = quantised_copy(tiny_target("afm7"), 4)
    with pytest.raises(QuantisedError, match=r"cannot be quantised anew .*: choose another draft"):
        quantised_copy(once, 2)


class Narrow(nn.Module):
    """A model whose only matrix has rows that no group divides."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(6, 6)

    def __call__(self, tokens, cache=None):
        return self.proj(mx.ones((1, 1, 6)))


def test_a_model_without_a_matrix_to_quantise_says_so():
    target = replace(tiny_target("llama"), name="narrow", model=Narrow())
    with pytest.raises(QuantisedError, match="No matrix of narrow has rows that groups of 32 divide"):
        quantised_copy(target, 4)
