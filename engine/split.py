"""A model's hidden states apart from its logits, by the model's own call, so that its scales and caps stay its own.

The inner part is the module that holds the layers and the embedding. To have hidden states, it is listened to while
the model runs; to have logits of given hidden states, it hands those on in place of its own, and the rest of the model
does what it always does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn

from .errors import SpecviewError

SAME = 1e-3  # of the largest logit: what two runs of the same operations may differ by
OTHERWISE = "choose --draft lookup or a draft model"


class SplitError(SpecviewError):
    """A model whose hidden states cannot be had apart from its logits."""


def inner_of(model: nn.Module) -> nn.Module:
    """The module that ends in hidden states: it holds the layers, and the embedding where that is on the way to them.

    Raises SplitError for a model that runs its layers itself.
    """
    way = _way_to_layers(model)
    if not way:
        raise _cannot(model, "no one part of it holds all its layers")
    return next((module for module in reversed(way) if _has_embedding(module)), way[-1])


def hidden_and_logits(model: nn.Module, tokens: mx.array, cache: Any) -> tuple[mx.array, mx.array]:
    """Hidden states [1, n, D] and logits [1, n, vocabulary] of one pass over tokens [1, n]; lazy. Raises SplitError."""
    heard: list[Any] = []
    with _as(inner_of(model), _Heard, heard):
        logits: mx.array = model(tokens, cache=cache)
    if len(heard) != 1 or not isinstance(heard[0], mx.array):
        raise _cannot(model, "its layers hand on more than hidden states")
    return heard[0], logits


def logits_of(model: nn.Module, hidden: mx.array) -> mx.array:
    """Logits [1, n, vocabulary] of hidden states [1, n, D]; lazy. Raises SplitError."""
    with _as(inner_of(model), _Given, hidden):
        logits: mx.array = model(mx.zeros(hidden.shape[:2], dtype=mx.int32))
    return logits


def check_split(model: nn.Module, make_cache: Callable[[nn.Module], Any]) -> None:
    """Raise SplitError unless the logits of a model's own hidden states are its logits, over two positions."""
    tokens = mx.array([[1, 0]])
    whole: mx.array = model(tokens, cache=make_cache(model))
    hidden, logits = hidden_and_logits(model, tokens, make_cache(model))
    if hidden.shape == whole.shape:
        raise _cannot(model, "what holds its layers makes the logits too")
    try:
        again = logits_of(model, hidden)
        alike = _alike(whole, logits) and _alike(whole, again)
    except Exception as error:  # the rest of a model file may raise anything
        raise _cannot(model, "the rest of it cannot run without its layers") from error
    if not alike:
        raise _cannot(model, "its logits depend on more than its last hidden states")


class _Heard:
    """Mixed into a module's class: notes what it gives."""

    on_split: list[Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = super().__call__(*args, **kwargs)  # type: ignore[misc]
        self.on_split.append(given)
        return given


class _Given:
    """Mixed into a module's class: gives what it was given."""

    on_split: mx.array

    def __call__(self, *args: Any, **kwargs: Any) -> mx.array:
        return self.on_split


@lru_cache(maxsize=64)
def _mixed(mixin: type, kind: type) -> type:
    return type(kind.__name__, (mixin, kind), {})


@contextmanager
def _as(module: nn.Module, mixin: type, value: object) -> Iterator[None]:
    """While it lasts, the module answers calls as `mixin` does; its weights and all else stay where they are."""
    kind = type(module)
    module.__class__ = cast("Any", _mixed(mixin, kind))
    object.__setattr__(module, "on_split", value)
    try:
        yield
    finally:
        module.__class__ = kind
        object.__delattr__(module, "on_split")


def _way_to_layers(model: nn.Module) -> list[nn.Module]:
    """The modules below the model that lead to the list of its layers, outermost first; empty where none do."""
    wanted = [id(layer) for layer in cast("Any", model).layers]
    ways: list[list[nn.Module]] = [[]]
    for way in ways:
        module = way[-1] if way else model
        for value in module.values():
            if isinstance(value, list) and [id(v) for v in value] == wanted:
                return way
            if isinstance(value, nn.Module):
                ways.append([*way, value])
    return []


def _has_embedding(module: nn.Module) -> bool:
    return any(isinstance(value, nn.Module) and hasattr(value, "as_linear") for value in module.values())


def _alike(one: mx.array, other: mx.array) -> bool:
    """Whether two arrays of logits are the same up to rounding; what a model rules out (−inf) is so in both."""
    if one.shape != other.shape:
        return False
    a, b = one.astype(mx.float32), other.astype(mx.float32)
    apart = mx.where(a == b, 0.0, mx.abs(a - b)).max()
    largest = mx.where(mx.isfinite(a), mx.abs(a), 0.0).max()
    return bool((apart <= SAME * largest).item())


def _cannot(model: nn.Module, why: str) -> SplitError:
    kind = getattr(model, "model_type", None) or type(model).__name__
    return SplitError(f"Hidden states of the architecture {kind} cannot be had, because {why}: {OTHERWISE}.")
