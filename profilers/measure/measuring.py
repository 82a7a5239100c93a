"""A generation that is only measured: a warm cache of any architecture, without a drafter."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from ...engine.cache import arrays_of, prefill
from ...engine.decode import Generation
from ...engine.models import Target


def measuring_generation(target: Target, tokens: Sequence[int]) -> Generation:
    """Read `tokens` but the last into new caches of whatever classes the model wants.

    The last position is read alone, as in decoding: a window that a wide pass filled is cut to its size by the first
    narrow one, and a buffer without room grows, which is no part of a steady step. Probes and passes of this package
    take such a generation; drafting with it is not possible.
    """
    caches = make_prompt_cache(target.model)
    read = list(tokens[:-1])
    prefill(target, read[:-1], caches)
    if read:
        mx.eval(target.logits(mx.array([read[-1:]]), caches), arrays_of(caches))
    return Generation(target, list(tokens), caches)
