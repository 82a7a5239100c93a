"""The census of every architecture covers its pass, and leaves no trace."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache
from tiny_models import UNSUPPORTED, model_types, tiny_target

from specview.engine.decode import Generation
from specview.profilers.measure.blocks import split_into_blocks
from specview.profilers.measure.census.taking import take_census
from specview.profilers.measure.census.throw_away import arrays_within

# It reads its routes in mid-pass, so only names of what comes after are seen there.
BY_NAMES = {"dbrx"}
NO_CPU = ("No Metal back-end",)


def trace_of(target, caches):
    """All that a census could disturb: classes and items of modules, arrays of caches, functions of MLX."""
    modules = [(type(m), {k: id(v) for k, v in m.items()}, dict(vars(m))) for m in target.model.modules()]
    held = [(id(a), a.tolist()) for a in arrays_within(caches)]
    settings = [[v for v in vars(c).values() if isinstance(v, int)] for c in caches]
    return modules, held, settings, mx.contiguous, mx.to_fp8


@pytest.mark.parametrize("model_type", sorted(set(model_types()) - set(UNSUPPORTED)))
def test_blocks_cover_the_pass(model_type):
    target = tiny_target(model_type)
    caches = make_prompt_cache(target.model)
    try:
        mx.eval(target.model(mx.array([[1, 2, 3, 4, 5]]), cache=caches), arrays_within(caches))
    except RuntimeError as error:
        if any(text in str(error) for text in NO_CPU):
            pytest.skip(f"{model_type} runs on Metal only")
        raise
    generation = Generation(target, [1, 2, 3, 4, 5, 6], caches)
    blocks = split_into_blocks(target)
    before = trace_of(target, caches)
    for width in (1, 2):
        taken = take_census(generation, blocks, [7, 8][:width])
        assert taken.width == width and taken.context == 5
        if model_type in BY_NAMES:
            assert any(row.method == "names" for row in taken.rows)
            continue
        assert all(row.method != "names" for row in taken.rows)
        assert 0.95 <= taken.coverage.primitives <= 1.05
        assert 0.95 <= taken.coverage.bytes <= 1.05
        assert 0.95 <= taken.coverage.flops <= 1.05
        assert 0 < taken.dispatches < taken.primitives
    assert trace_of(target, caches) == before
