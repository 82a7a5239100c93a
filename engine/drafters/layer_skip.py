"""Layer skip: the target's own first layers and its output head as the draft, sharing the target's weights.

The loop of a model file is left as it is: the layers that are skipped are
replaced by ones that hand their input on, so masks, norms and heads of every
architecture stay what mlx-lm wrote. Source: self-speculative decoding by early
exit (LayerSkip, Elhoushi et al., 2024), here without training for it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from ..errors import SpecviewError
from ..models import Target
from .model import DraftModel

SHARE = 3  # without a wish, one layer in so many drafts


class LayerSkipError(SpecviewError):
    """First layers that cannot draft."""


class LayerSkip(DraftModel):
    """Drafts with the first `layers` layers of the target and its head, on caches of its own.

    It is a draft model that costs no weights: the last committed token is not
    in its caches, and after full acceptance neither is the last draft.
    """

    kind = "skip"

    def __init__(self, target: Target, layers: int | None = None, longest: int | None = None) -> None:
        """`layers` of None is a third of them; raises LayerSkipError for a number the target does not have."""
        super().__init__(first_layers(target, layers), longest)

    def weight_bytes(self) -> int:
        """None: every weight is the target's."""
        return 0


def first_layers(target: Target, layers: int | None = None) -> Target:
    """The target with only its first `layers` layers (None: a third, at least one); weights and tokenizer are shared.

    Its `make_cache` makes only the caches that these layers use. Nothing is
    evaluated. Raises LayerSkipError when there are not so many layers, or
    when the architecture hands more than hidden states from layer to layer.
    """
    whole: Sequence[nn.Module] = list(target.model.layers)
    count = max(1, len(whole) // SHARE) if layers is None else layers
    if not 1 <= count <= len(whole):
        raise LayerSkipError(
            f"{target.name} has {len(whole)} layers, so its first {count} cannot draft: choose from 1 to {len(whole)}."
        )
    model = target.model
    if count < len(whole):
        try:
            model = _cut(model, whole, count)
        except LayerSkipError:
            raise
        except Exception as error:  # a model file may raise anything when its layers are not what it expects
            raise _not_like_this(model) from error
    return replace(target, name=f"{target.name}, first {count} of {len(whole)} layers", model=model)


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a layer was given first, named or not: the hidden states."""
    return args[0] if args else next(iter(kwargs.values()))


class _Skipped:
    """Mixed into a layer's class: hands its input on, holds no weight, and answers all else as the layer does."""

    whole: _Whole
    extras: int  # what a layer returns besides hidden states, for layers that are skipped as well

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        x = _first(args, kwargs)
        return (x, *[None] * self.extras) if self.extras else x

    def __getattr__(self, name: str) -> Any:
        if name == "whole" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole.layer, name)


class _Witness:
    """Mixed into a layer's class: notes whether the layer gives back what it took in, changed, and what else."""

    seen: _Seen

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        x, y = _first(args, kwargs), super().__call__(*args, **kwargs)  # type: ignore[misc]
        given = y if isinstance(y, tuple) else (y,)
        if isinstance(x, mx.array) and isinstance(given[0], mx.array) and x.shape == given[0].shape:
            self.seen.extras = len(given) - 1
        return y


@dataclass(slots=True)
class _Seen:
    """What a witness saw; None while its layer was not run, or mapped no hidden states to hidden states."""

    extras: int | None = None


class _Unfilled:
    """Mixed into a cache's class: counts who asks for the position it never learns."""

    reads = 0

    @property
    def offset(self) -> int:
        self.reads += 1
        return 0

    def make_mask(self, *args: Any, **kwargs: Any) -> Any:
        """A mask that only skipped layers look at."""
        reads = self.reads
        mask = super().make_mask(*args, **kwargs)  # type: ignore[misc]
        self.reads = reads
        return mask


@dataclass(frozen=True, slots=True)
class _Whole:
    """A module that `nn.Module` does not take for a child."""

    layer: nn.Module


@dataclass(frozen=True, slots=True)
class _Places:
    """Which of the whole model's caches the first layers use, and empty ones for the places of the others."""

    used: tuple[int, ...]
    empty: tuple[Any, ...]

    def full(self, caches: Sequence[Any]) -> list[Any]:
        """One cache for every place the model file looks at."""
        full = list(self.empty)
        for place, cache in zip(self.used, caches, strict=True):
            full[place] = cache
        return full


