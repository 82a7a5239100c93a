"""Records what mlx-lm's `stream_generate` yields while it passes on to whoever uses it; knows no MLX itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from .own_loop import OwnLoop


class Token(Protocol):
    """One item of `stream_generate`: a token, and whether a draft model guessed it."""

    @property
    def from_draft(self) -> bool:
        """Whether it was a draft; a round ends with a token that was none."""
        ...


T = TypeVar("T", bound=Token)


def recorded(stream: Iterable[T], session: OwnLoop, clock: Callable[[], int] | None = None) -> Iterator[T]:
    """Yield the items of `stream` as they come, and append what they tell to the open run of `session`.

    In a plain run each item is a step, from the item before it. In a drafting run a round ends at each token that is
    no draft; it drafted `session.k` tokens. The first item or round holds the prompt and is warm-up. So is a round
    with a `finish_reason`, whose draft may have been shorter; a round that is cut off is left out.
    """
    now = session.clock if clock is None else clock
    drafts = 0
    first = True
    pieces: list[str] = []
    before_ns = now()
    for item in stream:
        at_ns = now()
        text = getattr(item, "text", "")
        pieces.append(text if isinstance(text, str) else "")
        if session.arm == "plain":
            session.plain(at_ns - before_ns, pieces=pieces, warm_up=first)
        elif item.from_draft:
            drafts += 1
            yield item
            continue
        else:
            last = getattr(item, "finish_reason", None) is not None
            proposed = max(session.k, drafts)
            session.round(proposed, drafts, at_ns - before_ns, pieces=pieces, warm_up=first or last)
        drafts, first, before_ns = 0, False, at_ns
        pieces = []
        yield item
