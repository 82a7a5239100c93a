"""How long the tokens of a stretch took: by the engine's decode time, by the clock between looks, or unknown.

Each engine counts at another moment. vLLM counts tokens as they come and decode times when a request has finished;
llama.cpp counts both when a request has finished; SGLang counts tokens then, and shows only its present speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..codec import LARGEST
from ..importers.prometheus import EngineCounters
from .page import Look
from .together import NS, Together

MOST_SLACK = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Tokens and the time they took; without `elapsed_ns` no time is known for them. `batch` ran at once, at most.

    A `batch` that no look saw is derived: 1, or 2 where decode times add up to more than went by.
    """

    tokens: int | None
    elapsed_ns: int | None = None
    tokens_per_second: float | None = None
    batch: int | None = None
    derived: tuple[str, ...] = ()


class Timing(Protocol):
    """Follows looks: `open` at the start of a window, `see` at each look, `idle` when nothing was counted since."""

    counts_at_the_end: bool

    def open(self, look: Look) -> None:
        """Forget what was before."""

    def see(self, look: Look) -> None:
        """Take one more look in."""

    def idle(self, look: Look) -> None:
        """Nothing ran up to this look: time begins here."""

    def close(self, counted: EngineCounters, look: Look) -> Timed:
        """Return the time of the stretch that this look ends, and begin the next one."""


def timing_of(look: Look) -> Timing:
    """Return the way to time the engine of a look."""
    if look.engine == "vllm":
        return AsTheyCome(look)
    if look.engine == "llama.cpp":
        return OfFinished(look)
    return OfTheMoment(look)


class AsTheyCome:
    """vLLM. Between two looks the clock is right if one request was decoded all the time and no prompt was read.

    Short requests fit between no two looks: then the decode times of those that finished are right, unless the clock
    has already told a part of them. For several requests at once the clock says what the whole server makes.
    """

    counts_at_the_end = False

    def __init__(self, first: Look) -> None:
        self.open(first)

    def open(self, look: Look) -> None:
        self._base, self._together = look, Together(look)
        # a request that runs already began at an unknown time
        self._clocked = bool(look.counters.running)

    def see(self, look: Look) -> None:
        self._together.see(look)

    def idle(self, look: Look) -> None:
        self._base = look
        self._together.idle(look)
        self._clocked = self._clocked and bool(look.counters.running)

    def close(self, counted: EngineCounters, look: Look) -> Timed:
        base, self._base = self._base, look
        elapsed_ns = look.t_ns - base.t_ns
        steady = bool(base.counters.running) and bool(look.counters.running)
        exact = elapsed_ns > 0 and base.slack_ns + look.slack_ns <= MOST_SLACK * elapsed_ns
        finished, clocked = bool(counted.decode_seconds), self._clocked
        batch, derived = self._together.close(look, counted.decode_seconds)
        several = (batch or 0) > 1
        by_clock = steady and exact and (several or not (finished or counted.prompt_tokens))
        self._clocked = bool(look.counters.running) and (several or by_clock or (clocked and not finished))
        if by_clock:
            return _timed(counted.generated, elapsed_ns, batch, derived)
        if finished and not several and not clocked:
            return _by_decode_time(counted, batch, derived)
        return Timed(tokens=counted.generated, batch=batch, derived=derived)


class OfFinished:
    """llama.cpp. Tokens and decode times of a request are added together when it has finished."""

    counts_at_the_end = True

    def __init__(self, first: Look) -> None:
        self.open(first)

    def open(self, look: Look) -> None:
        self._together = Together(look)

    def see(self, look: Look) -> None:
        self._together.see(look)

    def idle(self, look: Look) -> None:
        self._together.idle(look)

    def close(self, counted: EngineCounters, look: Look) -> Timed:
        return _by_decode_time(counted, *self._together.close(look, counted.decode_seconds))


class OfTheMoment:
    """SGLang. Tokens are added when a request has finished; the speed is the mean of those shown meanwhile."""

    counts_at_the_end = True

    def __init__(self, first: Look) -> None:
        self.open(first)

    def open(self, look: Look) -> None:
        self._together = Together(look)
        self._speeds: list[float] = []

    def see(self, look: Look) -> None:
        self._together.see(look)
        speed = look.counters.generated_per_second
        # an idle server goes on showing its last speed
        if speed and look.counters.running != 0:
            self._speeds.append(speed)

    def idle(self, look: Look) -> None:
        self._together.idle(look)

    def close(self, counted: EngineCounters, look: Look) -> Timed:
        speed = sum(self._speeds) / len(self._speeds) if self._speeds else None
        self._speeds = []
        batch, derived = self._together.close(look, None)
        if speed is not None:
            derived = (*derived, "tokens_per_second")
        return Timed(tokens=counted.generated, tokens_per_second=speed, batch=batch, derived=derived)


def _by_decode_time(counted: EngineCounters, batch: int | None, derived: tuple[str, ...]) -> Timed:
    seconds = counted.decode_seconds
    if not counted.decoded or not seconds or seconds * NS >= LARGEST or round(seconds * NS) < 1:
        return Timed(tokens=counted.generated, batch=batch, derived=derived)
    return _timed(counted.decoded, round(seconds * NS), batch, derived)


def _timed(tokens: int | None, elapsed_ns: int, batch: int | None, derived: tuple[str, ...]) -> Timed:
    if not tokens:
        return Timed(tokens=tokens, batch=batch, derived=derived)
    return Timed(
        tokens=tokens,
        elapsed_ns=elapsed_ns,
        tokens_per_second=tokens * NS / elapsed_ns,
        batch=batch,
        derived=(*derived, "tokens_per_second"),
    )
