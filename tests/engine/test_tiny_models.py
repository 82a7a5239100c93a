"""Every architecture of the installed mlx-lm has a tiny model that runs, or a reason why it has none."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache
from tiny_models import TINY_CONFIGS, UNSUPPORTED, model_types, tiny_target, vocabulary

WIDTHS = (5, 1, 3)
TOKENS = mx.array([[3, 1, 4, 1, 5, 9, 2, 6, 5]])
RULED_OUT = {"phi3small": 91}  # tokens that a model itself gives −inf
NOT_CAUSAL = {"phi3small"}  # its sparse layers add the boolean mask to the scores, so a position sees later ones


@pytest.mark.parametrize("model_type", model_types())
def test_a_tiny_model_gives_the_same_finite_logits_at_every_width(model_type):
    target = tiny_target(model_type)
    assert not target.model.training
    width = vocabulary(model_type)
    usable = width - RULED_OUT.get(model_type, 0)
    cache = make_prompt_cache(target.model)
    start, passes = 0, []
    for n in WIDTHS:
        logits = target.logits(TOKENS[:, start : start + n], cache)
        assert logits.shape == (1, n, width)
        assert logits.dtype == mx.float32
        finite = mx.isfinite(logits)
        assert (finite.sum(axis=-1) == usable).all().item()
        assert (mx.where(finite, logits, 0).max(axis=-1) > 1e-2).all().item(), "constant logits tell nothing"
        passes.append(logits)
        start += n
    if model_type not in NOT_CAUSAL:
        whole = target.logits(TOKENS, make_prompt_cache(target.model))
        assert mx.allclose(mx.concatenate(passes, axis=1), whole, atol=1e-4).item()


def test_equal_seeds_give_equal_weights_and_others_do_not():
    def logits(seed):
        return tiny_target("llama", seed).model(mx.array([[1, 2]]))

    assert mx.array_equal(logits(3), logits(3)).item()
    assert not mx.array_equal(logits(3), logits(4)).item()


def test_every_architecture_of_the_installed_mlx_lm_is_accounted_for():
    spec = importlib.util.find_spec("mlx_lm.models")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations)))
    architectures = {
        file.stem
        for file in folder.glob("*.py")
        if re.search(r"^class Model\b", text := file.read_text(encoding="utf-8"), re.MULTILINE) and "ModelArgs" in text
    }
    assert architectures - set(TINY_CONFIGS) - set(UNSUPPORTED) == set()
    assert not set(TINY_CONFIGS) & set(UNSUPPORTED)
