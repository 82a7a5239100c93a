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
    mixer: Any = None
    seen: Any = None
    before: list[Any]
    calls: list[DeltaCall]
    after_pass: list[Any]

    def start(self) -> None:
        """Tape the next pass."""
        self.running = True
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
    """The same caches with every `ArraysCache` able to tape, and the mixers of those layers taught to note."""
    taped = []
    for layer, cache in zip(model.layers, caches, strict=False):
        if type(cache) is ArraysCache:
            _teach(layer)
            own = TapedCache.__new__(TapedCache)
            own.__dict__.update(cache.__dict__)
            cache = own
        taped.append(cache)
    return taped + caches[len(taped) :]


def _teach(layer: nn.Module) -> None:
    """Swap the class of the layer's mixer, and of the projections in it, for one that notes. Once."""
    for mixer in layer.children().values():
        if not isinstance(mixer, nn.Module) or isinstance(mixer, _TapedMixer):
            continue
        if "cache" not in inspect.signature(type(mixer).__call__).parameters:
            continue
        projections = [m for m in mixer.modules() if isinstance(m, _PROJECTIONS)]
        for projection in projections:
            own = type(projection)
            projection.__class__ = type(own.__name__, (_NotedProjection, own), {})
            projection.note = _Note()
        kind = type(mixer)
        mixer.__class__ = type(kind.__name__, (_TapedMixer, kind), {})
        mixer.notes = _Notes(tuple(p.note for p in projections), kind.__module__, note_convolution(mixer))


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
