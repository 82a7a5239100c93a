"""The short way back for gated delta layers: the state after a position, as the pass had it or by running it again.

A gated delta mixer projects, convolves and normalises before it updates its
state. All of that is known for every position once the pass has run. Where
mlx-lm steps from position to position, the state after each is known too, and
kept; where one kernel does all positions, only the last is, and the way back is
one call of `gated_delta_update` over the kept ones. The convolution's state is
a slice of its input either way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn

FUNCTION = "gated_delta_update"
STEP = "_gated_delta_step_ops"  # one position of it, in mlx-lm's own file; where it is gone, states are recomputed
SEQUENCES = 5  # its first arguments (q, k, v, a, b) run over positions on axis 1


@dataclass(frozen=True, slots=True)
class DeltaCall:
    """One noted call: the function, what it was given, the state it returned, and those that it passed through."""

    function: Callable[..., tuple[mx.array, mx.array]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: mx.array
    passed: list[mx.array]

    def state_after(self, kept: int) -> mx.array:
        """The state after the first `kept` positions: of the pass where it stepped, else recomputed. Lazy."""
        if len(self.passed) == self.args[0].shape[1]:
            return self.passed[kept - 1]
        sequences = (x[:, :kept] for x in self.args[:SEQUENCES])
        return self.function(*sequences, *self.args[SEQUENCES:], **self.kwargs)[1]

    @property
    def masked(self) -> bool:
        """Whether a mask over positions was given, which this way back does not cut."""
        by_place = len(self.args) > SEQUENCES + 3 and self.args[SEQUENCES + 3] is not None
        return by_place or self.kwargs.get("mask") is not None


@contextmanager
def noted_delta_calls(home: str) -> Iterator[list[DeltaCall]]:
    """Note the calls of `gated_delta_update` that the model file `home` makes meanwhile; none where it has none."""
    module = sys.modules[home]
    original = getattr(module, FUNCTION, None)
    calls: list[DeltaCall] = []
    if original is None:
        yield calls
        return

    def noting(*args: Any, **kwargs: Any) -> tuple[mx.array, mx.array]:
        with _noted_steps(sys.modules[original.__module__]) as passed:
            out, state = original(*args, **kwargs)
        calls.append(DeltaCall(original, args, kwargs, state, passed))
        return out, state

    setattr(module, FUNCTION, noting)
    try:
        yield calls
    finally:
        setattr(module, FUNCTION, original)


@contextmanager
def _noted_steps(home: Any) -> Iterator[list[mx.array]]:
    """The state [B, H, Dv, Dk] after each step that `home` makes meanwhile; none where a kernel does all at once."""
    original = getattr(home, STEP, None)
    passed: list[mx.array] = []
    if original is None:
        yield passed
        return

    def noting(*args: Any, **kwargs: Any) -> tuple[mx.array, mx.array]:
        out, state = original(*args, **kwargs)
        passed.append(state)
        return out, state

    setattr(home, STEP, noting)
    try:
        yield passed
    finally:
        setattr(home, STEP, original)


class NotedConvolution:
    """Mixed into a mixer's `nn.Conv1d`: keeps its last input, the old conv state followed by the new positions."""

    last_input: Any = None

    def __call__(self, x: mx.array) -> mx.array:
        self.last_input = _Kept(x)
        y: mx.array = super().__call__(x)  # type: ignore[misc]
        return y

    def taken_input(self) -> mx.array | None:
        """The last input, which is not kept any longer."""
        kept, self.last_input = self.last_input, None
        return None if kept is None else kept.array


@dataclass(frozen=True, slots=True)
class _Kept:
    """An array that `nn.Module` does not take for a parameter."""

    array: mx.array


def note_convolution(mixer: nn.Module) -> nn.Module | None:
    """Teach the mixer's only convolution to keep its input; None when it has none or several."""
    found = [m for m in mixer.modules() if isinstance(m, nn.Conv1d)]
    if len(found) != 1:
        return None
    kind = type(found[0])
    if not issubclass(kind, NotedConvolution):
        found[0].__class__ = type(kind.__name__, (NotedConvolution, kind), {})
    return found[0]


def states_after(
    kept: int, calls: list[DeltaCall], conv_input: mx.array | None, after_pass: list[Any]
) -> list[mx.array] | None:
    """Conv state and recurrent state after `kept` positions, or None when the layer is not of this kind.

    `after_pass` is what the cache held when the pass was over: the layer must
    keep the last rows of the convolution's input first and the recurrence's
    state second, as mlx-lm's gated delta layers do.
    """
    if len(calls) != 1 or conv_input is None or len(after_pass) != 2 or calls[0].masked:
        return None
    call = calls[0]
    if after_pass[1] is not call.state or after_pass[0].ndim != 3:
        return None
    rows = after_pass[0].shape[1]
    if conv_input.shape[1] != rows + call.args[0].shape[1]:
        return None
    return [mx.contiguous(conv_input[:, kept : kept + rows]), call.state_after(kept)]
