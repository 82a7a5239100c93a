"""Whether a recording's context fits into memory, reckoned before the first position is read."""

from __future__ import annotations

from dataclasses import replace

from ...engine.drafters import Drafter
from ...engine.drafters.adaptive import AdaptiveDrafter
from ...engine.drafters.model import DraftModel
from ...engine.fit import check_fits, fit
from ...engine.kv_quantisation import KvQuantisation
from ...engine.language_config import most_positions
from ...engine.models import Target
from .plan import PlanError

RECORDED_COPIES = 3  # a segment's caches, those it began with, and those it goes on with


def check_room(
    target: Target,
    positions: int,
    kv: KvQuantisation | None,
    available_bytes: int | None,
    drafter: Drafter | None = None,
    copies: int = 1,
) -> None:
    """Raise FitError, one sentence with the numbers, when loaded models cannot take in so many positions.

    `available_bytes` are free now, beside the weights; None is unknown, and refuses nothing. `copies` of all caches are
    held at once. A draft model's caches are counted; those of other drafts are small.
    """
    if available_bytes is None:
        return
    needed = fit(target, positions, kv)
    needed = replace(needed, cache_bytes=copies * needed.cache_bytes)
    free = available_bytes + needed.weight_bytes
    model = drafter.drafter if isinstance(drafter, AdaptiveDrafter) else drafter
    if isinstance(model, DraftModel):
        drafting = fit(model.model, positions)
        free -= drafting.needed_bytes - drafting.weight_bytes + (copies - 1) * drafting.cache_bytes
    check_fits(needed, max(free, 0))


def longest_text(target: Target, asked: int | None, usual: int) -> int:
    """Positions a text may reach: those asked for, else `usual`, or fewer where the model reads no more.

    Raises PlanError where more are asked for than the model reads.
    """
    own = most_positions(target.config)
    if own is None:
        return asked or usual
    if asked is not None and asked > own:
        raise PlanError(f"{target.name} reads at most {own:,} positions: ask for a --context up to that.")
    return min(own, asked or usual)


def can_grow(target: Target, longest: int) -> bool:
    """Whether the model reads longer texts than that; one that does not say is taken to."""
    own = most_positions(target.config)
    return own is None or longest < own
