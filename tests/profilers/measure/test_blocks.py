"""Blocks: every op and weight of a pass in its place, and a watched pass that is the plain pass."""

from __future__ import annotations

from collections import Counter

import mlx.core as mx
import pytest

from specview.engine.cache import new_cache, prefill
from specview.engine.models import Target
from specview.engine.rewind import rewind, start_tape
from specview.engine.trees import named_arrays
from specview.profilers.measure.blocks import run_blocks, split_into_blocks
from specview.profilers.measure.interception import intercepted
from specview.profilers.measure.timings import CATEGORIES


def tiny_llama(tied: bool) -> Target:
    """A llama of two layers with random weights; it needs no tokenizer here."""
    from mlx_lm.models.llama import Model, ModelArgs

    args = ModelArgs(
        model_type="llama",
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=48,
        num_attention_heads=4,
        rms_norm_eps=1e-5,
        vocab_size=64,
        num_key_value_heads=2,
        tie_word_embeddings=tied,
    )
    mx.random.seed(0)
    model = Model(args)
    mx.eval(model.parameters())
    return Target("tiny", "tiny", None, model, None, {"model_type": "llama"})


@pytest.fixture(params=["bundled", "stored", "llama", "untied llama"])
def target(request):
    if "llama" in request.param:
        return tiny_llama(tied=request.param == "llama")
    return request.getfixturevalue(request.param)


def classes_of(model):
    return [(name, type(module)) for name, module in model.named_modules()]


def test_watched_blocks_give_the_logits_of_the_plain_pass_bit_for_bit(target):
    blocks = split_into_blocks(target)
    caches = new_cache(target)
    prefill(target, [3, 1, 4, 1, 5, 9, 2, 6], caches)
    for width in (1, 2, 4):
        tokens = mx.array([[5, 3, 5, 8]])[:, :width]
        start_tape(caches)
        plain = target.logits(tokens, caches)
        mx.eval(plain)
        rewind(caches, width, 0)
        start_tape(caches)
        watched, choices = run_blocks(target, blocks, tokens, caches)
        mx.eval(watched)
        rewind(caches, width, 0)
        assert mx.array_equal(plain, watched)
        assert choices.tolist() == mx.argmax(plain[0], axis=-1).tolist()


def test_every_block_runs_once_a_pass_in_the_order_of_the_split(target):
    blocks = split_into_blocks(target)
    ended = []

    def watch(block, call):
        output = call.run()
        ended.append(block)
        return output

    run_blocks(target, blocks, mx.array([[1, 2]]), new_cache(target), watch)
    assert ended == list(blocks)
    assert len({b.name for b in blocks}) == len(blocks)


def test_every_weight_is_in_one_block_and_a_tied_embedding_also_in_the_head(target):
    blocks = split_into_blocks(target)
    counts = Counter(name for block in blocks for name in block.weights)
    assert set(counts) == {name for name, _ in named_arrays(target.model.parameters())}
    shared = {name for name, n in counts.items() if n > 1}
    tied = target.config.get("tie_word_embeddings", "lm_head" not in target.model)
    assert all(name.startswith("model.embed_tokens.") for name in shared)
    assert bool(shared) == tied
    assert max(counts.values()) == (2 if tied else 1)


def test_categories_follow_the_caches_and_modules_of_each_layer(bundled):
    blocks = split_into_blocks(bundled)
    for layer, cache in enumerate(new_cache(bundled)):
        mixer = "full attention" if hasattr(cache, "keys") else "linear attention"
        detail = "global" if mixer == "full attention" else "gated delta"
        norm = ("norms and residuals", None)
        router, routed, shared = (("MoE", d) for d in ("router", "routed experts", "shared expert"))
        found = [(b.category, b.detail) for b in blocks if b.layer == layer]
        assert found == [norm, (mixer, detail), norm, router, routed, shared, shared, router, norm]
    outside = [(b.part, b.category) for b in blocks if b.layer is None]
    assert outside == [
        ("call", "embedding"),
        ("call", "norms and residuals"),
        ("rest", "misc"),
        ("call", "output head"),
        ("rest", "misc"),
        ("sampling", "sampling"),
    ]
    assert {b.category for b in blocks} <= set(CATEGORIES)


def test_a_dense_layer_has_an_mlp_and_an_untied_head_is_found():
    blocks = split_into_blocks(tiny_llama(tied=False))
    assert [b.name for b in blocks if b.category == "MLP"] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    assert {b.place for b in blocks if b.category == "MLP"} == {"model.layers.*.mlp"}
    assert [b.name for b in blocks if b.category == "output head"] == ["lm_head"]


def test_nothing_stays_instrumented_even_after_an_error(target):
    before = classes_of(target.model)
    blocks = split_into_blocks(target)
    assert classes_of(target.model) == before

    def fail(block, call):
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        run_blocks(target, blocks, mx.array([[1]]), new_cache(target), fail)
    # new_cache teaches recurrent mixers to note; compare with the classes it left
    assert all("specview.profilers" not in f"{kind.__module__}" for _, kind in classes_of(target.model))
    again = classes_of(target.model)
    run_blocks(target, blocks, mx.array([[1]]), new_cache(target))
    assert classes_of(target.model) == again


def test_calls_of_other_modules_of_the_same_class_are_not_intercepted():
    target = tiny_llama(tied=True)
    first, second = target.model.layers
    seen = []
    with intercepted([first.mlp], lambda call: seen.append(call.module) or call.run()):
        first.mlp(mx.ones((1, 1, 32)))
        second.mlp(mx.ones((1, 1, 32)))
    first.mlp(mx.ones((1, 1, 32)))
    assert [m is first.mlp for m in seen] == [True]
