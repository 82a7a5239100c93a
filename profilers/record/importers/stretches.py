"""Many short stretches of a long source in a bounded list: when it is full, neighbours that are alike are merged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..codec import LARGEST
from ..records import Counters

MOST = 4096

_COUNTS = ("rounds", "drafted", "accepted", "tokens", "elapsed_ns", "draft_ns", "verify_ns", "rest_ns")
_Kind = tuple[object, ...]


@dataclass(slots=True)
class Stretches:
    """Takes counters in the order of the source and gives at most about `most` of them back, in the same order.

    Only stretches of one arm, label, drafter, k, batch and sampling are merged. `merged` says whether any were.
    """

    most: int = MOST
    merged: bool = False
    dropped: int = 0
    _held: dict[_Kind, list[tuple[int, Counters, int]]] = field(default_factory=dict)
    _count: int = 0
    _order: int = 0

    def add(self, counters: Counters) -> None:
        """Take one more stretch."""
        if self._count >= self.most:
            self._halve()
        if self._count >= self.most:
            # thousands of unlike kinds: nothing left that may be merged
            self.dropped += 1
            return
        self._held.setdefault(_kind(counters), []).append((self._order, counters, 1))
        self._order += 1
        self._count += 1

    def all(self) -> tuple[Counters, ...]:
        """Return what is held, in the order of the source."""
        held = [entry for entries in self._held.values() for entry in entries]
        return tuple(counters for _, counters, _ in sorted(held, key=lambda entry: entry[0]))

    def _halve(self) -> None:
        for kind, entries in self._held.items():
            pairs = [
                (order, merge(one, other, weight, other_weight), weight + other_weight)
                for (order, one, weight), (_, other, other_weight) in zip(entries[::2], entries[1::2], strict=False)
            ]
            if pairs:
                self.merged = True
            self._held[kind] = pairs + (entries[-1:] if len(entries) % 2 else [])
        self._count = sum(map(len, self._held.values()))


def merge(one: Counters, other: Counters, weight: int = 1, other_weight: int = 1) -> Counters:
    """Return two stretches of one kind as one; what either does not say, the sum does not say.

    Where only speed and tokens per round are known each stretch counts by `weight`, as so many equal numbers of rounds.
    """
    summed = {name: _sum(getattr(one, name), getattr(other, name)) for name in _COUNTS}
    positions = None
    if one.accepted_by_position and other.accepted_by_position:
        a, b = one.accepted_by_position, other.accepted_by_position
        longest = max(len(a), len(b))
        a, b = (each + (0,) * (longest - len(each)) for each in (a, b))
        positions = tuple(min(x + y, LARGEST) for x, y in zip(a, b, strict=True))
    rounds, accepted, tokens, elapsed_ns = (summed[name] for name in ("rounds", "accepted", "tokens", "elapsed_ns"))
    if rounds and accepted is not None:
        per_round: float | None = 1 + accepted / rounds
    else:
        per_round = _mean(one.tokens_per_round, other.tokens_per_round, weight, other_weight)
    if tokens and elapsed_ns:
        speed: float | None = tokens * 1e9 / elapsed_ns
    else:
        speed = _speed(one, other, weight, other_weight)
    return replace(
        other,
        rounds=rounds,
        drafted=summed["drafted"],
        accepted=accepted,
        tokens=tokens,
        elapsed_ns=elapsed_ns,
        draft_ns=summed["draft_ns"],
        verify_ns=summed["verify_ns"],
        rest_ns=summed["rest_ns"],
        accepted_by_position=positions,
        tokens_per_round=per_round,
        tokens_per_second=speed,
        derived=tuple(dict.fromkeys((*one.derived, *other.derived))),
    )


def _kind(counters: Counters) -> _Kind:
    named = ("arm", "source", "label", "drafter", "k", "batch", "temperature", "rule")
    return (*(getattr(counters, name) for name in named), counters.rounds is None, counters.tokens is None)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a + b, LARGEST)


def _mean(a: float | None, b: float | None, weight: int, other_weight: int) -> float | None:
    return None if a is None or b is None else (a * weight + b * other_weight) / (weight + other_weight)


def _speed(one: Counters, other: Counters, weight: int, other_weight: int) -> float | None:
    if not one.tokens_per_second or not other.tokens_per_second:
        return None
    tokens = weight * (one.tokens_per_round or 1), other_weight * (other.tokens_per_round or 1)
    seconds = tokens[0] / one.tokens_per_second + tokens[1] / other.tokens_per_second
    return sum(tokens) / seconds
