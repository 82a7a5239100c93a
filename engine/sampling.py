"""Drawing tokens at a temperature: which distribution, and from which random numbers.

Every random number is derived from (seed, position, stream), so a text does
not depend on how it was cut into steps and rounds, nor on what ran before.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from enum import StrEnum

import mlx.core as mx

from .errors import SpecviewError

# 23 bits: in float32 the product of a sum and the largest of them is still below that sum
_GRAINS = 1 << 23


# beyond these, float32 tells no two tokens apart or overflows
COLDEST, HOTTEST = 0.01, 100.0


class SamplingError(SpecviewError):
    """A temperature or a filter that makes no sense."""


class Stream(StrEnum):
    """What a random number is for; numbers of different streams are independent."""

    TARGET = "target"
    DRAFT = "draft"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn: filters over the model's own probabilities, then the temperature.

    `top_p` 1, `top_k` 0 and `min_p` 0 filter nothing. Temperature 0 is greedy
    and is said by having no Sampling at all (see `chosen_sampling`). Give each
    text a seed of its own: texts of one seed share their random numbers.
    Raises SamplingError.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not COLDEST <= self.temperature <= HOTTEST:
            raise SamplingError(
                f"Nothing can be drawn at temperature {self.temperature:g}: choose {COLDEST:g} to {HOTTEST:g}, or 0 "
                "for greedy text."
            )
        if not 0 < self.top_p <= 1:
            raise SamplingError(f"top-p {self.top_p:g} makes no sense: choose above 0 and up to 1 (1 keeps all).")
        if self.top_k < 0:
            raise SamplingError(f"top-k {self.top_k} makes no sense: choose 1 or more, or 0 to keep all.")
        if not 0 <= self.min_p <= 1:
            raise SamplingError(f"min-p {self.min_p:g} makes no sense: choose from 0 (keeps all) to 1.")


def chosen_sampling(
    temperature: float, top_p: float = 1.0, top_k: int = 0, min_p: float = 0.0, seed: int = 0
) -> Sampling | None:
    """The sampling of these settings; None, which is greedy, at temperature 0. Raises SamplingError."""
    if temperature == 0:
        return None
    return Sampling(temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p, seed=seed)


def distribution(logits: mx.array, sampling: Sampling) -> mx.array:
    """The probabilities that tokens are drawn with: logits [..., vocabulary] to float32 of the same shape. Lazy.

    Order of the filters: top-p, min-p, top-k, each on log-probabilities at
    temperature 1, and the temperature last, as mlx-lm's `make_sampler` has it.
    Tokens that tie with the last one kept stay too, in top-k as well.
    """
    x = logits.astype(mx.float32)
    if sampling.top_p < 1 or sampling.min_p > 0:
        x = x - mx.logsumexp(x, axis=-1, keepdims=True)
    if sampling.top_p < 1:
        x = mx.where(x < _top_p_threshold(x, sampling.top_p), -mx.inf, x)
    if sampling.min_p > 0:
        x = mx.where(x < x.max(axis=-1, keepdims=True) + math.log(sampling.min_p), -mx.inf, x)
    if 0 < sampling.top_k < x.shape[-1]:
        x = mx.where(x < mx.topk(x, sampling.top_k, axis=-1).min(axis=-1, keepdims=True), -mx.inf, x)
    return mx.softmax(x * (1 / sampling.temperature), axis=-1, precise=True)


def _top_p_threshold(x: mx.array, top_p: float) -> mx.array:
    """The log-probability of the last token needed to reach the share top_p, counted from the likeliest down."""
    ordered = mx.sort(x, axis=-1)
    shares = mx.exp(ordered)
    above = mx.cumsum(shares, axis=-1, reverse=True, inclusive=False)
    needed = above < top_p * shares.sum(axis=-1, keepdims=True)
    return mx.where(needed, ordered, mx.inf).min(axis=-1, keepdims=True)


def uniforms(seed: int, first: int, count: int, stream: Stream) -> mx.array:
    """Pairs of random numbers in [0, 1) for `count` positions from `first` on: float32 [count, 2].

    A position is the index of the token in its text. The numbers are the same
    on every device and in whatever order they are asked for.
    """
    return mx.array([_pair(seed, first + i, stream) for i in range(count)], dtype=mx.float32).reshape(count, 2)


def _pair(seed: int, position: int, stream: Stream) -> tuple[float, float]:
    digest = hashlib.blake2b(f"{seed} {position} {stream}".encode(), digest_size=8).digest()
    bits = int.from_bytes(digest, "big")
    return (bits % _GRAINS) / _GRAINS, (bits >> 32) % _GRAINS / _GRAINS


def draw(weights: mx.array, pairs: mx.array) -> mx.array:
    """One token for each row of weights [..., vocabulary], from random pairs [..., 2]: ids [...]. Lazy.

    Weights need not sum to 1; a token of weight 0 is never drawn, and a row of
    zeros gives 0. The first number of a pair chooses a block of tokens and the
    second a token in it, so that sums stay short: along one sum over 150,000
    tokens rounding would swallow the unlikely ones.
    """
    size = weights.shape[-1]
    width = math.isqrt(size - 1) + 1
    blocks = -(-size // width)
    padding = [(0, 0)] * (weights.ndim - 1) + [(0, blocks * width - size)]
    rows = mx.pad(weights, padding).reshape(*weights.shape[:-1], blocks, width)
    block = _picked(rows.sum(axis=-1), pairs[..., :1])
    row = mx.take_along_axis(rows, block[..., None, None], axis=-2).squeeze(-2)
    return block * width + _picked(row, pairs[..., 1:])


def _picked(weights: mx.array, u: mx.array) -> mx.array:
    """The first place whose running sum passes the share u [..., 1] of the whole; never one of weight 0."""
    sums = mx.where(weights > 0, mx.cumsum(weights, axis=-1), 0)  # a parallel sum may waver where nothing is added
    return mx.argmax(sums > u * sums.max(axis=-1, keepdims=True), axis=-1)


def drawn(logits: mx.array, sampling: Sampling, first: int, stream: Stream) -> tuple[mx.array, mx.array]:
    """A token drawn at each of n positions, the first of which is `first`, and what it was drawn from.

    Logits [1, n, vocabulary] to ids [n] and probabilities [n, vocabulary] (float32); both lazy.
    """
    probabilities = distribution(logits[0], sampling)
    return draw(probabilities, uniforms(sampling.seed, first, logits.shape[1], stream)), probabilities
