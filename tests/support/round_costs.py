"""Round costs in plain ms, and strategies that draw them, for tests of the division."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from hypothesis import settings
from hypothesis import strategies as st

from specview.profilers.judge.economics import DrafterKind, RoundCosts
from specview.profilers.judge.spans import Pipelined, Span, Synchronous

DECODE = Span(1.0, Pipelined)
MODEL = DrafterKind.MODEL

no_deadline = settings(deadline=None, max_examples=50)


def whole(ms: float, se_ms: float = float("nan"), n: float = 1.0) -> Span[Synchronous]:
    return Span(ms, Synchronous, se_ms, n)


def plain(ms: float, se_ms: float = float("nan"), n: float = 1.0) -> Span[Pipelined]:
    return Span(ms, Pipelined, se_ms, n)


def costs(
    verify: Mapping[int, float],
    draft: float | Mapping[int, float] = 0.0,
    rest: float = 0.0,
    kind: DrafterKind = MODEL,
    search: float = 0.0,
) -> RoundCosts:
    """One number for the draft is a step of any width, so that catch-up is free."""
    steps = draft if isinstance(draft, Mapping) else dict.fromkeys(range(1, 34), draft)
    return RoundCosts(
        kind,
        {width: whole(ms) for width, ms in verify.items()},
        {width: whole(ms) for width, ms in steps.items()},
        whole(rest),
        whole(search),
    )


def flat(most: int, draft: float = 0.0) -> RoundCosts:
    """Verify at any width costs one decode step of 1 ms."""
    return costs(dict.fromkeys(range(1, most + 2), 1.0), draft)


alphas = st.floats(0.0, 1.0)
lengths = st.integers(1, 12)
positive = st.floats(0.05, 5.0)


@st.composite
def any_costs(draw: st.DrawFn, most: int = 8, catch_up: bool = True) -> RoundCosts:
    """Verify of any shape over all widths, cliffs and bumps among them."""
    verify = {n: draw(positive) for n in range(1, most + 2)}
    one = draw(st.floats(0.0, 1.0))
    two = one + (draw(st.floats(0.0, 0.5)) if catch_up else 0.0)
    return costs(verify, {1: one, 2: two}, draw(st.floats(0.0, 0.5)))


@st.composite
def convex_costs(draw: st.DrawFn, most: int = 8) -> RoundCosts:
    """Verify whose further positions never get cheaper, and no catch-up: T_round is convex in k."""
    steps = sorted(draw(st.lists(st.floats(0.0, 1.0), min_size=most, max_size=most)))
    verify = dict(enumerate(accumulate([1.0, *steps]), start=1))
    return costs(verify, draw(st.floats(0.0, 0.5)), draw(st.floats(0.0, 0.5)))
