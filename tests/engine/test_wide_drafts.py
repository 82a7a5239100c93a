"""Drafts longer than what a cache keeps: a window or a chunk narrower than k changes no token."""

from __future__ import annotations

import pytest
from mlx_lm.models.cache import ChunkedKVCache, RotatingKVCache
from tiny_models import tiny_target

from specview.engine.cache import new_cache
from specview.engine.cache_contents import parts
from specview.engine.decode import decode, speculate, start
from specview.engine.drafters.fixed import FixedAcceptance
from specview.engine.probe import FreeProbe

PROMPT = [5, 9, 2, 7, 11, 3, 8, 1, 4, 6, 10, 12]


@pytest.mark.parametrize(
    ("model_type", "kind", "size"),
    [("gemma3_text", RotatingKVCache, "max_size"), ("llama4", ChunkedKVCache, "chunk_size")],
)
@pytest.mark.parametrize("chance", [0.0, 0.8, 1.0])
def test_a_draft_longer_than_the_window_changes_no_token(model_type, kind, size, chance):
    target = tiny_target(model_type)
    narrow = [getattr(c, size) for c in parts(new_cache(target)) if isinstance(c, kind)]
    k = 2 * max(narrow)
    assert narrow
    plain = start(target, PROMPT)
    list(decode(plain, 40, lambda: 0))
    drafter = FixedAcceptance(target, chance, 1, 200)
    drafting = start(target, PROMPT, drafter)
    rounds = list(speculate(drafting, drafter, k, 40, FreeProbe(lambda: 0)))
    assert max(len(r.drafted) for r in rounds) == k
    assert drafting.tokens[: len(plain.tokens)] == plain.tokens
