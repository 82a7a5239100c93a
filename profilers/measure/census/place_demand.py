"""What one place of a pass demands. No MLX here."""

from __future__ import annotations

from dataclasses import dataclass

from ..timings import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceDemand:
    """What all `layers` blocks of a place must move and compute together; `flops` are those of one position.

    A pass reads `weight_bytes` in full and, of `expert_bytes`, the experts that its routes name. An embedding has no
    weight bytes: a pass looks up one row a position, and the census counts those rows.
    """

    place: str
    category: Category
    detail: str | None
    layers: int
    context: int
    dtype: str
    weight_bytes: int
    expert_bytes: int
    experts: int | None
    active: int | None
    kv_bytes: int
    state_bytes: int
    flops: int