class _FirstLayers:
    """Mixed into a model's class: takes and makes the caches of its first layers only."""

    count: int
    places: _Places
    origin: _Whole

    def __call__(self, inputs: mx.array, cache: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        full = None if cache is None else self.places.full(cache)
        return super().__call__(inputs, cache=full, **kwargs)  # type: ignore[misc]

    def make_cache(self) -> list[Any]:
        """An empty cache at every place the first layers use."""
        caches = _empty_caches(self.origin.layer)
        return [caches[place] for place in self.places.used]

    @property
    def layers(self) -> list[Any]:
        """The layers that are run."""
        return list(self.origin.layer.layers)[: self.count]


def _empty_caches(model: nn.Module) -> list[Any]:
    from mlx_lm.models.cache import make_prompt_cache

    caches: list[Any] = make_prompt_cache(model)
    return caches


def _mixed(mixin: type, module: nn.Module, **attributes: Any) -> Any:
    """A shallow copy of a module whose class has `mixin` before its own."""
    own: Any = copy.copy(module)
    kind = type(module)
    own.__class__ = type(kind.__name__, (mixin, kind), {})
    for name, value in attributes.items():
        object.__setattr__(own, name, value)
    return own


def _skipped(layer: nn.Module, extras: int) -> Any:
    skipped = _mixed(_Skipped, layer, whole=_Whole(layer), extras=extras)
    skipped.clear()
    return skipped


def _cut(model: nn.Module, whole: Sequence[nn.Module], count: int) -> Any:
    """The model without its later layers; passes over two positions show what the rest needs, none is evaluated."""
    seen = _Seen()
    witness = _mixed(_Witness, whole[count], seen=seen)
    _with_layers(model, whole, [*whole[:count], witness, *whole[count + 1 :]])(_two(), cache=_empty_caches(model))
    if seen.extras is None:
        raise _not_like_this(model)
    extras = seen.extras
    trial = _with_layers(model, whole, [*whole[:count], *(_skipped(layer, extras) for layer in whole[count:])])
    caches = _empty_caches(model)
    trial(_two(), cache=caches)
    used = tuple(place for place, cache in enumerate(caches) if not cache.empty())
    places = _Places(used, tuple(_empty_caches(model)))
    _check_positions(model, trial, places)
    return _mixed(_FirstLayers, trial, count=count, places=places, origin=_Whole(model))


def _two() -> mx.array:
    return mx.array([[0, 0]])


def _check_positions(model: nn.Module, trial: Any, places: _Places) -> None:
    """Raise LayerSkipError when the model takes its position from the cache of a layer that is skipped."""
    caches = _empty_caches(model)
    watched = [cache for place, cache in enumerate(caches) if place not in places.used and hasattr(cache, "offset")]
    for cache in watched:
        cache.__class__ = type(type(cache).__name__, (_Unfilled, type(cache)), {})
    trial(_two(), cache=caches)
    if any(cache.reads for cache in watched):
        raise LayerSkipError(
            f"A {_type_of(model)} model reads its position from an attention layer that would be skipped: choose "
            "--draft skip with more layers, or another draft."
        )


def _type_of(model: nn.Module) -> str:
    return str(getattr(model, "model_type", type(model).__name__))


def _not_like_this(model: nn.Module) -> LayerSkipError:
    return LayerSkipError(
        f"The first layers of a {_type_of(model)} model cannot be run alone, because its layers share more than "
        "hidden states: choose --draft quantised:4, lookup or a draft model."
    )


def _with_layers(model: nn.Module, whole: Sequence[nn.Module], layers: list[Any]) -> Any:
    """A copy of the model that runs `layers`: modules on the way to the list are copied, all else is shared."""
    path, name = _home_of_layers(model, whole)
    root = owner = copy.copy(model)
    for part in path:
        owner[part] = copy.copy(owner[part])
        owner = owner[part]
    owner[name] = layers
    return root


def _home_of_layers(model: nn.Module, whole: Sequence[nn.Module]) -> tuple[tuple[str, ...], str]:
    """The names that lead to the module that lists the layers, and the name of that list."""
    wanted = [id(layer) for layer in whole]
    for path, module in model.named_modules():
        for name, value in module.items():
            if isinstance(value, list) and [id(v) for v in value] == wanted:
                return tuple(path.split(".")) if path else (), name
    raise _not_like_this(model)
