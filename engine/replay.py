"""The way back for state that cannot be trimmed: put back what was there before the pass, run its writers again.

During a pass a tape notes, for every module that writes the cache, what it took in and what its projections gave, so
that this second run over the kept positions reads no weight matrix again; the rest of the layer is never evaluated,
because only the state is asked for. Gated delta layers go back a shorter way still: see `recurrence`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList

from .cache_contents import CacheError, contents, put_contents
from .mixers import Notes, handed
from .recurrence import DeltaCall, noted_delta_calls, states_after


@dataclass(frozen=True, slots=True)
class Seen:
    """One call of a mixer in a taped pass of `width` positions, and what it left in the cache."""

    mixer: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    width: int
    outputs: tuple[list[mx.array], ...]
    calls: list[DeltaCall]
    conv_input: mx.array | None

    @property
    def lists(self) -> list[CacheList]:
        """The whole `CacheList`s it was handed: it wrote their other parts too."""
        return [a for a in (*self.args, *self.kwargs.values()) if isinstance(a, CacheList)]

    def again(self, kept: int) -> None:
        """Run the mixer over the first `kept` positions, on the caches as they are now. Lazy."""
        notes: Notes = self.mixer.notes
        for note, outputs in zip(notes.all, self.outputs, strict=True):
            note.given = iter([_prefix(y, self.width, kept) for y in outputs])
        try:
            names = _names(self.mixer, self.args)
            args = [_cut(a, name, self.width, kept) for name, a in zip(names, self.args, strict=True)]
            self.mixer(*args, **{name: _cut(a, name, self.width, kept) for name, a in self.kwargs.items()})
        finally:
            for note in notes.all:
                note.given = None


@dataclass(slots=True)
class TapedPass:
    """One pass on a tape: the cache before it, the mixers that wrote to it, and what they left."""

    before: Any
    seen: list[Seen] = field(default_factory=list)
    after: list[Any] | None = None

    @property
    def width(self) -> int:
        """Positions of the pass."""
        return self.seen[0].width if self.seen else 0


class ReplayTape:
    """The passes since `start`, of one cache."""

    def __init__(self, cache: Any) -> None:
        self.running = False
        self.passes: list[TapedPass] = []
        self._owner = id(cache)

    def runs_on(self, cache: Any) -> bool:
        """Whether this cache, and not a copy of it, is being taped."""
        return self.running and id(cache) == self._owner

    def start(self) -> None:
        """Tape the next passes."""
        self.running, self.passes = True, []

    def stop(self) -> None:
        """End the tape: the passes stand as they are."""
        self.running, self.passes = False, []

    def enter(self, cache: Any, mixer: Any) -> None:
        """A mixer is about to write; one that has written in this pass already begins the next."""
        if not self.passes or any(seen.mixer is mixer for seen in self.passes[-1].seen):
            self.passes.append(TapedPass(contents(cache)))

    def leave(self, cache: Any, seen: Seen) -> None:
        """A mixer has written."""
        self.passes[-1].seen.append(seen)
        self.passes[-1].after = list(cache.cache) if isinstance(cache, ArraysCache) else None

    def split(self, width: int, kept: int) -> tuple[TapedPass, int]:
        """The pass in which the first `kept` of `width` positions end, and how many of them lie in it."""
        if sum(taped.width for taped in self.passes) != width:
            raise CacheError(
                "A recurrent cache cannot be taken back, because a layer read another number of positions than the "
                "pass had: turn drafts off for this model."
            )
        for taped in self.passes:
            if kept < taped.width:
                return taped, kept
            kept -= taped.width
        raise AssertionError("nothing to take back")


class Replayed:
    """Mixed into a cache class: the cache can be taken back to any prefix of the passes it taped."""

    tape: ReplayTape

    def start(self) -> None:
        """Tape the next passes."""
        self.tape.start()

    def stop(self) -> None:
        """End the tape: the passes stand as they are."""
        self.tape.stop()


class TapedCache(Replayed, ArraysCache):
    """mlx-lm's recurrent cache, on tape."""


