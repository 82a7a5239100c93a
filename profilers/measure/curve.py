"""The verify curve T_verify(n) at several context lengths: widths in random order, cooled between rounds.

A sequential sweep lies: back-to-back repeats slow only wide passes on some GPUs, and a machine that warms up or gets
busy then looks like a cost of width. So every round times each width at each context once, in an order of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from ...engine.decode import Generation
from ...engine.errors import SpecviewError
from .canary import Canary
from .whole import Pass, verify_pass, warm

Clock = Callable[[], int]
Advanced = Callable[[int, int, float], None]

WIDTHS = tuple(range(1, 17))
REPEATS = 6
LONGEST_PAUSE_S = 10.0


class CurveError(SpecviewError):
    """A verify curve that cannot be measured as asked."""


def verify_curve(
    generations: Sequence[Generation],
    coming: Sequence[Sequence[int]],
    *,
    widths: Sequence[int] = WIDTHS,
    repeats: int = REPEATS,
    clock: Clock,
    random_source: random.Random,
    canary: Canary,
    base_ns: float | None = None,
    longest_pause_s: float = LONGEST_PAUSE_S,
    nap: Callable[[float], bool],
    advanced: Advanced = lambda done, total, paused_s: None,
) -> Iterator[Pass]:
    """Time a verify pass of every width on every generation (one a context), `repeats` times, a round at a time.

    `coming` holds for each generation the tokens to verify, at least as many as the widest width. Each pass counted
    has one of its own width before it that does not. Before each round the machine may cool until the canary is back
    near `base_ns` (None: as it is now), `longest_pause_s` at most; `nap` is `Canary.cool_down`'s, and a nap that was
    cut short measures on: a caller who wants to stop closes the iterator. `advanced(done, total, paused_s)` hears of
    each pass, with the seconds of the pause just before it. Caches are as before at every pass that is yielded.
    Raises CurveError, before anything is timed, for widths that there are no tokens for.
    """
    asked = checked_widths(generations, coming, widths)
    if repeats < 1:
        raise CurveError(f"A verify curve of {repeats} repeats measures nothing: ask for at least one.")
    tasks = [
        (generation, tokens[:width]) for generation, tokens in zip(generations, coming, strict=True) for width in asked
    ]

    def rounds() -> Iterator[Pass]:
        base = float(canary.read_ns()) if base_ns is None else base_ns
        total, done = repeats * len(tasks), 0
        for _ in range(repeats):
            paused_s = canary.cool_down(base, longest_pause_s, nap)
            for generation, tokens in random_source.sample(tasks, len(tasks)):
                [timed] = warm(lambda: verify_pass(generation, tokens, clock), 1)  # noqa: B023
                done += 1
                advanced(done, total, paused_s)
                paused_s = 0.0
                yield timed

    return rounds()


def checked_widths(
    generations: Sequence[Generation], coming: Sequence[Sequence[int]], widths: Sequence[int]
) -> tuple[int, ...]:
    """The widths in order without repeats, or CurveError with the number that does not fit."""
    asked = tuple(sorted(set(widths)))
    if not asked or asked[0] < 1:
        raise CurveError(
            f"A verify pass is at least one position wide, not {asked[0] if asked else 'none'}: ask for 1."
        )
    if not generations or len(generations) != len(coming):
        raise CurveError(
            f"A verify curve needs coming tokens for each of its contexts: {len(generations)} contexts and "
            f"{len(coming)} lists of tokens were given."
        )
    for generation, tokens in zip(generations, coming, strict=True):
        if asked[-1] > len(tokens):
            raise CurveError(
                f"Verifying {asked[-1]} positions at context {generation.context} cannot be measured, because only "
                f"{len(tokens)} tokens are at hand: ask for widths up to {len(tokens)}, or take another text."
            )
    return asked
