"""Follows one pass through a model: who calls whom, which cache each call changes, which weights it reads.

The pass is traced lazily on throw-away caches, so nothing is evaluated. What a module does to a cache or to attention
is seen where it happens, whatever its arguments are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import CacheList, _BaseCache, make_prompt_cache

from ...engine.models import Target
from ...engine.trees import named_arrays
from .interception import Call, intercepted

WARM_UP = 3  # positions in the cache of the pass that is followed


@dataclass(slots=True, eq=False)
class Node:
    """A traced call: what it was handed, what it does itself, and the calls within it.

    `handed` are the single caches among its arguments, `changed` those that it writes to itself, `attends` counts its
    own attention kernels, `reads` are the names of the weights it takes itself (of its own module or of others).
    `choices` is how many experts each position takes, where a call is handed routes. `width` is the last dimension
    of what comes out.
    """

    module: Any = None
    method: str = ""
    handed: tuple[Any, ...] = ()
    inner: list[Node] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    attends: int = 0
    reads: dict[str, None] = field(default_factory=dict)
    choices: int | None = None
    width: int | None = None

    def below(self) -> Iterator[Node]:
        """This call and all within it."""
        yield self
        for node in self.inner:
            yield from node.below()

    @property
    def mixes(self) -> bool:
        """Whether the call itself, not one within it, mixes positions: by a cache or by attention."""
        return bool(self.changed) or self.attends > 0

    def weights(self) -> tuple[str, ...]:
        """The weights that the call and all within it read."""
        return tuple(dict.fromkeys(name for node in self.below() for name in node.reads))


def is_cache(value: Any) -> bool:
    """Whether a value is a cache: mlx-lm's, or one that a model brings along and that looks like them."""
    return isinstance(value, _BaseCache) or (
        not isinstance(value, nn.Module) and hasattr(type(value), "is_trimmable") and hasattr(type(value), "state")
    )


def single_caches(values: Any) -> list[Any]:
    """The caches in nested containers, those of a CacheList one by one."""
    if isinstance(values, CacheList):
        return single_caches(list(values.caches))
    if is_cache(values):
        return [values]
    if isinstance(values, dict) and not isinstance(values, nn.Module):
        values = list(values.values())
    return [c for v in values for c in single_caches(v)] if isinstance(values, list | tuple) else []


def trace(target: Target) -> Node:
    """The calls of one pass over one position on a warm cache, below a root without a module. Lazy."""
    caches = make_prompt_cache(target.model)
    names: dict[int, list[str]] = {}
    for name, array in named_arrays(target.model.parameters()):
        names.setdefault(id(array), []).append(name)
    warming = _followed(target, names, caches, max(WARM_UP, _picked(target.model) + 1))
    root = _followed(target, names, caches, 1)
    # a long pass may take weights that a short one leaves, and the other way round
    reads = dict(_keyed(warming))
    for key, node in _keyed(root):
        node.reads.update(reads[key].reads if key in reads else {})
    return root


def _picked(model: nn.Module) -> int:
    """How many positions sparse attention picks at most: weights that choose them are not read in shorter contexts."""
    picks = [0]
    for module in model.modules():
        told = {name: value for name, value in vars(module).items() if name.startswith("index")}
        size = max((v for n, v in told.items() if n.endswith("block_size") and isinstance(v, int)), default=1)
        picks += [v * (size if "block" in n else 1) for n, v in told.items() if "top" in n and isinstance(v, int)]
    return max(picks)


def _keyed(root: Node) -> Iterator[tuple[tuple[int, str, int], Node]]:
    counts: dict[tuple[int, str], int] = {}
    for node in root.below():
        key = (id(node.module), node.method)
        counts[key] = counts.get(key, 0) + 1
        yield (*key, counts[key]), node


def _followed(target: Target, names: dict[int, list[str]], caches: list[Any], width: int) -> Node:
    root = Node()
    stack = [root]
    known: dict[int, list[Any]] = {}

    def look(values: Sequence[Any]) -> None:
        """Charge what changed in these caches since the last look to the call that is at work."""
        for cache in values:
            now = state_parts(cache)
            if id(cache) in known and not same_state(known[id(cache)], now) and not _holds(stack[-1].changed, cache):
                stack[-1].changed.append(cache)
            known[id(cache)] = now

    def handle(call: Call) -> Any:
        if call.module is stack[-1].module and call.method != "__call__":
            return call.run()  # a method of its own: the calls within are the module's
        near = single_caches([call.args, call.kwargs])
        look(near)
        handed = tuple(c for c in (*call.args, *call.kwargs.values()) if is_cache(c) and not isinstance(c, CacheList))
        node = Node(call.module, call.method, handed, choices=_choices(call))
        stack[-1].inner.append(node)
        stack.append(node)
        try:
            output = call.run()
            look(near)
        finally:
            stack.pop()
        arrays = named_arrays([output])
        node.width = arrays[0][1].shape[-1] if arrays and arrays[0][1].ndim else None
        return output

    def read(value: Any) -> None:
        for array in value if isinstance(value, list | tuple) else (value,):
            if isinstance(array, mx.array):
                stack[-1].reads.update(dict.fromkeys(names.get(id(array), ())))

    def attend() -> None:
        stack[-1].attends += 1

    with _attention_told(attend), intercepted(target.model.modules(), handle, read):
        target.logits(mx.zeros((1, width), dtype=mx.int32), caches)
    return root


@contextmanager
def _attention_told(tell: Any) -> Iterator[None]:
    """While it lasts, `tell` is called for each use of the attention kernel."""
    kernel = mx.fast.scaled_dot_product_attention

    def told(*args: Any, **kwargs: Any) -> Any:
        tell()
        return kernel(*args, **kwargs)

    mx.fast.scaled_dot_product_attention = told
    try:
        yield
    finally:
        mx.fast.scaled_dot_product_attention = kernel


def _choices(call: Call) -> int | None:
    routes = routes_among(call.args, call.kwargs)
    return None if routes is None else routes.shape[-1]


def routes_among(args: Sequence[Any], kwargs: dict[str, Any]) -> mx.array | None:
    """The first array of integers among arguments: routes [..., K] where the call is one of experts."""
    arrays = [a for _, a in named_arrays([list(args), kwargs])]
    return next((a for a in arrays if mx.issubdtype(a.dtype, mx.integer) and a.ndim), None)


def state_parts(cache: Any) -> list[Any]:
    """What a cache is made of at this moment, flat: arrays, offsets and the like; the same objects, not copies."""
    return _parts(vars(cache)) if hasattr(cache, "__dict__") else []


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [p for v in value for p in _parts(v)] if isinstance(value, list | tuple) else [value]


def same_state(a: list[Any], b: list[Any]) -> bool:
    """Whether a cache of which these are the parts was not written to in between."""
    return len(a) == len(b) and all(
        x is y or (type(x) is type(y) and isinstance(x, int | float | str) and x == y)
        for x, y in zip(a, b, strict=True)
    )


def _holds(caches: list[Any], cache: Any) -> bool:
    return any(c is cache for c in caches)