def on_replay_tape(cache: Any) -> None:
    """Swap the class of a cache for one with a tape. The object stays."""
    kind = type(cache)
    cache.__class__ = TapedCache if kind is ArraysCache else type(f"Taped{kind.__name__}", (Replayed, kind), {})
    cache.tape = ReplayTape(cache)


class TapedMixer:
    """Mixed into a module that writes recurrent state: notes its calls on the tapes that run."""

    notes: Notes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        caches = [c for c in handed(args, kwargs) if isinstance(c, Replayed) and c.tape.runs_on(c)]
        if not caches:
            return super().__call__(*args, **kwargs)  # type: ignore[misc]
        for cache in caches:
            cache.tape.enter(cache, self)
        kept_args, kept_kwargs = tuple(_as_now(a) for a in args), {name: _as_now(a) for name, a in kwargs.items()}
        taken: tuple[list[mx.array], ...] = tuple([] for _ in self.notes.all)
        for note, outputs in zip(self.notes.all, taken, strict=True):
            note.taken = outputs
        try:
            with noted_delta_calls(self.notes.home) as calls:
                result = super().__call__(*args, **kwargs)  # type: ignore[misc]
        finally:
            for note in self.notes.all:
                note.taken = None
        convolution: Any = self.notes.convolution
        conv_input = convolution.taken_input() if convolution is not None else None
        width = _width(self, args, kwargs)
        for cache in caches:
            cache.tape.leave(cache, Seen(self, kept_args, kept_kwargs, width, taken, calls, conv_input))
        return result


def back_by_replay(cache: Any, width: int, kept: int) -> None:
    """One cache back to the first `kept` of its `width` taped positions. Lazy."""
    taped, inside = cache.tape.split(width, kept)
    cache.tape.stop()
    put_contents(cache, taped.before)
    if inside == 0:
        return
    if len(taped.seen) == 1 and taped.after is not None:
        seen = taped.seen[0]
        states = states_after(inside, seen.calls, seen.conv_input, taped.after)
        if states is not None:
            cache.cache = states
            return
    run_again(taped.seen, inside)


def run_again(seen: Iterable[Seen], kept: int) -> None:
    """Run mixers again in their order, each once."""
    for one in {id(s): s for s in seen}.values():
        one.again(kept)


def _as_now(value: Any) -> Any:
    """An argument as it is now: containers that a pass passes along and fills are copied."""
    if type(value) is dict:
        return dict(value)
    return list(value) if type(value) is list else value


def _names(module: Any, args: Sequence[Any]) -> list[str]:
    """The names of positional arguments, as the module's own class spells them."""
    mro = type(module).__mro__
    kind = mro[mro.index(TapedMixer) + 1]
    names = list(inspect.signature(kind.__call__).parameters)[1:]
    return [names[i] if i < len(names) else "" for i in range(len(args))]


def _width(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Positions of a call: axis 1 of its first array that is no mask."""
    named = [*zip(_names(module, args), args, strict=True), *kwargs.items()]
    return next(a.shape[1] for name, a in named if isinstance(a, mx.array) and a.ndim > 1 and "mask" not in name)


def _prefix(array: mx.array, width: int, kept: int) -> mx.array | None:
    """The first `kept` positions of an array over `width` positions on axis 1; None of one that has none there."""
    return array[:, :kept] if array.ndim > 1 and array.shape[1] == width else None


def _cut(value: Any, name: str, width: int, kept: int) -> Any:
    """An argument of a pass over `width` positions as it would be in one over the first `kept`."""
    if isinstance(value, mx.array):
        if "mask" in name:
            return _cut_mask(value, width, kept)
        prefix = _prefix(value, width, kept)
        return value if prefix is None else prefix
    if type(value) is dict:
        return {key: _cut(v, str(key), width, kept) for key, v in value.items()}
    return [_cut(v, name, width, kept) for v in value] if type(value) is list else value


def _cut_mask(mask: mx.array, width: int, kept: int) -> mx.array:
    """A mask over positions [B, n] or over positions and keys [..., n, keys]; the last keys are the positions' own."""
    if mask.ndim == 2 and mask.shape[1] == width:
        return mask[:, :kept]
    if mask.ndim > 1 and mask.shape[-2] == width:
        return mask[..., :kept, : mask.shape[-1] - (width - kept)]
    return mask
