"""Takes caches back to a prefix of the positions they just saw, recurrent state included.

Keys and values are trimmed. Recurrent state (gated delta, Mamba, short
convolutions: everything mlx-lm keeps in an `ArraysCache`) cannot be trimmed:
it is put back to what it was before the pass and the mixer runs again over the
accepted positions only. During the pass a tape notes what the mixer took in
and what its projections gave, so that this second run reads no weight matrix
again; the rest of the layer is never evaluated, because only the state is asked for.
Gated delta layers go back a shorter way still: see `recurrence`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache

from .recurrence import DeltaCall, note_convolution, noted_delta_calls, states_after

_PROJECTIONS = (nn.Linear, nn.QuantizedLinear)


@dataclass(slots=True)
class _Note:
    """What one projection gave in the noted pass: [1, n, D], or nothing."""

    output: mx.array | None = None
    recording: bool = False
    replaying: bool = False


@dataclass(frozen=True, slots=True)
class _Notes:
    """The notes of a mixer's projections; a bare tuple `nn.Module` would take for parameters."""

    all: tuple[_Note, ...]
    home: str
    convolution: nn.Module | None


class _NotedProjection:
    """Mixed into a linear layer: notes its output, and in a replay gives the noted one back."""

    note: _Note

    def __call__(self, x: mx.array) -> mx.array:
        note = self.note
        if note.replaying and note.output is not None:
            return note.output[:, : x.shape[1]]
        y: mx.array = super().__call__(x)  # type: ignore[misc]
        if note.recording:
            note.output = y
        return y


class _TapedMixer:
    """Mixed into a recurrent mixer: notes its input on the cache while the cache's tape runs."""

    notes: _Notes

    def __call__(self, x: mx.array, *args: Any, **kwargs: Any) -> mx.array:
        cache = kwargs.get("cache")
        if cache is None:
            cache = next((a for a in args if isinstance(a, TapedCache)), None)
        if not isinstance(cache, TapedCache) or not cache.running:
            y: mx.array = super().__call__(x, *args, **kwargs)  # type: ignore[misc]
            return y
        cache.mixers += 1
        cache.mixer, cache.seen = self, (x, args, kwargs)
        for note in self.notes.all:
            note.recording = True
        with noted_delta_calls(self.notes.home) as calls:
            y = super().__call__(x, *args, **kwargs)  # type: ignore[misc]
        for note in self.notes.all:
            note.recording = False
        cache.calls, cache.after_pass = calls, list(cache.cache)
        return y


class TapedCache(ArraysCache):
    """A recurrent cache that can be taken back to any prefix of the last pass it taped."""

    running = False
    mixers = 0  # how many wrote on the tape in the last pass: one, or the way back is not known
    mixer: Any = None
    seen: Any = None
    before: list[Any]
    calls: list[DeltaCall]
    after_pass: list[Any]

    def start(self) -> None:
        """Tape the next pass."""
        self.running = True
        self.mixers = 0
        self.before = list(self.cache)

    def rewind_to(self, kept: int) -> None:
        """State after the first `kept` positions of the taped pass. Lazy."""
        x, args, kwargs = self.seen
        self.running = False
        self.cache: list[Any] = list(self.before)
        if kept == 0:
            return
        states = states_after(kept, self.calls, self.mixer.notes.convolution, self.after_pass)
        if states is not None:
            self.cache = list(states)
            return
        for note in self.mixer.notes.all:
            note.replaying = True
        try:
            self.mixer(x[:, :kept], *args, **kwargs)
        finally:
            for note in self.mixer.notes.all:
                note.replaying = False

    def stop(self) -> None:
        """End the tape: the pass stands as it is."""
        self.running = False
        self.seen = None


def recurrent_with_tape(model: nn.Module, caches: list[Any]) -> list[Any]:
    """The same caches with every `ArraysCache` able to tape, and the model's mixers taught to note."""
    if not any(type(cache) is ArraysCache for cache in caches):
        return caches
    for module in model.modules():
        if _is_mixer(module):
            _teach(module)
    return [_taped(cache) if type(cache) is ArraysCache else cache for cache in caches]


def _taped(cache: ArraysCache) -> TapedCache:
    own = TapedCache.__new__(TapedCache)
    own.__dict__.update(cache.__dict__)
    return own


def _takes_cache(module: Any) -> bool:
    return isinstance(module, _TapedMixer) or "cache" in inspect.signature(type(module).__call__).parameters


def _is_mixer(module: nn.Module) -> bool:
    """Whether a module is given a cache and hands it to none below: the layer that really uses it."""
    return _takes_cache(module) and not any(_takes_cache(m) for m in module.modules() if m is not module)


def _teach(mixer: nn.Module) -> None:
    """Swap the class of a mixer, and of the projections in it, for one that notes. Once."""
    if isinstance(mixer, _TapedMixer):
        return
    projections = [m for m in mixer.modules() if isinstance(m, _PROJECTIONS)]
    for projection in projections:
        own = type(projection)
        projection.__class__ = type(own.__name__, (_NotedProjection, own), {})
        projection.note = _Note()
    kind = type(mixer)
    mixer.__class__ = type(kind.__name__, (_TapedMixer, kind), {})
    mixer.notes = _Notes(tuple(p.note for p in projections), kind.__module__, note_convolution(mixer))


def untaped(caches: Sequence[Any]) -> bool:
    """After a taped pass: whether some recurrent cache was used by no mixer that was taught, or by several."""
    return any(isinstance(cache, TapedCache) and cache.mixers != 1 for cache in caches)


def start_tape(caches: Sequence[Any]) -> None:
    """Before a pass that may have to be taken back in part."""
    for cache in caches:
        if isinstance(cache, TapedCache):
            cache.start()


def rewind(caches: Sequence[Any], width: int, kept: int) -> list[mx.array]:
    """Take caches that just saw `width` positions back to the first `kept` of them.

    Returns the arrays that were recomputed (lazy; empty when none was), so
    that a caller may evaluate or time them.
    """
    again: list[mx.array] = []
    for cache in caches:
        if isinstance(cache, TapedCache):
            if kept == width:
                cache.stop()
            else:
                cache.rewind_to(kept)
                again.extend(a for a in cache.cache if a is not None)
        elif kept < width:
            cache.trim(width - kept)
    return again
