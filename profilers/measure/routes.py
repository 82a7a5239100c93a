"""Which experts a pass really chose: the indices that a block of routed experts was called with."""

from __future__ import annotations

import mlx.core as mx

from .blocks import Block
from .categories import ROUTED
from .queued import Seen
from .trace import routes_among


def routes_in(block: Block, seen: Seen) -> mx.array | None:
    """The experts that each position takes: integers [..., K], of `block.experts`; None for a block without routes."""
    return routes_among(seen.args, seen.kwargs) if block.detail == ROUTED and block.active else None


def distinct_experts(block: Block, seen: Seen) -> tuple[int, int, int] | None:
    """How many distinct experts the block's pass touched, of how many, and how many each position takes.

    None for a block without routes.
    """
    routes = routes_in(block, seen)
    if routes is None or block.experts is None or block.active is None:
        return None
    return len(set(routes.flatten().tolist())), block.experts, block.active  # type: ignore[arg-type]
