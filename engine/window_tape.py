"""The way back for sliding windows, which overwrite the oldest positions with the newest.

A pass over several positions leaves the old arrays alone and makes new ones with every old position that the first
new one may still see: holding the old arrays costs nothing, and a prefix of the pass is a slice of the new ones. A
pass over one position writes in place, so the first on a tape that meets a full window is made to write to a copy;
what later ones overwrite is still in the original. (Copying the one slot instead needs a wait: until that is done the
slot's read holds the buffer, and the update copies all of it.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import BatchRotatingKVCache, RotatingKVCache

from .cache_contents import CacheError, contents, put_contents


@dataclass(frozen=True, slots=True)
class _Pass:
    """One update of a window: its width, and what puts the window back to before it."""

    width: int
    before: dict[str, Any]
    slot: tuple[int, mx.array, mx.array] | None = None  # where it wrote, and keys and values that hold what was there


class WindowTape:
    """The updates since `start`, of one window."""

    def __init__(self, window: Any) -> None:
        self.running = False
        self.passes: list[_Pass] = []
        # the full window before the updates in place that no other has followed, and how many they are
        self.original: tuple[mx.array, mx.array, int] | None = None
        self._owner = id(window)

    def runs_on(self, window: Any) -> bool:
        """Whether this window, and not a copy of it, is being taped."""
        return self.running and id(window) == self._owner

    def start(self) -> None:
        """Tape the next updates."""
        self.running, self.passes, self.original = True, [], None

    def stop(self) -> None:
        """End the tape: the updates stand as they are."""
        self.running, self.passes, self.original = False, [], None


class _Window:
    """Mixed into a window's class: notes each update on the tape while it runs."""

    tape: WindowTape

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> Any:
        if self.tape.runs_on(self):
            self.tape.passes.append(_noted(self, keys.shape[2]))
        return super().update_and_fetch(keys, values)  # type: ignore[misc]

    def trim(self, n: int) -> int:
        if n > 0 and not trims_exactly(self):
            raise CacheError(
                "A sliding window that is full cannot be trimmed: start the tape before passes that may be taken back."
            )
        return int(super().trim(n))  # type: ignore[misc]


class TapedWindow(_Window, RotatingKVCache):
    """mlx-lm's sliding window, on tape."""


class TapedBatchWindow(_Window, BatchRotatingKVCache):
    """mlx-lm's sliding window of a batch, on tape; all rows are taken back by the same number of positions."""


def on_window_tape(window: Any) -> None:
    """Swap the class of a window for one with a tape. The object stays."""
    window.__class__ = TapedWindow if type(window) is RotatingKVCache else TapedBatchWindow
    window.tape = WindowTape(window)


def trims_exactly(window: Any) -> bool:
    """Whether a window has overwritten nothing yet and its buffer is no longer than it."""
    seen: int = window._offset if isinstance(window, BatchRotatingKVCache) else window.offset
    return window.keys is None or (seen <= window.max_size and window.keys.shape[2] <= window.max_size)


def _noted(window: Any, width: int) -> _Pass:
    original, window.tape.original = window.tape.original, None
    if isinstance(window, BatchRotatingKVCache) or width > 1 or window.keys is None:
        return _Pass(width, contents(window))
    length: int = window.keys.shape[2]
    grows = window.offset >= length and length < window.max_size
    if grows or length > window.max_size:
        return _Pass(width, contents(window))  # new arrays are made before the position is written
    if window.offset < window.max_size:
        return _Pass(width, {"offset": window.offset, "_idx": window._idx})
    if original is None or original[2] == window.max_size - window.keep:
        before = contents(window)
        window.tape.original = (before["keys"], before["values"], 1)
        return _Pass(width, before)
    keys, values, updates = original
    window.tape.original = (keys, values, updates + 1)
    slot = window.keep if window._idx == window.max_size else window._idx
    return _Pass(width, {"offset": window.offset, "_idx": window._idx}, (slot, keys, values))


def back_in_window(window: Any, width: int, kept: int) -> list[mx.array]:
    """A window back to the first `kept` of its `width` taped positions; the arrays that were made. Lazy."""
    passes = window.tape.passes
    window.tape.stop()
    if sum(taped.width for taped in passes) != width:
        raise CacheError(
            "A sliding window cannot be taken back, because a layer read another number of positions than the pass "
            "had: turn drafts off for this model."
        )
    while width > kept:
        taped = passes.pop()
        width -= taped.width
        if width < kept:
            _cut(window, taped.width - (kept - width))
            break
        _undo(window, taped)
    return [window.keys, window.values] if window.keys is not None else []


def _undo(window: Any, taped: _Pass) -> None:
    put_contents(window, taped.before)
    if taped.slot is not None:
        i, keys, values = taped.slot
        window.keys[..., i : i + 1, :] = keys[..., i : i + 1, :]
        window.values[..., i : i + 1, :] = values[..., i : i + 1, :]


def _cut(window: Any, excess: int) -> None:
    """Drop the last positions of an update over several, which left the window in order of time."""
    keys, values = window.keys, window.values
    length = keys.shape[2] - excess
    window.keys, window.values = keys[..., :length, :], values[..., :length, :]
    window.offset = window.offset - excess
    window._idx = length
    if isinstance(window, BatchRotatingKVCache):
        window._offset -= excess
