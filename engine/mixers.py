"""Finds the modules of a model that write recurrent state, and teaches them to note what a pass gave them.

Which module writes which cache is seen in one short pass that is built and never evaluated: it is the innermost module
that was handed the cache, or the `CacheList` it is part of, and was at work when something new appeared in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from .cache_contents import TAPE, CacheError, parts
from .recurrence import note_convolution

_PROJECTIONS = (nn.Linear, nn.QuantizedLinear)


def handed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The caches among the arguments of a call, a `CacheList` by its parts; lists of caches are left out."""
    return [
        cache
        for cache in parts([*args, *kwargs.values()])
        if not isinstance(cache, mx.array | nn.Module | list | tuple | dict)
    ]


@dataclass(slots=True)
class _Frame:
    """A call that was handed a cache: what it found, and whether it wrote itself between the calls that it made."""

    writers_before: int
    writes: bool = False


def find_mixers(model: nn.Module, caches: Sequence[Any], stateful: Sequence[Any]) -> list[nn.Module]:
    """The modules that write the `stateful` ones of a model's empty `caches`, which are used up.

    Raises CacheError when one is written by no module that is handed it, e.g. by the model between its layers.
    """
    seen = {id(cache): _values(cache) for cache in stateful}
    writers: dict[int, list[nn.Module]] = {id(cache): [] for cache in stateful}
    frames: dict[int, list[_Frame]] = {id(cache): [] for cache in stateful}
    strangers: list[Any] = []

    def look(cache: Any) -> None:
        """Whoever is at work wrote what is new in the cache."""
        now = _values(cache)
        if not _same(now, seen[id(cache)]):
            seen[id(cache)] = now
            if frames[id(cache)]:
                frames[id(cache)][-1].writes = True
            else:
                strangers.append(cache)

    def watch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Callable[[], Any]) -> Any:
        mine = [cache for cache in handed(args, kwargs) if id(cache) in seen]
        for cache in mine:
            look(cache)
            frames[id(cache)].append(_Frame(len(writers[id(cache)])))
        result = proceed()
        for cache in mine:
            look(cache)
            frame, found = frames[id(cache)].pop(), writers[id(cache)]
            if frame.writes:
                found[frame.writers_before :] = [module]
        return result

    with _watched(model, watch):
        model(mx.array([[0, 0]]), cache=caches)
    for cache in stateful:
        look(cache)
    if strangers:
        raise CacheError(
            "it writes recurrent state outside the layers that are handed it, so specview cannot run them again"
        )
    return list({id(module): module for found in writers.values() for module in found}.values())


def _values(cache: Any) -> list[Any]:
    """The objects that a cache holds now."""
    held: list[Any] = []
    for name, value in vars(cache).items():
        if name != TAPE:
            held.extend(value if isinstance(value, list) else [value])
    return held


def _same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


@contextmanager
def _watched(
    model: nn.Module, watch: Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Callable[[], Any]], Any]
) -> Iterator[None]:
    """While it lasts, every call of a module of the model goes through `watch`."""

    def lent(kind: type) -> type:
        def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return watch(self, args, kwargs, lambda: kind.__call__(self, *args, **kwargs))

        return type(kind.__name__, (kind,), {"__call__": call})

    kinds = [(module, type(module)) for module in {id(m): m for m in model.modules()}.values()]
    lent_by_kind = {kind: lent(kind) for _, kind in kinds if any("__call__" in vars(base) for base in kind.__mro__)}
    try:
        for module, kind in kinds:
            module.__class__ = lent_by_kind.get(kind, kind)
        yield
    finally:
        for module, kind in kinds:
            module.__class__ = kind


@dataclass(slots=True)
class Note:
    """What one projection gave in the noted pass, call by call, and in a replay what it gives instead."""

    taken: list[mx.array] | None = None
    given: Iterator[mx.array | None] | None = None


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of a mixer's projections; a bare tuple `nn.Module` would take for parameters."""

    all: tuple[Note, ...]
    home: str
    convolution: nn.Module | None


class NotedProjection:
    """Mixed into a linear layer: notes its output, and in a replay gives the noted one back."""

    note: Note

    def __call__(self, x: mx.array) -> mx.array:
        note = self.note
        if note.given is not None:
            noted = next(note.given, None)
            if noted is not None and noted.shape[:-1] == x.shape[:-1]:
                return noted
        y: mx.array = super().__call__(x)  # type: ignore[misc]
        if note.taken is not None:
            note.taken.append(y)
        return y


def teach(mixer: nn.Module, taped: type) -> None:
    """Swap the class of a mixer for one with `taped` mixed in, and those of its projections for noting ones. Once."""
    if isinstance(mixer, taped):
        return
    projections = [m for m in mixer.modules() if isinstance(m, _PROJECTIONS)]
    for projection in projections:
        if not isinstance(projection, NotedProjection):
            own = type(projection)
            projection.__class__ = type(own.__name__, (NotedProjection, own), {})
            projection.note = Note()
    kind = type(mixer)
    mixer.__class__ = type(kind.__name__, (taped, kind), {})
    mixer.notes = Notes(tuple(p.note for p in projections), kind.__module__, note_convolution(mixer))
