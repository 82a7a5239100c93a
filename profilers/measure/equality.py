"""Whether greedy output with drafts equals plain greedy; the first difference is judged by its logit margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import mlx.core as mx

from ...engine.decode import Generation
from ...engine.kv_quantisation import quantise_caches
from ...engine.trees import named_arrays

# A pass of another width adds in another order, so logits differ by some units of the dtype's last place.
TIE_ULPS = 4.0
SMALLEST_TIE = 1e-3


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """`first_difference` counts from the segment's start; `margin` is in logits between the two tokens there."""

    compared: int
    first_difference: int | None
    margin: float | None
    judged: Literal["equal", "tie", "bug"]


def compare_outputs(generation: Generation, plain: Sequence[int], drafted: Sequence[int]) -> OutputComparison:
    """Compare two continuations of a generation; reads tokens into its cache when they differ."""
    compared = min(len(plain), len(drafted))
    at = next((i for i in range(compared) if plain[i] != drafted[i]), None)
    if at is None:
        return OutputComparison(compared, None, None, "equal")
    logits = _logits_at(generation, plain[:at])
    best, largest = _number(logits.max()), _number(mx.abs(logits).max())
    of_plain, of_drafted = _number(logits[plain[at]]), _number(logits[drafted[at]])
    limit = max(SMALLEST_TIE, TIE_ULPS * _epsilon(generation) * largest)
    behind = best - min(of_plain, of_drafted)
    return OutputComparison(compared, at, abs(of_plain - of_drafted), "tie" if behind <= limit else "bug")


def _number(array: mx.array) -> float:
    return float(cast("float", array.item()))


def _logits_at(generation: Generation, tokens: Sequence[int]) -> mx.array:
    """Float32 logits [vocabulary] after the committed text and `tokens`, one position a pass as plain decoding does."""
    logits = mx.zeros((1,))
    for token in (generation.tokens[-1], *tokens):
        logits = generation.target.logits(mx.array([[token]]), generation.cache)
        mx.eval(logits)
        if generation.kv is not None:
            quantise_caches(generation.cache, generation.kv)
    return logits[0, -1].astype(mx.float32)


def _epsilon(generation: Generation) -> float:
    """The step of the activations' dtype at 1."""
    arrays = named_arrays(generation.target.model.parameters())
    floats = [a.dtype for _, a in arrays if mx.issubdtype(a.dtype, mx.floating)]
    dtype = max(set(floats), key=floats.count) if floats else mx.float32
    return float(mx.finfo(dtype).eps)
