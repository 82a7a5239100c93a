"""What the blocks of a place must move and compute in one pass, whatever kernels do it: the base of every floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from ....engine.decode import Generation
from ....engine.models import Target
from ....engine.trees import named_arrays, nbytes
from ..blocks import Block
from .place_demand import PlaceDemand
from .rows import CensusTaken
from .seen import SeenCall, SeenPass
from .taking import take_census
from .throw_away import arrays_within

Place = tuple[str, str, str | None]


def demands_of(
    target: Target, blocks: Sequence[Block], caches: list[Any], context: int, taken: CensusTaken | None = None
) -> tuple[PlaceDemand, ...]:
    """The demands of every place of a pass at `context`, in the order of the pass.

    `caches` are warm (at least one position) and stay as they are; keys and values are taken to `context` from the
    positions that they hold. `taken` is a census of one position, taken here if None.
    """
    generation = Generation(target, [0] * (context + 1), caches)
    if taken is None:
        taken = take_census(generation, blocks, [0])
    flops_by_place: dict[Place, int] = {}
    for row in taken.rows:
        place = (row.place, row.category, row.detail)
        flops_by_place[place] = flops_by_place.get(place, 0) + row.flops // max(taken.width, 1)
    seen = SeenPass(generation, blocks, [0]).take()
    group_by_place: dict[Place, list[Block]] = {}
    for block in seen.call_by_block:
        group_by_place.setdefault((block.place, block.category, getattr(block, "detail", None)), []).append(block)
    bytes_by_weight = {name: nbytes(array) for name, array in named_arrays(target.model.parameters())}
    return tuple(
        _demand(
            group,
            [seen.call_by_block[b] for b in group],
            bytes_by_weight,
            target,
            context,
            flops_by_place.get(place, 0),
        )
        for place, group in group_by_place.items()
    )


def _demand(
    group: Sequence[Block],
    calls: Sequence[SeenCall],
    bytes_by_weight: dict[str, int],
    target: Target,
    context: int,
    flops: int,
) -> PlaceDemand:
    first = group[0]
    routed = [name for block in group for name in _routed_weights(block, target.model)]
    routed_bytes = sum(bytes_by_weight[name] for name in set(routed))
    read = {name for block in group for name in block.weights} - set(routed)
    looked_up = isinstance(first.module, nn.Embedding | nn.QuantizedEmbedding) and first.method == "__call__"
    caches = [cache for call in calls for cache in call.caches]
    return PlaceDemand(
        place=first.place,
        category=first.category,
        detail=getattr(first, "detail", None),
        layers=len(group),
        context=context,
        dtype=_dtype(calls[0]),
        weight_bytes=0 if looked_up else sum(bytes_by_weight[name] for name in read),
        expert_bytes=routed_bytes,
        experts=_experts(first) if routed else None,
        active=getattr(first, "active", None) if routed else None,
        kv_bytes=sum(_kv_bytes(cache, context) for cache in caches) if first.part == "call" else 0,
        state_bytes=sum(_state_bytes(cache) for cache in caches) if first.part == "call" else 0,
        flops=flops,
    )


def _switches(block: Block) -> list[Any]:
    if block.module is None or block.part != "call":
        return []
    return [m for m in block.module.modules() if isinstance(m, SwitchLinear | QuantizedSwitchLinear)]


def _routed_weights(block: Block, model: nn.Module) -> Iterator[str]:
    """Names of the block's weights that are stacks of experts; a stack of which all is read is a plain weight."""
    if not getattr(block, "active", None):
        return
    stacks = {id(array) for switch in _switches(block) for array in arrays_within(list(switch.values()))}
    name_by_id = {id(array): name for name, array in named_arrays(model.parameters())}
    owned = set(block.weights)
    yield from (name_by_id[i] for i in stacks if name_by_id.get(i) in owned)


def _experts(block: Block) -> int | None:
    return next((int(switch.weight.shape[0]) for switch in _switches(block)), None)


def _dtype(call: SeenCall) -> str:
    """The dtype of the activations: that of the first floating array that comes out, or goes in."""
    floats = (a.dtype for a in arrays_within([call.output, call.args]) if mx.issubdtype(a.dtype, mx.floating))
    return str(next(floats, mx.float32)).removeprefix("mlx.core.")


def _parts(cache: Any) -> list[Any]:
    return [part for inner in cache.caches for part in _parts(inner)] if hasattr(cache, "caches") else [cache]


def _kv_bytes(cache: Any, context: int) -> int:
    """Bytes of keys and values that a pass at `context` reads: a window no further back than it goes."""
    total = 0
    for part in _parts(cache):
        if isinstance(part, ArraysCache) or not arrays_within(part):
            continue
        held = arrays_within(list(part.state) if isinstance(part.state, list | tuple) else [part.state])
        window = next((w for n in ("max_size", "chunk_size") if isinstance(w := getattr(part, n, None), int)), None)
        wanted = context if window is None else min(context, window)
        total += sum(a.nbytes * wanted // a.shape[-2] for a in held if a.ndim >= 3 and a.shape[-2])
    return total


def _state_bytes(cache: Any) -> int:
    """Bytes of recurrent state."""
    return sum(a.nbytes for part in _parts(cache) if isinstance(part, ArraysCache) for a in arrays_within(part))
